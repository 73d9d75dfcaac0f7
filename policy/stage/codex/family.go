// Package codex has the stages and policies of Codex CLI.
package codex

import (
	"embed"
	"strings"

	"github.com/ctxkit/ctxkit/policy"
)

//go:embed *.yaml
var presets embed.FS

// Family is Codex CLI.
func Family() policy.Family {
	return policy.Family{
		Name: "codex", Title: "Codex CLI", Stages: stages(), Presets: presets, ClearsThinking: clearsReasoning,
		Recorder: &policy.Recorder{Product: "codex", CompactionCall: compactionCall, Version: clientVersion},
	}
}

// clearsReasoning reports whether OpenAI's server leaves out the reasoning of earlier turns: with GPT-5.4 and 5.5 it does
// in every recorded turn, with 5.6 in none. Of others nothing is recorded.
func clearsReasoning(model string) bool {
	return strings.HasPrefix(model, "gpt-5.4") || strings.HasPrefix(model, "gpt-5.5")
}

// clientVersion is what sessions show of every version: the input of a request is that of the one before, its output
// and what joined, less the reasoning that the server leaves out.
func clientVersion(string) policy.ClientVersion {
	return policy.ClientVersion{WholeOutput: true, SameOverhead: true}
}

// compactionCall is the request for a compaction, which no rollout records: the session's own.
func compactionCall(_ string, _ policy.View, before, overhead int) *policy.Call {
	return &policy.Call{Kind: "compaction", Prefix: "session", Input: before + overhead}
}
