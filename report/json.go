package report

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"reflect"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/ctxkit/ctxkit/replay"
)

// object is a JSON object with its members in this order. A nil list is printed as []. A member whose key ends in
// ",omitempty" is left out if it is empty.
type object []member

type member struct {
	key   string
	value any
}

// MarshalJSON implements json.Marshaler.
func (o object) MarshalJSON() ([]byte, error) {
	b := []byte{'{'}
	for _, m := range o {
		key, optional := strings.CutSuffix(m.key, ",omitempty")
		if v := reflect.ValueOf(m.value); optional && (v.IsZero() || v.Kind() == reflect.Slice && v.Len() == 0) {
			continue
		}
		value, err := compact(m.value)
		if err != nil {
			return nil, err
		}
		if len(b) > 1 {
			b = append(b, ',')
		}
		b = fmt.Appendf(b, "%q:%s", key, value)
	}
	return append(b, '}'), nil
}

// compact returns v as JSON on one line. Nil lists are [].
func compact(v any) ([]byte, error) { return indentedJSON("", "", v) }

// encoded returns v as indented JSON, each line but the first after prefix.
func encoded(prefix string, v any) ([]byte, error) { return indentedJSON(prefix, "  ", v) }

func indentedJSON(prefix, indent string, v any) ([]byte, error) {
	if r := reflect.ValueOf(v); r.Kind() == reflect.Slice && r.IsNil() {
		return []byte("[]"), nil
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent(prefix, indent)
	err := enc.Encode(v)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}

// WriteJSON prints v as indented JSON that is safe to show on a terminal.
func WriteJSON(w io.Writer, v any) error {
	text, err := encoded("", v)
	if err != nil {
		return err
	}
	_, err = w.Write(append(escapeJSON(text), '\n'))
	return err
}

// jsonStream prints an object whose last member is a list, item by item.
type jsonStream struct {
	w    io.Writer
	head object // the members before the list
	list string // the name of the list
	tail object // the members after the list
	n    int    // items printed
}

// begin returns the text before the first item.
func (s *jsonStream) begin() string {
	text := "{\n"
	for _, m := range s.head {
		value, _ := encoded("  ", m.value) // a string
		text += fmt.Sprintf("  %q: %s,\n", m.key, escapeJSON(value))
	}
	return text + fmt.Sprintf("  %q: [", s.list)
}

// add prints an item, which is JSON.
func (s *jsonStream) add(item []byte) error {
	lead := ","
	if s.n == 0 {
		lead = s.begin()
	}
	s.n++
	_, err := s.w.Write(append([]byte(lead+"\n    "), escapeJSON(item)...))
	return err
}

// end prints the members after the list.
func (s *jsonStream) end() error {
	text := "\n  ]"
	if s.n == 0 {
		text = s.begin() + "]"
	}
	for _, m := range s.tail {
		value, err := encoded("  ", m.value)
		if err != nil {
			return err
		}
		text += fmt.Sprintf(",\n  %q: %s", m.key, escapeJSON(value))
	}
	_, err := io.WriteString(s.w, text+"\n}\n")
	return err
}

// unsafeJSON reports whether r is a control or an invisible character, or the replacement of a byte that is not
// UTF-8.
func unsafeJSON(r rune) bool {
	return r >= 0x7f && (r < 0xa0 || r == utf8.RuneError || invisible(r))
}

// escapeJSON writes the runes of unsafeJSON as \u escapes, and splits what a CI system would take for a command in the
// same way. Outside of strings JSON has none of them, so no value changes.
func escapeJSON(text []byte) []byte {
	if bytes.Contains(text, []byte("##")) {
		text = commandMark().ReplaceAll(text, []byte(`#\u0023$1`))
	}
	if !bytes.ContainsFunc(text, unsafeJSON) {
		return text
	}
	out := make([]byte, 0, len(text)+64)
	for _, r := range string(text) {
		if !unsafeJSON(r) {
			out = utf8.AppendRune(out, r)
			continue
		}
		for _, unit := range utf16.AppendRune(nil, r) {
			out = fmt.Appendf(out, `\u%04x`, unit)
		}
	}
	return out
}

// filled returns tl with empty lists in place of nil, so that each JSON field has one type.
func filled(tl *replay.Timeline) *replay.Timeline {
	c := *tl
	c.Schema = cmp.Or(c.Schema, replay.Schema)
	if c.Lines.SetAside == nil {
		c.Lines.SetAside = map[string]int{}
	}
	c.Requests, c.Events = notNil(c.Requests), notNil(c.Events)
	c.Stages, c.Limits, c.Findings, c.Warnings = notNil(c.Stages), notNil(c.Limits), notNil(c.Findings), notNil(c.Warnings)
	return &c
}

func notNil[T any](list []T) []T {
	return either(list == nil, []T{}, list)
}

// named are the names of a conversation and of the replay of it.
type named struct {
	Session string `json:"session"`
	Agent   string `json:"agent,omitempty"`
	File    string `json:"file"`
	Policy  string `json:"policy"`
	Counter string `json:"counter"`
}

func names(tl *replay.Timeline) named {
	return named{tl.Session, tl.Agent, tl.File, tl.Policy, tl.Counter}
}

// cells are the first columns of CSV, namedKeys.
func (n *named) cells() []any { return []any{n.Session, n.Agent, n.File, n.Policy, n.Counter} }

const namedKeys = "session agent file policy counter"

// replayNDJSON returns a printer of one request per line, with its names and its events. Events after the last
// request are on a line of kind "end".
func replayNDJSON(w io.Writer) Printer[*replay.Timeline] {
	line := func(v any) error {
		text, err := compact(v)
		if err == nil {
			_, err = w.Write(append(escapeJSON(text), '\n'))
		}
		return err
	}
	return eachPrinter(func(tl *replay.Timeline) error {
		tl = filled(tl)
		own, rest := ownEvents(tl)
		events := func(indexes []int) []replay.Event {
			list := make([]replay.Event, len(indexes))
			for i, n := range indexes {
				list[i] = tl.Events[n]
			}
			return list
		}
		for i, q := range tl.Requests {
			if err := line(requestLine{tl.Schema, names(tl), &q, events(own[i])}); err != nil {
				return err
			}
		}
		if len(rest) == 0 {
			return nil
		}
		return line(endLine{tl.Schema, names(tl), "end", events(rest)})
	})
}

// requestLine is one line of NDJSON.
type requestLine struct {
	Schema string `json:"schema"`
	named
	*replay.Request
	Events []replay.Event `json:"events"` // instead of their indexes
}

// endLine is the line after the last request.
type endLine struct {
	Schema string `json:"schema"`
	named
	Kind   string         `json:"kind"`
	Events []replay.Event `json:"events"`
}
