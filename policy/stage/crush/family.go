// Package crush has the stages and policies of Crush.
package crush

import (
	"embed"

	"github.com/ctxkit/ctxkit/policy"
)

//go:embed *.yaml
var presets embed.FS

// Family is Crush.
func Family() policy.Family {
	return policy.Family{Name: "crush", Title: "Crush", Stages: []policy.Definition{defineCrushSummarize()}, Presets: presets}
}
