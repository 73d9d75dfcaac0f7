package anthropic

import (
	"fmt"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/stage/measure"
)

// ClearToolUses are the parameters of clear_tool_uses.
type ClearToolUses struct {
	Trigger         policy.Trigger     `yaml:"trigger" doc:"clearing begins once the prompt exceeds this"`
	Keep            policy.ToolUses    `yaml:"keep" doc:"the newest tool uses whose results stay" unit:"tool uses" min:"0"`
	ClearAtLeast    policy.InputTokens `yaml:"clear_at_least" doc:"clear nothing at all unless this much goes" unit:"tokens" min:"0"`
	ExcludeTools    []string           `yaml:"exclude_tools" doc:"tools whose uses are never cleared and do not count as kept; a trailing * matches any rest"`
	ClearToolInputs ToolInputs         `yaml:"clear_tool_inputs" doc:"clear the calls' inputs as well: of no tool, of every tool, or of those listed"`
	Placeholder     string             `yaml:"placeholder" doc:"the text that replaces a cleared result; the server's own is not documented"`
}

func defineClearToolUses() policy.Definition {
	return policy.Definition{
		Name:    "clear_tool_uses",
		Summary: "On the server, once the prompt exceeds the trigger, the results of all tool uses but the newest are cleared from what the model sees; the client's history stays.",
		Source:  "Anthropic API, context editing strategy clear_tool_uses_20250919 (beta context-management-2025-06-27)",
		Truth:   policy.TruthDocumented,
		Moments: policy.Project,
		Memory:  policy.Stateless,
		Params: &ClearToolUses{
			Trigger: policy.Trigger{Type: policy.TriggerInputTokens, Value: 100000}, Keep: 3,
			ExcludeTools: []string{}, Placeholder: "[Old tool result content cleared]",
		},
		Example: `before: a prompt of 100,001 tokens with the results of 10 tool uses
after:  the payload holds a placeholder for each of the oldest 7 results; the newest 3 and every tool_use stay, and so does the model view`,
		New: policy.Maker(func(p ClearToolUses) policy.Stage {
			s := &clearToolUses{ClearToolUses: p, at: map[policy.Target]int{}, input: policy.NewContent(jsonl.KindToolUse, "{}")}
			s.placeholder = policy.NewContent(jsonl.KindToolResult, s.Placeholder)
			return s
		}),
	}
}

// Limits are what decides when clear_tool_uses acts.
func (p *ClearToolUses) Limits(l *policy.StageLimits) {
	if p.Trigger.Type != policy.TriggerInputTokens {
		l.Note("tool use clearing: > %s tool uses (clear_tool_uses.trigger)", policy.Thousands(p.Trigger.Value))
	} else {
		l.Acts(policy.Limit{Name: "tool use clearing", Label: "clear", Operator: ">", Tokens: p.Trigger.Value,
			From: l.Name("clear_tool_uses.trigger") + ": the prompt", Key: "clear_tool_uses.trigger"})
	}
	if p.ClearAtLeast > 0 {
		l.Add(policy.Limit{Name: "clearing at least", Operator: ">=", Tokens: int(p.ClearAtLeast), Of: policy.OfResults,
			From: "clear_tool_uses.clear_at_least: what would be cleared", Key: "clear_tool_uses.clear_at_least"})
	}
}

// Check is what is questionable in a policy with clear_tool_uses.
func (p *ClearToolUses) Check(c *policy.Check) {
	switch {
	case p.Trigger.Type == policy.TriggerToolUses && int(p.Keep) >= p.Trigger.Value:
		c.Add(policy.RuleContradict, "clear_tool_uses.keep", "make it smaller than the trigger", "%d tool uses keep their results, nothing is left to clear at %d", p.Keep, p.Trigger.Value)
	case p.Trigger.Type == policy.TriggerInputTokens && p.ClearAtLeast > 0:
		c.Less("clear_at_least", int(p.ClearAtLeast), "trigger", p.Trigger.Value)
	}
	if limit, what := c.Ceiling(c.LargestWindow()); int(p.ClearAtLeast) >= limit {
		c.Add(policy.RuleNever, "clear_tool_uses.clear_at_least", "make it smaller", "%d is not below %d, %s", p.ClearAtLeast, limit, what)
	}
}

// ToolInputs says whose inputs are cleared with the results.
type ToolInputs struct {
	All   bool
	Tools []string
}

// Has reports whether the inputs of a tool are cleared.
func (t ToolInputs) Has(r *policy.Result) bool {
	return t.All || measure.Matches(t.Tools, r.Tool, r.Alike)
}

// DecodeParam reads true, false, a tool's name, or a list of names.
func (t *ToolInputs) DecodeParam(plain any) error {
	switch x := plain.(type) {
	case bool:
		*t = ToolInputs{All: x}
		return nil
	case string:
		plain = []any{x}
	}
	list, ok := plain.([]any)
	*t = ToolInputs{}
	for _, e := range list {
		name, _ := e.(string)
		ok = ok && name != ""
		t.Tools = append(t.Tools, name)
	}
	if !ok {
		return &policy.Error{Msg: "neither true or false nor names of tools", Hint: "write true, false or [Bash, Read]"}
	}
	return nil
}

// EncodeParam returns the plain form: a bool or a list of names.
func (t *ToolInputs) EncodeParam() any {
	if len(t.Tools) == 0 {
		return t.All
	}
	var list []any
	for _, name := range t.Tools {
		list = append(list, name)
	}
	return list
}

// ParamForm describes the notation.
func (t *ToolInputs) ParamForm() (string, map[string]any) {
	name := map[string]any{"type": "string", "minLength": 1}
	return "true, false or a list of tools", map[string]any{"oneOf": []any{
		map[string]any{"type": "boolean"}, name,
		map[string]any{"type": "array", "items": name},
	}}
}

// clearToolUses clears pairs of tool_use and result in view order. Excluded tools do not count among the pairs that
// are kept.
type clearToolUses struct {
	ClearToolUses
	placeholder, input policy.Content
	server             serverSide
	at                 map[policy.Target]int // result -> its unit
	gains              []int                 // by unit below edge: what clearing it takes off
	edge               int                   // units below it are weighed
	gain               int                   // sum of gains[:edge]
	uses               int                   // tool uses in view, excluded ones too
	seen               int                   // results looked at
}

func (s *clearToolUses) Run(c *policy.Context) ([]policy.Edit, error) {
	s.follow(c)
	prompt := measure.PromptTokens(c) - s.others(c)
	unit := "tokens"
	if s.Trigger.Type == policy.TriggerToolUses {
		prompt = s.uses
		unit = "tool uses"
	}
	want := 0
	over := prompt > s.Trigger.Value
	if over {
		want = max(len(s.server.units)-int(s.Keep), 0)
	}
	s.weigh(c, want)
	enough := s.gain >= int(s.ClearAtLeast)
	if !enough {
		want = 0
	}
	if s.server.unchanged(want) {
		return nil, nil
	}
	reason := fmt.Sprintf("%d %s > %d: all but the newest %d", prompt, unit, s.Trigger.Value, s.Keep)
	switch {
	case !over:
		reason = fmt.Sprintf("%d %s <= %d", prompt, unit, s.Trigger.Value)
	case !enough:
		reason = fmt.Sprintf("%d tokens to clear < %d", s.gain, s.ClearAtLeast)
	}
	detail := map[string]int{"cleared_tool_uses": want, "cleared_input_tokens": 0}
	if want > 0 {
		detail["cleared_input_tokens"] = s.gain
	}
	return s.server.set(want, policy.Edit{Trigger: "auto", Reason: reason, Detail: detail}), nil
}

// others is how many tokens the payload edits of other stages, such as clear_thinking, take off the prompt. This
// stage's own do not count: it begins from the whole history at each request.
func (s *clearToolUses) others(c *policy.Context) int {
	own := 0
	switch {
	case s.server.stale:
		for t := range s.server.on {
			with := &s.placeholder
			if c.View.Kind(t) == jsonl.KindToolUse {
				with = &s.input
			}
			own += s.worth(c, unit{{t, with}})
		}
	case s.server.applied > 0:
		own = s.gain // of the units below edge, which are those cleared
	}
	return c.View.Tokens() - c.View.PayloadTokens() - own
}

// follow lists the pairs that joined since the last request, or all of them where messages left the view.
func (s *clearToolUses) follow(c *policy.Context) {
	v := c.View
	_, anew := s.server.follow(v, func(t policy.Target) {
		if i, ok := s.at[t]; ok && i < s.edge {
			now := s.worth(c, s.server.units[i])
			s.gain += now - s.gains[i]
			s.gains[i] = now
		}
	})
	if anew {
		clear(s.at)
		s.gains = nil
		s.edge = 0
		s.gain = 0
		s.uses = 0
		s.seen = 0
	}
	results := v.Results()
	for _, r := range results[s.seen:] {
		if r.State == policy.ResultGone {
			continue
		}
		s.uses++
		if measure.Matches(s.ExcludeTools, r.Tool, r.Alike) {
			continue
		}
		u := unit{{r.Target, &s.placeholder}}
		if s.ClearToolInputs.Has(&r) {
			if m, b, ok := c.Conv.ToolUse(r.ID); ok && v.Has(policy.ItemID(m)) {
				u = append(u, substitute{policy.BlockOf(m, b), &s.input})
			}
		}
		s.at[r.Target] = len(s.server.units)
		s.server.units = append(s.server.units, u)
	}
	s.seen = len(results)
}

// weigh sets gain to what clearing the oldest n units takes off the prompt.
func (s *clearToolUses) weigh(c *policy.Context, n int) {
	for s.edge > n {
		s.edge--
		s.gain -= s.gains[s.edge]
	}
	s.gains = s.gains[:s.edge]
	for ; s.edge < n; s.edge++ {
		s.gains = append(s.gains, s.worth(c, s.server.units[s.edge]))
		s.gain += s.gains[s.edge]
	}
}

// worth is how many tokens clearing a unit takes off the prompt. What the client has deleted from the cached view
// counts nothing.
func (s *clearToolUses) worth(c *policy.Context, u unit) int {
	n := 0
	for _, b := range u {
		if c.View.CacheEdited(b.target) {
			continue
		}
		n += c.View.BlockTokens(b.target)
		if b.with != nil {
			n -= c.Weigh.Content(b.with)
		}
	}
	return n
}
