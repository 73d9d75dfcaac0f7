package langchain

import (
	"fmt"
	"slices"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/stage/measure"
)

// TrimMessages are the parameters of trim_messages.
type TrimMessages struct {
	MaxTokens int `yaml:"max_tokens" doc:"the most that the messages may have (maxTokens), by the estimate of LangChain's agents" unit:"tokens" min:"1"`
}

func defineTrimMessages() policy.Definition {
	return policy.Definition{
		Name:    "trim_messages",
		Summary: "Before a request the oldest messages leave, so that the newest fit 100,000 tokens and begin with one of the user.",
		Source:  `LangChain, trimMessages with strategy "last" and startOn "human": npm @langchain/core 1.4.0, dist/messages/transformers.js, with countTokensApproximately of npm langchain 1.5.14 as tokenCounter; docs/examples/langchain runs it. A tool_result is treated as a ToolMessage. Where no message of the user fits, the source leaves nothing to send; here nothing leaves`,
		Truth:   policy.TruthDocumented,
		Moments: policy.Prepare,
		Params:  &TrimMessages{MaxTokens: 100000},
		Example: `before: three turns of 60,000 tokens each
after:  the third one: with the second there would be 120,000`,
		New: policy.Maker(func(p TrimMessages) policy.Stage { return &trimMessages{TrimMessages: p} }),
	}
}

// Limits are what decides when trim_messages acts.
func (p *TrimMessages) Limits(l *policy.StageLimits) {
	l.Add(policy.Limit{
		Name: "trimming", Label: "trim", Operator: ">", Tokens: p.MaxTokens, Of: policy.OfMessages, Acts: true,
		From: "policy: trim_messages.max_tokens", Key: "trim_messages.max_tokens",
	})
}

type trimMessages struct{ TrimMessages }

func (s *trimMessages) Run(c *policy.Context) ([]policy.Edit, error) {
	v := c.View
	chars := 0
	first := policy.ItemID(0)
	found := false
	over := false
	fits := func(n int) bool {
		chars += n
		over = quarter(chars) > s.MaxTokens
		return !over
	}
	for id := range v.Backward {
		if !measure.Sent(v, id) {
			continue
		}
		if v.Role(id) == session.Assistant {
			if !fits(agentChars(v, id, lengthOf)) {
				break
			}
			continue
		}
		results, rest := userChars(v, id)
		if rest >= 0 { // it stands behind the results
			if !fits(rest) {
				break
			}
			first = id
			found = true
		}
		if slices.ContainsFunc(results, func(n int) bool { return !fits(n) }) {
			break
		}
	}
	if !over || !found {
		return nil, nil
	}
	reason := fmt.Sprintf("the newest messages that fit %d tokens stay", s.MaxTokens)
	gone := policy.Edit{Kind: policy.KindRemove, Trigger: "auto", Reason: reason}
	var edits []policy.Edit
	for id := range v.Items {
		if id == first {
			break
		}
		if measure.Sent(v, id) {
			gone.Items = append(gone.Items, id)
		}
	}
	if len(gone.Items) > 0 {
		edits = append(edits, gone)
	}
	for t := range policy.Targets(v, first) { // their calls have left
		if with := v.Replacement(t); v.Kind(t) == jsonl.KindToolResult && (with == nil || !with.Gone) {
			edits = append(edits, policy.Edit{Kind: policy.KindClear, Trigger: "auto", Target: t, New: &policy.Content{Kind: v.Kind(t), Gone: true}, Reason: reason})
		}
	}
	return edits, nil
}

// userChars is what countTokensApproximately counts of a message of the user, in characters: of each result, the newest
// first, and of all else, -1 where there is nothing else.
func userChars(v policy.View, id policy.ItemID) (results []int, rest int) {
	rest = -1
	for b := v.Blocks(id) - 1; b >= 0; b-- {
		t := policy.BlockOf(id, b)
		if with := v.Replacement(t); with != nil && with.Gone {
			continue
		}
		switch v.Kind(t) {
		case jsonl.KindToolResult:
			results = append(results, len(v.Raw(t).ID)+lengthOf(v, t))
		case jsonl.KindImage:
			rest = max(rest, 0)
		default:
			rest = max(rest, 0) + lengthOf(v, t)
		}
	}
	return results, rest
}
