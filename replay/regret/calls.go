package regret

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
)

// input is what the inputs of the file tools hold.
type input struct {
	FilePath     string      `json:"file_path"`
	NotebookPath string      `json:"notebook_path"`
	Offset       json.Number `json:"offset"`
	Limit        json.Number `json:"limit"`
	OldString    string      `json:"old_string"`
	NewString    string      `json:"new_string"`
	Content      string      `json:"content"`
	Edits        []struct {
		OldString string `json:"old_string"`
		NewString string `json:"new_string"`
	} `json:"edits"`
}

// readInput reads a tool's input, and gives every text in it, one a line; keys
// are the tool's and not the agent's words.
func readInput(raw string) (in input, texts string, err error) {
	// A field of another type than the file tools have is another tool's.
	_ = json.Unmarshal([]byte(raw), &in)
	var b strings.Builder
	d := json.NewDecoder(strings.NewReader(raw))
	if err := values(d, &b); err != nil && err != io.EOF {
		return in, "", err
	}
	return in, b.String(), nil
}

// values writes down the strings of the next JSON value that are no keys.
func values(d *json.Decoder, b *strings.Builder) error {
	tok, err := d.Token()
	if err != nil {
		return err
	}
	switch tok := tok.(type) {
	case string:
		b.WriteString(tok)
		b.WriteByte('\n')
	case json.Delim:
		for d.More() {
			if tok == '{' {
				if _, err := d.Token(); err != nil {
					return err
				}
			}
			if err := values(d, b); err != nil {
				return err
			}
		}
		_, err = d.Token() // the end of it
	}
	return err
}

// file is what was read of and written to one file.
type file struct {
	providers []int32 // blocks that hold (parts of) its text, oldest first
	reads     []read  // what Read has shown of it, oldest first
	state     int     // which of its states it is in, as far as tools changed it
	states    int     // how many there were
}

// read is a result of Read, in one of a file's states.
type read struct {
	at    int32
	state int
}

// readRange is a stretch of a file in one of its states.
type readRange struct {
	path          string
	offset, limit string
	state         int
}

// call is a call of a file tool whose result is still to come.
type call struct {
	id    string
	write int32 // the block that changes the file; -1 of a Read
	from  int   // the state before the change
	read  readRange
	again *use // of a Read: of the newest result of the same range, if there is one
}

// from is an offset, as a Read without one has it.
func from(offset string) string {
	if offset == "0" || offset == "1" {
		return ""
	}
	return offset
}

func (b *builder) file(path string) *file {
	f := b.files[path]
	if f == nil {
		f = &file{}
		b.files[path] = f
	}
	return f
}

// attachment notes a file that was attached.
func (b *builder) attachment(at int32, kind string) {
	if kind != "file" && kind != "edited_text_file" {
		return
	}
	if len(b.attached) == maxProviders {
		b.attached = slices.Delete(b.attached, 0, 1)
	}
	b.attached = append(b.attached, at)
}

// alsoIn adds the newest attached files that hold a text.
func (b *builder) alsoIn(holders []int32, old string) ([]int32, error) {
	for _, at := range b.attached {
		text, err := b.text(b.at(at))
		if err != nil {
			return nil, fmt.Errorf("looking for uses: %w", err)
		}
		if shows(text, old) {
			holders = append(holders, at)
		}
	}
	return holders, nil
}

// maxProviders is how many of the newest texts of a file an Edit is looked up
// in.
const maxProviders = 8

// call looks at one call of a tool that works on files.
func (b *builder) call(m, i, request int, in input) error {
	bl := &b.conv.Messages[m].Blocks[i]
	at := b.base[m] + int32(i)
	path := in.FilePath
	if path == "" {
		path = in.NotebookPath
	}
	if path == "" {
		return nil
	}
	f := b.file(path)
	switch bl.Name {
	case "Read", "NotebookRead":
		r := readRange{path, from(in.Offset.String()), in.Limit.String(), f.state}
		c := call{id: bl.ID, write: -1, read: r}
		if old, ok := b.reads[r]; ok {
			c.again = &use{request: request, source: old, message: int32(m), line: bl.Line, evidence: Reread, quote: path}
		}
		b.calls = append(b.calls, c)
	case "Edit", "MultiEdit", "NotebookEdit":
		for _, old := range olds(in) {
			if err := b.edit(m, request, f, old); err != nil {
				return err
			}
		}
		b.change(bl.ID, path, f, at)
	case "Write":
		b.change(bl.ID, path, f, at)
	}
	return nil
}

// change notes that a block writes to a file.
func (b *builder) change(id, path string, f *file, at int32) {
	b.calls = append(b.calls, call{id: id, write: at, from: f.state, read: readRange{path: path}})
	f.states++
	f.state = f.states
	f.providers = append(f.providers, at)
}

// readAgain notes the use of what a Read shows again, where it shows the same:
// a file that somebody else has changed had to be read. Every result that shows
// it, of whatever range, holds it.
func (b *builder) readAgain(c *call, result int32) error {
	again, err := b.numbered(result)
	if err != nil {
		return err
	}
	u := c.again
	reads := b.files[c.read.path].reads
	for i := len(reads) - 1; i >= 0 && len(u.holders) < maxProviders; i-- {
		if reads[i].state != c.read.state {
			continue
		}
		text, err := b.numbered(reads[i].at)
		if err != nil {
			return err
		}
		if holdsLines(text, again) {
			u.holders = append(u.holders, reads[i].at)
		}
	}
	if !slices.Contains(u.holders, u.source) {
		return nil
	}
	text, err := b.shown(u.source)
	if err == nil && text != "" {
		u.holders, err = b.alsoIn(u.holders, text)
	}
	b.uses = append(b.uses, *u)
	return err
}

// holdsLines reports whether whole lines of a text are those of another.
func holdsLines(text, lines string) bool {
	return strings.Contains("\n"+text+"\n", "\n"+lines+"\n")
}

// unchange takes a change back that failed. What came in the same message
// stands: the file is then in a state of its own.
func (b *builder) unchange(c *call) {
	f := b.files[c.read.path]
	at := slices.Index(f.providers, c.write)
	if at == len(f.providers)-1 && f.state == f.states {
		f.state = c.from
	}
	if at >= 0 {
		f.providers = slices.Delete(f.providers, at, at+1)
	}
}

func olds(in input) []string {
	var out []string
	if strings.TrimSpace(in.OldString) != "" {
		out = append(out, in.OldString)
	}
	for _, e := range in.Edits {
		if strings.TrimSpace(e.OldString) != "" {
			out = append(out, e.OldString)
		}
	}
	return out
}

// edit notes the use of an old_string: the newest text of the file that holds
// it is to blame where none that holds it is left.
func (b *builder) edit(m, request int, f *file, old string) error {
	old = unixLines(old)
	u := use{request: request, source: -1, message: int32(m), line: b.conv.Messages[m].Line, evidence: Edited, quote: firstLine(old), text: old}
	for i := len(f.providers) - 1; i >= 0 && len(f.providers)-i <= maxProviders; i-- {
		at := f.providers[i]
		pm, pb := b.at(at)
		text, err := b.text(pm, pb)
		if err != nil {
			return fmt.Errorf("looking for uses: %w", err)
		}
		if pm == m || !b.provides(at, text, old) {
			continue
		}
		if u.source < 0 {
			u.source = at
		}
		u.holders = append(u.holders, at)
	}
	if u.source < 0 {
		return nil
	}
	var err error
	u.holders, err = b.alsoIn(u.holders, old)
	b.uses = append(b.uses, u)
	return err
}

// provides reports whether a block's text holds old: the text of a tool's
// input is what it writes, that of a result what it shows, line numbers off.
func (b *builder) provides(at int32, text, old string) bool {
	m, i := b.at(at)
	if b.conv.Messages[m].Blocks[i].Name != "" {
		in, _, err := readInput(text)
		if err != nil {
			return false
		}
		if strings.Contains(unixLines(in.Content), old) || strings.Contains(unixLines(in.NewString), old) {
			return true
		}
		for _, e := range in.Edits {
			if strings.Contains(unixLines(e.NewString), old) {
				return true
			}
		}
		return false
	}
	return shows(text, old)
}

// numbered is the part of a file that the result of a Read shows, with the
// numbers of its lines.
func (x *Index) numbered(result int32) (string, error) {
	text, err := x.conv.WholeText(x.at(result))
	if err != nil {
		return "", fmt.Errorf("looking for what was read again: %w", err)
	}
	text, _, _ = strings.Cut(text, "<system-reminder>")
	return strings.TrimRight(unixLines(text), " \t\n"), nil
}

// shown is the same without the numbers.
func (x *Index) shown(result int32) (string, error) {
	text, err := x.numbered(result)
	return strings.TrimSpace(unnumbered(text)), err
}

// shows reports whether a text holds another, line numbers off.
func shows(text, old string) bool {
	text = unixLines(text)
	return strings.Contains(text, old) || strings.Contains(unnumbered(text), old)
}

// unixLines ends lines as the file tools do, whatever the file has.
func unixLines(text string) string {
	if strings.IndexByte(text, '\r') < 0 {
		return text
	}
	return strings.ReplaceAll(text, "\r\n", "\n")
}

// unnumbered takes the line numbers off what Read shows: white space, digits,
// an arrow or a tab.
func unnumbered(text string) string {
	var out strings.Builder
	out.Grow(len(text))
	for len(text) > 0 {
		line := text
		if i := strings.IndexByte(text, '\n'); i >= 0 {
			line = text[:i+1]
		}
		text = text[len(line):]
		n := 0
		for n < len(line) && line[n] == ' ' {
			n++
		}
		digits := n
		for digits < len(line) && line[digits] >= '0' && line[digits] <= '9' {
			digits++
		}
		if digits > n {
			if rest, ok := strings.CutPrefix(line[digits:], "→"); ok {
				line = rest
			} else if rest, ok := strings.CutPrefix(line[digits:], "\t"); ok {
				line = rest
			}
		}
		out.WriteString(line)
	}
	return out.String()
}

func firstLine(s string) string {
	s = strings.TrimSpace(s)
	if i := strings.IndexByte(s, '\n'); i >= 0 {
		return s[:i]
	}
	return s
}
