package report

import (
	"io"
	"slices"
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
func statusStyle(s check.Verdict, failed bool) style {
	return either(failed, red, map[check.Verdict]style{check.Better: green, check.Changed: yellow}[s])
}

// maxDetailed is how many sessions a page describes one by one.
const maxDetailed = 20

func checkPage(p *page, r *check.Report) {
	t := rowsOf(r.Cases, func(c *check.CaseReport, row *caseCells) style {
		row.Policy = markedName(c.Policy, c.Truth)
		row.Sessions = len(c.Sessions)
		return statusStyle(c.Status, c.Fails)
	})
	p.fileHeading(r.File)
	p.note(either(r.Passed || r.Updated, bold, boldRed), checkSummary(r))
	p.table(t)
	for i := range r.Cases {
		use := r.Cases[i].Use
		use.Newer = "" // a note of the report
		p.note(none, RanText(&use, p.All))
	}
	checkEffects(p, r)
	for i := range r.Cases {
		c := &r.Cases[i]
		if lines := c.TotalLines(); len(lines) > 0 {
			p.heading(c.Name + either(c.Fails, ": FAILED: ", ": ") + string(c.Status))
			p.items(none, lines)
		}
	}
	listed := 0
	for _, failing := range []bool{true, false} {
		for _, c := range r.Cases {
			for _, s := range c.Sessions {
				if s.Status == check.OK || s.Failed != failing {
					continue
				}
				if listed++; listed <= maxDetailed || p.All {
					checkSession(p, &c, &s)
				}
			}
		}
	}
	if !p.All {
		p.hidden(listed-maxDetailed, "session", "json contains them")
	}
	checkByTool(p, r)
	if len(r.Stale) > 0 {
		p.heading(either(r.Updated, "removed from the baseline", "the baseline does not match"))
		p.items(either(r.Updated, none, red), r.Stale)
	}
	for _, n := range r.Notes {
		if listed > 0 || !strings.HasPrefix(n, "the baseline was made by") {
			p.note(faint, n)
		}
	}
	if r.Passed && r.Counts.Better > 0 && !r.Updated {
		p.note(green, r.Update+" makes the better figures the new baseline")
	}
}

// checkEffects prints which changes of policies no session shows, all of them, and then which stages do nothing or, by
// default, how many.
func checkEffects(p *page, r *check.Report) {
	var effects, idle []string
	stages := 0
	cases := 0
	for i := range r.Cases {
		c := &r.Cases[i]
		if line := c.EffectLine(); line != "" {
			effects = append(effects, c.Name+": "+line)
		}
		if line := c.IdleLine(); line != "" {
			idle = append(idle, c.Name+": "+line)
			stages += len(c.Idle)
			cases += 1
		}
	}
	if p.All {
		effects = append(effects, idle...)
	}
	p.items(none, effects)
	if !p.All && stages > 0 {
		p.note(faint, phrase("%v in %v without an event in any session%v", count(stages, "stage"), count(cases, "case"),
			before(": ", joined(", ", p.Hints.All, "json contains them"))))
	}
}

// checkByTool prints what ctxkit itself or an assumption changed in sessions that are otherwise as they were.
func checkByTool(p *page, r *check.Report) {
	var lines []string
	for i := range r.Cases {
		if line := r.Cases[i].ByToolLine(); line != "" {
			lines = append(lines, r.Cases[i].Name+": "+line)
		}
		for _, s := range r.Cases[i].Sessions {
			if s.ByTool != nil && s.Status == check.OK {
				lines = append(lines, r.Cases[i].Name+", "+s.Session+before(", agent ", s.Agent)+": "+s.ByTool.Message())
			}
		}
	}
	if len(lines) == 0 {
		return
	}
	shown := either(p.All, len(lines), min(len(lines), maxDetailed))
	p.heading("changed by what is no part of a policy")
	p.items(none, lines[:shown])
	p.hidden(len(lines)-shown, "session", "json contains them")
}

// checkSession prints the result of one session: each figure that changed, and why.
func checkSession(p *page, c *check.CaseReport, s *check.SessionReport) {
	p.heading(c.Name + ", " + s.Session + before(", agent ", s.Agent) + either(s.Failed, ": FAILED: ", ": ") + string(s.Status) +
		phraseIf(s.Status == check.Worse && !s.Failed && c.Status != check.Worse, " (the sums of the case decide)"))
	t := tableOf[checkedCells]()
	figures := slices.Clone(s.Figures)
	slices.SortStableFunc(figures, func(a, b check.FigureReport) int { return b.Status.Compare(a.Status) })
	hidden := 0
	for _, f := range figures {
		if context := f.Figure == "payload_peak" || f.Figure == "payload_mean"; !f.Decides && !context && s.Status != check.Changed && !p.All {
			hidden++
			continue
		}
		if f.Status == check.OK && f.Before.Known && f.After.Cmp(f.Before) == 0 {
			continue
		}
		before := number("-")
		if f.Before.Known {
			before = number(f.Value(f.Before))
		}
		t.put(statusStyle(f.Status, f.Status == check.Worse || f.Status == check.Broken),
			checkedCells{f.Figure, before, number(f.Value(f.After)), number(cellText(orDash(f.Difference()))), f.Limit, f.Status})
	}
	p.table(t)
	p.hidden(hidden, "changed figure", "json contains them")
	var more []string
	if d := s.Events.First; d != nil {
		more = append(more, d.Message())
	}
	for _, line := range s.ChangeLines(p.All, joined(", ", p.Hints.All, "json contains them")) {
		more = append(more, "policy: "+line)
	}
	if s.ByTool != nil {
		more = append(more, s.ByTool.Message())
	}
	p.items(none, append(more, s.Reasons...))
	if len(s.Command) > 0 {
		p.commands(s.Command)
	}
}

// checkSummary counts the cases by result, in one line.
func checkSummary(r *check.Report) string {
	some := func(n int, what string) string { return phraseIf(n > 0, "%v %v", n, what) }
	c := &r.Counts
	cases := map[check.Verdict]int{}
	for i := range r.Cases {
		cases[r.Cases[i].Status]++
	}
	parts := joined(", ", some(cases[check.Broken], "outside a limit"), some(cases[check.Worse], "worse"), some(cases[check.Stale], "not matching the baseline"),
		some(cases[check.Changed], "changed"), some(cases[check.Better], "better"), some(cases[check.OK], "ok"))
	n := len(r.Stale)
	return phrase("%v in %v: %v%v; %v", count(c.Replays, "replay"), count(len(r.Cases), "case"), parts,
		phraseIf(c.ByTool > 0 && !r.Updated, "; %v changed by ctxkit itself", count(c.ByTool, "replay"))+phraseIf(c.Assumed > 0 && !r.Updated, "; %v changed by another assumption", count(c.Assumed, "replay"))+phraseIf(n > 0 && !r.Updated, "; %v in the baseline only", n),
		either(r.Updated, "written to "+r.Baseline, either(r.Passed, "passed", "failed")))
}
