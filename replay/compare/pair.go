package compare

import (
	"cmp"
	"maps"
	"slices"

	"github.com/ctxkit/ctxkit/replay/exact"
	"github.com/ctxkit/ctxkit/replay/interval"
)

// Contrast is a policy against the first, over the sessions in which both are feasible.
type Contrast struct {
	Sessions []int    // by index into Comparison.Sessions
	Figures  []Versus // by index into Figures
	Half     int      // the fewest sessions that make half of the absolute difference in the judged figure
	Largest  Share    // the project that makes most of it
	// Correction is the difference with what extra compactions cause; nil where there are none, or no cost is known.
	Correction *Correction
}

// Share is the share of a project in an absolute difference, with four digits.
type Share struct {
	Project string        `json:"project"`
	Of      exact.Decimal `json:"share"`
}

// Versus is one figure of a policy against the first, over the sessions of their pair in which both have it.
type Versus struct {
	Sessions   int
	Projects   int
	First      exact.Decimal // the first policy's total
	Difference exact.Decimal // of the totals
	// Interval is the difference as a share of First, over projects, or over sessions where all belong to one project.
	// It is known of sums and means that are better where they are less, or more. Comparisons are those whose intervals
	// hold at once.
	Interval            interval.Interval
	Comparisons         int
	Lower, Even, Higher int // sessions in which the policy's value is lower by more than 0.5 %, even, or higher
}

// Conclusion is what can be concluded from a difference.
type Conclusion string

// The verdicts.
const (
	VerdictNone    Conclusion = ""              // there is nothing to compare
	VerdictSame    Conclusion = "same"          // no session differs
	VerdictTooFew  Conclusion = "too_few"       // too few clusters differ to tell
	VerdictUnknown Conclusion = "no_difference" // the interval covers 0: no difference can be distinguished
	VerdictEven    Conclusion = "even"          // the interval is within half a percent
	VerdictSmall   Conclusion = "small"         // there is a difference, of less than half a percent
	VerdictLess    Conclusion = "less"
	VerdictMore    Conclusion = "more"
)

// Conclusion is what the interval says about other sessions. Where there is none, it is what the projects with most of
// the cost agree in, if there are enough of them that they seldom agree by chance.
func (v *Versus) Conclusion() Conclusion {
	zero := exact.Whole(0)
	i := &v.Interval
	switch {
	case v.Sessions == 0:
		return VerdictNone
	case v.Lower+v.Higher == 0 && v.Difference.Cmp(zero) == 0:
		return VerdictSame
	case !i.Lower.Known && !v.agree():
		return VerdictTooFew
	case i.Lower.Known && i.Lower.Cmp(zero.Sub(evenShare())) >= 0 && i.Upper.Cmp(evenShare()) <= 0:
		return VerdictEven
	case i.Covers(zero):
		return VerdictUnknown
	case i.Value.Abs().Cmp(evenShare()) <= 0:
		return VerdictSmall
	case v.Difference.Cmp(zero) < 0:
		return VerdictLess
	}
	return VerdictMore
}

// agree reports whether all of the largest clusters differ in one direction, and that number of them does so one in ten
// times at most by chance, in any of the comparisons: five in one comparison, as 2 of 32 such draws do.
func (v *Versus) agree() bool {
	r := v.Interval.Range
	zero := exact.Whole(0)
	return v.Interval.Value.Known && (r.Most.Cmp(zero) < 0 || r.Least.Cmp(zero) > 0) && 10*v.Comparisons <= 1<<min(r.Clusters-1, 62)
}

// evenShare is the share up to which two values are even: half a percent.
func evenShare() exact.Decimal { return exact.Of(5, 3) }

// pair compares each policy with the first, where both are feasible. As many groups are compared in all.
func (c *Comparison) pair(feasible [][]bool, groups int) {
	c.Pairs = make([]Contrast, len(c.Policies))
	for p := 1; p < len(c.Policies); p++ {
		for s := range c.Sessions {
			if feasible[s][0] && feasible[s][p] && !slices.Contains(c.Sessions[s].Flags, FlagContradicted) {
				c.Pairs[p].Sessions = append(c.Pairs[p].Sessions, s)
			}
		}
		for f, figure := range Figures() {
			c.Pairs[p].Figures = append(c.Pairs[p].Figures, c.versus(p, f, figure, groups*(len(c.Policies)-1)))
		}
	}
	names := Names()
	c.Judged = slices.Index(names, "cost_usd")
	if !c.Money().CacheFit.Holds() || !slices.ContainsFunc(c.Pairs, func(p Contrast) bool { return p.Figures != nil && p.Figures[c.Judged].Sessions > 0 }) {
		c.Judged = slices.Index(names, "payload_input")
	}
	for p := 1; p < len(c.Pairs); p++ {
		c.concentration(p)
		c.Pairs[p].Correction = c.correct(p)
	}
}

// versus compares one figure of a policy with the first's.
func (c *Comparison) versus(p, f int, figure Figure, comparisons int) (v Versus) {
	v.Comparisons = comparisons
	requests, n := place("requests"), len(c.Pairs[p].Sessions)
	own, first, weights := make(Values, 0, n), make(Values, 0, n), make(Values, 0, n)
	clusters := map[string]*interval.Ratio{}
	each := make([]interval.Ratio, 0, n)
	even := evenShare()
	for _, s := range c.Pairs[p].Sessions {
		session := &c.Sessions[s]
		x, y, weight := session.Values[p][f], session.Values[0][f], session.Values[0][requests]
		d := x.Sub(y)
		if !d.Known {
			continue
		}
		own, first, weights = append(own, x), append(first, y), append(weights, weight)
		switch {
		case d.Abs().Within(even, y):
			v.Even++
		case d.N < 0:
			v.Lower++
		default:
			v.Higher++
		}
		r := interval.Ratio{Num: d.N, Den: y.N}
		if figure.gather == mean {
			r = interval.Ratio{Num: d.Times(weight.N).N, Den: y.Times(weight.N).N}
		}
		each = append(each, r)
		if clusters[session.Project] == nil {
			clusters[session.Project] = &interval.Ratio{}
		}
		clusters[session.Project].Num += r.Num
		clusters[session.Project].Den += r.Den
	}
	v.Sessions, v.Projects = len(own), len(clusters)
	if len(own) == 0 {
		return v
	}
	_, v.First = gathered(figure.gather, first, weights)
	_, total := gathered(figure.gather, own, weights)
	v.Difference = total.Sub(v.First)
	if figure.Better == Neither || figure.gather == highest {
		return v
	}
	if len(clusters) > 1 {
		each = nil
		for _, r := range clusters {
			each = append(each, *r)
		}
	}
	v.Interval = interval.Among(each, comparisons) // in any order
	return v
}

// concentration says how much of the judged difference few sessions and one project make.
func (c *Comparison) concentration(p int) {
	pair := &c.Pairs[p]
	var each []int64
	all, projects := exact.Whole(0), map[string]exact.Decimal{}
	for _, s := range pair.Sessions {
		session := &c.Sessions[s]
		d := session.Values[p][c.Judged].Sub(session.Values[0][c.Judged]).Abs()
		if !d.Known || d.N == 0 {
			continue
		}
		each, all = append(each, d.N), all.Add(d)
		if _, ok := projects[session.Project]; !ok {
			projects[session.Project] = exact.Whole(0)
		}
		projects[session.Project] = projects[session.Project].Add(d)
	}
	if len(each) == 0 {
		return
	}
	slices.SortFunc(each, func(a, b int64) int { return cmp.Compare(b, a) })
	for left := all.N; left > all.N/2; pair.Half++ {
		left -= each[pair.Half]
	}
	for _, name := range slices.Sorted(maps.Keys(projects)) {
		if share := exact.Ratio(projects[name], all, 4); share.Cmp(pair.Largest.Of) > 0 {
			pair.Largest = Share{name, share}
		}
	}
}
