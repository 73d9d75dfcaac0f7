package claude

import (
	"regexp"
	"slices"
	"strings"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
)

// readFiles is the client's read-file state: which files the session has read,
// written or edited, and what they held when it last saw them. Calls are noted
// as their results join; their texts are fetched at a compaction only, each
// once.
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

// note takes up a call's result.
func (s *readFiles) note(v policy.View, t policy.Target, tool string) {
	use, block, ok := v.Conversation().ToolUse(v.Raw(t).ID)
	if !ok {
		return
	}
	s.seq++
	s.pending = append(s.pending, fileCall{tool: tool, use: policy.Target{Item: policy.ItemID(use), Block: block}, result: t, seq: s.seq})
}

// fileInput is the input of a call on a file.
type fileInput struct {
	Path    string `json:"file_path"`
	Offset  any    `json:"offset"`
	Limit   any    `json:"limit"`
	Content string `json:"content"`
	fileEdit
	Edits []fileEdit `json:"edits"`
}

type fileEdit struct {
	Old string `json:"old_string"`
	New string `json:"new_string"`
	All bool   `json:"replace_all"`
}

// calledOn is the file a call is about, and whether it asks for some lines only.
type calledOn struct {
	path string
	part bool
}

// resolve finds out which files the noted calls are about.
func (s *readFiles) resolve(c *policy.Context) error {
	for _, call := range s.pending {
		on, err := policy.Digest(c.Digests, "file call", call.use, func() (*calledOn, int, error) {
			in, err := inputOf[fileInput](c.Texts, call.use)
			return &calledOn{in.Path, in.Offset != nil || in.Limit != nil}, len(in.Path), err
		})
		if err != nil {
			return err
		}
		if on.path == "" {
			continue
		}
		f := s.files[on.path]
		if f == nil {
			f = &readFile{}
			s.files[on.path] = f
		}
		call.part = call.tool == "Read" && on.part
		if call.result.Item >= s.since && (len(f.calls) == 0 || f.last().result.Item < s.since) {
			s.recent = append(s.recent, on.path)
		}
		f.calls = append(f.calls, call)
	}
	s.pending = s.pending[:0]
	return nil
}

// compacted forgets what was read up to a compaction made when joined messages
// had been offered.
func (s *readFiles) compacted(joined int) {
	s.since, s.recent = policy.ItemID(joined), nil
}

// newestFirst is the files touched since the last compaction.
func (s *readFiles) newestFirst() []string {
	list := slices.Clone(s.recent)
	slices.SortFunc(list, func(a, b string) int { return s.files[b].last().seq - s.files[a].last().seq })
	return list
}

func (f *readFile) last() *fileCall { return &f.calls[len(f.calls)-1] }

// content is the file as last seen: what was last read whole or written, and
// the edits made to it since. Of a file that was never seen whole it is the
// newest part, of one only edited what the edit's result shows. It is the same
// after the same calls, whatever was asked for before.
func (f *readFile) content(c *policy.Context) (string, error) {
	if f.done == len(f.calls) {
		return f.text, nil
	}
	made, err := policy.Digest(c.Digests, "file as seen", f.last().result, func() (*asSeen, int, error) {
		err := f.look(c.Texts)
		made := &asSeen{text: f.text}
		for i := range f.calls {
			made.calls = append(made.calls, f.calls[i].result)
		}
		return made, len(f.text) + 16*len(made.calls), err
	})
	if err != nil {
		return "", err
	}
	if f.done < len(f.calls) && made.of(f.calls) {
		f.text, f.done = made.text, len(f.calls)
	}
	return f.text, f.look(c.Texts)
}

// asSeen is a file as it was last seen, and the results of the calls that
// showed it.
type asSeen struct {
	text  string
	calls []policy.Target
}

// of reports whether the calls are those that showed the file.
func (a *asSeen) of(calls []fileCall) bool {
	return slices.EqualFunc(a.calls, calls, func(t policy.Target, c fileCall) bool { return t == c.result })
}

// look takes up the calls since it was last asked.
func (f *readFile) look(texts policy.TextSource) error {
	from := len(f.calls)
	for whole := false; from > f.done && !whole; { // what stands before is not seen any more
		from--
		var err error
		if whole, err = f.whole(texts, &f.calls[from]); err != nil {
			return err
		}
	}
	for i := from; i < len(f.calls); i++ {
		if err := f.see(texts, &f.calls[i]); err != nil {
			return err
		}
	}
	f.done = len(f.calls)
	return nil
}

// maxSeen is how much of a file is remembered, in bytes: the client reads no
// longer one whole.
const maxSeen = 256 << 10

// hold remembers a text.
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
	return !strings.HasPrefix(text, session.UnchangedFile), err
}

// see takes up one call.
func (f *readFile) see(texts policy.TextSource, c *fileCall) error {
	shown := func() (string, error) { return texts.Recorded(c.result) }
	if c.tool == "Read" {
		text, err := shown()
		if err == nil && !strings.HasPrefix(text, session.UnchangedFile) && (!c.part || f.text == "") {
			f.hold(withoutNumbers(text))
		}
		return err
	}
	in, err := inputOf[fileInput](texts, c.use)
	if err != nil {
		return err
	}
	if c.tool == "Write" {
		f.hold(in.Content)
		return nil
	}
	if f.text == "" {
		if in.Old == "" && c.tool == "Edit" { // it makes the file
			f.hold(in.New)
			return nil
		}
		text, err := shown()
		if _, snippet, ok := strings.Cut(text, "\n"); ok && numbered.MatchString(snippet) {
			f.hold(withoutNumbers(snippet))
		}
		return err
	}
	for _, e := range append(in.Edits, in.fileEdit) {
		switch {
		case e.Old == "":
		case e.All: // as often as what is remembered can hold
			f.hold(strings.Replace(f.text, e.Old, e.New, maxSeen/max(len(e.New), 1)+1))
		default:
			f.hold(strings.Replace(f.text, e.Old, e.New, 1))
		}
	}
	return nil
}

// numbered is how a Read shows a line: its number, then → or a tab.
var numbered = regexp.MustCompile(`^ *\d+(→|\t)`)

// withoutNumbers is a shown text without its lines' numbers, and without what
// the client says after them. A text whose lines have none is as it is.
func withoutNumbers(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		at := numbered.FindStringIndex(line)
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

// cutTo is the beginning of a text that weighs no more than so many tokens by
// the client's estimate, and what it weighs.
func cutTo(text string, tokens int) (string, int) {
	n := policy.RoundQuarter(jsonl.Measure(text).UTF16)
	if n <= tokens {
		return text, n
	}
	units := 0
	for i, r := range text {
		if r > 0xFFFF {
			units++
		}
		if units++; units > 4*tokens {
			return text[:i], tokens
		}
	}
	return text, n
}
