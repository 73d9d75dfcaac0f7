package check

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ctxkit/ctxkit/replay/compare"
	"github.com/ctxkit/ctxkit/replay/exact"
)

// judged reports whether a figure decides if a replay is better or worse where the configuration does not name it: what
// it costs, the largest request, what was needed and is gone, and the faults. Any other figure that differs is a change.
func judged(figure string) bool {
	return slices.Contains([]string{"cost_usd", "payload_peak", regretFigure}, figure) || isFault(figure)
}

// regretFigure is the misses less those that chance explains. Which these are grows with what is removed, so it is better
// or worse only where the misses are.
const regretFigure = "excess_misses"

func isFault(figure string) bool { return slices.Contains(compare.FaultNames(), figure) }

// figures judges every figure. It gives the place of the first limit that does not hold.
func (j *judge) figures(one *Case, r *CaseResult, was *past, s *SessionReport) *Place {
	var at *Place
	status := OK // the figures' together
	for i, f := range compare.Figures() {
		row := FigureReport{Figure: f.Name, Unit: f.Unit, Status: OK, After: r.Values[i]}
		held := false
		if was != nil {
			row.Before, held = was.figures[f.Name]
		}
		e := one.expectation(f.Name)
		row.Decides = e != nil || judged(f.Name)
		fault := isFault(f.Name) && e == nil
		switch {
		case e != nil && e.Any, fault && one.allows(f.Name):
			continue
		case e != nil:
			if row.Limit = e.text(was != nil); row.Limit == "" {
				continue // all that is expected is to be near a baseline that says nothing of the session
			}
			if !e.holds(row.After) {
				row.Status = Broken
			} else if e.Within != nil && was != nil {
				row.Status = against(f.Better, e.Within, row.Before, row.After)
				if row.Status == Changed || !row.Before.Known {
					row.Status = Broken // the configuration requires it
				}
			}
			if row.Status == Broken && at == nil {
				p := placeOf(e.Position)
				at = &p
			}
		case fault && j.baseline == nil && j.config.Baseline == "":
			row.Limit = "0, or allow: [" + f.Name + "]"
			if row.After.N == 0 {
				continue
			}
			row.Status = Broken
		case !held:
			continue
		default:
			row.Limit = asBefore
			within, better := one.Within, f.Better
			if !judged(f.Name) {
				better = compare.Neither
			}
			switch {
			case fault:
				row.Limit, within = "at most "+grouped(row.Before.String()), nil
			case within != nil:
				row.Limit = "within " + within.String() + " of the baseline"
			}
			row.Status = against(better, within, row.Before, row.After)
			if f.Name == regretFigure && row.Status != OK && (!r.follows("misses", was, row.Status) || row.Status == Worse && r.coincidence(was)) {
				row.Status = Changed
			}
			if row.Status == OK && row.Before.Cmp(row.After) == 0 {
				continue
			}
		}
		s.Figures = append(s.Figures, row)
		if status != Better || row.Status != Changed { // better figures excuse changed ones
			status = worst(status, row.Status)
		}
		if row.Status == Better && status == Changed {
			status = Better
		}
	}
	if why := one.doubt(r, was); status == Better && why != "" {
		status = Changed
		s.doubted = true
		s.Reasons = append(s.Reasons, why+": that is not called better; allow_changes lets it pass")
	}
	s.Status = worst(s.Status, status)
	return at
}

// value is a figure before and now.
func (r *CaseResult) value(figure string, was *past) (before, after exact.Decimal) {
	return was.figures[figure], r.Values[slices.Index(compare.Names(), figure)]
}

// follows reports whether a figure of which less is better became what the status says, or is not known on either side.
func (r *CaseResult) follows(figure string, was *past, status Verdict) bool {
	before, after := r.value(figure, was)
	return !before.Known || !after.Known || against(compare.Less, nil, before, after) == status
}

// coincidence reports whether at most one more is missed, and not a re-read.
func (r *CaseResult) coincidence(was *past) bool {
	before, after := r.value("misses", was)
	rereads, now := r.value("misses_reread", was)
	return before.Known && after.Known && after.Sub(before).Cmp(exact.Whole(1)) <= 0 && rereads.Known && now.Cmp(rereads) <= 0
}

// doubt says why a replay that is otherwise better is not called so: more is missed, which chance may explain, or it
// removes more than before and nothing tells whether that was needed. "" is no doubt.
func (c *Case) doubt(r *CaseResult, was *past) string {
	if was == nil {
		return ""
	}
	grown := func(figure string) bool {
		before, after := r.value(figure, was)
		return before.Known && after.Cmp(before) > 0
	}
	if grown("misses") {
		return "more is missed, though chance may explain it"
	}
	if !grown("tokens_saved") && !grown("removed_blocks") {
		return ""
	}
	before, after := r.value(regretFigure, was)
	if e := c.expectation(regretFigure); !before.Known || !after.Known || e != nil && e.Any {
		return "it removes more, and what of it was needed is not counted (regret: true counts it)"
	}
	if before, after := r.value("misses", was); before.Known && before.N == 0 && after.Known && after.N == 0 {
		return "it removes more, and nothing here can tell whether that was needed"
	}
	return ""
}

// lost lists the figures that have a value and are missing from the baseline, although the version that wrote it has
// them.
func (j *judge) lost(one *Case, r *CaseResult, old *BaselineSession) []string {
	var list []string
	for i, f := range compare.Figures() {
		if e := one.expectation(f.Name); e != nil && e.Within == nil {
			continue // its limits replace the baseline
		}
		if _, held := old.Figures[f.Name]; !held && r.Values[i].Known && (j.baseline.Tool == j.run.Tool || j.baseline.knew(f.Name)) {
			list = append(list, f.Name)
		}
	}
	return list
}

// some names the first of a list of figures, and says how many more there are.
func some(names []string) string {
	const most = 3
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more figures", strings.Join(names[:most], ", "), len(names)-most)
}

// asBefore is the limit of a figure that the configuration does not name.
const asBefore = "as in the baseline"

// against says what became of a figure since the baseline.
func against(better compare.Better, within *Tolerance, before, after exact.Decimal) Verdict {
	switch {
	case before.Cmp(after) == 0:
		return OK
	case !after.Known && better != compare.Neither:
		return Worse // it is not known any more
	case !before.Known || !after.Known:
		return Changed
	case within != nil && within.allows(before, after):
		return OK
	case better == compare.Neither:
		return Changed
	case (after.Cmp(before) < 0) == (better == compare.Less):
		return Better
	}
	return Worse
}

func (c *Case) expectation(figure string) *Expectation {
	return first(c.Expect, func(e *Expectation) bool { return e.Figure == figure })
}

// holds reports whether the limits that need no baseline hold.
func (e *Expectation) holds(x exact.Decimal) bool {
	if e.Min == nil && e.Max == nil && e.Equals == nil {
		return true
	}
	return x.Known && (e.Min == nil || x.Cmp(e.Min.Decimal) >= 0) && (e.Max == nil || x.Cmp(e.Max.Decimal) <= 0) &&
		(e.Equals == nil || x.Cmp(e.Equals.Decimal) == 0)
}

// text says what is expected, of the baseline only where it has the session.
func (e *Expectation) text(baseline bool) string {
	var parts []string
	if e.Equals != nil {
		parts = append(parts, grouped(e.Equals.String()))
	}
	if e.Min != nil {
		parts = append(parts, "at least "+grouped(e.Min.String()))
	}
	if e.Max != nil {
		parts = append(parts, "at most "+grouped(e.Max.String()))
	}
	if e.Within != nil && baseline {
		parts = append(parts, "within "+e.Within.String()+" of the baseline")
	}
	return strings.Join(parts, ", ")
}
