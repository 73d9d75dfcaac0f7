// Package report prints results: pure functions of data, options and an
// io.Writer. It computes nothing that the result does not hold, reads neither
// the environment nor the clock, and prints the same bytes everywhere.
//
// For people there are tables (text and Markdown), made of pages (page.go):
// headings, fields, tables and a chart. For programs there are json, ndjson
// and csv, which hold everything.
package report

import (
	"fmt"
	"io"
	"strings"

	"github.com/ctxkit/ctxkit/replay"
)

// Format is a form of output.
type Format string

// The formats.
const (
	FormatTable    Format = "table"
	FormatJSON     Format = "json"
	FormatNDJSON   Format = "ndjson"
	FormatCSV      Format = "csv"
	FormatMarkdown Format = "markdown"
)

// ReplayFormats are the formats a replay can be printed in.
var ReplayFormats = []Format{FormatTable, FormatJSON, FormatNDJSON, FormatCSV, FormatMarkdown}

// Options say how to print.
type Options struct {
	Format  Format
	Several bool // more than one conversation was asked for: JSON has "sessions"
	All     bool // leave nothing out of tables
	Color   bool // tables with colours
	ASCII   bool // charts of ASCII only
	Hints   Hints
}

// Hints say how to see more, in the words of the program that prints: report
// itself knows no flag and no command. An empty hint is left out.
type Hints struct {
	All    string // shows the rows left out of a table
	Full   string // shows the lines that are folded
	Prices string // lists the models that have a price
	Lint   string // lists malformed lines

	Shell func(words []string) string // a command line to paste; nil: words with spaces between
}

// hidden says that there are more rows, and what shows or holds them.
func (h Hints) hidden(what, where string) string {
	if h.All != "" {
		where = h.All + ", " + where
	}
	return "(" + what + " hidden: " + where + ")"
}

// folded ends a line that stands for folded ones.
func (h Hints) folded() string {
	if h.Full == "" {
		return ""
	}
	return " (" + h.Full + ")"
}

// commandLine is a command as a person pastes it.
func (h Hints) commandLine(words []string) string {
	if h.Shell == nil {
		return Clean(strings.Join(words, " "))
	}
	return h.Shell(words)
}

// before joins a hint to the text it follows; "" where there is no hint.
func before(joint, hint string) string {
	if hint == "" {
		return ""
	}
	return joint + hint
}

// Replays prints timelines, one after another.
type Replays interface {
	Add(tl *replay.Timeline) error
	Close() error // ends the output; nothing may be added after it
}

// NewReplays gives the printer of a format.
func NewReplays(w io.Writer, opt Options) (Replays, error) {
	switch opt.Format {
	case FormatTable, "":
		return &replayPages{w: w, opt: opt, newPage: func() page { return &textPage{w: w, color: opt.Color} }}, nil
	case FormatMarkdown:
		opt.Color = false
		return &replayPages{w: w, opt: opt, newPage: func() page { return &markdownPage{w: w} }}, nil
	case FormatJSON:
		return &replayJSON{w: w, several: opt.Several}, nil
	case FormatNDJSON:
		return &replayNDJSON{w: w}, nil
	case FormatCSV:
		return &replayCSV{w: w}, nil
	}
	return nil, fmt.Errorf("format %q: want one of %v", opt.Format, ReplayFormats)
}

// replayPages prints timelines for people.
type replayPages struct {
	w       io.Writer
	opt     Options
	newPage func() page
	added   []*replay.Timeline
}

func (r *replayPages) Add(tl *replay.Timeline) error {
	if len(r.added) > 0 {
		if _, err := io.WriteString(r.w, "\n"); err != nil {
			return err
		}
	}
	r.added = append(r.added, &replay.Timeline{Session: tl.Session, Agent: tl.Agent, File: tl.File, Totals: tl.Totals})
	p := r.newPage()
	printTimeline(p, tl, r.opt)
	return p.end()
}

func (r *replayPages) Close() error {
	if len(r.added) < 2 {
		return nil
	}
	if _, err := io.WriteString(r.w, "\n"); err != nil {
		return err
	}
	p := r.newPage()
	printOverview(p, r.added)
	return p.end()
}

// ownEvents are the events to tell with each request, by its index, and those
// that belong to none. An event that a main request and a call of the
// policy's own both name is told with the main request.
func ownEvents(tl *replay.Timeline) (by [][]int, rest []int) {
	by = make([][]int, len(tl.Requests))
	told := make([]bool, len(tl.Events))
	for _, main := range []bool{true, false} {
		for i := range tl.Requests {
			if (tl.Requests[i].Kind == kindMain) != main {
				continue
			}
			for _, n := range tl.Requests[i].Events {
				if n >= 0 && n < len(told) && !told[n] {
					told[n] = true
					by[i] = append(by[i], n)
				}
			}
		}
	}
	for n, done := range told {
		if !done {
			rest = append(rest, n)
		}
	}
	return by, rest
}
