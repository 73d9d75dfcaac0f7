package threelayer

import (
	"fmt"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/stage/measure"
	"github.com/ctxkit/ctxkit/policy/stage/summarize"
)

// ThreeLayerAuto are the parameters of three_layer_auto.
type ThreeLayerAuto struct {
	Threshold   int                   `yaml:"threshold" doc:"compact when the JSON of the messages, at four characters a token, is over this" unit:"tokens" min:"0"`
	SourceChars int                   `yaml:"source_chars" doc:"how much of that JSON, from its beginning, is summarised" unit:"characters" min:"0"`
	MaxOutput   int                   `yaml:"max_output" doc:"the summary is not longer" unit:"tokens" min:"1"`
	Tool        string                `yaml:"tool" doc:"the model's own compact tool; empty: it has none"`
	Summary     policy.SummaryChoices `yaml:"summary" doc:"where the summary comes from, first that can: recorded, outline, typical, fixed: N tokens; cut at max_output"`
	Manual      string                `yaml:"manual" doc:"what becomes of compactions the user asked for" enum:"replay,ignore"`
}

func defineThreeLayerAuto() policy.Definition {
	return policy.Definition{
		Name:    "three_layer_auto",
		Summary: "Before a request whose messages are estimated at more than 50,000 tokens, and after a response that called the compact tool, two messages replace everything: a summary and its acknowledgement.",
		Source:  "Learn Claude Code, session 06, layers 2 and 3 (autoCompact)",
		Differs: "The source handles no summary request that exceeds the window less max_output: here it fails, the view stays, and the next request tries again. The file to which the whole transcript is saved first (.transcripts/transcript_TIME.jsonl) is in no request, so nothing here names or writes it",
		Truth:   policy.TruthDescribed,
		Moments: policy.Prepare | policy.Respond | policy.Manual,
		Params: &ThreeLayerAuto{
			Threshold: 50000, SourceChars: 80000, MaxOutput: 2000, Tool: "compact",
			Summary: policy.SummaryChoices{{Kind: policy.SummaryRecorded}, {Kind: policy.SummaryFixed, Tokens: 2000}}, Manual: "replay",
		},
		Example: `before: messages whose JSON has 200,001 characters (200,000 would stay)
after:  user "[Compressed]\n\nSUMMARY", assistant "Understood. Continuing."`,
		Window:     true,
		Compaction: &policy.Compaction{},
		New:        policy.Maker(func(p ThreeLayerAuto) policy.Stage { return &threeLayerAuto{ThreeLayerAuto: p} }),
	}
}

// Check is what is questionable in a policy with three_layer_auto.
func (p *ThreeLayerAuto) Check(c *policy.Check) {
	c.Less("max_output", p.MaxOutput, "threshold", p.Threshold)
}

// Limits are what decides when three_layer_auto acts.
func (p *ThreeLayerAuto) Limits(l *policy.StageLimits) {
	l.Add(policy.Limit{Name: "compaction", Label: "compact", Operator: ">", Tokens: p.Threshold, Of: policy.OfMessages, Acts: true,
		From: l.Name("three_layer_auto.threshold") + ": the JSON of the messages / 4", Key: "three_layer_auto.threshold"})
}

// Texts of the source.
const (
	compressedHead = "[Compressed]\n\n"
	understood     = "Understood. Continuing."
	summariseThis  = "Summarize this conversation for continuity..."
)

// threeLayerAuto follows the JSON length of the messages in view.
type threeLayerAuto struct {
	ThreeLayerAuto
	json measure.JsonLength
}

func (s *threeLayerAuto) Run(c *policy.Context) ([]policy.Edit, error) {
	s.json.Follow(c.View)
	n := s.json.Total()
	switch c.Moment {
	case policy.Manual:
		if s.Manual == "replay" {
			return s.compact(c, n, "manual", "the user asked for it")
		}
	case policy.Respond:
		if s.called(c) {
			return s.compact(c, n, "tool", "the model called "+s.Tool)
		}
	default:
		if n > 4*s.Threshold { // n/4, not rounded, > threshold
			return s.compact(c, n, "auto", fmt.Sprintf("%d characters of JSON / 4 > %d", n, s.Threshold))
		}
	}
	return nil, nil
}

// called reports whether the last response used the compact tool.
func (s *threeLayerAuto) called(c *policy.Context) bool {
	id := c.Last.Message
	if s.Tool == "" || !c.View.Has(id) {
		return false
	}
	m := c.View.Message(id)
	for b := range m.Blocks {
		if m.Blocks[b].Kind == jsonl.KindToolUse && m.Blocks[b].Name == s.Tool {
			return true
		}
	}
	return false
}

func (s *threeLayerAuto) compact(c *policy.Context, n int, trigger, reason string) ([]policy.Edit, error) {
	if c.View.Len() == 0 {
		return nil, nil
	}
	prompt := policy.RoundQuarter(len(summariseThis))
	call := &policy.Call{Kind: "compaction", Prompt: prompt, Prefix: "own", Input: prompt + policy.RoundQuarter(min(n, s.SourceChars))}
	try := summarize.Plan{Trigger: trigger, Reason: reason, Call: call, Limit: c.Window - s.MaxOutput}
	if failure := try.Failure(c); failure != nil {
		return failure, nil
	}
	summary, from, err := s.summary(c)
	if err != nil {
		return nil, err
	}
	call.Output = c.Weigh.Content(&summary[len(summary)-1])
	return []policy.Edit{{
		Kind: policy.KindSummarize, Trigger: trigger, Reason: reason + "; summary: " + from,
		Insert: []policy.Synthetic{
			{Role: "user", Label: "summary", Summary: true, Turn: true, Contents: summary},
			{Role: "assistant", Label: "acknowledgement", Contents: []policy.Content{policy.Text(understood)}},
		},
		Call:   call,
		Detail: map[string]int{"json_chars": n},
	}}, nil
}

// summary is the content of the user message: the head and the summary, cut where the model would have had to stop.
func (s *threeLayerAuto) summary(c *policy.Context) ([]policy.Content, string, error) {
	head := policy.Text(compressedHead)
	sum, _, from, err := summarize.Take(c, s.Summary, summarize.Bare)
	if err != nil {
		return nil, "", err
	}
	if sum.Tokens > 0 {
		sum.Tokens = min(sum.Tokens, s.MaxOutput)
		return []policy.Content{head, sum}, from, nil
	}
	text := sum.Text
	if sum.Ref != nil {
		if text, err = c.Texts.Text(*sum.Ref); err != nil {
			return nil, "", fmt.Errorf("reading the recorded summary: %w", err)
		}
	}
	if cut := measure.FirstUnits(text, 4*s.MaxOutput); cut != text {
		text = cut
		from += fmt.Sprintf(", cut at %d tokens", s.MaxOutput)
	}
	return []policy.Content{policy.Text(compressedHead + text)}, from, nil
}

// Request is what the call is sent. The messages are in it as text.
func (s *threeLayerAuto) Request(_ *policy.Context, _ *policy.Edit) (policy.CallRequest, error) {
	return policy.CallRequest{
		Edits:   []policy.Edit{policy.Asking(summariseThis, 0)},
		Unknown: fmt.Sprintf("the first %s characters of the messages' JSON are sent as text inside the prompt", policy.Thousands(s.SourceChars)),
	}, nil
}
