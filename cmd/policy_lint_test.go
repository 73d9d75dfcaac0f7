package cmd

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/preset"
	"github.com/ctxkit/ctxkit/policy/stage"
)

// lintCase is a policy with ODD in it, which Lint has something to say of where that is odd and nothing where it is
// sound.
type lintCase struct {
	stage      string
	kind       policy.EditKind // whose events count; "": any
	key        string          // what the finding is about
	text       string
	odd, sound string
}

const lintWindow = "window: {context: 200000}\n"

// TestLintNever holds what Lint says of stages that cannot fire against a replay of a session that fills its window:
// they do nothing there but where all is summarised, and something as soon as the value is another.
func TestLintNever(t *testing.T) {
	for _, tt := range []lintCase{
		{"clear_tool_uses", "", "clear_tool_uses.trigger", lintWindow + "stages: [autocompact, clear_tool_uses: {trigger: {input_tokens: ODD}}]", "156000", "100000"},
		{"clear_tool_uses", "", "clear_tool_uses.clear_at_least", lintWindow + "stages: [autocompact, clear_tool_uses: {trigger: {tool_uses: 9}, clear_at_least: ODD}]", "155000", "20000"},
		{"clear_tool_results", "", "clear_tool_results.trigger", lintWindow + "stages: [autocompact, clear_tool_results: {trigger: ODD}]", "155000", "90000"},
		{"microcompact_size", "", "microcompact_size", "window: {context: 200000, warning_offset: ODD}\nstages: [microcompact_size, autocompact]", "0", "20000"},
		{"microcompact_size", "", "microcompact_size.target", lintWindow + "stages: [microcompact_size: {target: ODD}, autocompact]", "140000", "40000"},
		{"autocompact", "", "autocompact.enabled", "window: {context: 200000, auto_compact: ODD}\nstages: [autocompact]", "false", "true"},
		{"session_memory", policy.KindSummarize, "session_memory", "window: {context: 200000, auto_compact: ODD}\nstages: [session_memory, autocompact]", "false", "true"},
		{"session_memory", policy.KindSummarize, "session_memory.init_tokens", lintWindow + "stages: [session_memory: {init_tokens: ODD}, autocompact]", "200000", "10000"},
		{"snip", policy.KindTag, "snip.tag", lintWindow + "stages: [snip: {tag: ODD}]", "false", "true"},
		{"opencode_prune", "", "opencode_prune.protect", lintWindow + "stages: [opencode_prune: {protect: ODD}, autocompact]", "180000", "20000"},
		{"context_collapse", policy.KindCollapse, "context_collapse.protect", lintWindow + "stages: [context_collapse: {protect: ODD, commit_at: 140000}, autocompact]", "155000", "40000"},
		{"cache_ttl_prune", "", "cache_ttl_prune.ttl", lintWindow + "stages: [cache_ttl_prune: {ttl: ODD, soft_trim_ratio: 0.0001, hard_clear_ratio: 0.001, min_prunable_chars: 1}]", "0s", "5m"},
	} {
		tt.run(t, "never", func(events int) bool { return events == 0 })
	}
}

// TestLintAlways does so for compactions that leave as much as they set in at.
func TestLintAlways(t *testing.T) {
	for _, tt := range []lintCase{
		{"autocompact", policy.KindSummarize, "autocompact.summary", lintWindow + "stages: [autocompact: {summary: {fixed: ODD}}]", "140000", "5000"},
		{"autocompact", policy.KindSummarize, "autocompact", "window: {context: ODD}\nstages: [autocompact]", "60000", "200000"},
		{"session_memory", policy.KindSummarize, "session_memory.min_tokens", lintWindow + "stages: [session_memory: {min_tokens: ODD, max_tokens: 300000}, autocompact]", "155000", "10000"},
		{"gemini_compression", policy.KindSummarize, "gemini_compression.threshold", lintWindow + "stages: [gemini_compression: {threshold: ODD}]", "0.09", "0.5"},
	} {
		tt.run(t, "always", func(events int) bool { return events > 20 })
	}
}

// run replays the case with either value: it is odd where Lint says so.
func (tt lintCase) run(t *testing.T, rule string, odd func(events int) bool) {
	t.Run(tt.key, func(t *testing.T) {
		reg := must.Get(stage.Registry())(t)
		for _, value := range []string{tt.odd, tt.sound} {
			file := filepath.Join(t.TempDir(), "p.yaml")
			must.Do(t, os.WriteFile(file, []byte(strings.Replace(tt.text, "ODD", value, 1)), 0o644))
			p := must.Get(preset.Load(file, reg))(t)
			found := slices.ContainsFunc(policy.Lint(p), func(f policy.Finding) bool { return f.Key == tt.key && f.Rule == rule })
			if found != (value == tt.odd) {
				t.Errorf("%s: found %v in %v", value, found, policy.Lint(p))
			}
			if n := eventsOf(t, file, tt.stage, tt.kind); odd(n) != found {
				t.Errorf("%s: %d events of %s", value, n, tt.stage)
			}
		}
	})
}

// eventsOf counts a stage's events in the replay of a session that fills a window of 200,000 and pauses, but for
// those before a request at which another stage has summarised all.
func eventsOf(t *testing.T, file, name string, kind policy.EditKind) int {
	t.Helper()
	args := []string{"replay", filepath.Join("..", "testdata", "sessions", "big.jsonl"), "--policy", file, "--format", "json", "--tokens", "heuristic", "--quiet"}
	code, out, errs := ctxkit(args...)
	if code != exitDone {
		t.Fatalf("exit %d: %s", code, errs)
	}
	var report struct {
		Events []struct {
			Request int             `json:"request"`
			Stage   string          `json:"stage"`
			Kind    policy.EditKind `json:"kind"`
		} `json:"events"`
	}
	must.Do(t, json.Unmarshal([]byte(out), &report))
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
