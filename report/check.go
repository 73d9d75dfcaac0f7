package report

import (
	"io"
	"strings"

	"github.com/ctxkit/ctxkit/replay/check"
)

// CheckLayout says how to print a check.
type CheckLayout struct {
	Layout
	Root  func(file string) string // returns a file's name as annotations need it; nil: unchanged
	Suite string                   // name of the JUnit suites; "": the configuration's
}

// Check prints the result of a check.
func Check(w io.Writer, r *check.Report, opt CheckLayout) error {
	return (&document{
		page: func(p *page) { checkPage(p, r) },
		json: func() any { return r },
		other: map[Format]func(io.Writer) error{
			FormatJUnit:  func(w io.Writer) error { return checkJUnit(w, r, opt) },
			FormatGitHub: func(w io.Writer) error { return checkGitHub(w, r, opt) },
		},
	}).print(w, opt.Layout)
}

// statusStyle is the style of a row with this status.
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

// maxDetailed is how many sessions a page describes one by one.
const maxDetailed = 20

func checkPage(p *page, r *check.Report) {
	t := newTable([]column{{Title: "case", Flex: true}, {Title: "policy", Max: 34}}, titles("sessions", "failed", "result"))
	for i := range r.Cases {
		c := &r.Cases[i]
		t.add(statusStyle(c.Status, c.Failed > 0), c.Name, c.Policy, len(c.Sessions), c.Failed, c.Status)
	}
	p.heading(r.File)
	p.table(t)
	listed := 0
	for _, failing := range []bool{true, false} {
		for i := range r.Cases {
			for k := range r.Cases[i].Sessions {
				s := &r.Cases[i].Sessions[k]
				if s.Status == check.OK || s.Failed != failing {
					continue
				}
				if listed++; listed <= maxDetailed || p.All {
					checkSession(p, &r.Cases[i], s)
				}
			}
		}
	}
	if !p.All {
		p.hidden(listed-maxDetailed, "session", "json contains them")
	}
	if len(r.Stale) > 0 {
		title, st := "the baseline does not match", red
		if r.Updated {
			title, st = "removed from the baseline", none
		}
		p.heading(title)
		p.items(st, r.Stale)
	}
	for _, n := range r.Notes {
		if listed > 0 || !strings.HasPrefix(n, "the baseline was made by") {
			p.note(faint, n)
		}
	}
	st := none
	if !r.Passed && !r.Updated {
		st = boldRed
	}
	p.note(st, checkSummary(r))
	if r.Passed && r.Counts.Better > 0 && !r.Updated {
		p.note(green, r.Update+" makes the better figures the new baseline")
	}
}

// checkSession prints the result of one session: each figure that changed, and
// why.
func checkSession(p *page, c *check.CaseReport, s *check.SessionReport) {
	name := s.Session
	if s.Agent != "" {
		name += ", agent " + s.Agent
	}
	verdict := string(s.Status)
	if s.Failed {
		verdict = "FAILED: " + verdict
	}
	p.heading(c.Name + ", " + name + ": " + verdict)
	t := newTable(titles("figure", "before", "after", "difference"), []column{{Title: "wanted", Flex: true}, {Title: "result"}})
	for i := range s.Figures {
		f := &s.Figures[i]
		if f.Status == check.OK && f.Before != nil && f.After != nil && *f.Before == *f.After {
			continue
		}
		before := number("-")
		if f.Before != nil {
			before = number(f.Value(f.Before))
		}
		t.add(statusStyle(f.Status, f.Status == check.Worse || f.Status == check.Broken),
			f.Figure, before, number(f.Value(f.After)), number(cellText(orDash(f.Difference()))), f.Limit, f.Status)
	}
	p.table(t)
	var more []string
	if d := s.Events.First; d != nil {
		more = append(more, d.Message())
	}
	for _, line := range s.ChangeLines(p.All) {
		more = append(more, "policy: "+line)
	}
	p.items(none, append(more, s.Reasons...))
	if len(s.Command) > 0 {
		p.commands(p.Hints.commandLine(s.Command))
	}
}

// checkSummary counts the replays by result, in one line.
func checkSummary(r *check.Report) string {
	c := &r.Counts
	var parts []string
	for _, x := range []struct {
		n    int
		text string
	}{
		{c.Broken, "outside a limit"}, {c.Worse, "worse"}, {c.Stale, "not matching the baseline"}, {c.Changed, "changed"}, {c.Better, "better"}, {c.OK, "ok"},
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
		return text + "; written to " + r.Baseline
	case r.Passed:
		return text + "; passed"
	}
	return text + "; failed"
}
