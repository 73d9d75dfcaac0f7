// Package claude has the stages and policies of Claude Code.
package claude

import "github.com/ctxkit/ctxkit/policy"

// Family is Claude Code.
func Family() policy.Family {
	return policy.Family{
		Name: "claude", Title: "Claude Code",
		Stages: []policy.Definition{
			defineAutocompact(),
			defineContextCollapse(),
			defineMicrocompactCached(),
			defineMicrocompactSize(),
			defineMicrocompactTime(),
			definePostCompact(),
			defineSessionMemory(),
			defineSnip(),
			defineToolResultBudget(),
		},
		Environment: environment, Variables: variables(),
		Recorder: recorder(), Aliases: []policy.Alias{
			{Name: "claude-code-2.1.37", Policy: "claude-code-2.1.30", Former: true},
			{Name: "claude-code-2.1.78", Policy: "claude-code-2.1.76", Former: true}, {Name: "claude-code-2.1.210", Policy: "claude-code-2.1.193", Former: true},
			{Name: "claude-code-2.1.220", Policy: "claude-code-2.1.219", Former: true}, {Name: "claude-code-2.1.270", Policy: "claude-code-2.1.260", Former: true},
		},
		Orders: [][]string{
			{"tool_result_budget", "snip", "microcompact_size", "context_collapse", "session_memory", "autocompact", "post_compact"},
			{"tool_result_budget", "snip", "microcompact_time", "microcompact_cached", "context_collapse", "session_memory", "autocompact", "post_compact"},
		},
	}
}
