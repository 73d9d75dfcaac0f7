// Package sweep replays sessions under many choices of a policy's parameters, and finds those that no other choice
// beats.
package sweep

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"

	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/replay"
	"github.com/ctxkit/ctxkit/replay/compare"
	"github.com/ctxkit/ctxkit/replay/exact"
)

// Schema is the version of the JSON form of a Result.
const Schema = "ctxkit.sweep/v1"

// Front marks the points that no other one dominates, which is as good in every objective and better in one. Less is
// better.
func Front(values [][]exact.Decimal) []bool {
	front := make([]bool, len(values))
	for i := range values {
		front[i] = !slices.ContainsFunc(values, func(v []exact.Decimal) bool { return dominates(v, values[i]) })
	}
	return front
}

func dominates(a, b []exact.Decimal) bool {
	better := false
	for o := range a {
		d := a[o].Cmp(b[o])
		if d > 0 {
			return false
		}
		better = better || d < 0
	}
	return better
}

// Grid is a policy under many choices of its parameters. Results are those of the first points: fewer than Points where
// the work was interrupted.
type Grid struct {
	Policy   string
	Use      policy.Use // what the policy's name meant
	Axes     []Axis
	Points   []Point
	Sessions []compare.ComparedSession // under the policy as it is, then under each point
	Cache    replay.CacheMode          // whose prompt cache was simulated
	Results  []compare.PolicyRow       // Common: over the sessions that count; Bound: infeasible in one of them
	Against  compare.Comparison        // of the points with the policy as it is, over the sessions that count
	Applied  []int                     // by axis: sessions whose policy has the parameter
	Inert    []bool                    // by axis: the sessions are the same under all of its values
	Inputs   compare.Inputs
	Same     []int    // by result: the first point under which all sessions have the same figures
	Front    []bool   // by result
	By       []string // the figures the Pareto front is by
	Best     int      // the result with the least of the first of them; -1: no point is feasible
	HoldOut  HoldOut
	Groups   []SweptGroup // in which another point is the best

	Interrupted bool // further points, or inputs, were wanted
	Apart       bool // then subagents of the session are missing
}

// Mark sums the tried points up and finds the Pareto front. Those sessions count in which the policy as it is is
// feasible, or all where it never is: what a point comes to does not depend on the other points. A point that is
// infeasible in one of them is a bound and not on the Pareto front, and of points without a difference the first alone
// is on it. permute gives the numbers from 0 to below its argument in random order.
func (s *Grid) Mark(permute func(n int) []int) {
	compare.JoinProjects(s.Sessions)
	names := []string{s.Policy}
	if len(s.Sessions) > 0 {
		for i := range len(s.Sessions[0].Values) - 1 {
			names = append(names, s.label(i))
		}
	}
	counts := slices.DeleteFunc(slices.Clone(s.Sessions), func(one compare.ComparedSession) bool { return !one.Values[0].Feasible() })
	if len(counts) == 0 {
		counts = s.Sessions
	}
	s.Against = compare.Compare(names, counts, compare.ByNothing)[0]
	all := compare.Sums(names, s.Sessions)
	s.Results, s.Use = all.Policies[1:], all.Uses()[0]
	figures := compare.Names()
	s.By = []string{figures[s.Against.Judged]}
	if s.Against.Policies[0].Figures[slices.Index(figures, "misses")].Total.Known {
		s.By = append(s.By, "misses")
	}
	s.compareAlike()
	s.Front = make([]bool, len(s.Results))
	s.Best = -1
	var values [][]exact.Decimal
	var candidates []int
	for i := range s.Results {
		row := &s.Results[i]
		counted := &s.Against.Policies[1+i]
		row.Common = counted.Figures
		row.Bound = counted.Infeasible > 0
		if row.Bound || s.Same[i] < i {
			continue
		}
		var v []exact.Decimal
		for _, name := range s.By {
			v = append(v, row.Common[slices.Index(figures, name)].Total)
		}
		values = append(values, v)
		candidates = append(candidates, i)
		if s.Best < 0 || v[0].Cmp(s.total(s.Best)) < 0 {
			s.Best = i
		}
	}
	for k, on := range Front(values) {
		s.Front[candidates[k]] = on
	}
	s.HoldOut, s.Groups = s.holdOut(candidates, permute), s.differing(candidates)
}

// total is what a point comes to in the first figure of the Pareto front.
func (s *Grid) total(point int) exact.Decimal {
	return s.Results[point].Common[s.Against.Judged].Total
}

// Money is what the recorded sessions were billed.
func (s *Grid) Money() *compare.Money { return (&compare.Comparison{Sessions: s.Sessions}).Money() }

// label names a point by what it sets.
func (s *Grid) label(point int) string {
	var set []string
	for i, value := range s.Points[point] {
		set = append(set, s.Axes[i].Key+"="+value)
	}
	return strings.Join(set, ",")
}

// compareAlike finds the points under which all sessions have the same figures, and the axes whose value changes none.
func (s *Grid) compareAlike() {
	first := map[[sha256.Size]byte]int{}
	s.Same = make([]int, len(s.Results))
	for i := range s.Same {
		h := sha256.New()
		for _, one := range s.Sessions {
			fmt.Fprintln(h, one.Values[1+i])
		}
		key := [sha256.Size]byte(h.Sum(nil))
		if _, ok := first[key]; !ok {
			first[key] = i
		}
		s.Same[i] = first[key]
	}
	s.Inert = make([]bool, len(s.Axes))
	for k := range s.Axes {
		others, differs := map[string]int{}, false // by the values of the other axes
		for i, same := range s.Same {
			key := strings.Join(slices.Delete(slices.Clone(s.Points[i]), k, k+1), "\x00")
			if before, ok := others[key]; ok {
				differs = differs || before != same
			} else {
				others[key] = same
			}
		}
		s.Inert[k] = !differs && len(others) < len(s.Same)
	}
}
