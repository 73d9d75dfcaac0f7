// Package anthropic has the stages and policies of the Messages API of Anthropic, edits by the server.
package anthropic

import "github.com/ctxkit/ctxkit/policy"

// Family is the Messages API of Anthropic, edits by the server.
func Family() policy.Family {
	return policy.Family{
		Name: "anthropic", Title: "The Messages API of Anthropic, edits by the server",
		Stages:         []policy.Definition{defineClearThinking(), defineClearToolUses(), defineCompactAPI()},
		ClearsThinking: ClearsThinking,
	}
}
