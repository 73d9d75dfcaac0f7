// Package threelayer has the stages and policies of the three-layer agent of Learn Claude Code.
package threelayer

import "github.com/ctxkit/ctxkit/policy"

// Family is the three-layer agent of Learn Claude Code.
func Family() policy.Family {
	return policy.Family{
		Name: "threelayer", Title: "The three-layer agent of Learn Claude Code", Stages: []policy.Definition{defineThreeLayerAuto(), defineThreeLayerMicro()},
		Orders: [][]string{{"three_layer_micro", "three_layer_auto"}},
	}
}
