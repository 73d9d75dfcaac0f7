// Package anonymize rewrites a session so that it can be shown to others and
// still behaves as it did: texts, paths, names and ids become stand-ins of the
// same length, structure, numbers, usage and times stay.
//
// A word has one stand-in wherever it stands, in every file of a session: a
// path that was read and edited is one path still, an old_string still stands
// in what was read. That keeps a policy's decisions; it also keeps word
// frequencies, lengths and rhythm, and with counters about how many tokens each
// word is, which Report says.
package anonymize

import (
	"crypto/sha256"
	"errors"
	"hash"
	"io"
	"strings"

	"github.com/ctxkit/ctxkit/jsonl"
)

// Anonymizer rewrites the files of one session. First every file is noted, so
// that no stand-in is a word of the original; then each is written.
type Anonymizer struct {
	writer
	content hash.Hash
	report  Report
	uuids   []string // of user lines: their short ids may be named
	seeded  bool
}

// New returns an Anonymizer. The seed decides the stand-ins; where it is "" the
// content of what is noted does, so that the same session becomes the same
// output and nobody without the session can work out its words.
//
// Stand-ins are chosen so that the counters, at most two, give them the tokens
// of their words: nearly, since a word has one stand-in wherever it stands.
func New(seed string, counters ...func(text string) int) *Anonymizer {
	a := &Anonymizer{content: sha256.New()}
	a.book = newCodebook(counters[:min(len(counters), maxCounters)])
	a.report.Kept = map[string]int{}
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
		a.dst = a.dst[:0]
		a.object(e.Raw)
		a.report.entry(e)
		if e.Type == "user" && e.UUID != "" {
			a.uuids = append(a.uuids, e.UUID)
		}
		return nil
	})
}

// NoteText notes the words of a text that belongs to the session.
func (a *Anonymizer) NoteText(s string) {
	if !a.seeded {
		a.content.Write([]byte(s))
	}
	a.book.note(s)
}

// NotePath notes the words of a file's name, with slashes.
func (a *Anonymizer) NotePath(name string) {
	if !a.seeded {
		a.content.Write([]byte(name))
	}
	a.book.note(name)
}

// Path is the name of a file beside the session, with slashes, with stand-ins
// for what is not the format's own: ids become what they are in the session.
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

// Text is a text with stand-ins for its words.
func (a *Anonymizer) Text(s string) string {
	if a.snipped == nil {
		a.begin()
	}
	return string(a.book.text(nil, s))
}

// Write writes a session file that has been noted.
func (a *Anonymizer) Write(src *jsonl.Source, jobs int, w io.Writer) error {
	a.begin()
	end := int64(0) // of what has been written
	err := src.Each(jobs, jsonl.ReadOptions{}, func(rec *jsonl.Item) error {
		if gap := rec.Span.Off - end; gap > 0 {
			between, err := src.ReadSpan(jsonl.Span{Off: end, Len: int(gap)})
			if err != nil {
				return err
			}
			if _, err := w.Write(between); err != nil {
				return err
			}
		}
		end = rec.Span.Off + int64(rec.Span.Len)
		a.dst = a.dst[:0]
		if rec.Kind == jsonl.ItemEntry {
			a.object(rec.Entry.Raw)
		} else {
			raw, err := src.ReadSpan(rec.Span)
			if err != nil {
				return err
			}
			a.dst = a.book.text(a.dst, string(raw))
			inertLine(a.dst)
		}
		a.report.Lines++
		_, err := w.Write(a.dst)
		return err
	})
	if err != nil {
		return err
	}
	// What is behind the last record is white space.
	for {
		rest, err := src.ReadSpan(jsonl.Span{Off: end, Len: 1})
		if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) || errors.Is(err, jsonl.ErrNotRead) {
			return nil
		}
		if err != nil {
			return err
		}
		if _, err := w.Write(rest); err != nil {
			return err
		}
		end++
	}
}
