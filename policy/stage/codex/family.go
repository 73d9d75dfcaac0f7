// Package codex has the stages and policies of Codex CLI.
package codex

import (
	"strings"

	"github.com/ctxkit/ctxkit/jsonl/pattern"
	"github.com/ctxkit/ctxkit/policy"
)

// Family is Codex CLI.
func Family() policy.Family {
	return policy.Family{
		Name: "codex", Title: "Codex CLI", Stages: []policy.Definition{defineCodexCompaction()}, ClearsThinking: clearsReasoning, KeepsUnanswered: clearsReasoning,
		Recorder: &policy.Recorder{Product: "codex", CompactionCall: compactionCall, Limits: clientLimits(), Version: clientVersion, Elsewhere: elsewhere},
	}
}

// elsewhere is the local compaction: the client asks OpenAI and Azure to compact, by the provider's name, and the model of
// any other itself (supports_remote_compaction of codex-rs/model-provider-info). A rollout records the provider's id.
func elsewhere(provider string) string {
	if p := strings.ToLower(provider); p == "" || strings.Contains(p, "openai") || strings.Contains(p, "azure") {
		return ""
	}
	return "codex-local"
}

// clearsReasoning reports whether OpenAI's server leaves out the reasoning of earlier turns: with GPT-5 mini, 5.3, 5.4 and
// 5.5 it does, with 5.6 not. Of others up to 5.5 the same is assumed, of later ones nothing is recorded.
func clearsReasoning(model string) bool { return upTo55().MatchString(model) }

var upTo55 = pattern.New(`(^|/)gpt-5(\.[0-5])?($|[^.0-9])`)

// clientVersion is what sessions show of every version. The input of a request is the input of the one before, its output
// and what joined, less the reasoning that the server leaves out. The encrypted item of a compaction is 580 to 3,068
// tokens by the client's estimates in 26 recorded compactions, which count it where the recording redacts it. What a
// compaction sends again is in its record.
func clientVersion(string) policy.ClientVersion {
	return policy.ClientVersion{WholeOutput: true, SameOverhead: true, RecordsAttached: true, SealedSummary: 1784}
}

// compactionCall is the request for a compaction, which no rollout records: the session's own.
func compactionCall(_ string, _ policy.View, _ []policy.ItemID, before, overhead int) *policy.Call {
	return &policy.Call{Kind: "compaction", Prefix: "session", Input: before + overhead}
}
