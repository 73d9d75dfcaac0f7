package regret

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/scan"
	"github.com/ctxkit/ctxkit/jsonl/session"
)

// inputTexts appends every string in a tool's input, one a line, without the keys: these are the tool's words and not
// the agent's. An input that is no JSON has none.
func inputTexts(dst, raw []byte) []byte {
	texts, _, code := appendTexts(dst, raw, scan.Space(raw, 0), 0)
	if code != scan.OK {
		return dst
	}
	return texts
}

// appendTexts appends the strings of the JSON value at b[i], inside depth open brackets, each with a line feed. It
// returns the index behind the value, or the first fault.
func appendTexts(texts, b []byte, i, depth int) ([]byte, int, scan.Fault) {
	if i >= len(b) {
		return texts, i, scan.End
	}
	switch b[i] {
	case '"':
		end, plain, code := scan.String(b, i)
		switch {
		case code != scan.OK:
			return texts, end, code
		case plain && utf8.Valid(b[i+1:end-1]):
			texts = append(texts, b[i+1:end-1]...)
		default:
			texts = scan.AppendUnquoted(texts, b[i+1:end-1], -1)
		}
		return append(texts, '\n'), end, scan.OK
	case '{':
		m := scan.Object(b, i, depth)
		for m.Next() {
			texts, m.At, m.Code = appendTexts(texts, b, m.At, depth+1)
		}
		return texts, m.At, m.Code
	case '[':
		m := scan.Array(b, i, depth)
		for m.Next() {
			texts, m.At, m.Code = appendTexts(texts, b, m.At, depth+1)
		}
		return texts, m.At, m.Code
	}
	end, code := scan.Value(b, i, depth)
	return texts, end, code
}

// builder reads a conversation in order and collects what may be a use.
type builder struct {
	*Index
	found   []needle
	seen    map[uint64]int32 // names by hash: the index of what was seen
	sights  []sighting
	known   *knownTexts
	scratch knownText // of read
	files   map[string]*file
	calls   map[string][]call // by id: without a result so far, the oldest first
	kept    *forms
	texts   *reader
	again   map[string]*shownText
	folded  []byte  // scratch of readAgain
	ends    []int32 // scratch of readAgain
	lost    int     // n of the first request at which what was read before may be gone
	folder  string  // the client's working folder, in the normal form: every request names it
}

// sighting is where a name was seen so far.
type sighting struct {
	message int32 // the first, that is not the agent's
	block   int32 // 1 + the last one
	blocks  uint8 // how many blocks of others hold it, up to maxHolders + 1
	agent   bool  // the agent wrote it
}

// file is what was read of one file.
type file struct {
	reads  []read // results of Read, oldest first
	state  int    // its current state, as far as tools changed it
	states int    // number of states so far
}

// read is a result of Read, in one of a file's states.
type read struct {
	at    int32
	state int
}

// shownText is what a Read showed again, in the normal form, and where its lines end.
type shownText struct {
	text string
	ends []int32

	lines []int32 // set by Index.split
}

// call is a call of a file tool whose result has not come yet.
type call struct {
	id      string
	path    string
	changes bool // the file
	from    int  // a change: the state before it
	state   int  // of the file that a Read shows, or a change leaves
	request int
	message int32
	line    int32
	at      int32
}

// candidates lists what the agent may have taken from an earlier block, in the order of the uses. The blocks that
// really hold it are not known yet. Before request lost nothing is read again: the record had lost nothing yet.
func (x *Index) candidates(kept *forms, lost int) ([]needle, error) {
	b := &builder{
		Index: x, kept: kept, lost: lost, texts: x.reader(), seen: map[uint64]int32{}, known: newKnownTexts(), files: map[string]*file{}, calls: map[string][]call{},
		again: map[string]*shownText{}, folder: foldString(x.conv.CWD),
	}
	for m := range x.conv.Messages {
		if err := b.message(m); err != nil {
			return nil, err
		}
	}
	return b.found, nil
}

func (b *builder) message(m int) error {
	msg := &b.conv.Messages[m]
	if msg.Lost || msg.Earlier || msg.RecordOnly {
		return nil
	}
	request := b.joined[m] - 1 // what a response uses was in the view it answers
	uses := msg.Class == session.ClassResponse && request >= 1 && request <= len(b.conv.Requests)
	for i := range msg.Blocks {
		bl := &msg.Blocks[i]
		at := b.base[m] + int32(i)
		known, text, input, err := b.read(at, uses)
		if err != nil {
			return err
		}
		use := needle{request: request, message: int32(m), line: bl.Line, at: at}
		switch bl.Kind {
		case jsonl.KindText:
			if uses {
				b.quotes(&use, text, "")
			}
		case jsonl.KindToolUse:
			if uses {
				b.call(bl, &use, input, text)
			}
		case jsonl.KindToolResult:
			if err := b.result(bl, at, known, text); err != nil {
				return err
			}
		}
		agent := msg.Role == session.Assistant
		if known.seen {
			b.kept.repeat(known.block, at)
			b.seeAgain(int32(m), at, known, agent)
			continue
		}
		b.kept.keep(at, text)
		b.see(int32(m), at, text, agent)
		b.known.add(known, at, b.kept)
	}
	return nil
}

// see notes the names of a block.
func (b *builder) see(m, at int32, text []byte, agent bool) {
	eachName(text, func(name []byte, _ int) {
		h := hashName(name)
		i, ok := b.seen[h]
		if !ok {
			i = int32(len(b.sights))
			b.seen[h] = i
			b.sights = append(b.sights, sighting{})
		}
		if s := &b.sights[i]; s.block != at+1 {
			s.note(m, at, agent)
			b.known.name(i)
		}
	})
}

// seeAgain is see of a text whose names are known.
func (b *builder) seeAgain(m, at int32, known *knownText, agent bool) {
	for _, i := range b.known.names[known.from:known.to] {
		b.sights[i].note(m, at, agent)
	}
}

// note notes that a block holds the name.
func (s *sighting) note(m, at int32, agent bool) {
	s.block = at + 1
	if agent {
		s.agent = true
		return
	}
	if s.blocks == 0 {
		s.message = m
	}
	s.blocks = min(s.blocks+1, maxHolders+1)
}

// around is how much of the text around a name is compared, in bytes before it is brought to its normal form.
const around = 4 * minQuote

// quotes collects the names of a text that others wrote first. without is a text, in its normal form, whose names do
// not count.
func (b *builder) quotes(use *needle, text []byte, without string) {
	counted := map[uint64]bool{}
	eachName(text, func(name []byte, from int) {
		h := hashName(name)
		i, ok := b.seen[h]
		if !ok {
			return
		}
		s := &b.sights[i]
		if s.agent || s.blocks == 0 || s.blocks > maxHolders || s.message >= use.message || counted[h] {
			return
		}
		counted[h] = true
		n := *use
		n.text = string(fold(nil, name))
		if strings.Contains(b.folder, n.text) || strings.Contains(without, n.text) {
			return
		}
		n.evidence, n.quote, n.offset = Quoted, string(name), from
		before := fold(nil, text[max(0, from-around):from])
		after := fold(nil, text[from+len(name):min(len(text), from+len(name)+around)])
		n.before = string(before[max(0, len(before)-minQuote):])
		n.after = string(after[:min(len(after), minQuote)])
		b.found = append(b.found, n)
	})
}

func (b *builder) file(path string) *file {
	if b.files[path] == nil {
		b.files[path] = &file{}
	}
	return b.files[path]
}

// call examines one call of a tool.
func (b *builder) call(bl *session.Block, use *needle, raw, text []byte) {
	in := session.FileInput{}
	alike := b.conv.Alike(bl.Name())
	switch alike {
	case "Read", "NotebookRead", "Edit", "MultiEdit", "NotebookEdit", "Write":
		_ = json.Unmarshal(b.conv.AlikeInput(bl.Name(), raw), &in) // a field of another type belongs to another tool
	}
	path := in.Path()
	if path == "" {
		b.quotes(use, text, "")
		return
	}
	f := b.file(path)
	c := call{id: bl.ID(), path: path, from: f.state, state: f.state, request: use.request, message: use.message, line: use.line, at: use.at}
	without := ""
	switch alike {
	case "Edit", "MultiEdit", "NotebookEdit":
		for _, e := range in.Edits() {
			b.edit(use, e.Old)
			without += foldString(e.Old)
		}
		fallthrough
	case "Write":
		c.changes = true
		f.states++
		f.state = f.states
		c.state = f.state
	}
	b.calls[c.id] = append(b.calls[c.id], c)
	b.quotes(use, text, without)
}

// maxLines is how many lines of one old_string are looked for: the longest.
const maxLines = 3

// edit collects what an old_string shows of a file.
func (b *builder) edit(use *needle, old string) {
	var lines []needle
	for line := range strings.Lines(old) {
		n := *use
		if n.text = foldString(line); len(n.text) >= minRun {
			n.evidence, n.quote = Edited, strings.Clone(strings.TrimSpace(line))
			lines = append(lines, n)
		}
	}
	slices.SortStableFunc(lines, func(a, b needle) int { return len(b.text) - len(a.text) })
	b.found = append(b.found, lines[:min(len(lines), maxLines)]...)
}

// result notes what a Read showed, and takes back a change that failed.
func (b *builder) result(bl *session.Block, at int32, known *knownText, text []byte) error {
	open := b.calls[bl.ID()]
	if len(open) == 0 {
		return nil
	}
	c := open[0]
	if len(open) > 1 {
		b.calls[bl.ID()] = open[1:]
	} else {
		delete(b.calls, bl.ID())
	}
	f := b.files[c.path]
	switch {
	case c.changes && bl.IsError:
		// Other changes of the same message remain: the file is then in a new state.
		if f.state == c.state {
			f.state = c.from
		}
	case !c.changes && !bl.IsError && !known.notice:
		if err := b.readAgain(f, &c, at, known, text); err != nil {
			return err
		}
		f.reads = append(f.reads, read{at, c.state})
	}
	return nil
}

// readAgain collects a Read of a file that was read before in the same state. What it shows must stand in an earlier
// result as a whole: a file that somebody else has changed had to be read.
func (b *builder) readAgain(f *file, c *call, at int32, known *knownText, text []byte) error {
	if c.request < b.lost {
		return nil
	}
	n := needle{evidence: Reread, quote: c.path, request: c.request, message: c.message, line: c.line, at: c.at}
	for _, r := range f.reads {
		if r.state == c.state {
			n.sources = append(n.sources, r.at)
		}
	}
	if len(n.sources) == 0 {
		return nil
	}
	if known.shown == nil {
		if known.seen {
			var err error
			if text, _, err = b.texts.text(at); err != nil {
				return err
			}
		}
		known.shown = b.shown(text)
	}
	if n.text, n.shown = known.shown.text, known.shown; len(n.text) >= minRun {
		b.found = append(b.found, n)
	}
	return nil
}

// shown is what a Read with a text shows.
func (b *builder) shown(text []byte) *shownText {
	b.folded, b.ends = reused(b.folded), reused(b.ends)
	for line := range bytes.Lines(shown(text)) {
		b.folded = fold(b.folded, line)
		b.ends = append(b.ends, int32(len(b.folded)))
	}
	same, ok := b.again[string(b.folded)]
	if !ok || !slices.Equal(same.ends, b.ends) {
		same = &shownText{text: string(b.folded), ends: slices.Clone(b.ends)}
		b.again[same.text] = same
	}
	return same
}

// shown is the part of a file that the result of a Read shows.
func shown(result []byte) []byte {
	text, _, _ := bytes.Cut(result, []byte("<system-reminder>"))
	return text
}
