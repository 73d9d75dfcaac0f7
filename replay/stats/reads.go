package stats

import (
	"bytes"
	"slices"
	"sort"
	"strings"

	"github.com/ctxkit/ctxkit/jsonl/session"
)

// supersession is what superseded lines that a Read had returned.
type supersession uint8

// The causes.
const (
	byRead  supersession = iota // a later Read of the same lines
	byEdit                      // a replacement of these lines
	byWrite                     // the file was written anew
	causes
)

// Limits of the work for one conversation. Files beyond them are not followed: their Reads count, and no line of them is
// superseded or read again.
const (
	maxHeld  = 64 << 20 // bytes of lines that are the newest of their files
	maxSteps = 64 << 20 // bytes and lines looked at
)

// reading is the result of one Read that returned content.
type reading struct {
	block  int    // of the ledger
	path   string // in one spelling
	bytes  int    // of its lines
	stale  []step
	again  int // bytes of lines that an earlier result returned, and that the agent did not change in between
	same   int // of again: the line has the same text
	inView int // of same: the request that made the call still held the earlier result
}

// step is a number of bytes of lines that were superseded at a request.
type step struct {
	request, bytes int
	by             supersession
}

// line is a line of a file, as a Read returned it last.
type line struct {
	number int // in the file as it is now, by the agent's own edits
	read   int
	bytes  int // in the result, its number included
	text   string
}

// files follows what was read of files.
type files struct {
	ledger  *Ledger
	reads   []reading
	held    map[string][]line // by path, sorted by number; nil and present: not followed
	dropped map[string]bool   // files that are not followed
	room    int               // bytes that may still be held
	steps   int               // that are left
	missed  int               // replacements whose place was not found
}

func newFiles(l *Ledger) *files {
	return &files{ledger: l, held: map[string][]line{}, dropped: map[string]bool{}, room: maxHeld, steps: maxSteps}
}

// spend takes work off the limit. It reports whether a file can still be followed.
func (f *files) spend(path string, steps, bytes int) bool {
	if f.dropped[path] {
		return false
	}
	if f.steps -= steps; f.steps < 0 || f.room < bytes {
		f.drop(path)
		return false
	}
	f.room -= bytes
	return true
}

func (f *files) drop(path string) {
	f.dropped[path] = true
	for _, l := range f.held[path] {
		f.room += len(l.text)
	}
	delete(f.held, path)
}

// read takes in the result of a Read that is first sent with a request; asked is the request that made the call.
func (f *files) read(block int, path, text string, asked, request int) {
	lines := numbered(text, len(f.reads))
	r := reading{block: block, path: path}
	size := 0
	for i := range lines {
		r.bytes += lines[i].bytes
		size += len(lines[i].text)
	}
	held := f.held[path]
	from := sort.Search(len(held), func(i int) bool { return held[i].number >= lines[0].number })
	to := sort.Search(len(held), func(i int) bool { return held[i].number > lines[len(lines)-1].number })
	if f.spend(path, to-from+len(lines)+size+(len(held)-to)/8, size) { // to move a line is less than to read one
		f.held[path] = slices.Replace(held, from, to, f.merge(held[from:to], lines, &r, asked, request)...)
	}
	f.reads = append(f.reads, r)
}

// merge is lines in the place of those with the same numbers.
func (f *files) merge(held, lines []line, r *reading, asked, request int) (merged []line) {
	for _, n := range lines {
		for len(held) > 0 && held[0].number < n.number {
			merged = append(merged, held[0])
			held = held[1:]
		}
		if len(held) > 0 && held[0].number == n.number {
			old := held[0]
			r.again += n.bytes
			if old.text == n.text {
				r.same += n.bytes
				if f.whole(old.read, asked) {
					r.inView += n.bytes
				}
			}
			f.supersede(&old, request, byRead)
			held = held[1:]
		}
		merged = append(merged, n)
	}
	return append(merged, held...)
}

// whole reports whether a request held the result of a Read as it had come.
func (f *files) whole(read int, request int) bool {
	b := &f.ledger.Blocks[f.reads[read].block]
	s, ok := b.At(request)
	return ok && s.Tokens == b.Spans[0].Tokens
}

// supersede notes that a line was superseded.
func (f *files) supersede(l *line, request int, by supersession) {
	f.room += len(l.text)
	r := &f.reads[l.read]
	if n := len(r.stale); n > 0 && r.stale[n-1].request == request && r.stale[n-1].by == by {
		r.stale[n-1].bytes += l.bytes
		return
	}
	r.stale = append(r.stale, step{request, l.bytes, by})
}

// write supersedes all lines of a file.
func (f *files) write(path string, request int) {
	for i := range f.held[path] {
		f.supersede(&f.held[path][i], request, byWrite)
	}
	delete(f.held, path)
}

// edit supersedes the lines that a replacement changes, and gives those behind it their new numbers.
func (f *files) edit(path string, e session.FileEdit, request int) {
	held := f.held[path]
	if len(held) == 0 || e.Old == "" {
		return
	}
	size := len(e.Old) + len(e.New)
	for i := range held {
		size += len(held[i].text) + 1
	}
	if !f.spend(path, size, 0) {
		return
	}
	j := join(held)
	shift := strings.Count(e.New, "\n") - strings.Count(e.Old, "\n")
	old := []byte(e.Old)
	found := false
	for at := 0; ; {
		i := bytes.Index(j.text[at:], old)
		if i < 0 {
			break
		}
		found = true
		from := at + i
		to := at + i + len(old)
		first := sort.SearchInts(j.starts, from+1) - 1
		last := sort.SearchInts(j.starts, to) - 1
		for k := first; k <= last; k++ {
			j.gone[k] = true
		}
		j.moved[last+1] += shift
		if at = to; !e.All {
			break
		}
	}
	if !found {
		f.missed++
		return
	}
	out := held[:0]
	by := 0
	for k := range held {
		if by += j.moved[k]; j.gone[k] {
			f.supersede(&held[k], request, byEdit)
			continue
		}
		l := held[k]
		l.number += by
		out = append(out, l)
	}
	f.held[path] = out
}

// joinedLines are lines as one text, and what an edit does to them.
type joinedLines struct {
	text   []byte // between lines that do not follow each other is a byte that no text has
	starts []int  // where each begins
	gone   []bool // by line: it changes
	moved  []int  // by line: how far it and those behind it move
}

// join joins lines that nothing changes.
func join(lines []line) *joinedLines {
	j := &joinedLines{gone: make([]bool, len(lines)), moved: make([]int, len(lines)+1)}
	for i := range lines {
		if i > 0 && lines[i].number != lines[i-1].number+1 {
			j.text = append(j.text, 0)
		}
		j.starts = append(j.starts, len(j.text))
		j.text = append(append(j.text, lines[i].text...), '\n')
	}
	return j
}

// numbered is the lines of a file that the result of a Read shows. A result without line numbers (of a
// notebook, an image) is one line with the number 0.
func numbered(text string, read int) (lines []line) {
	for whole := range strings.Lines(text) {
		n, rest, ok := session.CutLineNumber(whole)
		if !ok || len(lines) > 0 && n <= lines[len(lines)-1].number {
			continue
		}
		lines = append(lines, line{number: n, read: read, text: strings.TrimRight(rest, "\r\n"), bytes: len(whole)})
	}
	if len(lines) == 0 {
		lines = append(lines, line{read: read, text: text, bytes: max(len(text), 1)})
	}
	return lines
}

// staleAt is how many of a Read's tokens were superseded up to a request, by cause; tokens are those of all its lines.
// The sum of the causes never exceeds tokens.
func (r *reading) staleAt(request, tokens int) (by [causes]int) {
	var bytes [causes]int
	for _, s := range r.stale {
		if s.request <= request {
			bytes[s.by] += s.bytes
		}
	}
	for i, n := range bytes {
		by[i] = portion(tokens, n, r.bytes)
	}
	return by
}

// portion is tokens * part / whole, rounded down.
func portion(tokens, part, whole int) int {
	if whole <= 0 || tokens <= 0 {
		return 0
	}
	return int(int64(tokens) * int64(part) / int64(whole))
}
