package claude

import (
	"slices"
	"strings"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/stage/measure"
)

// readFiles is the client's read-file state: the files the session has read, written or edited, and what they held
// when it last saw them. Calls are noted as their results join; their texts are read at a compaction only, each once.
type readFiles struct {
	pending []fileCall // not looked at yet
	files   map[string]*readFile
	recent  []string      // files touched since the last compaction, in no order
	since   policy.ItemID // results from this item on came after the last compaction
	seq     int
}

// fileCall is one call on a file that did not fail.
type fileCall struct {
	tool        string
	use, result policy.Target
	seq         int
	part        bool // a Read of some lines
}

// readFile is one file.
type readFile struct {
	calls []fileCall
	done  int    // calls that text holds already
	text  string // as last seen; "" where that is not known
}

// isFileTool reports whether calls of a tool leave a file in the state.
func isFileTool(name string) bool {
	return name == "Read" || name == "Write" || name == "Edit" || name == "MultiEdit"
}

// fileInput is the input of a call on a file.
type fileInput struct {
	Path          string `json:"file_path"`
	Offset, Limit any
	Content       string
	fileEdit
	Edits []fileEdit
}

type fileEdit struct {
	Old string `json:"old_string"`
	New string `json:"new_string"`
	All bool   `json:"replace_all"`
}

// resolve finds out which files the noted calls are about.
func (s *readFiles) resolve(c *policy.Context) error {
	for _, call := range s.pending {
		in, err := inputOf[fileInput](c, call.use)
		if err != nil {
			return err
		}
		if in.Path == "" {
			continue
		}
		f := s.files[in.Path]
		if f == nil {
			f = &readFile{}
			s.files[in.Path] = f
		}
		call.part = call.tool == "Read" && (in.Offset != nil || in.Limit != nil)
		if call.result.Item >= s.since && (len(f.calls) == 0 || f.last().result.Item < s.since) {
			s.recent = append(s.recent, in.Path)
		}
		f.calls = append(f.calls, call)
	}
	s.pending = nil
	return nil
}

// newestFirst returns the files touched since the last compaction.
func (s *readFiles) newestFirst() []string {
	return slices.SortedFunc(slices.Values(s.recent), func(a, b string) int { return s.files[b].last().seq - s.files[a].last().seq })
}

func (f *readFile) last() *fileCall { return &f.calls[len(f.calls)-1] }

// content returns the file as last seen: what was last read whole or written, with the edits made to it since. Of a
// file that was never seen whole it is the newest part, of one only edited what the edit's result shows. It depends
// on the calls alone, not on earlier requests for it.
func (f *readFile) content(c *policy.Context) (string, error) {
	err := f.look(c)
	return f.text, err
}

// look reads the calls since the last look.
func (f *readFile) look(c *policy.Context) error {
	from := len(f.calls)
	for whole := false; from > f.done && !whole; { // a whole file hides the calls before it
		from--
		var err error
		if whole, err = f.whole(c.Texts, &f.calls[from]); err != nil {
			return err
		}
	}
	for i := range f.calls[from:] {
		if err := f.see(c, &f.calls[from+i]); err != nil {
			return err
		}
	}
	f.done = len(f.calls)
	return nil
}

// maxSeen is how many bytes of a file are kept: the client reads no longer file whole.
const maxSeen = 256 << 10

// hold keeps a text.
func (f *readFile) hold(text string) {
	if len(text) > maxSeen {
		text = strings.ToValidUTF8(text[:maxSeen], "")
	}
	f.text = text
}

// whole reports whether a call shows or makes the whole file.
func (f *readFile) whole(texts policy.TextSource, c *fileCall) (bool, error) {
	if c.tool != "Read" || c.part {
		return c.tool == "Write", nil
	}
	text, err := texts.Recorded(c.result)
	return !session.IsUnchangedFile(text), err
}

// see applies one call to the text.
func (f *readFile) see(on *policy.Context, c *fileCall) error {
	if c.tool == "Read" {
		text, err := on.Texts.Recorded(c.result)
		if err == nil && !session.IsUnchangedFile(text) && (!c.part || f.text == "") {
			f.hold(withoutNumbers(text))
		}
		return err
	}
	in, err := inputOf[fileInput](on, c.use)
	if err != nil {
		return err
	}
	switch {
	case c.tool == "Write":
		f.hold(in.Content)
		return nil
	case f.text == "" && in.Old == "" && c.tool == "Edit": // it makes the file
		f.hold(in.New)
		return nil
	case f.text == "":
		text, err := on.Texts.Recorded(c.result)
		if _, snippet, ok := strings.Cut(text, "\n"); ok && withoutNumbers(snippet) != snippet {
			f.hold(withoutNumbers(snippet))
		}
		return err
	}
	for _, e := range append(in.Edits, in.fileEdit) {
		times := 1
		if e.All { // as often as maxSeen has room for
			times = maxSeen/max(len(e.New), 1) + 1
		}
		if e.Old != "" {
			f.hold(strings.Replace(f.text, e.Old, e.New, times))
		}
	}
	return nil
}

// withoutNumbers takes the line numbers off a shown text, and what the client adds after the numbered lines. A text
// without line numbers stays as it is.
func withoutNumbers(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		_, rest, ok := session.CutLineNumber(line)
		if !ok {
			if b.Len() == 0 {
				return text
			}
			break
		}
		b.WriteString(rest)
	}
	return b.String()
}

// cutTo returns the beginning of a text that weighs at most tokens by the client's estimate, and what it weighs.
func cutTo(text string, tokens int) (string, int) {
	if n := policy.RoundQuarter(jsonl.Measure(text).UTF16); n <= tokens {
		return text, n
	}
	return measure.FirstUnits(text, 4*tokens), tokens
}
