// Package sweep replays sessions under many choices of a policy's parameters, and finds those that no other choice
// beats.
package sweep

import (
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
// better; an objective with an unknown value is left out.
func Front(values [][]exact.Decimal) []bool {
	front := make([]bool, len(values))
	if len(values) == 0 {
		return front
	}
	var use []int
	for o := range values[0] {
		if !slices.ContainsFunc(values, func(v []exact.Decimal) bool { return !v[o].Known }) {
			use = append(use, o)
		}
	}
	for i := range values {
		front[i] = !slices.ContainsFunc(values, func(v []exact.Decimal) bool { return dominates(v, values[i], use) })
	}
	return front
}

func dominates(a, b []exact.Decimal, use []int) bool {
	better := false
	for _, o := range use {
		d := a[o].Cmp(b[o])
		if d > 0 {
			return false
		}
		better = better || d < 0
	}
	return better
}

// Objectives are the figures of the front: cost (tokens sent where a model has no price, or the simulated cache does not fit the
// sessions), the mean size of a request, regret. The mean is of the payload, over requests: the largest request of all sessions is one request's, which most
// parameters do not touch.
func Objectives(cost bool) []string {
	if cost {
		return []string{"cost_usd", "payload_mean", "misses"}
	}
	return []string{"payload_input", "payload_mean", "misses"}
}

// Grid is a policy under many choices of its parameters. Tried and Results are those of the first points: fewer than
// Points where the work was interrupted.
type Grid struct {
	Policy   string
	Use      policy.Use // what the policy's name meant
	Axes     []Axis
	Points   []Point
	Tried    [][]compare.Values // by point and session
	Cache    replay.CacheMode   // whose prompt cache was simulated
	Results  []compare.PolicyRow
	Sessions int
	Billed   []compare.SessionBill // by session
	Money    *compare.Money        // of Billed
	Common   int                   // sessions in which every point that is no bound is feasible; 0: none, all sums are over all sessions
	Applied  []int                 // by axis: sessions whose policy has the parameter
	Inputs   compare.Inputs
	Unpriced []compare.Unpriced
	Front    []bool   // by result
	By       []string // the figures the front is by

	Interrupted bool // further points, or inputs, were wanted

	first *Swept
	last  []compare.ComparedSession // with the models without a price of the last point
}

// Mark sums the tried points up and finds the front. A point that is infeasible in many sessions is a bound and not on
// it; sessions in which one of the others is infeasible do not count.
func (s *Grid) Mark() {
	points, sessions := make([]string, len(s.Tried)), make([]compare.ComparedSession, s.Sessions)
	for i, values := range s.Tried {
		points[i] = strings.Join(s.Points[i], ",")
		for j := range sessions {
			sessions[j].Values = append(sessions[j].Values, values[j])
		}
	}
	if s.last != nil {
		s.Unpriced = compare.UnpricedModels(s.last)
	}
	c := compare.Sums(points, sessions)
	s.Results, s.Common = c.Policies, len(c.Common)
	s.Money = compare.Sum(s.Billed)
	s.By = Objectives(s.Money.CacheFit.Holds() && !slices.ContainsFunc(s.Results, func(p compare.PolicyRow) bool { return !s.total(&p, "cost_usd").Known }))
	var values [][]exact.Decimal
	var candidates []int
	for i := range s.Results {
		if s.Bound(i) {
			continue
		}
		var v []exact.Decimal
		for _, name := range s.By {
			v = append(v, s.total(&s.Results[i], name))
		}
		values, candidates = append(values, v), append(candidates, i)
	}
	s.Front = make([]bool, len(s.Results))
	for k, on := range Front(values) {
		s.Front[candidates[k]] = on
	}
}

// Bound reports whether a point could not have run: it is a bound, and no candidate.
func (s *Grid) Bound(point int) bool {
	r := &s.Results[point]
	return r.Bound || s.Common == 0 && r.Infeasible > 0
}

// Figures are a point's figures over the sessions that count.
func (s *Grid) Figures(r *compare.PolicyRow) []compare.Distribution {
	if s.Common > 0 {
		return r.Common
	}
	return r.Figures
}

func (s *Grid) total(r *compare.PolicyRow, figure string) exact.Decimal {
	return s.Figures(r)[slices.Index(compare.Names(), figure)].Total
}
