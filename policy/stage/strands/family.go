// Package strands has the stages and policies of Strands Agents.
package strands

import "github.com/ctxkit/ctxkit/policy"

// Family is Strands Agents.
func Family() policy.Family {
	return policy.Family{
		Name: "strands", Title: "Strands Agents",
		Stages: []policy.Definition{defineSlidingWindow()},
	}
}
