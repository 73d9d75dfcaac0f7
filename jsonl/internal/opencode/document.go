package opencode

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"slices"

	"github.com/ctxkit/ctxkit/jsonl/foreign"
	"github.com/ctxkit/ctxkit/jsonl/scan"
)

// Codes of warnings, as package session has them.
const (
	codeCut       = "reading-stopped"
	codeMalformed = "malformed-line"
	codeMetadata  = "unreadable-metadata"
)

// document collects the messages of a text.
type document struct {
	text []byte
	*foreign.Writer

	counted, line int // text[:counted] has line-1 line ends

	info     *info // of the session; nil: none
	messages []*message
	byKey    map[string]*message // those with an id, by what makes two the same
	other    bool                // the data belongs to another session
}

// message is a message with its parts.
type message struct {
	info
	unit  foreign.Unit
	line  int
	parts []part
	flat  *flat // of 2.x: what it is; nil: one of 1.x
}

// aside sets a message aside with all its parts.
func (m *message) aside(w *foreign.Writer, reason string) {
	w.Aside(m.unit, reason)
	for i := range m.parts {
		w.Aside(m.parts[i].unit, reason)
	}
}

// lineOf is the line of an index. It is quick for one that is not before the last.
func (d *document) lineOf(at int) int {
	if at < d.counted {
		d.counted = 0
		d.line = 1
	}
	d.line += bytes.Count(d.text[d.counted:at], []byte("\n"))
	d.counted = at
	return d.line
}

// read reads every value of the text.
func (d *document) read() {
	b := d.text
	d.byKey = map[string]*message{}
	at := scan.Space(b, len(b)-len(bytes.TrimPrefix(b, []byte("\xEF\xBB\xBF"))))
	for at < len(b) {
		end := at
		fault := scan.NoValue
		if b[at] == '{' {
			d.other = false
			end, fault = d.object(at, 0)
		}
		switch {
		case fault == scan.OK:
			at = scan.Space(b, end)
		case len(bytes.TrimSpace(b[end:])) == 0:
			d.Warn(d.lineOf(end), codeCut, "the text ends in the middle of a value: what is whole before it is used")
			return
		default:
			if next := d.next(max(end, at+1)); next < 0 || !punctuation(b[end:next]) {
				line := d.lineOf(end)
				d.Aside(d.Unit(line), "malformed")
				d.Warn(line, codeMalformed, "%s: what follows is set aside up to the next message", fault)
			}
			if at = d.next(max(end, at+1)); at < 0 {
				return
			}
		}
	}
}

// punctuation reports whether a text is only what stands between messages and behind them.
func punctuation(b []byte) bool { return len(bytes.Trim(b, " \t\r\n,]}")) == 0 }

// next is the index of the next object from an index on whose first member is "info"; -1: there is none.
func (d *document) next(at int) int {
	name := []byte(`"info"`)
	for at < len(d.text) {
		i := bytes.Index(d.text[at:], name)
		if i < 0 {
			return -1
		}
		if before := bytes.TrimRight(d.text[at:at+i], " \t\r\n"); bytes.HasSuffix(before, []byte("{")) {
			return at + len(before) - 1
		}
		at += i + len(name)
	}
	return -1
}

// object reads a document or a message: an object with info and messages or parts. What is whole of one that is cut
// is used.
func (d *document) object(at, depth int) (int, scan.Fault) {
	m := scan.Object(d.text, at, depth)
	var own message
	var session *info
	own.unit, own.line = -1, d.lineOf(at)
	list := false
	for m.Next() {
		from := m.At
		key, _ := m.Key()
		bracket := d.text[from]
		switch {
		case string(key) == "info" && bracket == '{' && own.unit < 0:
			if m.At, m.Code = scan.Value(d.text, from, m.Depth()); m.Code != scan.OK {
				continue
			}
			own.line = d.lineOf(from)
			own.unit = d.Unit(own.line)
			d.decode(d.text[from:m.At], own.line, &own.info)
			if own.Role == "" {
				session = &own.info
				d.session(session, own.unit)
			}
		case string(key) == "messages" && bracket == '[':
			list = true
			m.At, m.Code = d.list(&m, func(at int) (int, scan.Fault) {
				switch {
				case d.text[at] == '{' && d.isFlat(at, m.Depth()+1):
					return d.flat(at, m.Depth()+1)
				case d.text[at] == '{':
					return d.object(at, m.Depth()+1)
				}
				d.Aside(d.Unit(d.lineOf(at)), "not a message")
				return scan.Value(d.text, at, m.Depth()+1)
			})
		case string(key) == "parts" && bracket == '[':
			m.At, m.Code = d.list(&m, func(at int) (int, scan.Fault) {
				end, fault := scan.Value(d.text, at, m.Depth()+1)
				if fault == scan.OK {
					line := d.lineOf(at)
					p := part{unit: d.Unit(line), line: line}
					d.decode(d.text[at:end], line, &p)
					own.parts = append(own.parts, p)
				}
				return end, fault
			})
		default:
			m.At, m.Code = scan.Value(d.text, from, m.Depth())
		}
	}
	if session == nil && !list {
		d.message(&own)
	}
	return m.At, m.Code
}

// list walks the array that is a member's value.
func (d *document) list(m *scan.Members, read func(at int) (int, scan.Fault)) (int, scan.Fault) {
	a := scan.Array(d.text, m.At, m.Depth())
	for a.Next() {
		a.At, a.Code = read(a.At)
	}
	return a.At, a.Code
}

// decode decodes a value that is JSON; a field of another type than it should have is passed over.
func (d *document) decode(value []byte, line int, into any) {
	if err := json.Unmarshal(value, into); err != nil {
		var kind *json.UnmarshalTypeError
		field := ""
		if errors.As(err, &kind) {
			field = " (" + kind.Field + ")"
		}
		d.Warn(line, codeMetadata, "a message is partly unreadable%s: the readable part is used", field)
	}
}

// session takes the info of a session.
func (d *document) session(i *info, u foreign.Unit) {
	switch {
	case d.info == nil:
		d.info = i
	case d.info.ID == i.ID:
		d.Aside(u, "repeated session")
	default:
		d.other = true
		d.Aside(u, "another session")
		d.Warn(d.line, codeMalformed, "a second session, %q: its messages are set aside: put each session into a file of its own", i.ID)
	}
}

// message takes a message. One that is there already, as in two exports of a session in one file, takes the place of
// the earlier one.
func (d *document) message(m *message) {
	if m.unit < 0 {
		if len(m.parts) == 0 {
			d.Aside(d.Unit(m.line), "not a message")
			return
		}
		for i := range m.parts {
			d.Aside(m.parts[i].unit, "part of a message without its info")
		}
		return
	}
	if d.other {
		m.aside(d.Writer, "another session")
		return
	}
	if old := d.byKey[m.key()]; m.ID != "" && old != nil {
		if len(m.parts) < len(old.parts) {
			m.aside(d.Writer, "repeated message")
			return
		}
		old.aside(d.Writer, "repeated message")
		*old = *m
		return
	}
	d.byKey[m.key()] = m
	d.messages = append(d.messages, m)
}

// order puts the messages into the order of their times, which is that of an export.
func (d *document) order() {
	if len(d.messages) > 0 && d.messages[0].flat != nil {
		return // in the order of their numbers
	}
	byTime := func(a, b *message) int { return cmp.Compare(a.Time.Created, b.Time.Created) }
	if slices.IsSortedFunc(d.messages, byTime) || slices.ContainsFunc(d.messages, func(m *message) bool { return m.Time.Created <= 0 }) {
		return
	}
	d.Warn(d.messages[0].line, codeMetadata, "the messages are not in the order of their times: they are read in that order")
	slices.SortStableFunc(d.messages, byTime)
}
