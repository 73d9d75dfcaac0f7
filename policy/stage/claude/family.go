// Package claude has the stages and policies of Claude Code.
package claude

import (
	"embed"

	"github.com/ctxkit/ctxkit/policy"
)

//go:embed *.yaml
var presets embed.FS

// Family is Claude Code.
func Family() policy.Family {
	return policy.Family{Name: "claude", Title: "Claude Code", Stages: stages(), Presets: presets}
}
