// Package sweagent has the stages and policies of SWE-agent.
package sweagent

import "github.com/ctxkit/ctxkit/policy"

// Family is SWE-agent.
func Family() policy.Family {
	return policy.Family{
		Name: "sweagent", Title: "SWE-agent", Stages: []policy.Definition{defineLastNObservations()},
		// The only history processor of config/default.yaml (commit 869f3849) is cache_control with last_n_messages: 2:
		// nothing is removed. It marks the last two user and tool messages and, unlike Claude Code's marks (last_two, the default), not the system prompt.
		Aliases: []policy.Alias{{
			Name: "swe-agent-1.1", Policy: "none", Product: "swe-agent", Version: "1.1.0",
			Valid: policy.Valid{From: "2025-05-22", Source: "release 1.1.0 in the changelog of SWE-agent"},
		}},
	}
}
