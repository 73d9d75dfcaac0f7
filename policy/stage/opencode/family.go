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

// environment changes a policy as OpenCode's environment variables would.
func environment(e *policy.Environment) {
	env := Env{}
	for _, name := range []string{EnvDisablePrune, EnvDisableAutocompact, EnvOutputTokenMax} {
		env[name] = e.Get(name)
	}
	if env.Set(EnvDisablePrune) {
		e.Change("opencode_prune.auto", "false", EnvDisablePrune)
	}
	if env.Set(EnvDisableAutocompact) {
		e.Change("opencode_compaction.auto", "false", EnvDisableAutocompact)
	}
	if n := env.OutputTokenMax(); n != DefaultOutputTokenMax && e.Has("opencode_compaction.auto") {
		e.Warn(EnvOutputTokenMax, "%d is not followed: a policy reserves at most %d", n, DefaultOutputTokenMax)
	}
}
