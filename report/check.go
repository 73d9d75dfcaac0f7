package report

import (
	"fmt"
	"io"
	"strings"

	"github.com/ctxkit/ctxkit/replay/check"
)

// FormatJUnit is the XML that CI systems read test results from.
const FormatJUnit Format = "junit"

// CheckFormats are the formats a check can be printed in.
var CheckFormats = []Format{FormatTable, FormatJSON, FormatJUnit, FormatGitHub, FormatMarkdown}

// CheckOptions say how to print a check.
type CheckOptions struct {
	Options
	Root  func(file string) string // gives a file's name as annotations want it; nil: as it is
	Suite string                   // name of the JUnit suites; "": the configuration's
}

// Check prints what a check came to.
func Check(w io.Writer, r *check.Report, opt CheckOptions) error {
	switch opt.Format {
	case FormatTable, "":
		return checkPage(&textPage{w: w, color: opt.Color}, r, opt.Options)
	case FormatMarkdown:
		return checkPage(&markdownPage{w: w}, r, opt.Options)
	case FormatJSON:
		return WriteJSON(w, r)
	case FormatJUnit:
		return checkJUnit(w, r, opt)
	case FormatGitHub:
		return checkGitHub(w, r, opt)
	}
	return fmt.Errorf("format %q: want one of %v", opt.Format, CheckFormats)
}

// statusStyles are the looks of what became of something.
func statusStyle(s check.Status, failed bool) style {
	switch {
	case failed:
		return red
	case s == check.Better:
		return green
	case s == check.Changed:
		return yellow
	}
	return none
}

// maxDetailed is how many sessions a table tells about one by one.
const maxDetailed = 20

func checkPage(p page, r *check.Report, opt Options) error {
	t := &Table{Columns: []Column{
		{Title: "case", Flex: true}, {Title: "policy", Max: 34}, {Title: "sessions", Right: true}, {Title: "failed", Right: true}, {Title: "result"},
	}}
	for i := range r.Cases {
		c := &r.Cases[i]
		t.styled(statusStyle(c.Status, c.Failed > 0), c.Name, c.Policy, thousands(len(c.Sessions)), thousands(c.Failed), string(c.Status))
	}
	p.heading(r.File)
	p.table(t)
	told, left := 0, 0
	for _, failing := range []bool{true, false} {
		for i := range r.Cases {
			for k := range r.Cases[i].Sessions {
				s := &r.Cases[i].Sessions[k]
				if s.Status == check.OK || s.Failed != failing {
					continue
				}
				if told++; told > maxDetailed && !opt.All {
					left++
					continue
				}
				checkSession(p, &r.Cases[i], s, opt)
			}
		}
	}
	if left > 0 {
		p.note(faint, opt.Hints.hidden(count(left, "more session")+" not as in the baseline", "json holds them"))
	}
	if len(r.Stale) > 0 {
		title, look := "the baseline is of something else", red
		if r.Updated {
			title, look = "no longer in the baseline", none
		}
		p.heading(title)
		p.items(look, r.Stale)
	}
	for _, n := range r.Notes {
		if told > 0 || !strings.HasPrefix(n, "the baseline was made by") {
			p.note(faint, n)
		}
	}
	st := none
	if !r.Passed && !r.Updated {
		st = boldRed
	}
	p.note(st, checkSummary(r))
	if r.Passed && r.Counts.Better > 0 && !r.Updated {
		p.note(green, r.Update+" keeps what is better")
	}
	return p.end()
}

// checkSession tells what became of one session.
func checkSession(p page, c *check.CaseReport, s *check.SessionReport, opt Options) {
	name := s.Session
	if s.Agent != "" {
		name += ", agent " + s.Agent
	}
	verdict := string(s.Status)
	if s.Failed {
		verdict = "FAILED: " + verdict
	}
	p.heading(c.Name + ", " + name + ": " + verdict)
	t := &Table{Columns: []Column{
		{Title: "figure"}, {Title: "before", Right: true}, {Title: "after", Right: true}, {Title: "difference", Right: true}, {Title: "wanted", Flex: true}, {Title: "result"},
	}}
	for i := range s.Figures {
		f := &s.Figures[i]
		if f.Status == check.OK && f.Before != nil && f.After != nil && *f.Before == *f.After {
			continue
		}
		before := "-"
		if f.Before != nil {
			before = f.Value(f.Before)
		}
		t.styled(statusStyle(f.Status, f.Status == check.Worse || f.Status == check.Broken),
			f.Figure, before, f.Value(f.After), dash(f.Difference()), f.Limit, string(f.Status))
	}
	p.table(t)
	var more []string
	if d := s.Events.First; d != nil {
		more = append(more, d.Message())
	}
	for _, line := range s.ChangeLines(opt.All) {
		more = append(more, "policy: "+line)
	}
	p.items(none, append(more, s.Reasons...))
	if len(s.Command) > 0 {
		p.picture([]string{"  " + opt.Hints.commandLine(s.Command)})
	}
}

// checkSummary is the last line.
func checkSummary(r *check.Report) string {
	c := &r.Counts
	var parts []string
	for _, x := range []struct {
		n    int
		text string
	}{
		{c.Broken, "outside of a limit"}, {c.Worse, "worse"}, {c.Stale, "not in the baseline as they are"}, {c.Changed, "changed"}, {c.Better, "better"}, {c.OK, "as they should be"},
	} {
		if x.n > 0 {
			parts = append(parts, thousands(x.n)+" "+x.text)
		}
	}
	text := count(c.Replays, "replay") + " in " + count(len(r.Cases), "case") + ": " + strings.Join(parts, ", ")
	if n := len(r.Stale); n > 0 && !r.Updated {
		text += "; " + thousands(n) + " in the baseline only"
	}
	switch {
	case r.Updated:
		text += "; written to " + r.Baseline
	case r.Passed:
		text += "; passed"
	default:
		text += "; failed"
	}
	return text
}
