package scan

import (
	"encoding/binary"
	"math/bits"
	"unicode/utf8"
)

// Lengths are the lengths of one string, decoded, or of one value, written compactly: without white space between its
// tokens, its numbers as they are, its strings as JSON.stringify writes them.
type Lengths struct {
	UTF16 int // UTF-16 units: of the decoded string; of the compact value
	Bytes int // the same in UTF-8; a lone surrogate of a decoded string is 3 (U+FFFD)

	// Of strings only: JSON.stringify of it, quotes included. A lone surrogate is written as an escape of 6.
	JSON      int // UTF-16 units
	JSONBytes int // bytes of UTF-8

	Coded bool // a character was written as its four hexadecimal digits
}

// MeasureString skips the string whose quote is b[i] and adds its lengths to l.
func MeasureString(b []byte, i int, l *Lengths) (int, Fault) {
	i++
	start := i
	// What the decoded and the canonical form have more or less than the bytes as they are; lone counts surrogates
	// without a partner.
	var units, size, canon, lone int
	for {
		for i+16 <= len(b) {
			w := b[i : i+16 : i+16]
			x := binary.LittleEndian.Uint64(w)
			m := special(x) | (x & highs)
			if m != 0 {
				i += bits.TrailingZeros64(m) >> 3
				goto found
			}
			x = binary.LittleEndian.Uint64(w[8:])
			if m = special(x) | (x & highs); m != 0 {
				i += 8 + bits.TrailingZeros64(m)>>3
				goto found
			}
			i += 16
		}
		if i >= len(b) {
			return len(b), End
		}
	found:
		switch c := b[i]; {
		case c == '"':
			n := i - start
			l.UTF16 += n + units
			l.Bytes += n + size
			l.JSON += n + canon + 2
			// Every unit that the canonical form has more than the decoded one is ASCII, but for a lone surrogate: 3
			// bytes as U+FFFD, 6 written.
			l.JSONBytes += n + size + canon - units + 2 - 2*lone
			return i + 1, OK
		case c == '\\':
			if i+1 >= len(b) {
				return len(b), End
			}
			switch escapes[b[i+1]] {
			case oneLetter:
				units--
				size--
				if b[i+1] == '/' { // written without a backslash
					canon--
				}
				i += 2
			case fourDigits:
				if hex4(b, i+2) < 0 {
					return badHex(b, i+2)
				}
				l.Coded = true
				r, n := escaped(b, i)
				du, ds, dc := runeLengths(r)
				units += du - n
				size += ds - n
				canon += dc - n
				if isSurrogate(r) {
					lone++
				}
				i += n
			default:
				return i + 1, Escape
			}
		case c < 0x20:
			return i, Control
		case c < utf8.RuneSelf:
			i++
		default:
			for i < len(b) && b[i] >= utf8.RuneSelf {
				n := sequence(b, i)
				switch n {
				case 1: // not UTF-8: U+FFFD, 3 bytes of 1
					size += 2
				case 2:
					units--
					canon--
				default: // three bytes are one unit, four are two
					units -= 2
					canon -= 2
				}
				i += n
			}
		}
	}
}

// sequence is the length of the UTF-8 sequence at b[i], 1 where it is none.
func sequence(b []byte, i int) int {
	switch c := b[i]; {
	case c-0xE1 < 0xED-0xE1 || c-0xEE < 2: // three bytes, any continuation
		if i+2 < len(b) && b[i+1]&0xC0 == 0x80 && b[i+2]&0xC0 == 0x80 {
			return 3
		}
		return 1
	case c-0xC2 < 0xE0-0xC2:
		if i+1 < len(b) && b[i+1]&0xC0 == 0x80 {
			return 2
		}
		return 1
	}
	_, n := utf8.DecodeRune(b[i:])
	return n
}

// runeLengths are the lengths of one decoded rune: UTF-16 units, bytes of UTF-8, units of its canonical JSON.
func runeLengths(r rune) (units, size, canon int) {
	switch {
	case r == '"' || r == '\\' || r == '\b' || r == '\f' || r == '\n' || r == '\r' || r == '\t':
		return 1, 1, 2
	case r < 0x20:
		return 1, 1, 6
	case r < 0x80:
		return 1, 1, 1
	case r < 0x800:
		return 1, 2, 1
	case isSurrogate(r):
		return 1, 3, 6
	case r < 0x10000:
		return 1, 3, 1
	}
	return 2, 4, 2
}

// MeasureValue skips the value that begins at b[i], inside depth open brackets, and adds the lengths of its compact
// form to l.UTF16 and l.Bytes. Members of an object count as they are, those with the same key too.
func MeasureValue(b []byte, i, depth int, l *Lengths) (int, Fault) {
	if i >= len(b) {
		return len(b), End
	}
	switch b[i] {
	case '"':
		return measureQuoted(b, i, l)
	case '{':
		return measureObject(b, i, depth, l)
	case '[':
		return measureArray(b, i, depth, l)
	}
	end, code := scalar(b, i)
	if code == OK {
		l.UTF16 += end - i
		l.Bytes += end - i
	}
	return end, code
}

// measureQuoted adds the canonical form of a string to l.UTF16 and l.Bytes.
func measureQuoted(b []byte, i int, l *Lengths) (int, Fault) {
	var s Lengths
	end, code := MeasureString(b, i, &s)
	l.UTF16 += s.JSON
	l.Bytes += s.JSONBytes
	return end, code
}

func measureObject(b []byte, i, depth int, l *Lengths) (int, Fault) {
	m := Object(b, i, depth)
	n := 0
	for ; m.Next(); n++ {
		measureQuoted(b, m.keyAt, l)
		m.At, m.Code = MeasureValue(b, m.At, depth+1, l)
	}
	l.Brackets(n, 2)
	return m.At, m.Code
}

func measureArray(b []byte, i, depth int, l *Lengths) (int, Fault) {
	m := Array(b, i, depth)
	n := 0
	for ; m.Next(); n++ {
		m.At, m.Code = MeasureValue(b, m.At, depth+1, l)
	}
	l.Brackets(n, 1)
	return m.At, m.Code
}

// Brackets adds the brackets and separators around n values to l.UTF16 and l.Bytes: a comma before each but the
// first, and with each of 2 a colon.
func (l *Lengths) Brackets(n, each int) {
	size := 2 + n*each - min(n, 1)
	l.UTF16 += size
	l.Bytes += size
}
