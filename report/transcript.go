package report

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"strconv"

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

// PrintTranscript prints every line of a session's file, metadata included.
func PrintTranscript(w io.Writer, t *Transcript, opt Layout) error {
	if opt.Format == FormatJSON {
		out := &jsonStream{w: w, head: object{{"schema", TranscriptSchema}, {"session", t.Conv.SessionID}}, list: "lines"}
		if err := t.each(func(rec *jsonl.Item) error { return out.add(recordJSON(rec)) }); err != nil {
			return err
		}
		return out.end()
	}
	p := &transcriptPages{page: newPage(w, opt), t: t}
	p.heading("session " + t.Conv.SessionID + ": transcript, as recorded")
	p.fields(field{"file", t.Conv.Path})
	if err := t.each(p.record); err != nil {
		return err
	}
	return p.end()
}

// each calls f with each record of the file. Loading the session has already reported the error that ends the reading
// early.
func (t *Transcript) each(f func(rec *jsonl.Item) error) error {
	var failed error
	enough := errors.New("the last line to show is read")
	_ = t.Conv.Source.Each(1, jsonl.ReadOptions{}, func(rec *jsonl.Item) error {
		if t.To > 0 && rec.Line >= t.To {
			return enough
		}
		failed = f(rec)
		return failed
	})
	return failed
}

// recordJSON is the JSON form of a record: its line, and the entry as it is in the file.
func recordJSON(rec *jsonl.Item) []byte {
	line := fmt.Appendf(nil, `{"line":%d`, rec.Line)
	switch rec.Kind {
	case jsonl.ItemEntry:
		if rec.Entry.Part > 0 {
			line = fmt.Appendf(line, `,"part":%d`, rec.Entry.Part)
		}
		line = fmt.Appendf(line, `,"entry":%s`, rec.Entry.Raw)
	case jsonl.ItemError:
		message, _ := encoded("", malformed(rec.Err)) // a string
		line = fmt.Appendf(line, `,"malformed":%s`, message)
	case jsonl.ItemComment:
		line = append(line, `,"comment":true`...)
	case jsonl.ItemBlank:
		line = append(line, `,"blank":true`...)
	}
	return append(line, '}')
}

func malformed(e *jsonl.SyntaxError) string { return fmt.Sprintf("column %d: %s", e.Col, e.Msg) }

// transcriptPages prints for people.
type transcriptPages struct {
	*page
	t *Transcript
}

func (p *transcriptPages) record(rec *jsonl.Item) error {
	p.line("")
	size := fileSize(rec.Span.Len)
	title := "── line " + thousands(rec.Line)
	switch rec.Kind {
	case jsonl.ItemError:
		p.title(red, "", title+"  malformed  "+size+"  "+malformed(rec.Err))
	case jsonl.ItemComment:
		p.line(p.paint(faint, title+"  comment"))
	case jsonl.ItemBlank:
		p.line(p.paint(faint, title+"  blank"))
	default:
		p.entry(rec.Entry, title, size)
	}
	return p.flush()
}

func (p *transcriptPages) entry(e *jsonl.Entry, title, size string) {
	if e.Part > 0 {
		title += "." + strconv.Itoa(e.Part)
	}
	p.title(bold, "", joined("  ", title, joined(" ", e.Type, e.Subtype), timeText(e.Time, "01-02 15:04:05", p.Zone), size,
		either(e.IsSidechain, "sidechain", ""), either(e.IsMeta, "meta", ""), either(e.IsCompactSummary, "compact summary", ""),
		either(e.IsAPIError, "API error", ""), e.UUID))
	if !e.HasMessage {
		p.text(none, "     ", "", fieldsText(e.Raw), 1)
		return
	}
	for _, b := range e.Message.Content {
		at := b.Span.Off - e.Offset
		c := readContent(e.Raw[at:at+int64(b.Span.Len)], p.t.Conv.ToolName)
		p.title(cyan, "   ", c.title)
		p.text(none, "     ", "", c.text, len(e.Message.Content))
	}
}

// A message takes about a screen: a number of lines of its blocks in all, and a number of blocks.
const (
	screenLines = 36
	mostLines   = 12 // of one block
	fewestLines = 2
	mostBlocks  = 16
)

// text prints the text of one of n blocks, folded so that all of them fit on a screen; sign comes before each line.
func (p *page) text(st style, indent, sign, text string, n int) {
	most := either(p.Full, 0, max(min(screenLines/max(n, 1), mostLines), fewestLines))
	lines, more := fold(text, p.lineWidth()-len(indent+sign), most)
	for _, l := range lines {
		p.line(indent + p.paint(st, sign+l))
	}
	p.folded(cmp.Or(indent, "  "), more, "line", len(text))
}

// folded prints that n more lines or blocks are left out, of a text of size bytes. A size of 0 is left out.
func (p *page) folded(indent string, n int, noun string, size int) {
	if n > 0 {
		p.line(p.paint(faint, phrase("%v… %v%v%v", indent, count(n, "more "+noun),
			phraseIf(size > 0, ", %v in all", fileSize(size)), phraseIf(p.Hints.Full != "", " (%v)", p.Hints.Full))))
	}
}

// flush writes what was printed once it is large.
func (p *page) flush() error {
	if p.buf.Len() > 1<<20 {
		return p.end()
	}
	return p.err
}
