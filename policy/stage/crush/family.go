// Package crush has the stages and policies of Crush.
package crush

import "github.com/ctxkit/ctxkit/policy"

// Family is Crush.
func Family() policy.Family {
	return policy.Family{Name: "crush", Title: "Crush", Stages: []policy.Definition{defineCrushSummarize()}}
}
