package check

import (
	"slices"
	"strings"

	"github.com/ctxkit/ctxkit/replay/compare"
	"github.com/ctxkit/ctxkit/replay/exact"
)

// summed are the figures whose sums over the sessions of a case decide: what it costs, the price of what was removed and
// needed later, and how much that was. Tokens stand for money where a session has no price.
func summed(priced bool) []string {
	if priced {
		return []string{"cost_usd", "refetch_usd", "misses"}
	}
	return []string{"payload_input", "refetch_tokens", "misses"}
}

// nearWindow is the share of the window, in percent, from which on the largest request decides.
const nearWindow = 95

// judged reports whether a figure decides where the configuration does not name it.
func judged(figure string) bool { return slices.Contains(summed(true), figure) || isFault(figure) }

func isFault(figure string) bool { return slices.Contains(compare.FaultNames(), figure) }

// figures judges every figure of a session. It gives the place of the first limit that does not hold. Faults, limits, a
// peak near the window and a figure that is not known any more fail the session; what it costs and loses counts in the
// sums of its case.
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
		fault := isFault(f.Name) && e == nil
		peak := f.Name == "payload_peak" && r.nearWindow(row.After)
		row.Decides = e != nil || peak || judged(f.Name)
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
			s.absolute = s.absolute || row.Status.rank() >= Worse.rank()
		case fault && j.baseline == nil && j.config.Baseline == "":
			row.Limit = "0, or allow: [" + f.Name + "]"
			if row.After.N == 0 {
				continue
			}
			row.Status = Broken
			s.absolute = true
		case !held:
			continue
		default:
			row.Limit = asBefore
			within := one.Within
			better := f.Better
			if !row.Decides {
				better = compare.Neither
			}
			switch {
			case fault:
				row.Limit = "at most " + grouped(row.Before.String())
				within = nil
			case within != nil:
				row.Limit = "within " + within.String() + " of the baseline"
			}
			row.Status = against(better, within, row.Before, row.After)
			s.absolute = s.absolute || row.Status == Worse && (fault || peak || !row.After.Known)
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
	s.Status = worst(s.Status, status)
	return at
}

// nearWindow reports whether a request of a number of tokens nearly fills the window.
func (o *Outcome) nearWindow(tokens exact.Decimal) bool {
	return o.Window > 0 && tokens.Known && tokens.Cmp(exact.Whole(o.Window*nearWindow/100)) >= 0
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
