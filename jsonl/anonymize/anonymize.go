// Package anonymize rewrites a session so that it can be published and still replays as before, in the form it has:
// texts, names and numbers are replaced by substitutes of the same lengths; structure, usage, models and times stay.
//
// Each word of a text has a substitute of its own at each occurrence, so that nothing is learned of one text from another.
// What policies compare remains the same where it was the same: ids, paths and other names have one substitute in all
// files of a session, a line that is repeated is repeated, and the text that an edit replaces is found in the file that
// was read. docs/anonymize.md says what an attacker has and what remains; see Disclosure.
package anonymize

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"hash"
	"io"
	"strings"
	"time"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/foreign"
	"github.com/ctxkit/ctxkit/jsonl/requests"
)

// Anonymizer rewrites the files of one session. First Note reads every file, so that no substitute is a long word of the
// original; then Write writes each. It is for one goroutine.
type Anonymizer struct {
	writer
	counters  []func([]byte) int
	content   hash.Hash
	originals map[string]bool // long words of the session, in lower case
	safe      map[string]bool // words with a meaning for readers: never substitutes
	report    Disclosure
	uuids     []string        // of user lines: their short ids may be named
	timed     map[string]bool // uuids that begin with their time
	seeded    bool
	begun     bool
	requests  bool          // the session holds requests
	was, is   requests.Runs // messages of lines as they were, and as they are written
	tries     *recovery     // nil: what can be recovered is not tried
}

// New returns an Anonymizer of sessions of a form, Claude Code's for nil. The seed decides the substitutes: with it one
// can find out which words they stand for. Where it is "", the noted content decides them: the same session gives the
// same output, and the substitutes cannot be derived without the session.
//
// Substitutes are drawn among those with as many tokens as their words by each of the counters, at most two. A
// counter does not keep or change its text.
func New(form *foreign.Form, seed string, counters ...func(text []byte) int) *Anonymizer {
	a := &Anonymizer{content: sha256.New(), counters: counters[:min(len(counters), maxCounters)], originals: map[string]bool{}, timed: map[string]bool{}}
	voc := newVocabulary(form)
	a.safe = voc.safe()
	a.report = Disclosure{Models: []string{}, Versions: []string{}, Kept: map[string]int{}, Survived: []Survivor{}}
	a.writer = writer{voc: voc, note: a.noted, edits: edits{files: map[string]*seenFile{}, calls: map[string]*fileCall{}, old: map[string]string{}, all: map[string]bool{}}, keep: func(s string) {
		letterRuns(s, func(run string) { a.safe[strings.ToLower(run)] = true })
	}}
	if seed != "" {
		a.content.Write([]byte(seed))
		a.seeded = true
	}
	return a
}

// Try makes the Disclosure count the words that could be recovered with a part of the original texts. It is called
// before anything is written.
func (a *Anonymizer) Try() {
	a.tries = &recovery{told: map[string]map[string]int{}, seen: map[uint64]bool{}}
}

// noted takes a string or a number of the session.
func (a *Anonymizer) noted(text string, at place) {
	letterRuns(text, func(run string) {
		if isLong(run) {
			a.originals[strings.ToLower(run)] = true
			humps(run, func(h string) {
				if isLong(h) {
					a.originals[strings.ToLower(h)] = true
				}
			})
		}
	})
	if len(text) == uuidLength && timedUUID().MatchString(text) {
		a.timed[text] = true
	}
	if len(text) == timedLength && timed().MatchString(text) {
		a.keep(text[:timedTime])
	}
	switch {
	case at.free:
	case a.voc.models[at.key]:
		a.report.Models = with(a.report.Models, text)
	case a.voc.versions[at.key] && a.voc.stays(text, at):
		a.report.Versions = with(a.report.Versions, text)
	case a.voc.times[at.key]:
		a.report.time(a.shift.number(a.shift.text(text)))
	}
}

// avoids reports whether a word must not be in the output.
func (a *Anonymizer) avoids(word string) bool {
	if !isLong(word) {
		return false
	}
	return a.originals[strings.ToLower(word)] && !a.isSafe(word)
}

// isSafe reports whether a word may stay: the format has it, or all its parts.
func (a *Anonymizer) isSafe(word string) bool { return IsSafe(a.safe, word) }

// IsSafe reports whether a list of safe words has a word, or all parts of one in camelCase.
func IsSafe(safe map[string]bool, word string) bool {
	if safe[strings.ToLower(word)] {
		return true
	}
	ok := true
	humps(word, func(h string) { ok = ok && safe[strings.ToLower(h)] })
	return ok
}

// Note reads a session file for the first time.
func (a *Anonymizer) Note(src *jsonl.Source, jobs int) error {
	return a.each(src, jobs, func(raw []byte, item *jsonl.Item) error {
		if !a.seeded {
			a.content.Write(raw)
		}
		if item == nil || item.Kind == jsonl.ItemEntry || item.Kind == jsonl.ItemError {
			a.value(raw)
		} else {
			a.noted(string(raw), place{})
		}
		if item != nil && item.Kind == jsonl.ItemEntry && requests.IsType(item.Entry.Type) {
			a.requests = true
		}
		if item != nil && item.Kind == jsonl.ItemEntry && item.Entry.Type == "user" && item.Entry.UUID != "" {
			a.uuids = append(a.uuids, item.Entry.UUID)
		}
		return nil
	})
}

// each goes through the lines of a file, or takes it as one text.
func (a *Anonymizer) each(src *jsonl.Source, jobs int, do func(raw []byte, item *jsonl.Item) error) error {
	if a.voc.document {
		var text bytes.Buffer
		if _, err := src.WriteTo(&text); err != nil && text.Len() == 0 {
			return err
		}
		return do(text.Bytes(), nil)
	}
	return src.Each(jobs, jsonl.ReadOptions{}, func(item *jsonl.Item) error {
		if item.Kind == jsonl.ItemEntry {
			return do(item.Entry.Raw, item)
		}
		raw, err := src.ReadSpan(item.Span)
		if err != nil {
			return err
		}
		return do(raw, item)
	})
}

// NoteText notes a text of the session, or a file's name.
func (a *Anonymizer) NoteText(s string) {
	if !a.seeded {
		a.content.Write([]byte(s))
	}
	a.noted(s, place{})
}

// Path is the name of a file next to the session, with slashes, its words replaced except for those of the format. Ids
// get the same substitutes as in the session.
func (a *Anonymizer) Path(name string) string {
	a.begin()
	parts := strings.Split(name, "/")
	last := len(parts) - 1
	for i, part := range parts {
		if i < last && folders[part] || i == last && files[part] {
			continue
		}
		end := ""
		for _, e := range ends {
			if i == last && strings.HasSuffix(part, e) {
				end = e
			}
		}
		parts[i] = a.Name(strings.TrimSuffix(part, end)) + end
	}
	return strings.Join(parts, "/")
}

// begin ends the first pass.
func (a *Anonymizer) begin() {
	if a.begun {
		return
	}
	a.begun = true
	var seed [32]byte
	a.content.Sum(seed[:0])
	p := newPools(a.counters, seed, func(w string) bool { return a.avoids(w) || a.safe[strings.ToLower(w)] })
	a.names = &codebook{pools: p, voc: a.voc, shift: a.shift, seed: seed, avoid: a.avoids, assigned: map[string]string{}, taken: map[string]bool{}}
	a.texts = &filler{pools: p, voc: a.voc, names: a.names, seed: seed, avoid: a.avoids, letters: map[rune][]rune{}, tries: a.tries}
	a.texts.fix(a.edits.all)
	a.names.order(a.timed)
	a.snipped = map[string]string{}
	for _, u := range a.uuids {
		a.snipped[jsonl.ShortID(u)] = jsonl.ShortID(a.Name(u))
	}
}

// Text is the substitute of a text, Name that of an id, a path or another name.
func (a *Anonymizer) Text(s string) string {
	a.begin()
	return string(a.texts.text(nil, s))
}

// Name is the substitute of a name: the same one everywhere.
func (a *Anonymizer) Name(s string) string {
	a.begin()
	return string(a.names.name(nil, s))
}

// WriteText writes a text that has been noted and checks each of its lines; file is its name in the Disclosure.
func (a *Anonymizer) WriteText(text, file string, w io.Writer) error {
	text = a.Text(text)
	a.checkLines(text, Location{File: file, Line: 1})
	_, err := io.WriteString(w, text)
	return err
}

func (a *Anonymizer) checkLines(text string, at Location) {
	for line := range strings.Lines(text) {
		a.Check(line, at)
		at.Line++
	}
}

// Write writes a session file that has been noted and checks each line; file is its name in the Disclosure.
func (a *Anonymizer) Write(src *jsonl.Source, file string, jobs int, w io.Writer) error {
	a.begin()
	end := int64(0) // of what has been written
	at := Location{File: file, Line: 1}
	between := func(to int64) error {
		raw, err := src.ReadSpan(jsonl.Span{Off: end, Len: int(to - end)})
		if err == nil {
			end = to
			at.Line += bytes.Count(raw, []byte("\n"))
			_, err = w.Write(raw)
		}
		return err
	}
	err := a.each(src, jobs, func(raw []byte, item *jsonl.Item) error {
		if item == nil {
			a.report.Lines++
			a.value(raw)
			a.checkLines(string(a.dst), at)
			_, err := w.Write(a.dst)
			return err
		}
		if err := between(item.Span.Off); err != nil {
			return err
		}
		end += int64(item.Span.Len)
		if item.Kind == jsonl.ItemEntry || item.Kind == jsonl.ItemError {
			a.value(raw)
		} else { // a comment
			n := prefix(string(raw), func(r rune) bool { return r == '/' || r == ' ' || r == '\t' })
			a.dst = a.texts.text(append(a.dst[:0], raw[:n]...), string(raw[n:]))
		}
		if item.Kind != jsonl.ItemEntry {
			inertLine(a.dst)
		} else if a.requests {
			a.follow(raw, item.Entry)
		}
		a.report.Lines++
		a.Check(string(a.dst), at)
		_, err := w.Write(a.dst)
		return err
	})
	if err != nil || a.voc.document {
		return err
	}
	for err == nil { // the bytes after the last item are white space
		err = between(end + 1)
	}
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) || errors.Is(err, jsonl.ErrNotRead) {
		return nil
	}
	return err
}

// time takes a recorded time: as text, or milliseconds of the epoch.
func (r *Disclosure) time(text string) {
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		if len(text) != len("1700000000000") {
			return
		}
		ms := int64(0)
		for _, c := range []byte(text) {
			ms = 10*ms + int64(c-'0')
		}
		t = time.UnixMilli(ms).UTC()
	}
	if r.First.IsZero() || t.Before(r.First) {
		r.First = t
	}
	if t.After(r.Last) {
		r.Last = t
	}
}
