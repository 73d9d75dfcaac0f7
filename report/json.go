package report

import (
	"bytes"
	"encoding/json"
	"io"
	"unicode"
	"unicode/utf8"

	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/replay"
)

// replayJSON prints one timeline as it is, or several in one object.
type replayJSON struct {
	w       io.Writer
	several bool
	n       int
}

func (r *replayJSON) Add(tl *replay.Timeline) error {
	if !r.several {
		return writeJSON(r.w, "", filled(tl), "\n")
	}
	lead := ",\n    "
	if r.n == 0 {
		lead = "{\n  \"schema\": \"" + replay.Schema + "\",\n  \"sessions\": [\n    "
	}
	r.n++
	if _, err := io.WriteString(r.w, lead); err != nil {
		return err
	}
	return writeJSON(r.w, "    ", filled(tl), "")
}

func (r *replayJSON) Close() error {
	if !r.several {
		return nil
	}
	end := "\n  ]\n}\n"
	if r.n == 0 {
		end = "{\n  \"schema\": \"" + replay.Schema + "\",\n  \"sessions\": []\n}\n"
	}
	_, err := io.WriteString(r.w, end)
	return err
}

// filled is tl with empty lists where it has none, so that the JSON form has
// one type a field.
func filled(tl *replay.Timeline) *replay.Timeline {
	c := *tl
	if c.Schema == "" {
		c.Schema = replay.Schema
	}
	if c.Stages == nil {
		c.Stages = []string{}
	}
	if c.Lines.SetAside == nil {
		c.Lines.SetAside = map[string]int{}
	}
	c.Requests = append([]replay.Request{}, tl.Requests...)
	for i := range c.Requests {
		if c.Requests[i].Events == nil {
			c.Requests[i].Events = []int{}
		}
	}
	c.Events = append([]replay.Event{}, tl.Events...)
	for i := range c.Events {
		if c.Events[i].Targets == nil {
			c.Events[i].Targets = []replay.Target{}
		}
	}
	c.Findings = append([]replay.Finding{}, tl.Findings...)
	c.Warnings = append([]session.Warning{}, tl.Warnings...)
	return &c
}

// WriteJSON prints v as indented JSON that is safe to show on a terminal.
func WriteJSON(w io.Writer, v any) error { return writeJSON(w, "", v, "\n") }

func writeJSON(w io.Writer, prefix string, v any, end string) error {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent(prefix, "  ")
	if err := enc.Encode(v); err != nil {
		return err
	}
	text := escapeJSON(bytes.TrimSuffix(b.Bytes(), []byte("\n")))
	_, err := w.Write(append(text, end...))
	return err
}

// escapeJSON writes control and invisible characters as \u escapes, and bytes
// that are not UTF-8 as U+FFFD, which is how they are read. Outside of strings
// JSON has none of them, so the value stays the same.
func escapeJSON(text []byte) []byte {
	clean := true
	for _, c := range text {
		if c >= 0x7f {
			clean = false
			break
		}
	}
	if clean {
		return text
	}
	out := make([]byte, 0, len(text)+64)
	for i := 0; i < len(text); {
		r, n := utf8.DecodeRune(text[i:])
		if r == utf8.RuneError && n == 1 || r >= 0x7f && r < 0xa0 || r >= 0xa0 && (invisible(r) || unicode.IsControl(r)) {
			out = appendEscaped(out, r)
		} else {
			out = append(out, text[i:i+n]...)
		}
		i += n
	}
	return out
}

func appendEscaped(out []byte, r rune) []byte {
	const hex = "0123456789abcdef"
	unit := func(u rune) {
		out = append(out, '\\', 'u', hex[u>>12&15], hex[u>>8&15], hex[u>>4&15], hex[u&15])
	}
	if r > 0xffff {
		r -= 0x10000
		unit(0xd800 + r>>10)
		unit(0xdc00 + r&0x3ff)
		return out
	}
	unit(r)
	return out
}

// replayNDJSON prints one request a line, its session named and its events
// inlined. Events after the last request stand on a line of kind "end".
type replayNDJSON struct{ w io.Writer }

// requestLine is one line of the ndjson form.
type requestLine struct {
	Schema  string `json:"schema"`
	Session string `json:"session"`
	Agent   string `json:"agent,omitempty"`
	File    string `json:"file"`
	Policy  string `json:"policy"`
	Counter string `json:"counter"`
	replay.Request
	Events []replay.Event `json:"events"` // in place of their indexes
}

// endLine is the line after the last request.
type endLine struct {
	Schema  string         `json:"schema"`
	Session string         `json:"session"`
	Agent   string         `json:"agent,omitempty"`
	File    string         `json:"file"`
	Policy  string         `json:"policy"`
	Counter string         `json:"counter"`
	Kind    string         `json:"kind"`
	Events  []replay.Event `json:"events"`
}

func (r *replayNDJSON) Add(tl *replay.Timeline) error {
	tl = filled(tl)
	own, rest := ownEvents(tl)
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	for i, q := range tl.Requests {
		line := requestLine{tl.Schema, tl.Session, tl.Agent, tl.File, tl.Policy, tl.Counter, q, []replay.Event{}}
		for _, n := range own[i] {
			line.Events = append(line.Events, tl.Events[n])
		}
		if err := r.print(&b, enc, line); err != nil {
			return err
		}
	}
	end := endLine{tl.Schema, tl.Session, tl.Agent, tl.File, tl.Policy, tl.Counter, "end", nil}
	for _, n := range rest {
		end.Events = append(end.Events, tl.Events[n])
	}
	if len(end.Events) == 0 {
		return nil
	}
	return r.print(&b, enc, end)
}

func (r *replayNDJSON) print(b *bytes.Buffer, enc *json.Encoder, line any) error {
	b.Reset()
	if err := enc.Encode(line); err != nil {
		return err
	}
	_, err := r.w.Write(escapeJSON(b.Bytes()))
	return err
}

func (r *replayNDJSON) Close() error { return nil }

// jsonString is s as a JSON string.
func jsonString(s string) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(s); err != nil {
		panic(err) // a string always has a form
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}
