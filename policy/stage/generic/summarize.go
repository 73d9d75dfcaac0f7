package generic

import (
	"fmt"

	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/stage/summarize"
	"github.com/ctxkit/ctxkit/policy/strict"
)

// Summarize are the parameters of summarize.
type Summarize struct {
	TriggerTokens int     `yaml:"trigger_tokens" doc:"summarize once the context has this; 0: trigger_share holds" unit:"tokens" min:"0"`
	TriggerShare  float64 `yaml:"trigger_share" doc:"summarize once the context has this share of the window, where trigger_tokens is 0" min:"0" max:"1"`
	Reserve       int     `yaml:"reserve" doc:"tokens of the window that stay free, where trigger_share leaves less" unit:"tokens" min:"0"`
	Keep          int     `yaml:"keep" doc:"the newest messages that stay next to the summary, in the unit of by; more where a call would lose its result" unit:"tokens, turns or messages" min:"0"`
	By            string  `yaml:"by" doc:"what keep counts: tokens; turns of the user, the current one among them; messages, the results of one response being one or more; or spoken, messages without those of results" enum:"tokens,turns,messages,spoken"`
	Ratio         float64 `yaml:"ratio" doc:"when over 0, a placeholder has this share of the tokens that it replaces" min:"0" max:"1"`
	Prompt        int     `yaml:"prompt_tokens" doc:"the prompt that asks for the summary, and where the prefix is own its system prompt" unit:"tokens" min:"0"`
	Prefix        string  `yaml:"prefix" doc:"what the summary's call is sent: own, what the summary replaces; session, all of the conversation behind the session's own system prompt, which the prompt cache may hold" enum:"own,session"`
	summarize.Params
}

func defineSummarize() policy.Definition {
	return policy.Definition{
		Name:    "summarize",
		Summary: "Before a request whose context has 80 % of the window, what is older than the newest 20,000 tokens becomes a summary.",
		Source:  "no product. A tool result never stays without its call. The summary's call is billed; where it does not fit the window it fails and is tried again at the next request. A summary alone is not summarized again",
		Truth:   policy.TruthOwn,
		Moments: policy.Prepare | policy.Manual,
		Params: &Summarize{
			TriggerShare: 0.8, Keep: 20000, By: byTokens, Prompt: 500, Prefix: "own", Params: summarize.DefaultParams(),
		},
		Example: `before: 161,000 tokens in a window of 200,000; the newest messages that hold 20,000 begin with a tool result
after:  the summary, the call of that result, and those messages; the call that wrote the summary is billed with what it replaces and the prompt`,
		Window:     true,
		Compaction: &policy.Compaction{},
		New:        policy.Maker(func(p Summarize) policy.Stage { return &summarization{Summarize: p} }),
	}
}

// limit is the context at which a window is summarized, tokens; 0 for never.
func (p *Summarize) limit(window int) int {
	if p.TriggerTokens > 0 {
		return p.TriggerTokens
	}
	at := int(p.TriggerShare * float64(window))
	if p.Reserve > 0 {
		at = max(min(at, window-p.Reserve), 1)
	}
	return at
}

// Limits are what decides when summarize acts.
func (p *Summarize) Limits(l *policy.StageLimits) {
	at := p.limit(l.Window)
	if at == 0 {
		return
	}
	key := "summarize.trigger_tokens"
	from := l.Name("summarize.trigger_tokens")
	if p.TriggerTokens == 0 {
		key = "summarize.trigger_share"
		from = strict.FloatText(p.TriggerShare) + " x the window (" + l.Name(key) + ")"
		if at < int(p.TriggerShare*float64(l.Window)) {
			key = "summarize.reserve"
			from = "the window less " + l.Name(key)
		}
	}
	l.Acts(policy.Limit{Name: "summary", Label: "summarize", Tokens: at, From: from, Key: key})
}

// Check is what is questionable in a policy with summarize.
func (p *Summarize) Check(c *policy.Check) {
	at := p.limit(c.Window())
	if at == 0 {
		c.Add(policy.RuleNever, "summarize.trigger_share", "give trigger_share or trigger_tokens", "no trigger is given: nothing is ever summarized")
	}
	if p.By == byTokens && at > c.Overhead() && p.Keep+c.Overhead() >= at {
		c.Add(policy.RuleAlways, "summarize.keep", "make it smaller", "%d of messages with %d of system prompt and tools reach %d, where summarize acts again", p.Keep, c.Overhead(), at)
	}
	c.Unused("summarize.trigger_share", p.TriggerTokens > 0, "summarize.trigger_tokens holds")
}

type summarization struct {
	Summarize
	turns turns
}

func (s *summarization) Run(c *policy.Context) ([]policy.Edit, error) {
	if c.Moment == policy.Manual {
		if s.Manual != "replay" {
			return nil, nil
		}
		return s.summarize(c, "manual", "the user asked for it")
	}
	used := c.Overhead + c.View.Tokens()
	limit := s.limit(c.Window)
	if limit == 0 || used < limit {
		return nil, nil
	}
	return s.summarize(c, "auto", fmt.Sprintf("%d >= %d", used, limit))
}

func (s *summarization) summarize(c *policy.Context, trigger, reason string) ([]policy.Edit, error) {
	v := c.View
	ids := v.IDs()
	cut := summarize.Whole(c, ids, s.cut(c, ids))
	if cut == 0 || cut == 1 && isSummary(v, ids[0]) {
		return nil, nil
	}
	tokens := 0
	for _, id := range ids[:cut] {
		tokens += v.Weight(id)
	}
	call := &policy.Call{Kind: "compaction", Prompt: s.Prompt, Prefix: s.Prefix}
	if s.Prefix == "own" {
		call.Input = s.Prompt + tokens
	}
	plan := summarize.Plan{Trigger: trigger, Reason: reason, Limit: c.Window, Call: call, Summary: s.choices(tokens), Keep: ids[cut:]}
	return plan.Compact(c)
}

func isSummary(v policy.View, id policy.ItemID) bool {
	sy := v.Synthetic(id)
	return sy != nil && sy.Summary
}

// choices is where the summary of a number of tokens comes from.
func (s *summarization) choices(tokens int) policy.SummaryChoices {
	if s.Ratio == 0 {
		return s.Summary
	}
	var list policy.SummaryChoices
	for _, choice := range s.Summary {
		if choice.Kind != policy.SummaryFixed && choice.Kind != policy.SummaryTypical {
			list = append(list, choice)
		}
	}
	return append(list, policy.SummaryChoice{Kind: policy.SummaryFixed, Tokens: max(1, int(s.Ratio*float64(tokens)))})
}

// cut is the first item that stays, as an index.
func (s *summarization) cut(c *policy.Context, ids []policy.ItemID) int {
	v := c.View
	at := len(ids)
	switch s.By {
	case byTokens:
		for sum := 0; at > 0; at-- {
			if sum += v.Weight(ids[at-1]); sum > s.Keep {
				break
			}
		}
	case byMessages:
		at = max(at-s.Keep, 0)
	case bySpoken:
		for left := s.Keep; at > 0 && left > 0; at-- {
			if m := v.Message(ids[at-1]); m == nil || m.Class != session.ClassToolResult {
				left--
			}
		}
	default:
		now := s.turns.now(v)
		for ; at > 0; at-- {
			if id := ids[at-1]; id >= 0 && now-s.turns.of(c.Conv, id) >= s.Keep {
				break
			} else if id < 0 && isSummary(v, id) {
				break
			}
		}
	}
	return at
}

// Request is what the summary's call is sent: what goes, or all of the conversation, and a prompt whose words are not
// given.
func (s *summarization) Request(c *policy.Context, e *policy.Edit) (policy.CallRequest, error) {
	r := policy.CallRequest{Unknown: "the words of its prompt are counted and not shown"}
	if s.Prefix == "own" {
		ids := c.View.IDs()
		if cut := summarize.Whole(c, ids, s.cut(c, ids)); cut < len(ids) {
			r.Edits = append(r.Edits, policy.Edit{Kind: policy.KindRemove, Items: ids[cut:], Reason: "it is no part of what is summarized"})
		}
	}
	r.Edits = append(r.Edits, policy.Asking("", s.Prompt))
	return r, nil
}
