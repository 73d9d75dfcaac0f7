// Package sweagent has the stages and policies of SWE-agent.
package sweagent

import (
	"embed"

	"github.com/ctxkit/ctxkit/policy"
)

//go:embed *.yaml
var presets embed.FS

// Family is SWE-agent.
func Family() policy.Family {
	return policy.Family{Name: "sweagent", Title: "SWE-agent", Stages: stages(), Presets: presets}
}
