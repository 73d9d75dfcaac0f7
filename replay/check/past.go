package check

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/replay"
	"github.com/ctxkit/ctxkit/replay/compare"
	"github.com/ctxkit/ctxkit/replay/exact"
)

// past is a replay that a result is compared with.
type past struct {
	figures map[string]exact.Decimal
	events  []string // all, or the first of them
	more    string   // a digest of the others, see eventDigest
	count   int
}

func (s *BaselineSession) past() *past { return &past{s.Figures, s.Events, s.More, s.count()} }

func (o *Outcome) past() *past { return &past{o.figures(), o.Events, "", len(o.Events)} }

// figures are the values by name.
func (o *Outcome) figures() map[string]exact.Decimal {
	figures := map[string]exact.Decimal{}
	for i, name := range compare.Names() {
		figures[name] = o.Values[i]
	}
	return figures
}

// same reports whether nothing differs: no event, and no figure that the past has.
func (p *past) same(o *Outcome) bool {
	for i, name := range compare.Names() {
		if v, held := p.figures[name]; held && (v.Known != o.Values[i].Known || v.Cmp(o.Values[i]) != 0) {
			return false
		}
	}
	return p.compare(o.Events).First == nil
}

// compare finds the first event that is not as it was.
func (p *past) compare(got []string) EventsReport {
	report := EventsReport{Before: &p.count, After: len(got)}
	i := 0
	for i < min(len(p.events), len(got)) && p.events[i] == got[i] {
		i++
	}
	_, more := eventDigest(got, len(p.events))
	switch {
	case p.more == "" && i < max(len(p.events), len(got)), i < len(p.events):
		report.First = &Difference{N: i, Expected: eventAt(p.events, i), Got: eventAt(got, i)}
	case p.more != "" && p.more != more:
		report.First = &Difference{N: i}
	}
	return report
}

func eventAt(events []string, i int) *EventDigest {
	if i >= len(events) {
		return nil
	}
	e, ok := ParseEvent(events[i])
	if !ok {
		e = EventDigest{Stage: events[i]} // an edited baseline: shown unchanged
	}
	return &e
}

// Plan is the policy that the baseline has for a result, nil where that is the result's own or there is none.
func (b *Baseline) Plan(c *Config, r *CaseResult) *BaselinePlan {
	one := b.find(c.Cases[r.Case].Name)
	if one == nil {
		return nil
	}
	s := one.find(r.Session, r.Agent)
	if s == nil {
		return nil
	}
	plan, ok := one.Policies[s.Policy]
	if !ok {
		return nil
	}
	same := true
	plan.Settings = maps.Clone(plan.Settings)
	now := r.Policy.Resolved()
	for _, setting := range now {
		if was, ok := plan.Settings[setting.Key]; ok && assumption(setting.Key) {
			plan.Settings[setting.Key] = setting.Value
		} else if was != setting.Value {
			same = false
		}
	}
	if same && len(now) == len(plan.Settings) {
		return nil
	}
	return &plan
}

// assumption reports whether a key of a policy says what a replay assumes, and not what the policy does: how long the
// summary is that a model would have written.
func assumption(key string) bool { return strings.HasSuffix(key, ".summary") }

// Locks reports whether a plan is the release that the bare name of a case meant when the baseline was made, and does not
// mean now.
func (b *Baseline) Locks(c *Config, r *CaseResult, plan *BaselinePlan) bool {
	one := &c.Cases[r.Case]
	return r.Policy.Chosen != "" && plan.Name != r.Policy.Name && b.find(one.Name).Policy == one.command(one.Policy.Text)
}

// Rebuild makes the policy of a plan.
func (p *BaselinePlan) Rebuild(reg policy.Registry) (*policy.Policy, error) {
	pol, _, err := policy.Rebuild(p.Name, p.settings(nil), reg)
	return pol, err
}

// replayedOld reports whether it is known what the baseline's policy does under this version.
func (r *CaseResult) replayedOld() bool { return r.Old != nil && r.Old.Err == nil }

// reference is what a result is compared with: what the baseline's policy does under this version, so that only the
// policy makes a difference, or the baseline itself. What the version made different is listed separately.
func (j *judge) reference(r *CaseResult, old *BaselineSession, s *SessionReport, assumed []KeyChange) *past {
	base := old.past()
	other := j.baseline.Tool != j.run.Tool
	now := &r.Outcome
	switch {
	case r.replayedOld():
		now = &r.Old.Outcome
	case len(s.Changes) > 0:
		if other {
			why := "it was not tried"
			if r.Old != nil {
				why = r.Old.Err.Error()
			}
			s.Reasons = append(s.Reasons, fmt.Sprintf("ctxkit itself has changed from %s to %s, and cannot replay the baseline's policy (%s): its part cannot be distinguished from the policy's", j.baseline.Tool, j.run.Tool, why))
		}
		return base
	case !other && len(assumed) == 0:
		return base
	}
	if base.same(now) {
		return now.past()
	}
	if !other && len(assumed) == 0 {
		s.Reasons = append(s.Reasons, "the baseline's own policy does not do what the baseline says: "+j.blame())
		return base
	}
	s.ByTool = byTool(base, now)
	s.ByTool.Assumed = assumed
	return now.past()
}

// byTool lists what differs between a baseline and the same policy under this version.
func byTool(base *past, now *Outcome) *ToolReport {
	t := &ToolReport{Figures: []FigureReport{}, Events: base.compare(now.Events), base: base, now: now}
	for i, f := range compare.Figures() {
		before, held := base.figures[f.Name]
		if row := (FigureReport{Figure: f.Name, Unit: f.Unit, Before: before, After: now.Values[i]}); held && before.Cmp(row.After) != 0 {
			row.Status = against(f.Better, nil, before, row.After)
			t.Figures = append(t.Figures, row)
		}
	}
	return t
}

// effect says what a change of a case's policy does, and which of its stages do nothing.
func (j *judge) effect(i int, results []CaseResult, c *CaseReport) {
	one := &j.config.Cases[i]
	files := map[string]string{}
	var stages, acted []string
	for k := range results {
		r := &results[k]
		if r.Case != i {
			continue
		}
		for _, s := range r.Policy.Stages {
			if !slices.Contains(stages, s.Definition.Name) {
				stages = append(stages, s.Definition.Name)
			}
		}
		acted = append(acted, r.Acted...)
		for name, hash := range r.Files {
			files[name] = hash
		}
	}
	c.Idle = slices.DeleteFunc(stages, func(s string) bool { return slices.Contains(acted, s) })
	if !c.compared {
		return
	}
	assumed := false
	for _, s := range c.Sessions {
		assumed = assumed || s.ByTool != nil && len(s.ByTool.Assumed) > 0
		for _, change := range s.Changes {
			if !slices.Contains(c.Changes, change) {
				c.Changes = append(c.Changes, change)
			}
		}
	}
	old := j.baseline.find(one.Name)
	switch {
	case len(c.Changes) > 0 && c.moved:
		c.Effect = EffectSeen
	case len(c.Changes) > 0:
		c.Effect = EffectUnseen
		if cacheKey := func(k KeyChange) bool { return strings.HasPrefix(k.Key, "cache.") }; j.config.Counting.Cache != string(replay.CacheOwn) && slices.ContainsFunc(c.Changes, cacheKey) {
			c.Hint = "keys of the cache count under cache: own alone"
		}
	case assumed:
	case old.Policy != c.Policy:
		c.Effect = EffectNone
		c.Reworded = fmt.Sprintf("%s in place of %s", c.Policy, old.Policy)
	default:
		var changed []string
		for name, hash := range files {
			if was, had := old.Files[name]; had && was != hash {
				changed = append(changed, name)
			}
		}
		slices.Sort(changed)
		if len(changed) > 0 {
			c.Effect = EffectNone
			c.Reworded = strings.Join(changed, ", ") + " changed"
		}
	}
}

// Lines say what a change of the policy does where no session shows it, and which stages do nothing.
func (c *CaseReport) Lines() []string {
	var lines []string
	for _, line := range []string{c.EffectLine(), c.IdleLine()} {
		if line != "" {
			lines = append(lines, line)
		}
	}
	return lines
}

// sumByTool adds up the judged figures of the sessions that ctxkit itself or an assumption changed.
func (c *CaseReport) sumByTool() (rows []FigureReport) {
	for i := range c.Sessions {
		by := c.Sessions[i].ByTool
		if by == nil {
			continue
		}
		for at, f := range compare.Figures() {
			before := by.base.figures[f.Name]
			after := by.now.Values[at]
			if !judged(f.Name) || !before.Known || !after.Known {
				continue
			}
			if row := first(rows, func(r *FigureReport) bool { return r.Figure == f.Name }); row != nil {
				row.Before, row.After = row.Before.Add(before), row.After.Add(after)
			} else {
				rows = append(rows, FigureReport{Figure: f.Name, Unit: f.Unit, Before: before, After: after, Status: OK})
			}
		}
	}
	return slices.DeleteFunc(rows, func(r FigureReport) bool { return r.Before.Cmp(r.After) == 0 })
}

// ByToolLine says what ctxkit itself or an assumption changed in several sessions together; "" where that is one's.
func (c *CaseReport) ByToolLine() string {
	sessions := 0
	for i := range c.Sessions {
		if c.Sessions[i].ByTool != nil {
			sessions++
		}
	}
	if sessions < 2 || len(c.ByTool) == 0 {
		return ""
	}
	parts := make([]string, len(c.ByTool))
	for i := range c.ByTool {
		parts[i] = c.ByTool[i].Message()
	}
	return fmt.Sprintf("%s in the %d sessions that differ", strings.Join(parts, ", "), sessions)
}

// EffectLine says what a change of the policy does where no session shows it; "" elsewhere.
func (c *CaseReport) EffectLine() string {
	switch c.Effect {
	case EffectUnseen:
		var keys []string
		for i := range c.Changes[:min(len(c.Changes), maxChanges)] {
			keys = append(keys, c.Changes[i].Message())
		}
		if more := len(c.Changes) - maxChanges; more > 0 {
			keys = append(keys, fmt.Sprintf("%d more keys", more))
		}
		line := "changed: " + strings.Join(keys, ", ") + "; no session here can tell"
		if c.Hint != "" {
			line += ": " + c.Hint
		}
		return line
	case EffectNone:
		return c.Reworded + ": the policy does the same"
	}
	return ""
}

// IdleLine names the stages without an event in any session; "" is none.
func (c *CaseReport) IdleLine() string {
	if len(c.Idle) == 0 {
		return ""
	}
	return "no session here makes " + strings.Join(c.Idle, ", ") + " act"
}
