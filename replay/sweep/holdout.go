package sweep

import (
	"slices"

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

// holdOut measures the choice among some points. permute gives the numbers from 0 to below its argument in random order.
func (s *Grid) holdOut(candidates []int, permute func(n int) []int) (h HoldOut) {
	at, projects := map[string]int{}, [][]ratio{} // by project and candidate
	for _, one := range s.Against.Sessions {
		first := one.Values[0][s.Against.Judged]
		k, ok := at[one.Project]
		if !ok {
			k = len(projects)
			at[one.Project] = k
			projects = append(projects, make([]ratio, len(candidates)))
		}
		for c, point := range candidates {
			if d := one.Values[1+point][s.Against.Judged].Sub(first); d.Known {
				projects[k][c].num += d.N
				projects[k][c].den += first.N
			}
		}
	}
	h.Projects = len(projects)
	if len(projects) < fewestProjects || len(candidates) < 2 {
		return h
	}
	sum := func(list []int, c int) (r ratio) {
		for _, k := range list {
			r.num += projects[k][c].num
			r.den += projects[k][c].den
		}
		return r
	}
	shares := make([]exact.Decimal, 0, draws)
	for range draws {
		drawn := permute(len(projects))
		half, others := drawn[:len(drawn)/2], drawn[len(drawn)/2:]
		best, least := 0, sum(half, 0).num
		for c := range candidates {
			if n := sum(half, c).num; n < least {
				best, least = c, n
			}
		}
		r := sum(others, best)
		if r.num > 0 {
			h.Worse++
		}
		shares = append(shares, exact.Ratio(exact.Whole(r.num), exact.Whole(r.den), 4))
	}
	slices.SortFunc(shares, exact.Decimal.Cmp)
	h.Draws, h.Median = draws, shares[draws/2]
	best := slices.Index(candidates, s.Best)
	for k := range projects {
		if projects[k][best].num > 0 {
			h.Higher++
		}
	}
	return h
}
