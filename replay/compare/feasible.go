package compare

import (
	"slices"

	"github.com/ctxkit/ctxkit/replay/exact"
)

// mostInfeasible is the share of sessions, one in n, in which a candidate may be infeasible. A policy that is it
// in more, as one that removes nothing, is a bound: it takes no session from the others.
const mostInfeasible = 10

// Feasible reports whether a replay could have happened: no request is refused, and none violates a rule of the API
// because of the policy.
func (v Values) Feasible() bool {
	zero := exact.Whole(0)
	return v[place("refused")].Cmp(zero) <= 0 && v[place("violations")].Cmp(zero) <= 0
}

// feasibility sets which policies are bounds, and in which sessions all others are feasible. It returns what is
// feasible, by session and policy.
func (c *Comparison) feasibility() [][]bool {
	feasible := make([][]bool, len(c.Sessions))
	for s := range c.Sessions {
		feasible[s] = make([]bool, len(c.Policies))
		for p, v := range c.Sessions[s].Values {
			if feasible[s][p] = v.Feasible(); !feasible[s][p] {
				c.Policies[p].Infeasible++
			}
		}
	}
	for p := range c.Policies {
		c.Policies[p].Bound = c.Policies[p].Infeasible*mostInfeasible > len(c.Sessions)
	}
	candidate := func(p PolicyRow) bool { return !p.Bound }
	for s := range feasible {
		all := slices.ContainsFunc(c.Policies, candidate)
		for p, ok := range feasible[s] {
			all = all && (ok || c.Policies[p].Bound)
		}
		if all {
			c.Common = append(c.Common, s)
		}
	}
	return feasible
}
