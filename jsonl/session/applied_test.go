package session_test

import (
	"strings"
	"testing"

	"github.com/ctxkit/ctxkit/jsonl/session"
)

// TestApplied: what a response says that the API left out of its request. What cannot be is named and not used.
func TestApplied(t *testing.T) {
	clears := func(kind, count string, n, tokens any) line {
		return line{"type": kind, count: n, "cleared_input_tokens": tokens}
	}
	uses, turns := clears("clear_tool_uses_20250919", "cleared_tool_uses", 6, 7200), clears("clear_thinking_20251015", "cleared_thinking_turns", 3, 1500)
	for _, tt := range []struct {
		name   string
		value  any
		want   session.Applied
		warned string
	}{
		{"none", object(`{"applied_edits":[]}`), session.Applied{}, ""},
		{"null", nil, session.Applied{}, ""},
		{"both", line{"applied_edits": []any{turns, uses}}, session.Applied{ToolUses: 6, ToolTokens: 7200, Turns: 3, ThinkingTokens: 1500}, ""},
		{"a later form", line{"applied_edits": []any{clears("clear_tool_uses_20300101", "cleared_tool_uses", 1, 2)}}, session.Applied{ToolUses: 1, ToolTokens: 2}, ""},
		{"unknown", line{"applied_edits": []any{line{"type": "shrink_1"}, uses}}, session.Applied{ToolUses: 6, ToolTokens: 7200}, "of type shrink_1, which is not known"},
		{"negative", line{"applied_edits": []any{clears("clear_tool_uses_20250919", "cleared_tool_uses", -6, 7200), turns}}, session.Applied{Turns: 3, ThinkingTokens: 1500}, "is not used"},
		{"too many", line{"applied_edits": []any{clears("clear_tool_uses_20250919", "cleared_tool_uses", 6, 1<<40)}}, session.Applied{}, "is not used"},
		{"no number", line{"applied_edits": []any{clears("clear_tool_uses_20250919", "cleared_tool_uses", "six", 7200)}}, session.Applied{ToolTokens: 7200}, "partly unreadable"},
		{"no list", line{"applied_edits": 7}, session.Applied{}, "partly unreadable"},
		{"no object", "x", session.Applied{}, "partly unreadable"},
	} {
		first, last := said("a1", "u1", "m1"), assistant("a2", "a1", "m1", text("more"))
		last["message"].(line)["context_management"] = tt.value
		f := loadText(t, file(transcript(`user u1 - hello`), first, last), session.LoadOptions{})
		var told []string
		for _, w := range f.Main.Warnings {
			told = append(told, w.Message)
		}
		same(t, tt.want, f.Main.Messages[1].Applied, tt.name)
		if all := strings.Join(told, "; "); (all == "") != (tt.warned == "") || !strings.Contains(all, tt.warned) {
			t.Errorf("%s: told %q, want %q", tt.name, all, tt.warned)
		}
	}
}

// TestCacheMiss: the API's reason of a cache miss, on whichever line of the response it is. What cannot be one is named.
func TestCacheMiss(t *testing.T) {
	reason := func(typ any) line {
		return line{"cache_miss_reason": line{"type": typ, "cache_missed_input_tokens": 7}}
	}
	for _, tt := range []struct {
		name        string
		first, last any
		want        string
		warned      bool
	}{
		{"both", reason("tools_changed"), reason("tools_changed"), "tools_changed", false},
		{"the first", reason("system_changed"), nil, "system_changed", false},
		{"the last", nil, reason("of_a_later_client"), "of_a_later_client", false},
		{"no reason", line{"cache_miss_reason": nil}, line{}, "", false},
		{"no text", nil, reason(7), "", true},
		{"too long", nil, reason(strings.Repeat("x", 65)), "", true},
		{"no object", nil, "x", "", true},
		{"no object within", nil, line{"cache_miss_reason": []any{1}}, "", true},
	} {
		first, last := said("a1", "u1", "m1"), assistant("a2", "a1", "m1", text("more"))
		first["message"].(line)["diagnostics"], last["message"].(line)["diagnostics"] = tt.first, tt.last
		f := loadText(t, file(transcript(`user u1 - hello`), first, last), session.LoadOptions{})
		same(t, tt.want, f.Main.Messages[1].CacheMiss, tt.name)
		same(t, tt.warned, len(f.Main.Warnings) > 0, tt.name)
	}
}
