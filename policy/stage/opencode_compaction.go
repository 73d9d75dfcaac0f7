package stage

import (
	"fmt"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/policy"
)

// OpencodeCompaction are the parameters of opencode_compaction.
type OpencodeCompaction struct {
	Auto    bool                  `yaml:"auto" doc:"compact on overflow; false: only when the user asks"`
	Count   string                `yaml:"count" doc:"which version's arithmetic: 1.1.36 leaves cache writes out and tests >, 1.18 counts all and tests >=" enum:"1.1.36,1.18"`
	Summary policy.SummaryChoices `yaml:"summary" doc:"where the summary comes from, first that can: recorded, outline, fixed: N tokens"`
	Prompt  int                   `yaml:"prompt_tokens" doc:"the compaction agent's prompts" unit:"tokens" min:"0"`
}

func defineOpencodeCompaction() policy.Definition {
	return policy.Definition{
		Name:    "opencode_compaction",
		Summary: "When a response overflows the usable window, the view becomes a question, its summary and a prompt to go on.",
		Source:  "OpenCode 1.1.36 (commit 8c4bf225): opencode.md sections 4, 5, 7 and 8, oracle cases",
		Truth:   policy.TruthOracle,
		Moments: policy.Respond | policy.Prepare | policy.Manual,
		Params: &OpencodeCompaction{
			Auto: true, Count: "1.1.36", Summary: policy.SummaryChoices{{Kind: "recorded"}, {Kind: "fixed", Tokens: 5000}}, Prompt: 225,
		},
		Example: `before: a step of 168,400 tokens (input + cache.read + output) > usable 168,000
after:  "What did we do so far?", the summary, "Continue if you have next steps"`,
		New: func(p any) (policy.Stage, error) { return &opencodeCompaction{p: *p.(*OpencodeCompaction)}, nil },
	}
}

// opencodeCompaction reproduces OpenCode's overflow test and the view after
// its compaction turn.
type opencodeCompaction struct {
	p    OpencodeCompaction
	done policy.ItemID // the response that was answered with a compaction already
	any  bool
}

func (s *opencodeCompaction) Run(c *policy.Context) ([]policy.Edit, error) {
	if c.Moment == policy.Manual {
		return s.compact(c, "manual", "the user asked for it")
	}
	if !s.p.Auto || !c.Last.Known || s.any && s.done == c.Last.Message {
		return nil, nil
	}
	count, usable, over := s.overflow(c)
	if !over {
		return nil, nil
	}
	s.any, s.done = true, c.Last.Message
	op := ">"
	if s.p.Count != "1.1.36" {
		op = ">="
	}
	return s.compact(c, "auto", fmt.Sprintf("the last step's %d tokens %s usable %d", count, op, usable))
}

// overflow is OpenCode's test (opencode.md section 4).
func (s *opencodeCompaction) overflow(c *policy.Context) (count, usable int, over bool) {
	const outputTokenMax = 32000
	maxOut := outputTokenMax
	if c.MaxOutput > 0 && c.MaxOutput < maxOut {
		maxOut = c.MaxOutput
	}
	u := c.Last.Usage
	usable = c.Limits.Window - maxOut
	if s.p.Count == "1.1.36" {
		count = u.Input + u.CacheRead + u.Output
		return count, usable, count > usable
	}
	usable = max(usable, 0)
	count = u.Input + u.CacheRead + u.CacheWrite + u.Output
	return count, usable, count >= usable
}

func (s *opencodeCompaction) compact(c *policy.Context, trigger, reason string) ([]policy.Edit, error) {
	if c.View.Len() == 0 {
		return nil, nil
	}
	summary, _, from := summarise(c, s.p.Summary)
	ask := policy.NewContent(jsonl.KindText, "What did we do so far?")
	e := policy.Edit{
		Kind: policy.KindSummarize, Trigger: trigger, Reason: reason + "; summary: " + from,
		Insert: []policy.Synthetic{
			{Role: "user", Label: "compaction", Turn: true, Contents: []policy.Content{ask}},
			{Role: "assistant", Label: "summary", Summary: true, Contents: []policy.Content{summary}},
		},
		Call: &policy.Call{Kind: "compaction", Prompt: s.p.Prompt, Prefix: "own"},
	}
	if trigger == "auto" {
		goOn := policy.NewContent(jsonl.KindText, "Continue if you have next steps")
		e.Tail = []policy.Synthetic{{Role: "user", Label: "continue", Turn: true, Contents: []policy.Content{goOn}}}
	}
	return []policy.Edit{e}, nil
}
