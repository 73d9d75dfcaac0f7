package regret

import (
	"bytes"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/scan"
	"github.com/ctxkit/ctxkit/jsonl/session"
)

// inputTexts is every string in a tool's input, one a line, without the keys: these are the tool's words and not
// the agent's. An input that is no JSON has none.
func inputTexts(raw []byte) []byte {
	texts, _, code := appendTexts(nil, raw, scan.Space(raw, 0), 0)
	if code != scan.OK {
		return nil
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
	written map[uint64]bool // names by hash: the agent wrote it
	known   *knownTexts
	files   map[string]*file
	calls   map[string][]call // by id: without a result so far, the oldest first
	texts   *reader
	earlier *reader // of what was read before: texts holds what is looked at
	again   map[string]*shownText
	sought  map[string]int   // lines of what is read again: their numbers
	prompts map[string]bool  // of persons, as a whole, in the normal form
	said    map[string][]int // by sentence of a person, in the normal form: the blocks that have it
	lost    int              // n of the first request at which what was read before may be gone
	changes int              // of files, by tools, so far
	folder  string           // the client's working folder, in the normal form: every request names it
}

// file is what was read of one file.
type file struct {
	reads  []read // results of Read, oldest first
	state  int    // its current state, as far as tools changed it
	states int    // number of states so far
}

// read is a result of Read, in one of a file's states.
type read struct {
	at    int
	state int
}

// shownText is what a Read showed again, in the normal form, and its lines of some length.
type shownText struct {
	text  string
	lines []int
}

// call is a call of a file tool whose result has not come yet.
type call struct {
	id      string
	path    string
	changes bool // the file
	from    int  // a change: the state before it
	state   int  // of the file that a Read shows, or a change leaves
	failed  bool // its result counts where it failed, too
	request int
	at      int
}

// candidates lists what the agent may have taken from an earlier block, in the order of the uses. Which blocks hold it is
// not known yet. Before request lost nothing is read again: the recorded session had lost nothing yet.
func (x *Index) candidates(known *knownTexts, lost int) ([]needle, error) {
	b := &builder{
		Index: x, known: known, lost: lost, texts: x.reader(), earlier: x.reader(), written: map[uint64]bool{}, files: map[string]*file{}, calls: map[string][]call{},
		again: map[string]*shownText{}, sought: map[string]int{}, said: map[string][]int{}, prompts: map[string]bool{}, folder: foldString(x.conv.CWD),
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
	if msg.Lost || msg.Is(session.Earlier) || msg.RecordOnly {
		return nil
	}
	request := b.joined[m] - 1 // what a response uses was in the view it answers
	agent := msg.Role == session.Assistant
	uses := agent && msg.Class == session.ClassResponse && request >= 1 && request <= len(b.conv.Requests)
	for i := range msg.Blocks {
		bl := &msg.Blocks[i]
		at := b.base[m] + i
		if agent {
			text, input, err := b.texts.text(at)
			if err != nil {
				return err
			}
			use := needle{request: request, sought: sought{at: at}}
			switch {
			case uses && bl.Kind == jsonl.KindText:
				b.quotes(&use, text, nil)
			case uses && bl.Kind == jsonl.KindToolUse:
				if err := b.call(bl, &use, input, text); err != nil {
					return err
				}
			default:
				eachName(text, func(name []byte, _ int) { b.written[hashName(name)] = true })
			}
		}
		if !agent && bl.Kind == jsonl.KindText && msg.Class == session.ClassPrompt {
			text, _, err := b.texts.text(at)
			if err != nil {
				return err
			}
			b.saidAgain(text, request, at)
		}
		if bl.Kind == jsonl.KindToolResult {
			if err := b.result(bl, at); err != nil {
				return err
			}
		}
	}
	return nil
}

// around is how much of the text around a name is compared, in bytes before it is brought to its normal form.
const around = 4 * minQuote

// quotes collects the names of a text that the agent writes for the first time. The names of without do not count, by hash. Whether others wrote them first is not known yet.
func (b *builder) quotes(use *needle, text []byte, without map[uint64]bool) {
	eachName(text, func(name []byte, from int) {
		h := hashName(name)
		if b.written[h] {
			return
		}
		if b.written[h] = true; without[h] {
			return
		}
		// The needle's texts are parts of one.
		form := fold(nil, text[max(0, from-around):from])
		before := min(len(form), minQuote)
		form = fold(form[len(form)-before:], name)
		behind := len(form)
		form = fold(form, text[from+len(name):min(len(text), from+len(name)+around)])
		end := min(len(form), behind+minQuote)
		all := string(append(form[:end], name...))
		n := *use
		if n.text = all[before:behind]; strings.Contains(b.folder, n.text) {
			return
		}
		n.evidence = Quoted
		n.quote = all[end:]
		n.offset = from
		n.before = all[:before]
		n.after = all[behind:end]
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
func (b *builder) call(bl *session.Block, use *needle, raw, text []byte) error {
	list := b.accesses(bl.Name, raw)
	if len(list) == 0 {
		// The same call again; what a command says may depend on the files.
		key, writes := b.sameCall(bl.Name, raw)
		if writes {
			b.changes++
		} else if !doing(bl.Name) {
			c := call{id: bl.ID, path: key, failed: true, request: use.request, at: use.at}
			if b.conv.Alike(bl.Name) == "Bash" {
				c.state = b.changes
			}
			b.calls[c.id] = append(b.calls[c.id], c)
		}
		b.quotes(use, text, nil)
		return nil
	}
	without := map[uint64]bool{}
	for i, a := range list {
		f := b.file(a.path)
		c := call{id: bl.ID, path: a.path, from: f.state, state: f.state, changes: a.changes, request: use.request, at: use.at}
		for _, e := range a.edits {
			if err := b.edit(use, e.Old, f.reads); err != nil {
				return err
			}
			eachName([]byte(e.Old), func(name []byte, _ int) { without[hashName(name)] = true })
		}
		if c.changes {
			b.changes++
			f.states++
			f.state = f.states
			c.state = f.state
		}
		if i == 0 { // one result answers the call: where it failed, the other files count as changed
			b.calls[c.id] = append(b.calls[c.id], c)
		}
	}
	b.quotes(use, text, without)
	return nil
}

// maxLines is how many lines of one old_string are looked for: the longest.
const maxLines = 3

// edit collects what an old_string shows of a file. Of one that was read it does not matter how many blocks hold it, and
// one that is short stands for the lines around it in the newest result.
func (b *builder) edit(use *needle, old string, reads []read) error {
	var lines []needle
	for line := range strings.Lines(old) {
		n := *use
		if n.text = foldString(line); len(n.text) >= minRun {
			n.evidence = Edited
			n.quote = strings.Clone(strings.TrimSpace(line))
			n.common = len(reads) > 0
			lines = append(lines, n)
		}
	}
	slices.SortStableFunc(lines, func(a, b needle) int { return len(b.text) - len(a.text) })
	b.found = append(b.found, lines[:min(len(lines), maxLines)]...)
	if len(lines) > 0 || len(reads) == 0 || strings.TrimSpace(old) == "" {
		return nil
	}
	last := reads[len(reads)-1].at
	if !b.plain(last) {
		return nil
	}
	raw, err := b.earlier.raw(last)
	if err != nil || len(raw) > mostSearched {
		return err
	}
	text, err := b.earlier.decode(last, raw)
	if err != nil {
		return err
	}
	if lines, form := surroundings(text, old); form != "" {
		n := *use
		n.text = form
		n.evidence = Edited
		n.quote = lines
		n.common = true
		b.found = append(b.found, n)
	}
	return nil
}

const (
	mostSearched = 64 << 10 // bytes of the longest result in which a short old_string is looked for
	mostReads    = 64       // results of one file, or of equal calls, that a later one is compared with: the newest
)

// surroundings are the lines of a text with old in them, and as many around these as make their normal form
// distinctive, and that form; "" where there are none.
func surroundings(text []byte, old string) (lines, form string) {
	from := bytes.Index(text, []byte(old))
	if from < 0 {
		return "", ""
	}
	to := from + len(old)
	for range minRun { // lines on either side
		from = bytes.LastIndexByte(text[:from], '\n') + 1
		if n := bytes.IndexByte(text[to:], '\n'); n >= 0 {
			to += n
		} else {
			to = len(text)
		}
		if form = foldString(string(text[from:to])); len(form) >= minRun {
			for line := range bytes.Lines(text[from:to]) {
				_, line, _ = session.CutLineNumber(line)
				lines += string(line)
			}
			return strings.TrimSpace(lines), form
		}
		from = max(from-1, 0)
		to = min(to+1, len(text))
	}
	return "", ""
}

// result notes what a Read showed, and takes back a change that failed.
func (b *builder) result(bl *session.Block, at int) error {
	open := b.calls[bl.ID]
	if len(open) == 0 {
		return nil
	}
	c := open[0]
	if len(open) > 1 {
		b.calls[bl.ID] = open[1:]
	} else {
		delete(b.calls, bl.ID)
	}
	f := b.file(c.path)
	switch {
	case c.changes && bl.IsError:
		// Other changes of the same message remain: the file is then in a new state.
		if f.state == c.state {
			f.state = c.from
		}
	case !c.changes && (c.failed || !bl.IsError):
		return b.read(f, &c, at)
	}
	return nil
}

// read notes a Read that succeeded. One that only says that its file has not changed is none.
func (b *builder) read(f *file, c *call, at int) error {
	var raw, text []byte
	var err error
	if b.plain(at) {
		raw, err = b.texts.raw(at)
	} else {
		text, _, err = b.texts.text(at)
	}
	if err != nil {
		return err
	}
	if raw != nil && mayBeNotice(raw) {
		if text, err = b.texts.decode(at, raw); err != nil {
			return err
		}
	}
	if head := string(text[:min(len(text), noticeBytes)]); session.IsUnchangedFile(head) || strings.HasPrefix(head, rejected) {
		return nil
	}
	if c.request >= b.lost {
		if err := b.readAgain(f, c, at, raw, text); err != nil {
			return err
		}
	}
	if f.reads = append(f.reads, read{at, c.state}); len(f.reads) > mostReads {
		f.reads = f.reads[1:]
	}
	return nil
}

// readAgain collects a Read of a file that was read before in the same state. What it shows must stand in an earlier
// result as a whole: a file that somebody else has changed had to be read.
func (b *builder) readAgain(f *file, c *call, at int, raw, text []byte) error {
	n := needle{evidence: Reread, quote: c.path, request: c.request, sought: sought{at: c.at, reread: true}}
	for _, r := range f.reads {
		if r.state == c.state {
			n.sources = append(n.sources, r.at)
		}
	}
	if len(n.sources) == 0 {
		return nil
	}
	known := &knownText{}
	if raw != nil {
		known = b.known.of(raw)
	}
	if known.shown == nil {
		var err error
		if known.shown, err = b.shown(at, raw, text); err != nil {
			return err
		}
	}
	if n.text, n.shown = known.shown.text, known.shown; len(n.text) >= minRun {
		b.found = append(b.found, n)
	}
	return nil
}

// rejected begins the result of a call that the person did not allow.
const rejected = "The user doesn't want to proceed"

// noticeBytes is more than the notice of a file that has not changed begins with.
const noticeBytes = 100

// mayBeNotice reports whether the JSON of a text may be that of a notice: these begin with F, T or W.
func mayBeNotice(raw []byte) bool {
	body, ok := quoted(raw)
	return !ok || len(body) > 0 && (body[0] == 'F' || body[0] == 'T' || body[0] == 'W' || body[0] == '\\')
}

// reminder begins what the client adds to the text of a file.
const reminder = "<system-reminder>"

// codexHead reports whether a text begins with what Codex says of a command before its output: its id, how long it took.
func codexHead(text []byte) bool {
	for _, head := range [...]string{"Chunk ID: ", "Command: ", "Exit code: ", "Wall time: "} {
		if bytes.HasPrefix(text, []byte(head)) {
			return bytes.Contains(text, []byte("Output:"))
		}
	}
	return false
}

// shown is what a Read with a text shows, which is given as JSON, or else as it is.
func (b *builder) shown(at int, raw, text []byte) (*shownText, error) {
	var form []byte
	var ends []int // of the lines
	ok := false
	if body, isString := quoted(raw); isString {
		body, _, _ = bytes.Cut(body, []byte(reminder))
		if !codexHead(body) {
			form, ok = foldJSON(nil, body, &ends)
		}
	}
	if !ok {
		if raw != nil {
			var err error
			if text, err = b.texts.decode(at, raw); err != nil {
				return nil, err
			}
		}
		form = nil
		ends = nil
		text, _, _ = bytes.Cut(text, []byte(reminder))
		if codexHead(text) {
			_, text, _ = bytes.Cut(text, []byte("\nOutput:\n"))
		}
		for line := range bytes.Lines(text) {
			form = fold(form, line)
			ends = append(ends, len(form))
		}
	}
	lines := b.linesOf(form, ends)
	same, ok := b.again[string(form)]
	if !ok || !slices.Equal(same.lines, lines) {
		same = &shownText{text: string(form), lines: lines}
		b.again[same.text] = same
	}
	return same, nil
}

// linesOf lists the lines of a text that have some length, each once in what is sought.
func (b *builder) linesOf(text []byte, ends []int) []int {
	lines := []int(nil)
	from := 0
	for _, end := range ends {
		line := text[from:end]
		if from = end; len(line) < minLine {
			continue
		}
		l, ok := b.sought[string(line)]
		if !ok {
			l = len(b.lines)
			kept := string(line)
			b.sought[kept] = l
			b.lines = append(b.lines, sought{reread: true, text: kept})
		}
		lines = append(lines, l)
	}
	return lines
}
