package report

import (
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/session"
)

// TranscriptSchema is the version of the JSON form of a transcript.
const TranscriptSchema = "ctxkit.transcript/v1"

// Transcript is a session file as it was appended to.
type Transcript struct {
	Conv *session.Conversation
	To   int // lines from this one on are not shown; 0: all are
}

// shownTranscript is a way to print one record after another.
type shownTranscript interface {
	begin() error
	record(rec *jsonl.Item) error
	close() error
}

// PrintTranscript prints every line of a session's file, metadata included.
func PrintTranscript(w io.Writer, t *Transcript, opt Options, full bool) error {
	var to shownTranscript = &transcriptPages{textPage: textPage{w: w, color: opt.Color, hints: opt.Hints}, t: t, full: full}
	if opt.Format == FormatJSON {
		to = &transcriptJSON{w: w, t: t}
	}
	if err := to.begin(); err != nil {
		return err
	}
	for _, src := range t.Conv.Sources {
		// What ends the reading early was told when the session was loaded.
		stopped := src.Each(1, jsonl.ReadOptions{}, func(rec *jsonl.Item) error {
			if t.To > 0 && rec.Line >= t.To {
				return errEnough
			}
			return to.record(rec)
		})
		if stopped != nil && stopped != errEnough {
			break
		}
	}
	return to.close()
}

// errEnough ends the reading where nothing more is shown.
var errEnough = errors.New("enough was read")

// transcriptJSON prints one object, a line of the file on each of its lines.
type transcriptJSON struct {
	w io.Writer
	t *Transcript
	n int
}

func (p *transcriptJSON) begin() error {
	_, err := fmt.Fprintf(p.w, "{\n\"schema\":%s,\n\"session\":%s,\n\"lines\":[", quoted(TranscriptSchema), quoted(p.t.Conv.SessionID))
	return err
}

func quoted(s string) []byte { return escapeJSON(jsonString(s)) }

func (p *transcriptJSON) record(rec *jsonl.Item) error {
	lead := ",\n"
	if p.n == 0 {
		lead = "\n"
	}
	p.n++
	line := lead + `{"line":` + strconv.Itoa(rec.Line)
	var rest []byte
	switch rec.Kind {
	case jsonl.ItemEntry:
		if rec.Entry.Part > 0 {
			line += `,"part":` + strconv.Itoa(rec.Entry.Part)
		}
		rest = append([]byte(`,"entry":`), rec.Entry.Raw...)
	case jsonl.ItemError:
		rest = append([]byte(`,"malformed":`), jsonString(malformed(rec.Err))...)
	case jsonl.ItemComment:
		rest = []byte(`,"comment":true`)
	case jsonl.ItemBlank:
		rest = []byte(`,"blank":true`)
	}
	_, err := p.w.Write(append([]byte(line), append(escapeJSON(rest), '}')...))
	return err
}

func malformed(e *jsonl.SyntaxError) string { return fmt.Sprintf("column %d: %s", e.Col, e.Msg) }

func (p *transcriptJSON) close() error {
	_, err := io.WriteString(p.w, "\n]\n}\n")
	return err
}

// transcriptPages prints for people.
type transcriptPages struct {
	textPage
	t    *Transcript
	full bool
}

func (p *transcriptPages) begin() error {
	p.heading("session " + p.t.Conv.SessionID + ": transcript, as recorded")
	p.fields([][2]string{{"file", p.t.Conv.Path}})
	return nil
}

func (p *transcriptPages) record(rec *jsonl.Item) error {
	p.line("")
	size := bytesText(int64(rec.Span.Len))
	title := "── line " + thousands(rec.Line)
	switch rec.Kind {
	case jsonl.ItemError:
		p.line(p.paint(red, cut(title+"  malformed  "+size+"  "+Clean(malformed(rec.Err)), lineWidth)))
	case jsonl.ItemComment, jsonl.ItemBlank:
		what := "blank"
		if rec.Kind == jsonl.ItemComment {
			what = "comment"
		}
		p.line(p.paint(faint, title+"  "+what))
	default:
		p.entry(rec.Entry, title, size)
	}
	if p.buf.Len() > 1<<20 {
		return p.end()
	}
	return p.err
}

func (p *transcriptPages) close() error { return p.end() }

func (p *transcriptPages) entry(e *jsonl.Entry, title, size string) {
	if e.Part > 0 {
		title += "." + strconv.Itoa(e.Part)
	}
	parts := []string{title, joined(e.Type, e.Subtype)}
	if !e.Time.IsZero() {
		parts = append(parts, e.Time.UTC().Format("01-02 15:04:05"))
	}
	parts = append(parts, size)
	for _, f := range []struct {
		name string
		on   bool
	}{{"sidechain", e.IsSidechain}, {"meta", e.IsMeta}, {"compact summary", e.IsCompactSummary}, {"API error", e.IsAPIError}} {
		if f.on {
			parts = append(parts, f.name)
		}
	}
	if e.UUID != "" {
		parts = append(parts, e.UUID)
	}
	p.line(p.paint(bold, cut(Clean(strings.Join(parts, "  ")), lineWidth)))
	if !e.HasMessage {
		p.text(fieldsText(e.Raw), p.most(1), len(e.Raw))
		return
	}
	for i := range e.Message.Content {
		b := &e.Message.Content[i]
		at := b.Span.Off - e.Offset
		c := readContent(e.Raw[at:at+int64(b.Span.Len)], p.t.Conv.ToolName)
		p.line("   " + p.paint(cyan, cut(Clean(c.title), lineWidth-3)))
		p.text(c.text, p.most(len(e.Message.Content)), len(c.text))
	}
}

// most is how many lines of each of n blocks are shown; 0: all.
func (p *transcriptPages) most(n int) int {
	if p.full {
		return 0
	}
	return foldAt(n)
}

// text prints a text below its heading, folded after most lines (0: not).
func (p *textPage) text(text string, most, size int) {
	lines, more := fold(text, lineWidth-5, most)
	for _, l := range lines {
		p.line("     " + l)
	}
	if more > 0 {
		p.line("     " + p.paint(faint, fmt.Sprintf("… %s, %s in all%s", count(more, "more line"), bytesText(int64(size)), p.hints.folded())))
	}
}
