package anonymize

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"github.com/ctxkit/ctxkit/jsonl/pattern"
	"github.com/ctxkit/ctxkit/jsonl/scan"
)

// edits follows the files that a session reads and changes, as they are and as their substitutes are: policies send files
// again as last seen, so that the text an edit replaces has to be found in the substitute of its file.
type edits struct {
	files map[string]*seenFile
	calls map[string]*fileCall // by id, without a result yet
	order []*fileCall          // the same in order
	size  int                  // of all files, bytes
	old   map[string]string    // of the call that is written: the texts that it replaces, and their substitutes
	all   map[string]bool      // first pass: texts that are replaced everywhere in a file
}

// seenFile is a file and its substitute, of one length.
type seenFile struct{ text, standIn string }

// fileCall is what a tool was asked to do to a file.
type fileCall struct {
	path, content string
	part          bool // of a read: some lines
	edits         []textEdit
}

// textEdit is one replacement in a file.
type textEdit struct {
	old, new string
	all      bool
}

const (
	maxSeen  = 256 << 10 // bytes of a file that are followed, as by policies
	maxFiles = 64 << 20  // bytes of all files
	maxCalls = 256       // calls without a result
)

// callOf reads a call on a file; nil for any other.
func callOf(input []byte) *fileCall {
	if !bytes.Contains(input, []byte("ath\"")) { // no path
		return nil
	}
	type change struct {
		Old1 string `json:"old_string"`
		Old2 string `json:"oldString"`
		Old3 string `json:"old_str"`
		Old4 string `json:"oldText"`
		New1 string `json:"new_string"`
		New2 string `json:"newString"`
		New3 string `json:"new_str"`
		New4 string `json:"newText"`
		All1 bool   `json:"replace_all"`
		All2 bool   `json:"replaceAll"`
	}
	var in struct {
		Path1   string   `json:"file_path"`
		Path2   string   `json:"filePath"`
		Path3   string   `json:"path"`
		Path4   string   `json:"absolute_path"`
		Content *string  `json:"content"`
		Text    *string  `json:"file_text"`
		Edits   []change `json:"edits"`
		change
		Pattern, Glob, Command, Offset, Limit json.RawMessage
	}
	_ = json.Unmarshal(input, &in) // the readable part
	c := &fileCall{path: cmp.Or(in.Path1, in.Path2, in.Path3, in.Path4), part: in.Offset != nil || in.Limit != nil}
	if c.path == "" || in.Pattern != nil || in.Glob != nil || in.Command != nil {
		return nil
	}
	for _, e := range append(in.Edits, in.change) {
		t := textEdit{cmp.Or(e.Old1, e.Old2, e.Old3, e.Old4), cmp.Or(e.New1, e.New2, e.New3, e.New4), e.All1 || e.All2}
		if t.old != "" || t.new != "" {
			c.edits = append(c.edits, t)
		}
	}
	if text := cmp.Or(in.Content, in.Text); text != nil {
		c.content = *text
	}
	return c
}

// call takes the input of a call.
func (w *writer) call(id string, input []byte) {
	e := &w.edits
	clear(e.old)
	c := callOf(input)
	if c == nil {
		return
	}
	if w.names == nil {
		for _, t := range c.edits {
			if t.all && len(t.old) > 1 && len(t.old) < 256 && !strings.Contains(t.old, "\n") {
				e.all[t.old] = true
			}
		}
		return
	}
	f := e.files[c.path]
	if f != nil && len(c.edits) > 0 { // calls at once are carried out in order
		ahead := *f
		for _, before := range e.order {
			if before.path == c.path {
				w.change(&ahead, before.edits)
			}
		}
		f = &ahead
	}
	for i, t := range c.edits {
		if f == nil || t.old == "" {
			continue
		}
		if i > 0 {
			w.change(f, c.edits[i-1:i])
		}
		if at := strings.Index(f.text, t.old); at >= 0 {
			e.old[t.old] = f.standIn[at : at+len(t.old)]
		}
	}
	if id != "" && len(e.order) < maxCalls {
		e.calls[id] = c
		e.order = append(e.order, c)
	}
}

// failed matches the result of a call that failed.
var failed = pattern.New(`"(is_error|isError)":\s*true|"status":\s*"error"|"success":\s*false`)

// result takes the result of a call.
func (w *writer) result(id string, within []byte, text, standIn string) {
	e := &w.edits
	c := e.calls[id]
	delete(e.calls, id)
	e.order = slices.DeleteFunc(e.order, func(o *fileCall) bool { return o == c })
	if failed().Match(within) {
		return
	}
	f := e.files[c.path]
	if f == nil {
		f = &seenFile{}
		e.files[c.path] = f
	}
	hold := func(text, standIn string) {
		if len(text) > maxSeen {
			text = text[:maxSeen]
			standIn = standIn[:maxSeen]
		}
		e.size += len(text) - len(f.text)
		f.text = text
		f.standIn = standIn
	}
	switch {
	case c.content != "":
		hold(c.content, string(w.texts.text(nil, c.content)))
	case len(c.edits) == 0:
		if !strings.HasPrefix(text, "File unchanged since last read") && (!c.part || f.text == "") {
			hold(withoutNumbers(text), withoutNumbers(standIn))
		}
	case f.text == "" && c.edits[0].old == "":
		hold(c.edits[0].new, string(w.texts.text(nil, c.edits[0].new)))
	case f.text == "":
		if _, snippet, ok := strings.Cut(text, "\n"); ok && numbered().MatchString(snippet) {
			_, other, _ := strings.Cut(standIn, "\n")
			hold(withoutNumbers(snippet), withoutNumbers(other))
		}
	default:
		was := len(f.text)
		w.change(f, c.edits)
		e.size += len(f.text) - was
	}
	if e.size > maxFiles {
		clear(e.files)
		e.size = 0
	}
}

// change makes edits of a file and of its substitute.
func (w *writer) change(f *seenFile, edits []textEdit) {
	for _, t := range edits {
		if t.old == "" {
			continue
		}
		other := string(w.texts.text(nil, t.new))
		for from := 0; len(f.text) <= maxSeen; {
			at := strings.Index(f.text[from:], t.old)
			if at < 0 {
				break
			}
			at += from
			f.text = f.text[:at] + t.new + f.text[at+len(t.old):]
			f.standIn = f.standIn[:at] + other + f.standIn[at+len(t.old):]
			if from = at + len(t.new); !t.all {
				break
			}
		}
	}
}

// withoutNumbers takes the numbers off the lines of a file, and what comes after them.
func withoutNumbers(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		at := numbered().FindStringIndex(line)
		if at == nil {
			if b.Len() == 0 {
				return text
			}
			break
		}
		b.WriteString(line[at[1]:])
	}
	return b.String()
}

// resultOf is the id of the call whose result a string is, and the JSON around it; "" for any other string.
func (w *writer) resultOf(b []byte, key string) (id string, within []byte) {
	if len(w.edits.calls) == 0 || key != "content" && key != "text" && key != "output" {
		return "", nil
	}
	for up := len(w.stack) - 1; up >= max(0, len(w.stack)-4); up-- {
		f := &w.stack[up]
		if !f.object {
			continue
		}
		end, fault := scan.Value(b, f.from, 0)
		if fault != scan.OK {
			return "", nil
		}
		if id := idOf(b, f.from); w.edits.calls[id] != nil {
			return id, b[f.from:end]
		} else if id != "" && up < len(w.stack)-1 {
			return "", nil
		}
	}
	return "", nil
}

// idOf is the id of a call that an object has.
func idOf(b []byte, from int) string {
	id := ""
	m := scan.Object(b, from, 0)
	for m.Next() {
		key, _ := m.Key()
		at := m.At
		m.At, m.Code = scan.Value(b, at, 1)
		switch string(key) {
		case "tool_use_id", "call_id", "callID", "toolCallId":
			if m.Code == scan.OK && b[at] == '"' {
				return string(b[at+1 : m.At-1])
			}
		case "id":
			if m.Code == scan.OK && b[at] == '"' {
				id = string(b[at+1 : m.At-1])
			}
		}
	}
	return id
}
