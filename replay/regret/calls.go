package regret

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/ctxkit/ctxkit/jsonl/session"
)

// input is the input of a file tool.
type input struct {
	FilePath     string      `json:"file_path"`
	NotebookPath string      `json:"notebook_path"`
	Offset       json.Number `json:"offset"`
	Limit        json.Number `json:"limit"`
	Content      string      `json:"content"`
	replacement
	Edits []replacement `json:"edits"`
}

type replacement struct {
	OldString string `json:"old_string"`
	NewString string `json:"new_string"`
}

// edits lists the replacements of an Edit or a MultiEdit.
func (in *input) edits() []replacement { return append([]replacement{in.replacement}, in.Edits...) }

// writes reports whether the input writes a text to a file.
func (in *input) writes(text string) bool {
	return strings.Contains(unixLines(in.Content), text) ||
		slices.ContainsFunc(in.edits(), func(e replacement) bool { return strings.Contains(unixLines(e.NewString), text) })
}

// readInput reads a tool's input. texts is every string in it, one per line, without the keys: these are the tool's
// words and not the agent's.
func readInput(raw string) (in input, texts string, err error) {
	// A field of another type belongs to a tool that is no file tool.
	_ = json.Unmarshal([]byte(raw), &in)
	var b strings.Builder
	if err := values(json.NewDecoder(strings.NewReader(raw)), &b); err != nil && !errors.Is(err, io.EOF) {
		return in, "", err
	}
	return in, b.String(), nil
}

// values writes the strings of the next JSON value, without keys.
func values(d *json.Decoder, b *strings.Builder) error {
	tok, err := d.Token()
	if err != nil {
		return err
	}
	switch tok := tok.(type) {
	case string:
		b.WriteString(tok + "\n")
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

// file is what was read from and written to one file.
type file struct {
	providers []int32 // blocks that hold (parts of) its text, oldest first
	reads     []read  // results of Read, oldest first
	state     int     // its current state, as far as tools changed it
	states    int     // number of states so far
}

// read is a result of Read, in one of a file's states.
type read struct {
	at    int32
	state int
}

// readRange is a range of a file in one of its states.
type readRange struct {
	path          string
	offset, limit string
	state         int
}

// call is a call of a file tool whose result has not come yet.
type call struct {
	id    string
	write int32 // the block that changes the file; -1 of a Read
	from  int   // the state before the change
	read  readRange
	again *use // of a Read: of the newest result of the same range, or nil
}

func (b *builder) file(path string) *file {
	if b.files[path] == nil {
		b.files[path] = &file{}
	}
	return b.files[path]
}

// attachment notes an attached file.
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
		text, err := b.text(at)
		if err != nil {
			return nil, err
		}
		if shows(text, old) {
			holders = append(holders, at)
		}
	}
	return holders, nil
}

// maxProviders is the number of the newest texts of a file in which an Edit's old_string is searched.
const maxProviders = 8

// call examines one call of a file tool.
func (b *builder) call(m, i, request int, in input) error {
	bl := &b.conv.Messages[m].Blocks[i]
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
		r := readRange{path, in.Offset.String(), in.Limit.String(), f.state}
		if r.offset == "0" || r.offset == "1" {
			r.offset = "" // the start of the file, as without an offset
		}
		c := call{id: bl.ID, write: -1, read: r}
		if old, ok := b.reads[r]; ok {
			c.again = &use{request: request, source: old, message: int32(m), line: bl.Line, evidence: Reread, quote: path}
		}
		b.calls = append(b.calls, c)
		return nil
	case "Edit", "MultiEdit", "NotebookEdit":
		for _, e := range in.edits() {
			if strings.TrimSpace(e.OldString) == "" {
				continue
			}
			if err := b.edit(m, request, f, e.OldString); err != nil {
				return err
			}
		}
	case "Write":
	default:
		return nil
	}
	at := b.base[m] + int32(i)
	b.calls = append(b.calls, call{id: bl.ID, write: at, from: f.state, read: readRange{path: path}})
	f.states++
	f.state = f.states
	f.providers = append(f.providers, at)
	return nil
}

// result notes what a Read showed, and takes back a change that failed.
func (b *builder) result(bl *session.Block, at int32, text string) error {
	i := slices.IndexFunc(b.calls, func(c call) bool { return c.id == bl.ID })
	if i < 0 {
		return nil
	}
	c := b.calls[i]
	b.calls = slices.Delete(b.calls, i, i+1)
	f := b.files[c.read.path]
	switch {
	case c.write >= 0 && bl.IsError:
		f.takeBack(&c)
	case c.write < 0 && !bl.IsError && !strings.HasPrefix(text, session.UnchangedFile):
		if c.again != nil {
			if err := b.readAgain(f, &c, at); err != nil {
				return err
			}
		}
		b.reads[c.read] = at
		f.providers = append(f.providers, at)
		f.reads = append(f.reads, read{at, c.read.state})
	}
	return nil
}

// readAgain notes the use of a range that a Read shows again, if it shows the same text: a file that somebody else
// has changed had to be read. Every result that shows the text, of whatever range, holds it.
func (b *builder) readAgain(f *file, c *call, result int32) error {
	again, err := b.numbered(result)
	if err != nil {
		return err
	}
	u := c.again
	for i := len(f.reads) - 1; i >= 0 && len(u.holders) < maxProviders; i-- {
		if f.reads[i].state != c.read.state {
			continue
		}
		text, err := b.numbered(f.reads[i].at)
		if err != nil {
			return err
		}
		if strings.Contains("\n"+text+"\n", "\n"+again+"\n") { // whole lines
			u.holders = append(u.holders, f.reads[i].at)
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

// takeBack takes back a change that failed. Other changes of the same message remain: the file is then in a state of
// its own.
func (f *file) takeBack(c *call) {
	at := slices.Index(f.providers, c.write)
	if at == len(f.providers)-1 && f.state == f.states {
		f.state = c.from
	}
	if at >= 0 {
		f.providers = slices.Delete(f.providers, at, at+1)
	}
}

// edit notes the use of an old_string. Its source is the newest text of the file that holds it.
func (b *builder) edit(m, request int, f *file, old string) error {
	old = unixLines(old)
	quote, _, _ := strings.Cut(strings.TrimSpace(old), "\n")
	u := use{
		request: request, source: -1, message: int32(m), line: b.conv.Messages[m].Line,
		evidence: Edited, quote: quote, text: old,
	}
	for i := len(f.providers) - 1; i >= 0 && len(f.providers)-i <= maxProviders; i-- {
		at := f.providers[i]
		text, err := b.text(at)
		if err != nil {
			return err
		}
		if int(b.of[at]) == m || !b.provides(at, text, old) {
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

// provides reports whether a block's text holds old: a tool's input what it writes, a result what it shows, with or
// without line numbers.
func (b *builder) provides(at int32, text, old string) bool {
	if b.block(at).Name == "" {
		return shows(text, old)
	}
	in, _, err := readInput(text)
	return err == nil && in.writes(old)
}

// numbered returns the part of a file that the result of a Read shows, with line numbers.
func (x *Index) numbered(result int32) (string, error) {
	text, err := x.text(result)
	text, _, _ = strings.Cut(text, "<system-reminder>")
	return strings.TrimRight(unixLines(text), " \t\n"), err
}

// shown is numbered without the line numbers.
func (x *Index) shown(result int32) (string, error) {
	text, err := x.numbered(result)
	return strings.TrimSpace(unnumbered(text)), err
}

// text returns the text of a block in raw history.
func (x *Index) text(block int32) (string, error) {
	text, err := x.conv.WholeText(x.at(block))
	if err != nil {
		return "", fmt.Errorf("looking for uses: %w", err)
	}
	return text, nil
}

// shows reports whether a text holds another, with or without line numbers.
func shows(text, old string) bool {
	text = unixLines(text)
	return strings.Contains(text, old) || strings.Contains(unnumbered(text), old)
}

// unixLines ends lines with \n, as the file tools do for every file.
func unixLines(text string) string { return strings.ReplaceAll(text, "\r\n", "\n") }

// unnumbered removes the line numbers that Read shows: spaces, digits, an arrow or a tab.
func unnumbered(text string) string {
	var out strings.Builder
	out.Grow(len(text))
	for line := range strings.Lines(text) {
		if rest, ok := cutNumber(strings.TrimLeft(line, " "), "→", "\t"); ok {
			line = rest
		}
		out.WriteString(line)
	}
	return out.String()
}
