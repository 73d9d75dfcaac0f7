// Package sweep replays sessions under many choices of a policy's parameters, and finds those that no other choice
// beats.
package sweep

import (
	"slices"

	"github.com/ctxkit/ctxkit/policy"
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

// Objectives are the figures of the front: cost (tokens sent where a model has no price), peak, regret.
func Objectives(cost bool) []string {
	if cost {
		return []string{"cost_usd", "payload_peak", "misses"}
	}
	return []string{"payload_input", "payload_peak", "misses"}
}

// Grid is a policy under many choices of its parameters. Results are those of the first points: fewer than Points
// where the work was interrupted.
type Grid struct {
	Policy   string
	Use      policy.Use // what the policy's name meant
	Axes     []Axis
	Points   []Point
	Results  []compare.PolicyRow
	Sessions int
	Applied  []int // by axis: sessions whose policy has the parameter
	Inputs   compare.Inputs
	Unpriced []compare.Unpriced
	Front    []bool   // by result
	By       []string // the figures the front is by
}

// Mark finds the front.
func (s *Grid) Mark() {
	names := compare.Names()
	total := func(p compare.PolicyRow, figure string) exact.Decimal {
		return p.Figures[slices.Index(names, figure)].Total
	}
	s.By = Objectives(!slices.ContainsFunc(s.Results, func(p compare.PolicyRow) bool {
		return !total(p, "cost_usd").Known
	}))
	values := make([][]exact.Decimal, len(s.Results))
	for i, p := range s.Results {
		for _, name := range s.By {
			values[i] = append(values[i], total(p, name))
		}
	}
	s.Front = Front(values)
}
