package policy

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestLint(t *testing.T) {
	tests := []struct {
		name string
		text string
		want string
	}{
		{"sound", "stages: [tool_result_budget, snip, microcompact_size, autocompact, post_compact]\n", ""},
		{"nothing to say", "stages: [kinds, bare]\n", ""},
		{"reserve", "window: {output_reserve: 200000}\nstages: []\n", "p.yaml:1:26: window.output_reserve: 200000 of 200000 tokens are reserved, nothing is left to use: reserve less (window)"},
		{"reserve cap", "window: {context: 1000, reserve_cap: 2000}\nstages: []\n", "p.yaml:1:38: window.reserve_cap: 2000 of 1000 tokens are reserved, nothing is left to use: reserve less (window)"},
		{"blocked first", "window: {blocking_offset: 50000}\nstages: [autocompact]\n", "p.yaml:1:27: window.blocking_offset: requests are blocked at 150000, before they are compacted at 155000: make it smaller, or the buffer larger (window)"},
		{"blocked by the override first", "window: {blocking_limit: 100000}\nstages: [autocompact]\n", "p.yaml:1:26: window.blocking_limit: requests are blocked at 100000, before they are compacted at 155000: make it, or the buffer, larger (window)"},
		{"blocked never", "window: {context: 200000, blocking_limit: 200001}\nstages: []\n", "p.yaml:1:43: window.blocking_limit: 200001 is more than the window of 200000: make it smaller (window)"},
		{"an offset beside a limit", "window: {blocking_limit: 190000, blocking_offset: 4000}\nstages: []\n", "p.yaml:1:51: window.blocking_offset: it has no effect: window.blocking_limit gives the limit: leave it out (unused)"},
		{"a reserve beside a cap", "window: {reserve_cap: 20000, output_reserve: 16000}\nstages: []\n", "p.yaml:1:46: window.output_reserve: it has no effect: window.reserve_cap gives the reserve: leave it out (unused)"},
		{"a reserve beside the largest output", "window: {max_output: 20000, output_reserve: 16000}\nstages: []\n", "p.yaml:1:45: window.output_reserve: it has no effect: window.max_output gives the reserve: leave it out (unused)"},
		{"a percentage over the buffer", "window: {pct_override: 99}\nstages: [autocompact]\n", "p.yaml:1:24: window.pct_override: it has no effect: the buffer of 13000 alone sets the threshold lower: leave it out (unused)"},
		{"a percentage that counts in a large window", "window: {pct_override: 95}\nstages: [autocompact]\n", ""},
		{"order", "stages:\n  - autocompact\n  - microcompact_size\n  - snip\n", lines(
			"p.yaml:3:5: microcompact_size: it runs after autocompact, and before it in the product: list it before autocompact (order)",
			"p.yaml:4:5: snip: it runs after autocompact, and before it in the product: list it before autocompact (order)")},
		{"order of server-side edits", "stages: [clear_tool_uses, clear_thinking]\n", "p.yaml:1:27: clear_thinking: the API refuses a request whose edits do not begin with clear_thinking: list it before clear_tool_uses (order)"},
		{"server-side edits in order", "stages: [clear_thinking, clear_tool_uses]\n", ""},
		{"time before cached", "stages: [microcompact_cached, microcompact_time]\n", "p.yaml:1:31: microcompact_time: it runs after microcompact_cached, and before it in the product: list it before microcompact_cached (order)"},
		{"two compactions", "stages:\n  - opencode_compaction\n  - autocompact\n  - three_layer_auto\n", lines(
			"p.yaml:2:5: opencode_compaction: it competes with autocompact for the same tokens: keep one of them, or set opencode_compaction.auto to false (compete)",
			"p.yaml:4:5: three_layer_auto: it competes with autocompact for the same tokens: keep one of them (compete)")},
		{"collapse and session memory", "stages: [context_collapse, session_memory, autocompact: {enabled: false}]\n", "p.yaml:1:28: session_memory: it competes with context_collapse for the same tokens: keep one of them (compete)"},
		{"session memory and autocompact", "stages: [session_memory, autocompact]\n", ""},
		{"collapse and autocompact", "stages: [context_collapse, autocompact]\n", "p.yaml:1:28: autocompact: it competes with context_collapse for the same tokens: keep one of them, or set autocompact.enabled to false (compete)"},
		{"one of them off", "stages: [context_collapse, autocompact: {enabled: false}]\n", ""},
		{"alone", "stages: [session_memory, post_compact]\nwindow: {output_reserve: 1}\n", "p.yaml:1:10: session_memory: it does nothing without autocompact: add one, or leave this out (alone)"},
		{"attachments alone", "stages: [post_compact]\n", "p.yaml:1:10: post_compact: it does nothing without autocompact, session_memory, opencode_compaction: add one, or leave this out (alone)"},
		{"switched off by the window", "window: {auto_compact: false}\nstages: [autocompact]\n", "p.yaml:2:10: autocompact.enabled: window.auto_compact is off: set it to false, or window.auto_compact to true (never)"},
		{"warning behind the threshold", "window: {warning_offset: 0}\nstages: [microcompact_size, autocompact]\n", "p.yaml:2:10: microcompact_size: it waits for the warning threshold 155000, which is not below 155000, where autocompact sets in: make window.warning_offset larger (never)"},
		{"no gates by hand", "window: {warning_offset: 0}\nstages: [microcompact_size: {manual: true}, autocompact]\n", ""},
		{"too much to save", "stages: [microcompact_size: {target: 150000}, autocompact]\n", "p.yaml:1:38: microcompact_size.target: 150000 tokens of results and 20000 to save are more than 155000, where autocompact sets in: make target or min_savings smaller (never)"},
		{"trigger behind autocompact", "window: {context: 200000}\nstages: [autocompact, clear_tool_uses: {trigger: {input_tokens: 180000}, clear_at_least: 140000}]\n", "p.yaml:2:50: clear_tool_uses.trigger: 180000 is not below 155000, where autocompact sets in: make it smaller (never)"},
		{"trigger behind autocompact in a small window only", "stages: [autocompact, clear_tool_uses: {trigger: {input_tokens: 180000}, clear_at_least: 140000}]\n", ""},
		{"trigger behind autocompact in any window", "stages: [autocompact, clear_tool_uses: {trigger: {input_tokens: 955000}}]\n", "p.yaml:1:50: clear_tool_uses.trigger: 955000 is not below 955000, where autocompact sets in: make it smaller (never)"},
		{"trigger beyond the window", "window: {context: 200000}\nstages: [clear_tool_uses: {trigger: {input_tokens: 200000}}]\n", "p.yaml:2:37: clear_tool_uses.trigger: 200000 is not below 200000, the window: make it smaller (never)"},
		{"trigger in a larger window", "window: {context: 1000000}\nstages: [clear_tool_uses: {trigger: {input_tokens: 200000}}]\n", ""},
		{"trigger by tool uses", "stages: [clear_tool_uses: {trigger: {tool_uses: 5}}]\n", ""},
		{"trigger at once", "stages: [clear_tool_uses: {trigger: {input_tokens: 9000}}]\n", "p.yaml:1:37: clear_tool_uses.trigger: 9000 is not above the 18800 tokens of system prompt and tools: make it larger (always)"},
		{"compacts at once", "window: {context: 60000}\nstages: [autocompact]\n", "p.yaml:2:10: autocompact: its threshold of 15000 is not above the 18800 tokens of system prompt and tools: make window.buffer or the output reserve smaller (always)"},
		{"keep and trigger", "stages: [microcompact_cached: {trigger: 5}]\n", "p.yaml:1:10: microcompact_cached.keep: 5 leaves nothing to do at microcompact_cached.trigger 5: make it smaller than microcompact_cached.trigger (contradict)"},
		{"preview", "stages: [tool_result_budget: {max_chars: 2000}]\n", "p.yaml:1:10: tool_result_budget.preview_chars: 2000 leaves nothing to do at tool_result_budget.max_chars 2000: make it smaller than tool_result_budget.max_chars (contradict)"},
		{"memory", "stages: [session_memory: {min_tokens: 50000}, autocompact]\n", "p.yaml:1:39: session_memory.min_tokens: 50000 is more than session_memory.max_tokens 40000: make it session_memory.max_tokens or less (contradict)"},
		{"collapse", "stages: [context_collapse: {commit_at: 100000}]\n", lines(
			"p.yaml:1:10: context_collapse.target: 100000 leaves nothing to do at context_collapse.commit_at 100000: make it smaller than context_collapse.commit_at (contradict)",
			"p.yaml:1:10: context_collapse.stage_at: 120000 is more than context_collapse.commit_at 100000: make it context_collapse.commit_at or less (contradict)")},
		{"collapse, left to the window", "stages: [context_collapse: {stage_at: auto, commit_at: auto, target: auto}]\n", ""},
		{"collapse, in part left to the window", "stages: [context_collapse: {stage_at: auto, commit_at: 90000, target: auto}]\n", ""},
		{"short pause", "stages: [microcompact_time: {gap: 90s}]\n", "p.yaml:1:35: microcompact_time.gap: after 1m30s the prompt cache is still warm, and clearing makes it cold: give 5m or more (contradict)"},
		{"summary never reached", "stages: [autocompact: {summary: [fixed, outline]}]\n", "p.yaml:1:33: autocompact.summary: fixed: 5000 is always there, what follows it is never reached: put fixed: 5000 last (summary)"},
		{"no summary", "stages: [autocompact: {summary: recorded}]\n", "p.yaml:1:33: autocompact.summary: there may be no summary: not every stretch has a recorded one: end the list with outline or fixed: 5000 (summary)"},
		{"no choice", "stages: [autocompact: {summary: []}]\n", "p.yaml:1:33: autocompact.summary: there may be no summary: not every stretch has a recorded one: end the list with outline or fixed: 5000 (summary)"},
	}
	rules := map[string]bool{}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var got []string
			for _, f := range Lint(mustDecode(t, "p.yaml", tt.text, nil)) {
				got = append(got, f.String())
				rules[f.Rule] = true
			}
			if diff := cmp.Diff(tt.want, strings.Join(got, "\n")); diff != "" {
				t.Error(diff)
			}
		})
	}
	for _, r := range Rules() {
		if !rules[r.Name] {
			t.Errorf("no case for rule %s", r.Name)
		}
	}
}

// A policy that was not read from a file has findings too, without a place.
func TestLintWithoutFile(t *testing.T) {
	p := &Policy{Window: DefaultWindow(), Stages: []StageConfig{{testStage("post_compact", nil), nil}}}
	got := Lint(p)
	if len(got) != 1 || got[0].String() != "post_compact: it does nothing without autocompact, session_memory, opencode_compaction: add one, or leave this out (alone)" {
		t.Errorf("got %v", got)
	}
}
