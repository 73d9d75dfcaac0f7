package opencode

import (
	"embed"

	"github.com/ctxkit/ctxkit/policy"
)

//go:embed *.yaml
var presets embed.FS

// Family is OpenCode.
func Family() policy.Family {
	return policy.Family{
		Name: "opencode", Title: "OpenCode", Stages: stages(), Environment: environment, Presets: presets,
		Orders: [][]string{{"opencode_truncate", "opencode_prune"}, {"opencode_truncate", "opencode_compaction"}},
	}
}
