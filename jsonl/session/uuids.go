package session

import (
	"encoding/binary"
	"encoding/hex"
	"hash/maphash"
	"math"
	"strings"
)

// uuids are the uuids of lines, by place, exactly as recorded.
type uuids struct {
	list  chunks[uuid]
	texts chunks[string] // those that are other texts
}

// uuid is a uuid in less than half of its memory: its 16 bytes, where it is written as most are, in 32 lower-case digits
// and four hyphens. Of any other text, and of a uuid that begins as noUUID does, it is noUUID, the place in uuids.texts, and
// zeros.
type uuid [16]byte

const noUUID = math.MaxUint64 // the first 8 bytes

// uuidOf is the uuid of a text; of another text its place is still to come.
func uuidOf(s string) uuid {
	id, ok := parseUUID(s)
	if ok && !id.other() {
		return id
	}
	id = uuid{}
	binary.LittleEndian.PutUint64(id[:], noUUID)
	return id
}

// other reports whether it is that of another text.
func (id *uuid) other() bool { return binary.LittleEndian.Uint64(id[:]) == noUUID }

const uuidLen = 36

// hyphens are the places in a uuid before which a hyphen is written.
const hyphens = 1<<4 | 1<<6 | 1<<8 | 1<<10

// parseUUID reads a uuid; ok is false for another text. No branch depends on a digit: a processor would guess half of those
// wrong.
func parseUUID(s string) (id uuid, ok bool) {
	if len(s) != uuidLen || s[8] != '-' || s[13] != '-' || s[18] != '-' || s[23] != '-' {
		return id, false
	}
	k, all := 0, byte(isDigit)
	for i := range id {
		k += hyphens >> i & 1
		high, low := digits[s[k]], digits[s[k+1]]
		all &= high & low
		id[i] = high<<4 | low&^isDigit
		k += 2
	}
	return id, all != 0
}

const isDigit = 1 << 4 // above the bits of a value

// digits are the values of lower-case hexadecimal digits, with isDigit.
var digits = [256]byte{
	'0': isDigit, '1': isDigit | 1, '2': isDigit | 2, '3': isDigit | 3, '4': isDigit | 4, '5': isDigit | 5, '6': isDigit | 6, '7': isDigit | 7,
	'8': isDigit | 8, '9': isDigit | 9, 'a': isDigit | 10, 'b': isDigit | 11, 'c': isDigit | 12, 'd': isDigit | 13, 'e': isDigit | 14, 'f': isDigit | 15,
}

func (id *uuid) String() string {
	var s [uuidLen]byte
	k := 0
	for i := range id {
		if hyphens>>i&1 != 0 {
			s[k] = '-'
			k++
		}
		hex.Encode(s[k:k+2], id[i:i+1])
		k += 2
	}
	return string(s[:])
}

// add keeps a uuid and returns its place.
func (u *uuids) add(s string) int32 { return u.keep(uuidOf(s), s) }

// keep is add of a uuid that was read of a text.
func (u *uuids) keep(id uuid, text string) int32 {
	if id.other() {
		binary.LittleEndian.PutUint32(id[8:], uint32(u.texts.add(strings.Clone(text))))
	}
	return u.list.add(id)
}

// text is the uuid at a place.
func (u *uuids) text(i int32) string {
	id := u.list.at(i)
	if id.other() {
		return u.other(id)
	}
	return id.String()
}

// is reports whether the uuid at a place is a text.
func (u *uuids) is(i int32, text string) bool {
	id, want := u.list.at(i), uuidOf(text)
	return u.same(id, &want, text)
}

// same reports whether a uuid of the list is another, which may be another text.
func (u *uuids) same(id, want *uuid, text string) bool {
	if want.other() {
		return id.other() && u.other(id) == text
	}
	return *id == *want
}

func (u *uuids) other(id *uuid) string {
	return *u.texts.at(int32(binary.LittleEndian.Uint32(id[8:])))
}

// lineIndex finds lines by uuid.
type lineIndex struct{ places }

func newLineIndex(lines int) lineIndex { return lineIndex{newPlaces(lines)} }

// slot is the slot of a uuid, or the free one where it belongs. text is that of another form.
func (x *lineIndex) slot(all *uuids, id *uuid, text string) *int32 {
	var at uint64
	if id.other() {
		at = x.text(text)
	} else {
		at = maphash.Bytes(x.seed, id[:])
	}
	return x.places.slot(at, func(i int32) bool { return all.same(all.list.at(i), id, text) })
}

// add keeps the uuid of a further line, and reports whether no other line has it.
func (x *lineIndex) add(all *uuids, text string) bool {
	if n := all.list.len(); x.full(n + 1) {
		*x = newLineIndex(2 * n)
		for i := range int32(n) {
			id, text := all.list.at(i), ""
			if id.other() {
				text = all.other(id)
			}
			*x.slot(all, id, text) = i + 1
		}
	}
	id := uuidOf(text)
	slot := x.slot(all, &id, text)
	if *slot > 0 {
		return false
	}
	*slot = all.keep(id, text) + 1
	return true
}

// find is the line with a uuid.
func (x *lineIndex) find(all *uuids, text string) (line int32, ok bool) {
	id := uuidOf(text)
	line = *x.slot(all, &id, text) - 1
	return line, line >= 0
}

// lineOf is the line with a uuid.
func (ld *loader) lineOf(uuid string) (line int32, ok bool) { return ld.byUUID.find(ld.uuids, uuid) }

// named sets the uuids of a message: those of lines.
func (c *chain) named(m *Message, lines []int32) {
	m.uuid, m.lines = lines[0], int32(len(lines))
	if inRow(lines) {
		return
	}
	all := &c.ld.uuids.list
	m.uuid = int32(all.len())
	for _, i := range lines {
		all.add(*all.at(i))
	}
}

// inRow reports whether each line is the one after the line before it. Those of united messages are in any order.
func inRow(lines []int32) bool {
	for k, i := range lines {
		if i != lines[0]+int32(k) {
			return false
		}
	}
	return true
}

// endsAt reports whether a line is the last one of a message.
func (c *chain) endsAt(m *Message, line int32) bool {
	all := &c.ld.uuids.list
	return m.lines > 0 && *all.at(m.uuid + m.lines - 1) == *all.at(line)
}

// linesOf lists the lines of a message.
func (c *chain) linesOf(m *Message) (lines []int32) {
	all := c.ld.uuids
	for k := range m.lines {
		i := m.uuid + k
		if int(i) >= c.ld.nodes.len() { // a copy
			id, text := all.list.at(i), ""
			if id.other() {
				text = all.other(id)
			}
			i = *c.ld.byUUID.slot(all, id, text) - 1
		}
		if i >= 0 {
			lines = append(lines, i)
		}
	}
	return lines
}

// follow adds the uuid of a further line to a message.
func (c *chain) follow(m *Message, line int32) {
	all := &c.ld.uuids.list
	if end := m.uuid + m.lines; end != line {
		if int(end) != all.len() {
			from := m.uuid
			m.uuid = int32(all.len())
			for i := range m.lines {
				all.add(*all.at(from + i))
			}
		}
		all.add(*all.at(line))
	}
	m.lines++
}
