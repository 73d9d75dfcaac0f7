package check

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/replay/compare"
	"github.com/ctxkit/ctxkit/replay/exact"
)

// CheckRun is what results come from, with the configuration.
type CheckRun struct {
	Tool     string // version of ctxkit
	Update   string // the command that writes the baseline
	Updating bool   // the results become the baseline: only limits fail
}

// Judge compares results with what is expected of them and with the baseline, which is nil where there is none.
// Results are in the order of their sessions.
func Judge(c *Config, results []CaseResult, b *Baseline, run CheckRun) *Report {
	r := &Report{
		Schema: Schema, File: c.File, Baseline: c.Baseline, Tool: run.Tool, Update: run.Update, Updated: run.Updating,
		Cases: make([]CaseReport, len(c.Cases)), Stale: []string{}, Notes: []string{},
	}
	j := &judge{config: c, baseline: b, run: run, unsaid: map[string]bool{}}
	for i := range c.Cases {
		one := &c.Cases[i]
		r.Cases[i] = CaseReport{Name: one.Name, Policy: one.command(one.Policy.Text), Place: placeOf(one.Position), Status: OK, Sessions: []SessionReport{}}
	}
	for i := range results {
		one := &r.Cases[results[i].Case]
		s := j.session(&results[i], one)
		r.Counts.add(&s)
		one.Sessions = append(one.Sessions, s)
		one.Truth = results[i].Policy.Truth
		if s.Failed {
			one.Failed++
		}
	}
	for i := range r.Cases {
		one := &r.Cases[i]
		var ran []*policy.Policy
		for k := range results {
			if results[k].Case == i {
				ran = append(ran, results[k].Policy)
			}
		}
		one.Use = policy.NewUse(one.Policy, ran)
		j.effect(i, results, one)
		j.total(&j.config.Cases[i], one)
		one.ByTool = one.sumByTool()
		if one.Fails {
			r.Counts.FailedCases++
		}
	}
	r.Notes = append(r.Notes, aside(c, results, run)...)
	if run.Updating {
		r.Notes = append(r.Notes, j.accepted(results)...)
	}
	if b != nil {
		r.BaselineTool = b.Tool
		r.Stale = append(r.Stale, j.gone(results)...)
		r.Notes = append(r.Notes, j.notes(r.Counts)...)
	}
	r.Passed = r.Counts.FailedCases == 0 && (len(r.Stale) == 0 || run.Updating) && r.Counts.Replays > 0
	return r
}

// aside is what is worth knowing of the policies: settings that change nothing, and bare names that mean another release
// now than in the baseline, whose release ran.
func aside(c *Config, results []CaseResult, run CheckRun) (list []string) {
	say := func(format string, args ...any) {
		if text := fmt.Sprintf(format, args...); !slices.Contains(list, text) {
			list = append(list, text)
		}
	}
	for _, one := range c.Cases {
		for _, e := range one.Expect {
			if e.Former != "" {
				say("%s:%d: %s is read as %s: write that", e.File, e.Line, e.Former, e.Figure)
			}
		}
	}
	for i := range results {
		r := &results[i]
		for _, text := range r.Assumed {
			say("%s: %s", r.Session, text)
		}
		for _, text := range policy.Idle(r.Policy) {
			say("case %q: %s", c.Cases[r.Case].Name, text)
		}
		if r.Now != "" && !run.Updating {
			say("%s means %s now; %s ran, as in the baseline: %s takes the other", r.Command, r.Now, r.Policy.Name, run.Update)
		} else if r.Policy.Newer != "" {
			say("%s", r.Policy.Newer)
		}
	}
	return list
}

// accepted lists the faults that the new baseline has and the former one had not: nothing fails for them any more.
func (j *judge) accepted(results []CaseResult) (list []string) {
	for i := range j.config.Cases {
		one := &j.config.Cases[i]
		for at, name := range compare.Names() {
			if !isFault(name) || one.allows(name) {
				continue
			}
			more := exact.Whole(0)
			sessions := 0
			for k := range results {
				r := &results[k]
				now := r.Values[at]
				was := exact.Whole(0)
				if r.Case != i || !now.Known {
					continue
				}
				if j.baseline != nil {
					if old := j.baseline.find(one.Name); old != nil {
						if s := old.find(r.Session, r.Agent); s != nil && s.Figures[name].Known {
							was = s.Figures[name]
						}
					}
				}
				if now.Cmp(was) > 0 {
					more = more.Add(now.Sub(was))
					sessions += 1
				}
			}
			if sessions > 0 {
				list = append(list, fmt.Sprintf("case %q: the new baseline accepts %s more of %s, in %d of its sessions", one.Name, more, name, sessions))
			}
		}
	}
	return list
}

// notes are what is worth knowing and fails nothing.
func (j *judge) notes(counts Counts) []string {
	var list []string
	if was := j.baseline.Tool; was != j.run.Tool {
		list = append(list, fmt.Sprintf("the baseline was made by ctxkit %s, this is %s", was, j.run.Tool))
	}
	if counts.ByTool > 0 && !j.run.Updating {
		list = append(list, fmt.Sprintf("ctxkit itself changed %d of %d replays, which fails nothing: %s takes its figures", counts.ByTool, counts.Replays, j.run.Update))
	}
	for _, name := range compare.Names() {
		if j.unsaid[name] && !j.run.Updating {
			list = append(list, "the version that made the baseline did not know "+name+": "+j.run.Update+" adds it")
		}
	}
	for _, name := range j.baseline.Figures {
		if !slices.Contains(compare.Names(), name) {
			list = append(list, "the baseline holds "+name+", which this version does not know")
		}
	}
	return list
}

type judge struct {
	config   *Config
	baseline *Baseline
	run      CheckRun
	unsaid   map[string]bool // figures that the version which made the baseline did not know
}

// gone lists what the baseline has and this run has not.
func (j *judge) gone(results []CaseResult) []string {
	type key struct{ name, session string }
	here := map[key]bool{}
	for _, r := range results {
		here[key{j.config.Cases[r.Case].Name, inputKey(r.Session, r.Agent)}] = true
	}
	var list []string
	still := "in the baseline and "
	if j.run.Updating { // it is taken out
		still = ""
	}
	for _, old := range j.baseline.Cases {
		if !slices.ContainsFunc(j.config.Cases, func(c Case) bool { return c.Name == old.Name }) {
			list = append(list, fmt.Sprintf("case %q is %snot in %s any more", old.Name, still, j.config.File))
			continue
		}
		for _, s := range old.Sessions {
			if name := inputKey(s.Session, s.Agent); !here[key{old.Name, name}] {
				list = append(list, fmt.Sprintf("session %s of case %q is %snot among the sessions any more", name, old.Name, still))
			}
		}
	}
	return list
}

// session judges one result of a case.
func (j *judge) session(r *CaseResult, in *CaseReport) SessionReport {
	one := &j.config.Cases[r.Case]
	s := SessionReport{
		Session: r.Session, Agent: r.Agent, Policy: r.Policy.Name, Status: OK, Place: placeOf(one.Policy.Position),
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
	var was *past
	if old != nil {
		var assumed []KeyChange
		s.Changes, assumed = j.changes(one, r, old)
		was = j.reference(r, old, &s, assumed)
		s.was = was
		s.now = &r.Outcome
		j.unsay(one, r, old)
		in.compared = true
		in.moved = in.moved || !was.same(&r.Outcome)
	}
	at := j.figures(one, r, was, &s)
	if was != nil {
		s.Events = was.compare(r.Events)
		if s.Status == OK && s.Events.First != nil {
			s.Status = Changed
		}
	}
	s.Failed = s.absolute || s.Status == Stale
	if j.run.Updating {
		s.Failed = s.Status == Broken
	}
	j.explain(one, r, old, &s)
	switch {
	case len(s.Changes) > 0:
		s.Place = s.Changes[0].Place
	case at != nil:
		s.Place = *at
	}
	return s
}

// before finds a result in the baseline. Where the baseline has other inputs, it says which.
func (j *judge) before(one *Case, r *CaseResult) (*BaselineSession, string) {
	name := inputKey(r.Session, r.Agent)
	old := j.baseline.find(one.Name)
	if old == nil {
		return nil, "the case is not in the baseline"
	}
	session := old.find(r.Session, r.Agent)
	if session == nil {
		return nil, "the session is not in the baseline"
	}
	if now := j.config.Counting; j.baseline.Counted != now.String() {
		return nil, "the settings have changed since the baseline was made: " + now.change(j.baseline.Counted)
	}
	if hash := j.baseline.Inputs[name]; hash != r.Input {
		return nil, "the session's content has changed since the baseline was made"
	}
	if _, ok := old.Policies[session.Policy]; !ok {
		return nil, "the baseline does not hold the session's policy"
	}
	return session, ""
}

// unsay notes the figures that the version which made the baseline did not know.
func (j *judge) unsay(one *Case, r *CaseResult, old *BaselineSession) {
	for i, name := range compare.Names() {
		if _, held := old.Figures[name]; !held && r.Values[i].Known && one.expectation(name) == nil {
			j.unsaid[name] = true
		}
	}
}

// changes lists the keys of the policy that are not as they were, those that stand in a file of the user's first, and
// apart from them the assumptions.
func (j *judge) changes(one *Case, r *CaseResult, old *BaselineSession) (list, assumed []KeyChange) {
	now := r.Policy.Resolved()
	was := j.baseline.find(one.Name).Policies[old.Policy].settings(now)
	report := func(settings []policy.Setting, keep func(key string) bool) (found []KeyChange) {
		for _, c := range policy.DiffSettings(settings, now) {
			if keep(c.Key) {
				found = append(found, KeyChange{c.Key, c.From, c.To, placeOf(one.place(r.Policy, c.Key))})
			}
		}
		return found
	}
	kept := func(key string) bool {
		return assumption(key) && slices.ContainsFunc(was, func(s policy.Setting) bool { return s.Key == key })
	}
	assumed = report(was, kept)
	if r.replayedOld() {
		was = r.Old.Settings // keys that only one version knows are no change of the policy
	}
	list = report(was, func(key string) bool { return !kept(key) })
	own := func(k KeyChange) bool { return k.Place != placeOf(one.Policy.Position) }
	return append(slices.DeleteFunc(append([]KeyChange{}, list...), func(k KeyChange) bool { return !own(k) }), slices.DeleteFunc(list, own)...), assumed
}

// place is where a key of a case's policy has its value: among the settings of the case, in the policy's file, or in
// what names the policy.
func (c *Case) place(p *policy.Policy, key string) policy.Position {
	for _, s := range c.Set {
		if s.Key == key {
			return s.Position
		}
	}
	at := p.Position(key)
	switch {
	case strings.Contains(c.Policy.Text, ","+key+"="):
		return c.Policy.Position
	case at.Line > 0 && policy.IsFile(at.File):
		return at
	case p.File != "" && policy.IsFile(p.File): // it says nothing of the key
		if at := p.Position("extends"); at.Line > 0 {
			return at
		}
		return policy.Position{File: p.File, Line: 1, Column: 1}
	}
	return c.Policy.Position
}
