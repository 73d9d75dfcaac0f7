// Package threelayer has the stages and policies of the three-layer agent of Learn Claude Code.
package threelayer

import (
	"embed"

	"github.com/ctxkit/ctxkit/policy"
)

//go:embed *.yaml
var presets embed.FS

// Family is the three-layer agent of Learn Claude Code.
func Family() policy.Family {
	return policy.Family{
		Name: "threelayer", Title: "The three-layer agent of Learn Claude Code", Stages: []policy.Definition{defineThreeLayerAuto(), defineThreeLayerMicro()}, Presets: presets,
		Orders: [][]string{{"three_layer_micro", "three_layer_auto"}},
	}
}
