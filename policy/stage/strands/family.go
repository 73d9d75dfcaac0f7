// Package strands has the stages and policies of Strands Agents.
package strands

import (
	"embed"

	"github.com/ctxkit/ctxkit/policy"
)

//go:embed *.yaml
var presets embed.FS

// Family is Strands Agents.
func Family() policy.Family {
	return policy.Family{
		Name: "strands", Title: "Strands Agents",
		Stages:  []policy.Definition{defineSlidingWindow()},
		Presets: presets,
	}
}
