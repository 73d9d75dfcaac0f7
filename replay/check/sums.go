package check

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ctxkit/ctxkit/replay/compare"
	"github.com/ctxkit/ctxkit/replay/exact"
	"github.com/ctxkit/ctxkit/replay/interval"
)

// CaseSums are what the sessions of a case that a baseline has come to together.
type CaseSums struct {
	Sessions int            `json:"sessions"`
	Lower    int            `json:"lower"` // sessions that cost less
	Even     int            `json:"even"`
	Higher   int            `json:"higher"`
	Figures  []FigureReport `json:"figures"` // what they cost, the price of what is needed later, and its count

	// From and To are the bounds of a 90 % interval over sessions of the difference in cost, the price of what is needed
	// later included, in percent. They are not known where there are fewer than 5 sessions.
	From exact.Decimal `json:"from_percent,omitzero"`
	To   exact.Decimal `json:"to_percent,omitzero"`

	moved []exact.Decimal // by figure: the sum of what changed by more than is allowed
}

// fewest is the number of sessions from which on there is an interval.
const fewest = 5

// sumsOf adds up the sessions of a case; nil where the baseline has none. Where a session has no price, tokens stand for
// money. What the configuration leaves to a tolerance of its own, or what differs by no more than it allows, does not
// count in the verdict.
func sumsOf(one *Case, c *CaseReport) *CaseSums {
	names := summed(!slices.ContainsFunc(c.Sessions, func(s SessionReport) bool {
		before, after := s.figure("cost_usd")
		return s.was != nil && !(before.Known && after.Known)
	}))
	s := &CaseSums{Figures: []FigureReport{}}
	costs := make([]interval.Ratio, len(c.Sessions))
	for n, name := range names {
		f := first(compare.Figures(), func(f *compare.Figure) bool { return f.Name == name })
		moved := exact.Of(0, f.Places())
		row := FigureReport{Figure: name, Unit: f.Unit, Before: exact.Of(0, f.Places()), After: exact.Of(0, f.Places()), Decides: true}
		known := true
		for i := range c.Sessions {
			if c.Sessions[i].was == nil {
				continue
			}
			before, after := c.Sessions[i].figure(name)
			row.Before, row.After = row.Before.Add(before), row.After.Add(after)
			real := after
			if e := one.expectation(name); e != nil && (e.Any || e.Within != nil && e.Within.allows(before, after)) || one.Within != nil && one.Within.allows(before, after) {
				after = before
			}
			moved = moved.Add(after.Sub(before))
			known = known && before.Known && after.Known
			switch {
			case n == 1 && before.Known && after.Known: // what is needed later has its price
				costs[i].Num += units(after.Sub(before), f)
			case n == 0:
				s.Sessions++
				costs[i] = interval.Ratio{Num: units(after.Sub(before), f), Den: units(before, f)}
				switch less := real.Cmp(before); {
				case less < 0:
					s.Lower++
				case less == 0:
					s.Even++
				default:
					s.Higher++
				}
			}
		}
		if known {
			row.Status = against(compare.Less, nil, row.Before, row.After)
			s.Figures = append(s.Figures, row)
			s.moved = append(s.moved, moved)
		}
	}
	if s.Sessions == 0 {
		return nil
	}
	if s.Sessions >= fewest && s.Even < s.Sessions {
		share := interval.Of(slices.DeleteFunc(costs, func(r interval.Ratio) bool { return r == interval.Ratio{} }))
		s.From, s.To = share.Lower.Times(100).Round(1), share.Upper.Times(100).Round(1)
	}
	return s
}

// figure is a figure of a session, before and now.
func (s *SessionReport) figure(name string) (before, after exact.Decimal) {
	if s.was == nil {
		return before, after
	}
	return s.was.figures[name], s.now.Values[slices.Index(compare.Names(), name)]
}

// units is a known value of a figure in its smallest unit.
func units(d exact.Decimal, f *compare.Figure) int64 {
	n, _ := d.At(f.Places())
	return n
}

// change is how much one of these figures changed by more than is allowed; not known where it is in no session's figures.
func (s *CaseSums) change(figures ...string) exact.Decimal {
	for i := range s.moved {
		if slices.Contains(figures, s.Figures[i].Figure) {
			return s.moved[i]
		}
	}
	return exact.Decimal{}
}

// total judges a case: by what fails in its sessions, else by what they cost and lose together.
func (j *judge) total(one *Case, c *CaseReport) {
	c.Sums = sumsOf(one, c)
	differs := false
	removes := false
	absolute := false
	for i := range c.Sessions {
		s := &c.Sessions[i]
		if s.absolute || s.Status == Stale || c.Sums == nil {
			c.Status = worst(c.Status, s.Status)
			absolute = true
		}
		differs = differs || s.Status != OK
		for _, name := range []string{"tokens_saved", "removed_blocks"} {
			before, after := s.figure(name)
			removes = removes || before.Known && after.Known && after.Cmp(before) > 0
		}
	}
	for i := 0; c.Sums != nil && i < len(c.Sums.moved); i++ {
		differs = differs || c.Sums.moved[i].N != 0
	}
	if c.Fails = c.Failed > 0; absolute || !differs {
		return
	}
	cost := c.Sums.change("cost_usd", "payload_input")
	price := c.Sums.change("refetch_usd", "refetch_tokens")
	misses := c.Sums.change("misses")
	net := cost
	if price.Known {
		net = cost.Add(price)
	}
	switch {
	case net.N > 0:
		c.Status = Worse
	case net.N < 0 && misses.Known && misses.N > 0 && (!price.Known || price.N > 0):
		c.Status = Changed
		lets := ": allow: [misses] lets that pass"
		if slices.Contains(one.Allow, "misses") {
			c.Status = Better
			lets = ", which allow: [misses] lets pass"
		} else if one.mayChange() {
			lets = ", which allow_changes lets pass"
		}
		c.Reasons = append(c.Reasons, "it saves, and more of what it removes is needed later"+lets)
	case net.N < 0 && !misses.Known && removes:
		c.Status = Changed
		c.Reasons = append(c.Reasons, "it removes more, and regret: false leaves open how much of that is needed later")
	case net.N < 0 && c.Sums.To.Known && c.Sums.To.N >= 0:
		c.Reasons = append(c.Reasons, "over other sessions the difference could be nothing")
	case net.N < 0:
		c.Status = Better
	default:
		c.Status = Better
		if slices.ContainsFunc(c.Sessions, func(s SessionReport) bool { return s.Status != OK && s.Status != Better }) {
			c.Status = Changed
		}
	}
	c.Fails = !j.run.Updating && (c.Status == Worse || c.Status == Changed && !one.mayChange())
	switch {
	case j.run.Updating:
	case c.Status == Better:
		c.Reasons = append(c.Reasons, "run "+j.run.Update+" to keep it so")
	case c.Fails && c.Status == Changed && len(c.Reasons) == 0:
		what := "what it costs and loses has not changed by more than is allowed"
		if misses.N > 0 {
			what = "more of what it removes is needed later, at no higher price"
		}
		c.Reasons = append(c.Reasons, what+": run "+j.run.Update+" if the change is meant, or set allow_changes")
	}
}

// Message says what became of a case in one line.
func (c *CaseReport) Message() string {
	return strings.Join(append([]string{fmt.Sprintf("case %s: %s", c.Name, c.Status)}, c.TotalLines()...), "; ")
}

// TotalLines say what the sessions of a case come to together, and what follows from that.
func (c *CaseReport) TotalLines() []string {
	var lines []string
	if s := c.Sums; s != nil {
		for i := range s.Figures {
			f := &s.Figures[i]
			if f.Before.Cmp(f.After) == 0 {
				continue
			}
			line := f.Message() + " in all"
			if i == 0 {
				line += fmt.Sprintf(": lower in %d of %d sessions, higher in %d", s.Lower, s.Sessions, s.Higher)
			}
			lines = append(lines, line)
		}
	}
	if s := c.Sums; s != nil && s.From.Known {
		lines = append(lines, fmt.Sprintf("90 %% interval over sessions, with the price of what is needed later: %s %% to %s %%", s.From, s.To))
	}
	return append(lines, c.Reasons...)
}
