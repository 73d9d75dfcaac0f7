package stage

import (
	"fmt"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/policy"
)

// Autocompact are the parameters of autocompact.
type Autocompact struct {
	Enabled      bool                  `yaml:"enabled" doc:"compact automatically at the threshold; false: only when the user asks"`
	Summary      policy.SummaryChoices `yaml:"summary" doc:"where the summary comes from, first that can: recorded, outline, fixed: N tokens"`
	PromptTokens int                   `yaml:"prompt_tokens" doc:"the summary prompt" unit:"tokens" min:"0"`
	Prefix       string                `yaml:"prefix" doc:"what the compaction's own request begins with: its own system prompt (no cache read) or the session's warm prefix" enum:"own,session"`
	Manual       string                `yaml:"manual" doc:"what becomes of compactions the user asked for" enum:"replay,ignore"`
}

func defineAutocompact() policy.Definition {
	return policy.Definition{
		Name:    "autocompact",
		Summary: "Before a request whose used tokens reach the auto-compact threshold, the whole view becomes a summary, written by a request of its own; nothing is kept verbatim.",
		Source:  "Claude Code 2.1.19 and 2.1.x, analyses of the bundled client; thresholds confirmed by 95 recorded automatic compactions",
		Truth:   policy.TruthRecorded,
		Moments: policy.Prepare | policy.Manual,
		Params: &Autocompact{
			Enabled: true, Summary: policy.SummaryChoices{{Kind: "recorded"}, {Kind: "fixed", Tokens: 5000}},
			PromptTokens: 1257, Prefix: "own", Manual: "replay",
		},
		Example: `before: used 155,277 >= threshold 155,000; the view holds 310 messages
after:  one user message, "This session is being continued from a previous conversation …", and what the client re-injects`,
		New: func(p any) (policy.Stage, error) { return &autocompact{p: *p.(*Autocompact)}, nil },
	}
}

// autocompact reproduces the LLM path of Claude Code's automatic compaction.
type autocompact struct{ p Autocompact }

func (s *autocompact) Run(c *policy.Context) ([]policy.Edit, error) {
	trigger, reason := "auto", ""
	switch c.Moment {
	case policy.Manual:
		if s.p.Manual != "replay" {
			return nil, nil
		}
		trigger, reason = "manual", fmt.Sprintf("the user asked for it, used %d", c.Used)
	default:
		if !s.p.Enabled || !c.Limits.On || c.Used < c.Limits.Auto {
			return nil, nil
		}
		reason = fmt.Sprintf("used %d >= threshold %d", c.Used, c.Limits.Auto)
	}
	if c.View.Len() == 0 {
		return nil, nil
	}
	summary, boundary, from := summarise(c, s.p.Summary)
	e := policy.Edit{
		Kind: policy.KindSummarize, Trigger: trigger, Reason: reason + "; summary: " + from,
		Insert: []policy.Synthetic{{Role: "user", Label: "summary", Summary: true, Contents: []policy.Content{summary}}},
		Call:   &policy.Call{Kind: "compaction", Prompt: s.p.PromptTokens, Prefix: s.p.Prefix},
		Detail: map[string]int{"pre_tokens": c.Used},
	}
	if boundary >= 0 {
		e.Tail = c.Record.Reinjected(boundary)
	}
	return []policy.Edit{e}, nil
}

// summarise takes the first summary that can be had.
func summarise(c *policy.Context, choices policy.SummaryChoices) (content policy.Content, boundary int, from string) {
	for _, ch := range choices {
		switch ch.Kind {
		case "recorded":
			if s, b, ok := c.Record.Summary(c.Request); ok {
				return s, b, fmt.Sprintf("recorded, line %d", c.Conv.Boundaries[b].Line)
			}
		case "fixed":
			return policy.Content{Kind: jsonl.KindText, Tokens: ch.Tokens}, -1, fmt.Sprintf("a stand-in of %d tokens", ch.Tokens)
		}
	}
	return policy.Content{Kind: jsonl.KindText, Tokens: defaultSummary}, -1, fmt.Sprintf("a stand-in of %d tokens", defaultSummary)
}

// defaultSummary is the size of a stand-in where no choice yields a summary.
const defaultSummary = 5000
