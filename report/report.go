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
