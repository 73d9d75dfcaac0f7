package regret

import (
	"encoding/json"
	"fmt"
	"io"
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
	changed   int     // how often it was changed by a tool
}

// readRange is a stretch of a file in one of its states.
type readRange struct {
	path          string
	offset, limit string
	changed       int
}

// call is a call of a file tool whose result is still to come.
type call struct {
	id   string
	read readRange
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
	f := b.files[path]
	if f == nil {
		f = &file{}
		b.files[path] = f
	}
	switch bl.Name {
	case "Read", "NotebookRead":
		r := readRange{path, in.Offset.String(), in.Limit.String(), f.changed}
		if old, ok := b.reads[r]; ok {
			b.uses = append(b.uses, use{
				request: request, source: old, message: int32(m), line: bl.Line, evidence: Reread,
				holders: []int32{old}, quote: path,
			})
		}
		b.calls = append(b.calls, call{bl.ID, r})
	case "Edit", "MultiEdit", "NotebookEdit":
		for _, old := range olds(in) {
			if err := b.edit(m, request, f, old); err != nil {
				return err
			}
		}
		f.changed++
		f.providers = append(f.providers, at)
	case "Write":
		f.changed++
		f.providers = append(f.providers, at)
	}
	return nil
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
	u := use{request: request, source: -1, message: int32(m), line: b.conv.Messages[m].Line, evidence: Edited, quote: firstLine(old)}
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
	if u.source >= 0 {
		b.uses = append(b.uses, u)
	}
	return nil
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
		if strings.Contains(in.Content, old) || strings.Contains(in.NewString, old) {
			return true
		}
		for _, e := range in.Edits {
			if strings.Contains(e.NewString, old) {
				return true
			}
		}
		return false
	}
	return strings.Contains(text, old) || strings.Contains(unnumbered(text), old)
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
