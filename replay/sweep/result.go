// Package sweep replays sessions under many choices of a policy's parameters,
// and finds those that no other choice beats.
package sweep

import (
	"slices"

	"github.com/ctxkit/ctxkit/replay/compare"
)

// Schema is the version of the JSON form of a Result.
const Schema = "ctxkit.sweep/v1"

// Front marks the points that no other one dominates: none is as good in every
// objective and better in one. Objectives are less is better; a value that is
// not known leaves its objective out for all.
func Front(values [][]float64) []bool {
	front := make([]bool, len(values))
	if len(values) == 0 {
		return front
	}
	var use []int
	for o := range values[0] {
		known := true
		for _, v := range values {
			known = known && compare.Known(v[o])
		}
		if known {
			use = append(use, o)
		}
	}
	for i := range values {
		front[i] = true
		for j := range values {
			if dominates(values[j], values[i], use) {
				front[i] = false
				break
			}
		}
	}
	return front
}

func dominates(a, b []float64, use []int) bool {
	better := false
	for _, o := range use {
		if a[o] > b[o] {
			return false
		}
		better = better || a[o] < b[o]
	}
	return better
}

// Objectives are the figures of the front: cost (tokens sent where a model has
// no price), peak, regret.
func Objectives(cost bool) []string {
	if cost {
		return []string{"cost_usd", "model_peak", "misses"}
	}
	return []string{"payload_input", "model_peak", "misses"}
}

// Result is a policy under many choices of its parameters. Results are those
// of the first points: fewer than Points where the work was interrupted.
type Result struct {
	Policy   string
	Axes     []Axis
	Points   []Point
	Results  []compare.Policy
	Sessions int
	Applied  []int // by axis: sessions whose policy has the parameter
	Inputs   compare.Inputs
	Unpriced []compare.Unpriced
	Front    []bool   // by result
	By       []string // the figures the front is by
}

// Mark finds the front.
func (s *Result) Mark() {
	names := compare.Names()
	cost := true
	for i := range s.Results {
		cost = cost && compare.Known(s.Results[i].Figures[slices.Index(names, "cost_usd")].Total)
	}
	s.By = Objectives(cost)
	values := make([][]float64, len(s.Results))
	for i := range s.Results {
		for _, name := range s.By {
			values[i] = append(values[i], s.Results[i].Figures[slices.Index(names, name)].Total)
		}
	}
	s.Front = Front(values)
}
