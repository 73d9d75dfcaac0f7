package anthropic

import "github.com/ctxkit/ctxkit/policy"

// serverEdit is an element of context_management.edits as the API takes it.
type serverEdit struct {
	Type            string    `json:"type"`
	Trigger         *quantity `json:"trigger,omitempty"`
	Keep            any       `json:"keep,omitempty"`
	ClearAtLeast    *quantity `json:"clear_at_least,omitempty"`
	ExcludeTools    []string  `json:"exclude_tools,omitempty"`
	ClearToolInputs any       `json:"clear_tool_inputs,omitempty"`
	PauseAfter      bool      `json:"pause_after_compaction,omitempty"`
	Instructions    string    `json:"instructions,omitempty"`
}

type quantity struct {
	Type  string `json:"type"`
	Value int    `json:"value"`
}

const inputTokens = string(policy.TriggerInputTokens)

// ServerEdit is the strategy clear_tool_uses_20250919.
func (p *ClearToolUses) ServerEdit() (edit any, first bool) {
	e := serverEdit{
		Type:         "clear_tool_uses_20250919",
		Trigger:      &quantity{string(p.Trigger.Type), p.Trigger.Value},
		Keep:         quantity{"tool_uses", int(p.Keep)},
		ExcludeTools: p.ExcludeTools,
	}
	if p.ClearAtLeast > 0 {
		e.ClearAtLeast = &quantity{inputTokens, int(p.ClearAtLeast)}
	}
	switch {
	case p.ClearToolInputs.All:
		e.ClearToolInputs = true
	case len(p.ClearToolInputs.Tools) > 0:
		e.ClearToolInputs = p.ClearToolInputs.Tools
	}
	return e, false
}

// ServerEdit is the strategy clear_thinking_20251015; the model's own default is left to the server.
func (p *ClearThinking) ServerEdit() (edit any, first bool) {
	e := serverEdit{Type: "clear_thinking_20251015"}
	switch {
	case p.Keep == nil:
		e.Keep = "all"
	case *p.Keep > 0:
		e.Keep = quantity{"thinking_turns", *p.Keep}
	}
	return e, true
}

// ServerEdit is the strategy compact_20260112.
func (p *CompactAPI) ServerEdit() (edit any, first bool) {
	return serverEdit{
		Type: "compact_20260112", Trigger: &quantity{inputTokens, int(p.Trigger)},
		PauseAfter: p.PauseAfter, Instructions: p.Instructions,
	}, false
}
