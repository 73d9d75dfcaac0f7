package anthropic

import (
	"encoding/json"
	"testing"

	"github.com/ctxkit/ctxkit/policy"
)

// TestServerEdit holds the parameters of server-side stages against the form the API documents.
func TestServerEdit(t *testing.T) {
	auto, two := 0, 2
	for _, tt := range []struct {
		params policy.ServerEdit
		want   string
	}{
		{&ClearToolUses{Trigger: policy.Trigger{Type: policy.TriggerInputTokens, Value: 100000}, Keep: 3},
			`{"type":"clear_tool_uses_20250919","trigger":{"type":"input_tokens","value":100000},"keep":{"type":"tool_uses","value":3}}`},
		{&ClearToolUses{
			Trigger: policy.Trigger{Type: policy.TriggerToolUses, Value: 50}, ClearAtLeast: 5000, ExcludeTools: []string{"memory"}, ClearToolInputs: ToolInputs{All: true},
		}, `{"type":"clear_tool_uses_20250919","trigger":{"type":"tool_uses","value":50},"keep":{"type":"tool_uses","value":0},"clear_at_least":{"type":"input_tokens","value":5000},"exclude_tools":["memory"],"clear_tool_inputs":true}`},
		{&ClearToolUses{Trigger: policy.Trigger{Type: policy.TriggerToolUses, Value: 1}, ClearToolInputs: ToolInputs{Tools: []string{"Bash"}}},
			`{"type":"clear_tool_uses_20250919","trigger":{"type":"tool_uses","value":1},"keep":{"type":"tool_uses","value":0},"clear_tool_inputs":["Bash"]}`},
		{&ClearThinking{Keep: &auto}, `{"type":"clear_thinking_20251015"}`},
		{&ClearThinking{Keep: &two}, `{"type":"clear_thinking_20251015","keep":{"type":"thinking_turns","value":2}}`},
		{&ClearThinking{}, `{"type":"clear_thinking_20251015","keep":"all"}`},
		{&CompactAPI{Trigger: 150000}, `{"type":"compact_20260112","trigger":{"type":"input_tokens","value":150000}}`},
		{&CompactAPI{Trigger: 50000, PauseAfter: true, Instructions: "Be brief."},
			`{"type":"compact_20260112","trigger":{"type":"input_tokens","value":50000},"pause_after_compaction":true,"instructions":"Be brief."}`},
	} {
		edit, _ := tt.params.ServerEdit()
		got, err := json.Marshal(edit)
		if err != nil || string(got) != tt.want {
			t.Errorf("got  %s\nwant %s (%v)", got, tt.want, err)
		}
	}
}
