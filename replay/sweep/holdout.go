package sweep

import (
	"slices"
	"strings"

	"github.com/ctxkit/ctxkit/replay/compare"
	"github.com/ctxkit/ctxkit/replay/exact"
)

// HoldOut says what the choice of a point is worth in sessions that it was not chosen by: the best point in half of the
// projects, drawn Draws times, against the policy as it is in the other half.
type HoldOut struct {
	Projects int
	Draws    int // 0: there are too few projects
	Worse    int // draws in which the point chosen is worse than the policy as it is
	// Median is that of the differences, as a share of what the policy as it is comes to.
	Median exact.Decimal
	Higher int // projects in which the best point of all is worse than the policy as it is
}

// draws is how many halves are tried; fewestProjects are enough for it.
const draws, fewestProjects = 1000, 4

// ratio is a difference and what the policy as it is comes to.
type ratio struct{ num, den int64 }

// SweptGroup are sessions in a window, or in a project with a fifth of what the policy as it is comes to.
type SweptGroup struct {
	Window   int // 0: of a project
	Project  string
	Sessions int
	// Best is the result with the least in these sessions; Share is what it comes to more than the policy as it is, as a
	// share of that, and Overall what the best of all does.
	Best           int
	Share, Overall exact.Decimal
	ratios         []ratio // by candidate
}

// groups sums up the differences of some points in the sessions of one window, or project.
func (s *Grid) groups(candidates []int, of func(one *compare.ComparedSession) SweptGroup) (list []SweptGroup) {
	for i := range s.Against.Sessions {
		one := &s.Against.Sessions[i]
		first := one.Values[0][s.Against.Judged]
		group := of(one)
		k := slices.IndexFunc(list, func(g SweptGroup) bool { return g.Window == group.Window && g.Project == group.Project })
		if k < 0 {
			k = len(list)
			group.ratios = make([]ratio, len(candidates))
			list = append(list, group)
		}
		list[k].Sessions++
		for c, point := range candidates {
			if d := one.Values[1+point][s.Against.Judged].Sub(first); d.Known {
				list[k].ratios[c].num += d.N
				list[k].ratios[c].den += first.N
			}
		}
	}
	return list
}

// differing are the windows, and the projects with a fifth of the whole, in which another point than the best of all has
// the least.
func (s *Grid) differing(candidates []int) (list []SweptGroup) {
	best := slices.Index(candidates, s.Best)
	if best < 0 {
		return nil
	}
	windows := s.groups(candidates, func(one *compare.ComparedSession) SweptGroup { return SweptGroup{Window: one.Window} })
	projects := s.groups(candidates, byProject)
	whole := int64(0)
	for _, g := range projects {
		whole += g.ratios[best].den
	}
	projects = slices.DeleteFunc(projects, func(g SweptGroup) bool { return g.ratios[best].den < whole/compare.LargeProject })
	slices.SortFunc(windows, func(a, b SweptGroup) int { return a.Window - b.Window })
	slices.SortFunc(projects, func(a, b SweptGroup) int { return strings.Compare(a.Project, b.Project) })
	for _, g := range slices.Concat(windows, projects) {
		at := best
		for c, r := range g.ratios {
			if r.num < g.ratios[at].num {
				at = c
			}
		}
		if at != best {
			share := func(r ratio) exact.Decimal { return exact.Ratio(exact.Whole(r.num), exact.Whole(r.den), 4) }
			g.Best, g.Share, g.Overall = candidates[at], share(g.ratios[at]), share(g.ratios[best])
			list = append(list, g)
		}
	}
	return list
}

func byProject(one *compare.ComparedSession) SweptGroup { return SweptGroup{Project: one.Project} }

// holdOut measures the choice among some points. permute gives the numbers from 0 to below its argument in random order.
func (s *Grid) holdOut(candidates []int, permute func(n int) []int) (h HoldOut) {
	projects := s.groups(candidates, byProject)
	h.Projects = len(projects)
	if len(projects) < fewestProjects || len(candidates) < 2 {
		return h
	}
	sum := func(list []int, c int) (r ratio) {
		for _, k := range list {
			r.num += projects[k].ratios[c].num
			r.den += projects[k].ratios[c].den
		}
		return r
	}
	shares := make([]exact.Decimal, 0, draws)
	for range draws {
		drawn := permute(len(projects))
		half := drawn[:len(drawn)/2]
		others := drawn[len(drawn)/2:]
		best := 0
		least := sum(half, 0).num
		for c := range candidates {
			if n := sum(half, c).num; n < least {
				best = c
				least = n
			}
		}
		r := sum(others, best)
		if r.num > 0 {
			h.Worse++
		}
		shares = append(shares, exact.Ratio(exact.Whole(r.num), exact.Whole(r.den), 4))
	}
	slices.SortFunc(shares, exact.Decimal.Cmp)
	h.Draws = draws
	h.Median = shares[draws/2]
	best := slices.Index(candidates, s.Best)
	for k := range projects {
		if projects[k].ratios[best].num > 0 {
			h.Higher++
		}
	}
	return h
}
