// Package openhands has the stages and policies of OpenHands.
package openhands

import (
	"embed"

	"github.com/ctxkit/ctxkit/policy"
)

//go:embed *.yaml
var presets embed.FS

// Family is OpenHands.
func Family() policy.Family {
	return policy.Family{Name: "openhands", Title: "OpenHands", Stages: []policy.Definition{defineCondenserEvents()}, Presets: presets}
}
