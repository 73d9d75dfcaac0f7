package check

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/replay/compare"
)

// Judge compares results with what is expected of them and with the baseline,
// which is nil where there is none. Results are in the order of their sessions.
func Judge(c *Config, results []Result, b *Baseline, tool string) *Report {
	r := &Report{Schema: Schema, File: c.File, Baseline: c.Baseline, Tool: tool, Cases: make([]CaseReport, len(c.Cases)), Stale: []string{}, Notes: []string{}}
	j := &judge{config: c, baseline: b, unsaid: map[string]bool{}}
	for i := range c.Cases {
		one := &c.Cases[i]
		r.Cases[i] = CaseReport{Name: one.Name, Policy: one.command(one.Policy), Place: placeOf(one.At), Status: OK, Sessions: []SessionReport{}}
	}
	for i := range results {
		s := j.session(&results[i])
		r.Counts.add(s.Status, s.Failed)
		one := &r.Cases[results[i].Case]
		one.Sessions = append(one.Sessions, s)
		one.Status = worst(one.Status, s.Status)
		if s.Failed {
			one.Failed++
		}
	}
	if b != nil {
		r.BaselineTool = b.Tool
		r.Stale = append(r.Stale, j.gone(results)...)
		if b.Tool != tool {
			r.Notes = append(r.Notes, fmt.Sprintf("the baseline was made by ctxkit %s, this is %s", b.Tool, tool))
		}
	}
	for _, name := range compare.Names() {
		if j.unsaid[name] {
			r.Notes = append(r.Notes, "the baseline says nothing of "+name+": --update adds it")
		}
	}
	r.Passed = r.Counts.Failed == 0 && len(r.Stale) == 0 && r.Counts.Replays > 0
	return r
}

type judge struct {
	config   *Config
	baseline *Baseline
	unsaid   map[string]bool // figures that the baseline does not have
}

// gone lists what the baseline has and this run has not.
func (j *judge) gone(results []Result) []string {
	type key struct{ name, session string }
	here := map[key]bool{}
	for _, r := range results {
		here[key{j.config.Cases[r.Case].Name, inputKey(r.Session, r.Agent)}] = true
	}
	var list []string
	for _, old := range j.baseline.Cases {
		if !slices.ContainsFunc(j.config.Cases, func(c Case) bool { return c.Name == old.Name }) {
			list = append(list, fmt.Sprintf("case %q is in the baseline and not in %s any more", old.Name, j.config.File))
			continue
		}
		for _, s := range old.Sessions {
			if name := inputKey(s.Session, s.Agent); !here[key{old.Name, name}] {
				list = append(list, fmt.Sprintf("session %s of case %q is in the baseline and not among the sessions any more", name, old.Name))
			}
		}
	}
	return list
}

// session judges one result.
func (j *judge) session(r *Result) SessionReport {
	one := &j.config.Cases[r.Case]
	s := SessionReport{
		Session: r.Session, Agent: r.Agent, Policy: r.Policy.Name, Status: OK, Place: placeOf(one.PolicyAt),
		Figures: []FigureReport{}, Changes: []KeyChange{}, Reasons: []string{}, Events: EventsReport{After: len(r.Events)},
	}
	var old *BaselineSession
	if j.baseline != nil {
		var why string
		if old, why = j.before(one, r); why != "" {
			s.Status = Stale
			s.Reasons = append(s.Reasons, why)
		}
	}
	at := j.figures(one, r, old, &s)
	if old != nil {
		j.events(r, old, &s)
		s.Changes = j.changes(one, r, old)
		if s.Status == OK && s.Events.First != nil {
			s.Status = Changed
		}
	}
	s.Failed = s.Status.rank() >= Stale.rank() || s.Status == Changed && !one.AllowChanges
	j.explain(one, r, old, &s)
	switch {
	case len(s.Changes) > 0:
		s.Place = s.Changes[0].Place
	case at != nil:
		s.Place = *at
	}
	return s
}

// before finds a result in the baseline. Where the baseline is of something
// else, it says what.
func (j *judge) before(one *Case, r *Result) (*BaselineSession, string) {
	name := inputKey(r.Session, r.Agent)
	old := j.baseline.find(one.Name)
	if old == nil {
		return nil, "the case is not in the baseline"
	}
	session := old.find(r.Session, r.Agent)
	if session == nil {
		return nil, "the session is not in the baseline"
	}
	if counted := j.config.Counting.String(); old.Counted != counted {
		return nil, fmt.Sprintf("the baseline was counted with %s, this run with %s", old.Counted, counted)
	}
	if hash := j.baseline.Inputs[name]; hash != r.Input {
		return nil, "the session's content has changed since the baseline was made"
	}
	if _, ok := j.baseline.Policies[session.Policy]; !ok {
		return nil, "the baseline does not hold the session's policy"
	}
	return session, ""
}

// figures judges every figure. It gives the place of the first limit that does
// not hold.
func (j *judge) figures(one *Case, r *Result, old *BaselineSession, s *SessionReport) *Place {
	var at *Place
	better, worse, changed := false, false, false
	for i, f := range compare.Figures() {
		row := FigureReport{Figure: f.Name, Unit: f.Unit, Status: OK, After: known(r.Values[i])}
		if old != nil {
			if x, ok := old.Figures[f.Name]; ok {
				row.Before = &x
			} else if row.After != nil {
				j.unsaid[f.Name] = true
			}
		}
		e := one.expectation(f.Name)
		switch {
		case e != nil && e.Any:
			continue
		case e != nil:
			row.Limit = e.text()
			if !e.holds(row.After) {
				row.Status = Broken
			} else if e.Within != nil && old != nil {
				row.Status = against(f.Better, e.Within, row.Before, row.After)
				if row.Status == Changed || row.Before == nil {
					row.Status = Broken // it was asked for
				}
			}
			if row.Status == Broken && at == nil {
				p := placeOf(e.Position)
				at = &p
			}
		case old == nil || row.Before == nil:
			continue
		default:
			row.Limit = asBefore
			if one.Within != nil {
				row.Limit = "within " + one.Within.String() + " of the baseline"
			}
			row.Status = against(f.Better, one.Within, row.Before, row.After)
			if row.Status == OK && same(row.Before, row.After) {
				continue
			}
		}
		s.Figures = append(s.Figures, row)
		switch row.Status {
		case Broken:
			s.Status = Broken
		case Worse:
			worse = true
		case Better:
			better = true
		case Changed:
			changed = true
		}
	}
	switch {
	case worse:
		s.Status = worst(s.Status, Worse)
	case better:
		s.Status = worst(s.Status, Better)
	case changed:
		s.Status = worst(s.Status, Changed)
	}
	return at
}

// asBefore is the limit of a figure nothing is said of.
const asBefore = "as in the baseline"

func known(x float64) *float64 {
	if !compare.Known(x) {
		return nil
	}
	return &x
}

func same(a, b *float64) bool {
	return a == nil && b == nil || a != nil && b != nil && *a == *b
}

// against says what became of a figure since the baseline.
func against(better compare.Better, within *Tolerance, before, after *float64) Status {
	switch {
	case same(before, after):
		return OK
	case after == nil && better != compare.Neither:
		return Worse // it can be told no more
	case before == nil || after == nil:
		return Changed
	case within != nil && within.allows(*before, *after):
		return OK
	case better == compare.Neither:
		return Changed
	case (*after < *before) == (better == compare.Less):
		return Better
	}
	return Worse
}

func (c *Case) expectation(figure string) *Expectation {
	for i := range c.Expect {
		if c.Expect[i].Figure == figure {
			return &c.Expect[i]
		}
	}
	return nil
}

// holds reports whether the limits that need no baseline hold.
func (e *Expectation) holds(x *float64) bool {
	if e.Min == nil && e.Max == nil && e.Equals == nil {
		return true
	}
	return x != nil && (e.Min == nil || *x >= *e.Min) && (e.Max == nil || *x <= *e.Max) && (e.Equals == nil || *x == *e.Equals)
}

// text says what is expected.
func (e *Expectation) text() string {
	var parts []string
	if e.Equals != nil {
		parts = append(parts, number(*e.Equals))
	}
	if e.Min != nil {
		parts = append(parts, "at least "+number(*e.Min))
	}
	if e.Max != nil {
		parts = append(parts, "at most "+number(*e.Max))
	}
	if e.Within != nil {
		parts = append(parts, "within "+e.Within.String()+" of the baseline")
	}
	return strings.Join(parts, ", ")
}

// events finds the first event that is not as it was.
func (j *judge) events(r *Result, old *BaselineSession, s *SessionReport) {
	n := len(old.Events)
	s.Events.Before = &n
	for i := range max(len(old.Events), len(r.Events)) {
		var before, after string
		if i < len(old.Events) {
			before = old.Events[i]
		}
		if i < len(r.Events) {
			after = r.Events[i]
		}
		if before != after {
			s.Events.First = &Difference{N: i, Expected: parsed(before), Got: parsed(after)}
			return
		}
	}
}

func parsed(s string) *Event {
	e, err := ParseEvent(s)
	if err != nil {
		if s == "" {
			return nil
		}
		e = Event{Stage: s} // a baseline that somebody edited: shown as it stands
	}
	return &e
}

// changes lists the keys of the policy that are not as they were, those that
// stand in a file of the user's first.
func (j *judge) changes(one *Case, r *Result, old *BaselineSession) []KeyChange {
	now := r.Policy.Resolved()
	list := []KeyChange{}
	for _, c := range policy.DiffSettings(j.baseline.Policies[old.Policy].settings(now), now) {
		list = append(list, KeyChange{c.Key, c.From, c.To, placeOf(one.place(r.Policy, c.Key))})
	}
	slices.SortStableFunc(list, func(a, b KeyChange) int {
		rank := func(k KeyChange) int {
			if k.Place == placeOf(one.PolicyAt) {
				return 1
			}
			return 0
		}
		return rank(a) - rank(b)
	})
	return list
}

// place is where a key of a case's policy has its value: among the settings of
// the case, in the policy's file, or in what names the policy.
func (c *Case) place(p *policy.Policy, key string) policy.Position {
	for _, s := range c.Set {
		if s.Key == key {
			return s.Position
		}
	}
	at := p.Position(key)
	switch {
	case strings.Contains(c.Policy, ","+key+"="):
		return c.PolicyAt
	case at.Line > 0 && policy.IsFile(at.File):
		return at
	case p.File != "" && policy.IsFile(p.File): // it says nothing of the key any more
		return policy.Position{File: p.File, Line: 1, Column: 1}
	}
	return c.PolicyAt
}
