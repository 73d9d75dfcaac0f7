// Package anonymize rewrites a session so that it can be published and still replays as before: the words of texts,
// paths, names and ids are replaced by substitutes of the same length; structure, numbers, usage and times stay.
//
// A word has one substitute in all files of a session: a path that was read and edited remains one path, an
// old_string remains a part of the text that was read. That keeps a policy's decisions. It also keeps word
// frequencies, lengths and times, and with counters about the tokens of each word; see Disclosure.
package anonymize

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"hash"
	"io"
	"strings"

	"github.com/ctxkit/ctxkit/jsonl"
)

// Anonymizer rewrites the files of one session. First Note reads every file, so that no substitute is a word of the
// original; then Write writes each.
type Anonymizer struct {
	writer
	content hash.Hash
	report  Disclosure
	uuids   []string // of user lines: their short ids may be named
	seeded  bool
}

// New returns an Anonymizer. The seed decides the substitutes. Where it is "" the noted content decides them: the
// same session gives the same output, and the words cannot be derived without the session.
//
// Substitutes are chosen for about the same tokens as their words by each of the counters, at most two.
func New(seed string, counters ...func(text string) int) *Anonymizer {
	a := &Anonymizer{content: sha256.New()}
	a.book = newCodebook(counters[:min(len(counters), maxCounters)])
	a.report = Disclosure{Models: []string{}, Versions: []string{}, Kept: map[string]int{}, Survived: []Survivor{}}
	if seed != "" {
		a.content.Write([]byte(seed))
		a.seeded, a.book.shared = true, true
	}
	return a
}

// Note reads a session file for the first time.
func (a *Anonymizer) Note(src *jsonl.Source, jobs int) error {
	a.noting = true
	return src.Each(jobs, jsonl.ReadOptions{}, func(rec *jsonl.Item) error {
		if rec.Kind != jsonl.ItemEntry {
			raw, err := src.ReadSpan(rec.Span)
			if err == nil {
				a.NoteText(string(raw))
			}
			return err
		}
		e := rec.Entry
		if !a.seeded {
			a.content.Write(e.Raw)
		}
		a.entry(e.Raw)
		a.report.entry(e)
		if e.Type == "user" && e.UUID != "" {
			a.uuids = append(a.uuids, e.UUID)
		}
		return nil
	})
}

// NoteText notes the words of a text of the session, or of a file's name.
func (a *Anonymizer) NoteText(s string) {
	if !a.seeded {
		a.content.Write([]byte(s))
	}
	a.book.note(s)
}

// Path is the name of a file beside the session, with slashes, its words replaced except for those of the format. Ids
// get the same substitutes as in the session.
func (a *Anonymizer) Path(name string) string {
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
		parts[i] = a.Text(strings.TrimSuffix(part, end)) + end
	}
	return strings.Join(parts, "/")
}

// begin ends the first pass.
func (a *Anonymizer) begin() {
	if !a.noting && a.snipped != nil {
		return
	}
	a.noting = false
	a.content.Sum(a.book.seed[:0])
	a.snipped = map[string]string{}
	a.book.assign()
	for _, u := range a.uuids {
		a.snipped[jsonl.ShortID(u)] = jsonl.ShortID(a.Text(u))
	}
}

// Text is a text with substitutes for its words.
func (a *Anonymizer) Text(s string) string {
	if a.snipped == nil {
		a.begin()
	}
	return string(a.book.text(nil, s))
}

// WriteText writes a text that has been noted and checks each of its lines; file is its name in the Disclosure.
func (a *Anonymizer) WriteText(text, file string, w io.Writer) error {
	text = a.Text(text)
	at := Location{File: file}
	for line := range strings.Lines(text) {
		at.Line++
		a.Check(line, at)
	}
	_, err := io.WriteString(w, text)
	return err
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
	err := src.Each(jobs, jsonl.ReadOptions{}, func(item *jsonl.Item) error {
		if err := between(item.Span.Off); err != nil {
			return err
		}
		end += int64(item.Span.Len)
		if item.Kind == jsonl.ItemEntry {
			a.entry(item.Entry.Raw)
		} else {
			raw, err := src.ReadSpan(item.Span)
			if err != nil {
				return err
			}
			a.dst = a.book.text(a.dst[:0], string(raw))
			inertLine(a.dst)
		}
		a.report.Lines++
		a.Check(string(a.dst), at)
		_, err := w.Write(a.dst)
		return err
	})
	if err != nil {
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
