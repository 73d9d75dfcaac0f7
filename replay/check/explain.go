package check

import (
	"cmp"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/replay/compare"
	"github.com/ctxkit/ctxkit/replay/exact"
)

// command is a policy's name with the case's settings behind it.
func (c *Case) command(name string) string {
	for _, s := range c.Set {
		name += "," + s.Key + "=" + s.Value
	}
	return name
}

// PolicyArgument is a policy's name with the case's settings behind it.
func (c *Case) PolicyArgument(name string) string { return c.command(name) }

// explain says in words why a session is not as it was, and where that shows.
func (j *judge) explain(one *Case, r *CaseResult, old *BaselineSession, s *SessionReport) {
	if s.Status == OK {
		return
	}
	if s.Status == Stale && !j.run.Updating {
		s.Reasons = append(s.Reasons, "it is not judged: look at it, then run "+j.run.Update)
	}
	if old != nil && len(s.Changes) == 0 && s.Status != Broken {
		s.Reasons = append(s.Reasons, "neither the policy nor the session nor the settings have changed: "+j.blame())
	}
	if s.Status != Stale {
		s.Evidence = j.evidence(one, r, old, s)
	}
}

// blame says what is left where nothing of a check's own has changed, nor the version of ctxkit.
func (j *judge) blame() string {
	return fmt.Sprintf("the baseline says ctxkit %s, as this is, so it was edited, or made by another build of it", j.run.Tool)
}

// evidence is where it shows why: the two policies side by side at the request of the first event that differs, where
// both can be named.
func (j *judge) evidence(one *Case, r *CaseResult, old *BaselineSession, s *SessionReport) *compare.Pointer {
	c := j.config.Counting
	e := &compare.Pointer{
		Show: compare.ShowDiff, File: r.File, Policy: r.Command, Against: j.against(one, old, s, r.Command),
		Selection: compare.Selection{Agent: r.Agent, Model: c.Model, Window: c.Window, Overhead: c.Overhead},
	}
	if c.Tokens != "usage" {
		e.Selection.Tokens = c.Tokens
	}
	if d := s.Events.First; d != nil && (d.Expected != nil || d.Got != nil) {
		e.At = atEnd
		at := math.MaxInt
		for _, event := range []*EventDigest{d.Expected, d.Got} {
			if event != nil && event.Request > 0 && event.Request < at {
				at = event.Request
				e.At = strconv.Itoa(at)
			}
		}
	}
	return e
}

// against names the policy of the baseline: the present one with the old values, or the built-in policy used then.
func (j *judge) against(one *Case, old *BaselineSession, s *SessionReport, command string) string {
	if old == nil || len(s.Changes) == 0 {
		return ""
	}
	list := ""
	was := j.baseline.find(one.Name).Policy
	named := !policy.IsFile(was) && was != one.command(one.Policy.Text)
	for i, c := range s.Changes {
		if c.Key == "stages" || c.Key == "recorded" || c.From == "" || named && i == maxChanges {
			if named {
				return was
			}
			return ""
		}
		list += "," + c.Key + "=" + c.From
	}
	return command + list
}

// Message says what became of a session in one line: policy, session, figures, the first differing event, the changed
// keys. Of figures it names those that decided.
func (s *SessionReport) Message() string {
	return strings.Join(s.lines(s.Status), "; ")
}

// Short says what became of a session, and of the first figure that decided.
func (s *SessionReport) Short() string {
	lines := s.lines(s.Status)
	return strings.Join(lines[:min(len(lines), 2)], "; ")
}

// Facts say what became of a session, a thing a line, the figures that are better or worse among them.
func (s *SessionReport) Facts() []string { return s.lines(Broken, Worse, Better) }

// Lines say what became of a session, a thing a line, every figure that is not as it was among them, the worst first.
func (s *SessionReport) Lines() []string {
	return s.lines(Broken, Worse, Better, Changed)
}

func (s *SessionReport) lines(of ...Verdict) []string {
	lines := []string{fmt.Sprintf("policy %s, session %s: %s", s.Policy, inputKey(s.Session, s.Agent), s.Status)}
	for _, status := range of {
		for _, f := range s.Figures {
			if f.Status == status {
				lines = append(lines, f.Message())
			}
		}
	}
	if s.Events.First != nil {
		lines = append(lines, s.Events.First.Message())
	}
	lines = append(lines, s.ChangeLines(false, "json holds them")...)
	if s.ByTool != nil {
		lines = append(lines, s.ByTool.Message())
	}
	return append(lines, s.Reasons...)
}

// Message says what ctxkit itself changed, or an assumption: the figures that are judged, how many others, and the first event.
func (t *ToolReport) Message() string {
	var parts []string
	for i := range t.Figures {
		if f := &t.Figures[i]; judged(f.Figure) {
			parts = append(parts, f.Message())
		}
	}
	switch more := len(t.Figures) - len(parts); {
	case more == 1:
		parts = append(parts, "1 figure that is not judged")
	case more > 1:
		parts = append(parts, fmt.Sprintf("%d figures that are not judged", more))
	}
	if t.Events.First != nil {
		parts = append(parts, t.Events.First.Message())
	}
	by := []string{"ctxkit itself"}
	if len(t.Assumed) > 0 {
		by = []string{"another assumption"}
	}
	for i := range t.Assumed {
		by = append(by, t.Assumed[i].Message())
	}
	return "by " + strings.Join(by, ", ") + ": " + strings.Join(parts, "; ")
}

// maxChanges is how many changed keys are listed.
const maxChanges = 8

// ChangeLines describe the policy's changed keys: all, or the first ones and the number of the others, with where
// those are shown.
func (s *SessionReport) ChangeLines(all bool, where string) []string {
	shown := len(s.Changes)
	if shown > maxChanges+1 && !all {
		shown = maxChanges
	}
	var lines []string
	for i := range s.Changes[:shown] {
		lines = append(lines, s.Changes[i].Message())
	}
	if more := len(s.Changes) - shown; more > 0 {
		lines = append(lines, fmt.Sprintf("%d more keys of the policy changed: %s", more, where))
	}
	return lines
}

// Message says what became of the figure.
func (f *FigureReport) Message() string {
	text := f.Figure + " " + f.Value(f.After)
	if f.Before.Cmp(f.After) != 0 && (f.Before.Known || f.Status == Changed) {
		text = fmt.Sprintf("%s %s -> %s", f.Figure, f.Value(f.Before), f.Value(f.After))
	}
	if d := f.Difference(); d != "" && f.Before.Cmp(f.After) != 0 {
		text += " (" + d + ")"
	}
	if f.Limit != asBefore && f.Limit != "" {
		text += ", wanted " + f.Limit
	}
	return text
}

// Value is one of the figure's values as it is printed.
func (f *FigureReport) Value(x exact.Decimal) string {
	switch {
	case !x.Known:
		return "not known"
	case f.Unit == "USD":
		return grouped(x.Text(f.places()))
	}
	return grouped(x.String())
}

// places are the decimals of an amount of money: four, or as many as show the difference.
func (f *FigureReport) places() int {
	n := 4
	for f.Before.Cmp(f.After) != 0 && f.Before.Round(n).Cmp(f.After.Round(n)) == 0 {
		n++
	}
	return n
}

func grouped(s string) string {
	whole, part, _ := strings.Cut(s, ".")
	for i := len(whole) - 3; i > 0 && whole[i-1] != '-'; i -= 3 {
		whole = whole[:i] + "," + whole[i:]
	}
	if part != "" {
		part = "." + part
	}
	return whole + part
}

// Difference is how far the figure is from the baseline: "+1,200, +3.40%"; "" where either is not known.
func (f *FigureReport) Difference() string {
	if !f.Before.Known || !f.After.Known {
		return ""
	}
	sign := ""
	d := f.After.Sub(f.Before)
	if d.N > 0 {
		sign = "+"
	}
	text := sign + f.Value(d)
	if share := exact.Ratio(d.Times(100), f.Before.Abs(), 2); d.N != 0 && share.Known {
		text += ", " + sign + share.Text(2) + "%"
	}
	return text
}

// Message says which event is the first that is not as it was.
func (d *Difference) Message() string {
	if d.Expected == nil && d.Got == nil {
		return fmt.Sprintf("event %d or a later one differs: of these the baseline holds a digest", d.N)
	}
	expected := d.Expected.text()
	got := d.Got.text()
	if expected == got {
		got += ", but with another trigger, other targets or other figures of its own (marks " + d.Expected.Mark + ", " + d.Got.Mark + ")"
	}
	return fmt.Sprintf("first differing event %d: expected %s; got %s", d.N, expected, got)
}

func (e *EventDigest) text() string {
	if e == nil {
		return "none"
	}
	if e.Kind == "" {
		return strconv.Quote(e.Stage)
	}
	at := "after the last request"
	if e.Request > 0 {
		at = "at request " + strconv.Itoa(e.Request)
	}
	text := fmt.Sprintf("%s %s %s, %s -> %s tokens", e.Stage, e.Kind, at, policy.Thousands(e.Before), policy.Thousands(e.After))
	if e.Results > 0 {
		text += fmt.Sprintf(", results: %d", e.Results)
	}
	return text
}

// Message says what became of the key.
func (c *KeyChange) Message() string {
	return fmt.Sprintf("%s %s -> %s (%s:%d)", c.Key, cmp.Or(c.From, "(nothing)"), cmp.Or(c.To, "(nothing)"), c.Place.File, c.Place.Line)
}
