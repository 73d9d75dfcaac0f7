package anthropic

import (
	"fmt"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/stage/measure"
	"github.com/ctxkit/ctxkit/policy/stage/summarize"
)

// CompactAPI are the parameters of compact_api.
type CompactAPI struct {
	Trigger      policy.InputTokens    `yaml:"trigger" doc:"compact once the prompt exceeds this" unit:"tokens" min:"50000"`
	PauseAfter   bool                  `yaml:"pause_after" doc:"the response stops after the summary and the client asks again: the same tokens, one call more"`
	Summary      policy.SummaryChoices `yaml:"summary" doc:"where the summary comes from, first that can: recorded, outline, typical, fixed: N tokens"`
	PromptTokens int                   `yaml:"prompt_tokens" doc:"the default instructions, where there are none of one's own" unit:"tokens" min:"0"`
	Instructions string                `yaml:"instructions" doc:"instructions of one's own, in place of the default's: their length counts, their effect cannot; empty: the default"`
	Manual       string                `yaml:"manual" doc:"what becomes of compactions the user asked for" enum:"replay,ignore"`
}

func defineCompactAPI() policy.Definition {
	return policy.Definition{
		Name:    "compact_api",
		Summary: "On the server, once the prompt exceeds the trigger, the model first writes a summary; everything before that compaction block is ignored from then on.",
		Source:  "Anthropic API, compact_20260112 (beta compact-2026-01-12); a prompt that exceeds the window with the instructions is refused: the compaction fails, and the view stays",
		Truth:   policy.TruthDocumented,
		Moments: policy.Project | policy.Manual,
		Params: &CompactAPI{
			Trigger: 150000, Summary: policy.SummaryChoices{{Kind: policy.SummaryRecorded}, {Kind: policy.SummaryFixed, Tokens: 3500}},
			PromptTokens: 110, Manual: "replay",
		},
		Example: `before: a prompt of 180,000 tokens, trigger 150,000
after:  two iterations are billed: the compaction, 180,000 in and 3,500 out, and the message, system prompt, tools and the summary in; the view is the summary alone`,
		Window:     true,
		Compaction: &policy.Compaction{},
		New: func(p any) (policy.Stage, error) {
			s := &compactAPI{CompactAPI: *p.(*CompactAPI)}
			if s.Trigger < minCompactTrigger {
				return nil, &policy.Error{Msg: fmt.Sprintf("a trigger of %d tokens", s.Trigger), Hint: fmt.Sprintf("the API takes %d or more", minCompactTrigger)}
			}
			return s, nil
		},
	}
}

// Check is what is questionable in a policy with compact_api.
func (p *CompactAPI) Check(c *policy.Check) {
	c.Unused("compact_api.prompt_tokens", p.Instructions != "", "compact_api.instructions replace the prompt")
}

// Limits are what decides when compact_api acts.
func (p *CompactAPI) Limits(l *policy.StageLimits) {
	l.Acts(policy.Limit{Name: "API compaction", Label: "compact", Operator: ">", Tokens: int(p.Trigger),
		From: "compact_api.trigger: the prompt, as edits before it leave it", Key: "compact_api.trigger"})
}

// minCompactTrigger is the smallest trigger the API accepts, in tokens.
const minCompactTrigger = 50000

// compactAPI models the compaction iteration as a separate call and the message iteration as the request:
// usage.iterations lists both, and the bill is their sum.
type compactAPI struct{ CompactAPI }

func (s *compactAPI) Run(c *policy.Context) ([]policy.Edit, error) {
	// Earlier edits of the same request have already cleared part of the prompt.
	prompt := measure.PromptTokens(c) + c.View.PayloadTokens() - c.View.Tokens()
	trigger := "auto"
	reason := fmt.Sprintf("%d tokens > %d", prompt, s.Trigger)
	switch {
	case c.Moment == policy.Manual:
		if s.Manual != "replay" {
			return nil, nil
		}
		trigger = "manual"
		reason = "the user asked for it"
	case prompt <= int(s.Trigger):
		return nil, nil
	}
	if !beyondSummary(c.View) {
		return nil, nil
	}
	instructions := s.PromptTokens
	if s.Instructions != "" {
		instructions = policy.RoundQuarter(jsonl.Measure(s.Instructions).UTF16)
	}
	call := &policy.Call{Kind: "compaction", Prompt: instructions, Input: c.Overhead + c.View.Tokens() + instructions, Prefix: "session"}
	try := summarize.Plan{Trigger: trigger, Reason: reason, Call: call, Limit: c.Window}
	if failure := try.Failure(c); failure != nil {
		return failure, nil
	}
	summary, _, from, err := summarize.Take(c, s.Summary, summarize.Bare)
	if err != nil {
		return nil, err
	}
	if s.PauseAfter {
		reason += "; paused after the summary"
	}
	return []policy.Edit{{
		Kind: policy.KindSummarize, Trigger: trigger, Reason: reason + "; summary: " + from,
		// The API's own block is in an assistant message before everything else; a user message keeps the list valid
		// for the API.
		Insert: []policy.Synthetic{{Role: "user", Label: "compaction", Summary: true, Contents: []policy.Content{summary}}},
		Call:   call,
		Detail: map[string]int{"pre_tokens": prompt},
	}}, nil
}

// beyondSummary reports whether there is more in view than a compaction's summary.
func beyondSummary(v policy.View) bool {
	for id := range v.Items {
		if sy := v.Synthetic(id); sy == nil || !sy.Summary {
			return true
		}
	}
	return false
}
