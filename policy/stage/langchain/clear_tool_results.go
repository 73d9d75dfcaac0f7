package langchain

import (
	"fmt"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/stage/measure"
)

// ClearToolResults are the parameters of clear_tool_results.
type ClearToolResults struct {
	Trigger         int      `yaml:"trigger" doc:"clearing begins once the messages are estimated at this; the system prompt and the tools do not count" unit:"tokens" min:"0"`
	Keep            int      `yaml:"keep" doc:"the newest results that stay, those of excluded tools among them" unit:"results" min:"0"`
	ClearAtLeast    int      `yaml:"clear_at_least" doc:"clear at least this much, results that would stay among it; python: stop once this much is cleared; 0: clear all that are old" unit:"tokens" min:"0"`
	ExcludeTools    []string `yaml:"exclude_tools" doc:"tools whose results are never cleared; a trailing * matches any rest"`
	ClearToolInputs bool     `yaml:"clear_tool_inputs" doc:"empty the inputs of the calls as well"`
	Placeholder     string   `yaml:"placeholder" doc:"the text that replaces a cleared result"`
	Library         string   `yaml:"library" doc:"whose rules hold; javascript: at the trigger, for good, and clear_at_least goes on to the newest; python: above the trigger, in a copy made for each request, and clear_at_least stops the clearing" enum:"javascript,python"`
}

func defineClearToolResults() policy.Definition {
	return policy.Definition{
		Name:    "clear_tool_results",
		Summary: "Before a request whose messages are estimated at 100,000 tokens or more, every tool result but the newest 3 becomes a placeholder in the messages themselves.",
		Source:  "LangChain, ClearToolUsesEdit: npm langchain 1.5.14, dist/agents/middleware/contextEditing.js and utils.js, run in agents of createAgent; for python libs/langchain_v1/langchain/agents/middleware/context_editing.py (commit 925aa15f), count_tokens_approximately of langchain_core/messages/utils.py, read and not run; a tool_result is treated as a ToolMessage, and in python the repr of a call's input is assumed to be as long as its JSON",
		Truth:   policy.TruthOracle,
		Moments: policy.Prepare,
		Params:  &ClearToolResults{Trigger: 100000, Keep: 3, ExcludeTools: []string{}, Placeholder: "[cleared]", Library: libraryJavaScript},
		Example: `before: messages estimated at 100,000 tokens with 10 tool results
after:  the oldest 7 are "[cleared]"; the calls and the newest 3 stay`,
		New: policy.Maker(func(p ClearToolResults) policy.Stage {
			s := &clearToolResults{ClearToolResults: p}
			s.placeholder = policy.NewContent(jsonl.KindToolResult, s.Placeholder)
			s.input = policy.NewContent(jsonl.KindToolUse, "{}")
			s.sums.Of = s.tokens
			if s.Library == libraryJavaScript {
				s.sums.Of = s.chars
			}
			return s
		}),
	}
}

// Limits are what decides when clear_tool_results acts.
func (p *ClearToolResults) Limits(l *policy.StageLimits) {
	operator := ">="
	if p.Library == libraryPython {
		operator = ">"
	}
	l.Add(policy.Limit{Name: "tool result clearing", Label: "clear", Operator: operator, Tokens: p.Trigger, Of: policy.OfMessages, Acts: true,
		From: l.Name("clear_tool_results.trigger") + ": the messages, characters / 4", Key: "clear_tool_results.trigger"})
}

// The libraries that have the edit.
const (
	libraryJavaScript = "javascript"
	libraryPython     = "python"
)

// clearToolResults is the source's loop.
//
// The Python library edits a copy at each request and begins from the whole messages at the next one. These only grow
// and the oldest are cleared first, so what is cleared once is cleared again: here it stays cleared, and is counted
// as if it were not. The JavaScript library edits the agent's own messages: what is cleared is counted as it is.
type clearToolResults struct {
	ClearToolResults
	placeholder, input policy.Content
	sums               measure.ItemSums
	results            measure.Ageing
	cleared            int                    // tokens this stage has taken off
	taking             map[policy.Target]bool // blocks about to be replaced
}

func (s *clearToolResults) Run(c *policy.Context) ([]policy.Edit, error) {
	if s.Library == libraryJavaScript {
		return s.clearForGood(c), nil
	}
	v := c.View
	if s.results.Renew(v) {
		s.cleared = 0
	}
	s.sums.Follow(v)
	total := s.sums.Sum + s.cleared
	if total <= s.Trigger || s.enough() {
		return nil, nil
	}
	results := v.Results()
	live := s.results.Live(v)
	old := live[:max(len(live)-s.Keep, 0)]
	reason := fmt.Sprintf("%d tokens > %d: all but the newest %d", total, s.Trigger, s.Keep)
	var clears, inputs []policy.Edit
	done := 0
	s.taking = map[policy.Target]bool{}
	for done < len(old) && !s.enough() {
		r := &results[old[done]]
		done++
		m, b, ok := c.Conv.ToolUse(r.ID)
		if !ok || !v.Has(policy.ItemID(m)) || measure.Matches(s.ExcludeTools, r.Tool, r.Alike) {
			continue
		}
		s.take(v, r.Target)
		clears = append(clears, policy.Replace(policy.KindClear, r.Target, &s.placeholder, reason))
		if call := (policy.BlockOf(m, b)); s.ClearToolInputs && !s.taking[call] {
			s.take(v, call)
			inputs = append(inputs, policy.Replace(policy.KindTruncate, call, &s.input, reason))
		}
	}
	s.results.Done(done)
	s.taking = nil
	return append(clears, inputs...), nil
}

// enough reports whether clear_at_least is reached. The source finds the same oldest results at each request, so it
// stops at the same one.
func (s *clearToolResults) enough() bool {
	return s.ClearAtLeast > 0 && s.cleared >= s.ClearAtLeast
}

// take counts how many tokens replacing a block takes off its message.
func (s *clearToolResults) take(v policy.View, t policy.Target) {
	before := s.tokens(v, t.Item)
	s.taking[t] = true
	s.cleared += before - s.tokens(v, t.Item)
}

// Figures of count_tokens_approximately.
const (
	langchainPerMessage = 3
	langchainImage      = 85
)

// tokens is the source's estimate of an item, in tokens: for each of its messages a quarter of its characters,
// rounded up, and 3 more. A tool_result is a separate message.
func (s *clearToolResults) tokens(v policy.View, id policy.ItemID) int {
	n := 0
	chars := 0
	rest := false
	for t := range policy.Targets(v, id) {
		raw := v.Raw(t)
		if raw != nil && raw.Kind == jsonl.KindToolResult {
			n += (s.length(v, t)+len("tool")+len(raw.ID)+len(v.Conversation().ToolName(raw.ID))+3)/4 + langchainPerMessage
			if !s.taking[t] {
				n += langchainImage * measure.Images(v, t)
			}
			continue
		}
		rest = true
		switch kind := v.Kind(t); {
		case kind == jsonl.KindImage:
			n += langchainImage
		case kind == jsonl.KindToolUse && raw != nil:
			chars += len(`{'id': '', 'input': , 'name': '', 'type': 'tool_use'}`) + len(raw.ID) + len(raw.Name) + s.length(v, t)
		case kind == jsonl.KindThinking && raw != nil:
			chars += len(`{'signature': '', 'thinking': , 'type': 'thinking'}`) + raw.Signature + v.Length(t).JSON
		default:
			chars += s.length(v, t)
		}
	}
	if !rest {
		return n
	}
	return n + (chars+len(v.Role(id).String())+3)/4 + langchainPerMessage
}

// length is the length of a block's text, or of what is about to replace it.
func (s *clearToolResults) length(v policy.View, t policy.Target) int {
	switch {
	case !s.taking[t]:
		return lengthOf(v, t)
	case v.Kind(t) == jsonl.KindToolUse:
		return s.input.Length.UTF16
	}
	return s.placeholder.Length.UTF16
}
