// Package codex has the stages and policies of Codex CLI.
package codex

import (
	"embed"

	"github.com/ctxkit/ctxkit/policy"
)

//go:embed *.yaml
var presets embed.FS

// Family is Codex CLI.
func Family() policy.Family {
	return policy.Family{Name: "codex", Title: "Codex CLI", Stages: stages(), Presets: presets}
}
