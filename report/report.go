// Package report prints results: pure functions of data, options and an io.Writer. It computes nothing that the
// result does not hold, reads neither the environment nor the clock, and prints the same bytes everywhere.
//
// Text and Markdown are for people: pages (page.go) of headings, fields, tables and a chart. JSON, NDJSON and CSV are
// for programs and contain everything. One row type (columns.go) has the columns of the text, the Markdown and the CSV
// form of a table.
package report

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/replay"
)

// Format is a form of output.
type Format string

// The formats.
const (
	FormatTable    Format = "table"
	FormatText     Format = "text" // of a view
	FormatJSON     Format = "json"
	FormatNDJSON   Format = "ndjson"
	FormatCSV      Format = "csv"
	FormatMarkdown Format = "markdown"
	FormatSVG      Format = "svg"
	FormatHTML     Format = "html"   // one file with its charts, tables and texts
	FormatJUnit    Format = "junit"  // the XML that CI systems read test results from
	FormatGitHub   Format = "github" // workflow commands: annotations of a pull request
	FormatRows     Format = "rows"   // a line of JSON per conversation, to be merged: see compare.WriteRows
)

// The formats of each report.
var (
	ListFormats       = []Format{FormatTable, FormatJSON, FormatCSV, FormatMarkdown}
	ReplayFormats     = []Format{FormatTable, FormatJSON, FormatNDJSON, FormatCSV, FormatMarkdown, FormatHTML, FormatSVG}
	PageFormats       = []Format{FormatTable, FormatJSON, FormatCSV, FormatMarkdown, FormatHTML}
	SweepFormats      = []Format{FormatTable, FormatJSON, FormatCSV, FormatMarkdown, FormatHTML, FormatSVG}
	CheckFormats      = []Format{FormatTable, FormatJSON, FormatJUnit, FormatGitHub, FormatMarkdown}
	LintFormats       = []Format{FormatTable, FormatJSON, FormatGitHub}
	PolicyLintFormats = []Format{FormatTable, FormatJSON, FormatCSV, FormatMarkdown, FormatGitHub}
	ViewFormats       = []Format{FormatText, FormatJSON}
	DiffFormats       = []Format{FormatText, FormatJSON, FormatHTML}
)

// Layout says how to print.
type Layout struct {
	Format  Format
	Several bool           // more than one conversation: JSON is a list
	All     bool           // leave nothing out of tables
	Verbose bool           // every warning, and of several results the page of each
	Color   bool           // tables with colours
	ASCII   bool           // charts of ASCII only
	Full    bool           // fold no text
	Width   int            // of a line of text, terminal columns, at least 40; 0: 100
	NoText  bool           // pages have no word of the transcript
	Now     time.Time      // that ages are counted from
	Zone    *time.Location // of the times in texts; nil: UTC, as in JSON and CSV
	By      Period         // costs are also summed up by period; "": they are not
	Prefill Prefill        // of comparisons: also the time to read the input
	Hints   Hints
}

// Hints say how to see more, in the words of the program that prints: report itself knows no flag and no command. An
// empty hint is left out.
type Hints struct {
	All      string // shows the rows left out of a table
	Wider    string // shows the columns left out of a table
	Pages    string // shows the page of one of several results
	Warnings string // shows the warnings that are only counted
	Full     string // shows the lines that are folded
	Prices   string // lists the models that have a price
	Lint     string // lists malformed lines
	Findings string // keeps more findings of each kind
	Window   string // takes another context window
	Contents string // lists what the input consisted of
	Policies string // shows what other policies would have cost
	Agents   string // shows subagents by themselves
	Included string // includes subagents

	Releases string // how releases of a product are named

	Shell func(words []string) string // a command line to paste; nil: words with spaces between
}

// hidden says that there are n more, and what shows or holds them.
func (h *Hints) hidden(n int, noun, where string) string {
	return phrase("(%v hidden: %v)", count(n, "more "+noun), joined(", ", h.All, where))
}

// commandLine joins the words of a command to a line that can be pasted.
func (h *Hints) commandLine(words []string) string {
	if h.Shell == nil {
		return Clean(strings.Join(words, " "))
	}
	return h.Shell(words)
}

// before joins a hint to the text it follows; "" where there is no hint.
func before(joint, hint string) string {
	return either(hint == "", "", joint+hint)
}

// document is a result with a printer per format.
type document struct {
	kind  string        // above the title of an HTML page; "": there is none
	page  func(p *page) // text and Markdown
	json  func() any
	csv   func() *table
	other map[Format]func(w io.Writer) error
}

// listing returns the document of one table, below the answer in a sentence and above notes. json is its JSON form.
func listing(answer string, t *table, json any, notes ...string) *document {
	return &document{
		page: func(p *page) {
			p.note(bold, answer)
			p.table(t)
			p.notes(faint, notes)
		},
		json: func() any { return json },
		csv:  func() *table { return t },
	}
}

// after adds to the page what a policy's name meant.
func (d *document) after(use policy.Use) *document {
	table := d.page
	d.page = func(p *page) { table(p); useNotes(p, use) }
	return d
}

// print prints the document in the format of the layout. It is an error if the document does not have that format.
func (d *document) print(w io.Writer, opt Layout) error {
	switch {
	case d.other[opt.Format] != nil:
		return d.other[opt.Format](w)
	case opt.Format == FormatJSON:
		return WriteJSON(w, d.json())
	case opt.Format == FormatCSV && d.csv != nil:
		return d.csv().csv(w, true)
	case opt.Format == "" || opt.Format == FormatTable || opt.Format == FormatMarkdown || opt.Format == FormatHTML && d.kind != "":
		p := newPage(w, opt)
		if p.html != nil {
			p.html.Kicker = d.kind
		}
		d.page(p)
		return p.end()
	}
	return formatError(opt.Format)
}

func formatError(f Format) error { return fmt.Errorf("format %q: this report does not have it", f) }

// replayPages returns a printer of the page of one timeline, or of a table with a row for each of several.
func replayPages(w io.Writer, opt Layout) Printer[*replay.Timeline] {
	all := &overview{notes: map[string]policy.Use{}}
	return onePage(w, opt, all.add, printTimeline, all.print)
}

// onePage returns a printer of the page of one result, or of a page over several, which add has counted. With
// Layout.Verbose each result has its page, and that over all is the last.
func onePage[T any](w io.Writer, opt Layout, add func(result T), each func(p *page, result T), all func(p *page)) Printer[T] {
	pages := pagePrinter(w, opt, each, all)
	var only []T // the first, while there is no other
	n := 0
	return Printer[T]{
		Add: func(result T) error {
			add(result)
			n++
			if opt.Verbose {
				return pages.Add(result)
			}
			if only = nil; n == 1 {
				only = []T{result}
			}
			return nil
		},
		Close: func() error {
			switch {
			case n == 0:
				return nil
			case len(only) == 1:
				return pages.Add(only[0])
			case opt.Verbose:
				return pages.Close()
			}
			p := newPage(w, opt)
			all(p)
			return p.end()
		},
	}
}

// NewReplays returns the printer of timelines.
func NewReplays(w io.Writer, opt Layout) (Printer[*replay.Timeline], error) {
	switch opt.Format {
	case FormatTable, FormatMarkdown, "":
		return replayPages(w, opt), nil
	case FormatJSON:
		s := &jsonStream{w: w, head: object{{"schema", replay.Schema}}, list: "sessions"}
		return jsonPrinter(s, !opt.Several, func(tl *replay.Timeline) any { return filled(tl) }), nil
	case FormatNDJSON:
		return replayNDJSON(w), nil
	case FormatCSV:
		return replayCSV(w), nil
	case FormatHTML:
		return replayHTML(w, opt), nil
	case FormatSVG:
		return timelineSVG(w, opt), nil
	}
	return Printer[*replay.Timeline]{}, formatError(opt.Format)
}

// replayCSV returns a printer of one request per row. Columns are only ever added at the end.
func replayCSV(w io.Writer) Printer[*replay.Timeline] {
	header := true // is to be printed
	add := func(tl *replay.Timeline) error {
		t := newRequestTable(tl)
		own, rest := ownEvents(tl)
		for i, r := range tl.Requests {
			t.request(&r, own[i], "")
		}
		if len(rest) > 0 {
			t.end(rest)
		}
		err := t.csv(w, header)
		header = false
		return err
	}
	return Printer[*replay.Timeline]{Add: add, Close: func() error {
		if header {
			return add(&replay.Timeline{})
		}
		return nil
	}}
}

// ownEvents returns the events of each request, by its index, and the events of no request. An event that a main
// request and a call of the policy's own both name belongs to the main request.
func ownEvents(tl *replay.Timeline) (by [][]int, rest []int) {
	by = make([][]int, len(tl.Requests))
	taken := make([]bool, len(tl.Events))
	for _, main := range []bool{true, false} {
		for i, r := range tl.Requests {
			for _, n := range r.Events {
				if (r.Kind == kindMain) == main && n >= 0 && n < len(taken) && !taken[n] {
					taken[n] = true
					by[i] = append(by[i], n)
				}
			}
		}
	}
	for n, done := range taken {
		if !done {
			rest = append(rest, n)
		}
	}
	return by, rest
}

// Printer prints results one after another. Close ends the output; no Add may follow it.
type Printer[T any] struct {
	Add   func(result T) error
	Close func() error
}

// eachPrinter returns a printer that prints each result by itself.
func eachPrinter[T any](add func(result T) error) Printer[T] {
	return Printer[T]{Add: add, Close: func() error { return nil }}
}

// pagePrinter returns a printer of a page per result, with an empty line between them, and of a last page after two
// results or more. A nil last prints none.
func pagePrinter[T any](w io.Writer, opt Layout, each func(p *page, result T), last func(p *page)) Printer[T] {
	pages := 0
	file := newPage(w, opt) // of HTML there is one
	add := func(write func(p *page)) error {
		if file.html != nil {
			write(file)
			return nil
		}
		if pages++; pages > 1 {
			if _, err := io.WriteString(w, "\n"); err != nil {
				return err
			}
		}
		p := newPage(w, opt)
		write(p)
		return p.end()
	}
	return Printer[T]{
		Add: func(result T) error { return add(func(p *page) { each(p, result) }) },
		Close: func() error {
			if file.html != nil {
				return file.end()
			}
			if pages < 2 || last == nil {
				return nil
			}
			return add(last)
		},
	}
}

// jsonPrinter returns a printer of the JSON form of results: of each by itself if single is set, else as the items of
// a stream.
func jsonPrinter[T any](s *jsonStream, single bool, form func(result T) any) Printer[T] {
	if single {
		return eachPrinter(func(result T) error { return WriteJSON(s.w, form(result)) })
	}
	return Printer[T]{Add: func(result T) error {
		item, err := encoded("    ", form(result))
		if err != nil {
			return err
		}
		return s.add(item)
	}, Close: s.end}
}
