package stage

import (
	"strings"
	"testing"

	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/preset"
)

func allStages(t testing.TB) policy.Registry {
	t.Helper()
	reg := must.Get(Registry())(t)
	return reg
}

// Each stage says what it does, where that is written down, and shows it.
func TestDefinitions(t *testing.T) {
	reg := allStages(t)
	if err := reg.Check(); err != nil {
		t.Error(err)
	}
	for _, d := range reg.Definitions() {
		switch d.Truth {
		case policy.TruthRecorded, policy.TruthOracle, policy.TruthDocumented, policy.TruthDescribed, policy.TruthOwn:
		default:
			t.Errorf("%s: truth %q", d.Name, d.Truth)
		}
		if d.Source == "" || !strings.HasSuffix(d.Summary, ".") {
			t.Errorf("%s: summary %q, source %q", d.Name, d.Summary, d.Source)
		}
		if !strings.HasPrefix(d.Example, "before: ") || !strings.Contains(d.Example, "\nafter:  ") {
			t.Errorf("%s: no before and after in its example:\n%s", d.Name, d.Example)
		}
	}
}

func TestPresets(t *testing.T) {
	for _, text := range strings.Split(`
# three-layer
three_layer_micro.keep_recent: 3
three_layer_micro.min_chars: 100
three_layer_auto.threshold: 50000
three_layer_auto.source_chars: 80000
three_layer_auto.max_output: 2000
# anthropic-context-editing
clear_thinking.keep: auto
clear_tool_uses.trigger: {input_tokens: 100000}
clear_tool_uses.keep: 3
clear_tool_uses.clear_at_least: none
clear_tool_uses.exclude_tools: []
clear_tool_uses.clear_tool_inputs: false
# langchain-clear-tool-uses
clear_tool_results.trigger: 100000
clear_tool_results.keep: 3
clear_tool_results.clear_at_least: 0
clear_tool_results.exclude_tools: []
clear_tool_results.clear_tool_inputs: false
clear_tool_results.placeholder: '[cleared]'
# openhands-1.4
condenser_events.max_size: 120
condenser_events.max_tokens: none
condenser_events.keep_first: 4
condenser_events.cut: halves
condenser_events.agent_limit: false
condenser_events.max_event_chars: 500
# openhands-1.7
condenser_events.max_size: 240
condenser_events.keep_first: 2
condenser_events.cut: units
condenser_events.minimum_progress: 0
condenser_events.hard_reset: true
condenser_events.agent_limit: false
# openhands-1.11
condenser_events.max_size: 240
condenser_events.minimum_progress: 0.1
condenser_events.hard_reset: true
condenser_events.agent_limit: false
# openhands-1.43
condenser_events.max_size: 240
condenser_events.agent_limit: true
# codex-local
codex_compaction.form: local
codex_compaction.percent: 90
codex_compaction.token_limit: none
codex_compaction.user_tokens: 20000
truncate_results.max_tokens: 0
truncate_results.max_bytes: 40000
truncate_results.offloaded: true
# codex-0.118
codex_compaction.form: remote_v1
codex_compaction.percent: 90
codex_compaction.user_tokens: none
# codex-0.140
codex_compaction.form: remote_v2
codex_compaction.percent: 90
codex_compaction.user_tokens: 64000
# crush-0.36
crush_summarize.large_window: 200000
crush_summarize.buffer: 20000
crush_summarize.percent: 20
crush_summarize.count: read
# goose-1.28
goose_compaction.threshold: 0.8
goose_tool_pairs.cutoff: auto
goose_tool_pairs.batch: 10
# gemini-cli-0.26
gemini_compression.threshold: 0.5
gemini_compression.preserve: 0.3
gemini_compression.response_budget: 50000
gemini_compression.cut: lines
gemini_compression.cut_lines: 30
gemini_compression.verify: true
# gemini-cli-0.43
gemini_compression.cut: chars
gemini_compression.cut_chars: 40000
gemini_compression.after_failure: cut
gemini_masking.protect: 50000
gemini_masking.minimum: 30000
# openclaw-cache-ttl
cache_ttl_prune.ttl: 5m
cache_ttl_prune.keep_last_assistants: 3
cache_ttl_prune.soft_trim_ratio: 0.3
cache_ttl_prune.hard_clear_ratio: 0.5
cache_ttl_prune.min_prunable_chars: 50000
cache_ttl_prune.soft_max_chars: 4000
cache_ttl_prune.soft_head_chars: 1500
cache_ttl_prune.soft_tail_chars: 1500
cache_ttl_prune.hard_clear: true
cache_ttl_prune.placeholder: '[Old tool result content cleared]'
# sliding-window-1.36
sliding_window.messages: 40
sliding_window.every: turn_end
sliding_window.cut: prompt
sliding_window.anchor: false
sliding_window.truncate: first
sliding_window.truncate_above: 400
# sliding-window-1.37
sliding_window.messages: 40
sliding_window.anchor: true
sliding_window.truncate: first
# strands-typescript-1.19
sliding_window.anchor: true
sliding_window.truncate: overflow
sliding_window.truncate_above: 450
`, "\n# ")[1:] {
		name, figures, _ := strings.Cut(strings.TrimSpace(text), "\n")
		p := must.Get(preset.Load(name, allStages(t)))(t)
		for line := range strings.SplitSeq(figures, "\n") {
			key, want, _ := strings.Cut(line, ": ")
			must.Both(p.Get(key))(t, want, nil, name, key)
		}
	}
}

// What the API documents can be written down, and nothing else.
func TestServerSideNotation(t *testing.T) {
	p := must.Get(preset.Load("anthropic-context-editing", allStages(t)))(t)
	must.Rows(t, `
# key | value | want
clear_thinking.keep     | all                          | all
clear_thinking.keep     | 2                            | 2
clear_thinking.keep     | auto                         | auto
clear_thinking.keep     | 0                            | ""
clear_thinking.keep     | some                         | ""
clear_tool_uses.trigger | {type: tool_uses, value: 50} | {tool_uses: 50}
clear_tool_uses.trigger | 50                           | ""
clear_tool_uses.clear_tool_inputs | true                         | true
clear_tool_uses.clear_tool_inputs | [Bash, Read]                 | [Bash, Read]
clear_tool_uses.clear_tool_inputs | 3                            | ""
clear_tool_uses.clear_at_least | 140000                       | 140000
`, func(key, value, want string) {
		err := p.Set(key, value)
		if want == "" {
			if err == nil {
				t.Errorf("%s=%s: no error", key, value)
			}
			return
		}
		if got, _ := p.Get(key); err != nil || got != want {
			t.Errorf("%s=%s: %s, %v", key, value, got, err)
		}
	})
}

// Two stages that compact the whole conversation compete, whatever their families.
func TestOtherAgents(t *testing.T) {
	for _, name := range []string{"codex_compaction", "condenser_events", "crush_summarize", "gemini_compression", "goose_compaction"} {
		p := must.Get(policy.Decode("p.yaml", []byte("stages: [three_layer_auto, "+name+"]\n"), allStages(t), nil))(t)
		if f := policy.Lint(p); len(f) != 1 || f[0].Rule != "compete" || f[0].Key != name {
			t.Errorf("%s: %v", name, f)
		}
	}
}

// A policy compacts at the figure of its source.
func TestCompactsAt(t *testing.T) {
	must.Rows(t, `
claude-code-2.1.19   | 155000
claude-code-2.1      | 167000
claude-code-collapse | 167000
codex-local          | 180000
codex-0.118          | 180000
codex-0.140          | 180000
openhands-1.4        | 0
openhands-1.43       | 0
crush-0.36           | 160000
gemini-cli           | 100000
goose-1.28           | 160000
none                 | 0
opencode-1.1.36      | 168000
three-layer          | 0
`, func(name string, want int) {
		p := must.Get(preset.Load(name, allStages(t)))(t)
		must.Equal(t, p.CompactsAt(policy.Circumstances{Window: 200000, MaxOutput: 64000}), want, name)
	})
}

// TestVariables: a family lists the environment variables that it reads, all of them and no others.
func TestVariables(t *testing.T) {
	reg := allStages(t)
	var policies []*policy.Policy
	for _, name := range preset.Names(reg) {
		p := must.Get(preset.Load(name, reg))(t)
		policies = append(policies, p)
	}
	for _, f := range reg.Families() {
		read := map[string]bool{}
		for _, p := range policies {
			if f.Environment != nil {
				f.Environment(&policy.Environment{Policy: p, From: map[string]string{}, Get: func(name string) string {
					read[name] = true
					return ""
				}})
			}
		}
		listed := map[string]bool{}
		for _, v := range f.Variables {
			listed[v] = true
		}
		must.Equal(t, read, listed, f.Name)
	}
}
