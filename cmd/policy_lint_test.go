package cmd

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/preset"
	"github.com/ctxkit/ctxkit/policy/stage"
)

// TestLintNever holds what Lint says of stages that cannot fire against a replay of a session that fills its window:
// they do nothing there but where all is summarised, and something as soon as the value is another.
func TestLintNever(t *testing.T) {
	lintCases(t, "never", func(events int) bool { return events == 0 }, `
clear_tool_uses | "" | clear_tool_uses.trigger | {window: {context: 200000}, stages: [autocompact, clear_tool_uses: {trigger: {input_tokens: ODD}}]} | 156000 | 100000
clear_tool_uses | "" | clear_tool_uses.clear_at_least | {window: {context: 200000}, stages: [autocompact, clear_tool_uses: {trigger: {tool_uses: 9}, clear_at_least: ODD}]} | 155000 | 20000
clear_tool_results | "" | clear_tool_results.trigger | {window: {context: 200000}, stages: [autocompact, clear_tool_results: {trigger: ODD}]} | 155000 | 90000
microcompact_size | "" | microcompact_size | {window: {context: 200000, warning_offset: ODD}, stages: [microcompact_size, autocompact]} | 0 | 20000
microcompact_size | "" | microcompact_size.target | {window: {context: 200000}, stages: [microcompact_size: {target: ODD}, autocompact]} | 140000 | 40000
autocompact | "" | autocompact.enabled | {window: {context: 200000, auto_compact: ODD}, stages: [autocompact]} | false | true
session_memory | summarize | session_memory | {window: {context: 200000, auto_compact: ODD}, stages: [session_memory, autocompact]} | false | true
session_memory | summarize | session_memory.init_tokens | {window: {context: 200000}, stages: [session_memory: {init_tokens: ODD}, autocompact]} | 200000 | 10000
snip | tag | snip.tag | {window: {context: 200000}, stages: [snip: {tag: ODD}]} | false | true
opencode_prune | "" | opencode_prune.protect | {window: {context: 200000}, stages: [opencode_prune: {protect: ODD}, autocompact]} | 180000 | 20000
context_collapse | collapse | context_collapse.protect | {window: {context: 200000}, stages: [context_collapse: {protect: ODD, commit_at: 140000}, autocompact]} | 155000 | 40000
cache_ttl_prune | "" | cache_ttl_prune.ttl | {window: {context: 200000}, stages: [cache_ttl_prune: {ttl: ODD, soft_trim_ratio: 0.0001, hard_clear_ratio: 0.001, min_prunable_chars: 1}]} | 0s | 5m
`)
}

// TestLintAlways does so for compactions that leave as much as they set in at.
func TestLintAlways(t *testing.T) {
	lintCases(t, "always", func(events int) bool { return events > 20 }, `
autocompact | summarize | autocompact.summary | {window: {context: 200000}, stages: [autocompact: {summary: {fixed: ODD}}]} | 140000 | 5000
autocompact | summarize | autocompact | {window: {context: ODD}, stages: [autocompact]} | 60000 | 200000
session_memory | summarize | session_memory.min_tokens | {window: {context: 200000}, stages: [session_memory: {min_tokens: ODD, max_tokens: 300000}, autocompact]} | 155000 | 10000
gemini_compression | summarize | gemini_compression.threshold | {window: {context: 200000}, stages: [gemini_compression: {threshold: ODD}]} | 0.09 | 0.5
`)
}

// lintCases replays policies with either value in the place of ODD: one is odd where Lint says so of the key. A case has the
// stage, the kind of its events that count ("": any), the key, the policy, and an odd and a sound value.
func lintCases(t *testing.T, rule string, odd func(events int) bool, cases string) {
	t.Helper()
	must.Rows(t, cases, func(name string, kind policy.EditKind, key, text, bad, sound string) {
		reg := must.Get(stage.Registry())(t)
		for _, value := range []string{bad, sound} {
			file := filepath.Join(t.TempDir(), "p.yaml")
			writeFile(t, file, strings.Replace(text, "ODD", value, 1))
			p := must.Get(preset.Load(file, reg))(t)
			found := slices.ContainsFunc(policy.Lint(p), func(f policy.Finding) bool { return f.Key == key && f.Rule == rule })
			if found != (value == bad) {
				t.Errorf("%s: found %v in %v", value, found, policy.Lint(p))
			}
			if n := eventsOf(t, file, name, kind); odd(n) != found {
				t.Errorf("%s: %d events of %s", value, n, name)
			}
		}
	})
}

// eventsOf counts a stage's events in the replay of a session that fills a window of 200,000 and pauses, but for
// those before a request at which another stage has summarised all.
func eventsOf(t *testing.T, file, name string, kind policy.EditKind) int {
	t.Helper()
	var report struct {
		Events []struct {
			Request int
			Stage   string
			Kind    policy.EditKind
		}
	}
	ctxkitJSON(t, &report, "replay", "../testdata/sessions/big.jsonl", "--policy", file, "--tokens", "heuristic")
	summarised := map[int]bool{}
	for _, e := range report.Events {
		if e.Kind == policy.KindSummarize && e.Stage != name {
			summarised[e.Request] = true
		}
	}
	n := 0
	for _, e := range report.Events {
		if e.Stage == name && (kind == "" || e.Kind == kind) && !summarised[e.Request] {
			n++
		}
	}
	return n
}
