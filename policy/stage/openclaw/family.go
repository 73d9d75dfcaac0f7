// Package openclaw has the stages and policies of OpenClaw.
package openclaw

import (
	"embed"

	"github.com/ctxkit/ctxkit/policy"
)

//go:embed *.yaml
var presets embed.FS

// Family is OpenClaw.
func Family() policy.Family {
	return policy.Family{Name: "openclaw", Title: "OpenClaw", Stages: []policy.Definition{defineCacheTTLPrune()}, Presets: presets}
}
