package gemini

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/stage/measure"
	"github.com/ctxkit/ctxkit/policy/stage/summarize"
	"github.com/ctxkit/ctxkit/policy/strict"
)

// geminiUnderstood is the assistant's message after a summary.
const geminiUnderstood = "Got it. Thanks for the additional context!"

// GeminiCompression are the parameters of gemini_compression.
type GeminiCompression struct {
	Threshold      float64 `yaml:"threshold" doc:"compress once the last prompt reached this share of the window: 0.5; earlier 0.7, 0.2 and 0.95" min:"0" max:"1"`
	Preserve       float64 `yaml:"preserve" doc:"the newest share of the history, by characters of its JSON, that stays" min:"0.01" max:"0.99"`
	ResponseBudget int     `yaml:"response_budget" doc:"size limit of the newest tool results together; older ones are cut and saved" unit:"tokens" min:"0"`
	Cut            string  `yaml:"cut" doc:"how: not at all (to 0.25), to their last lines (0.26 to 0.28), or to a beginning and an end by characters (later)" enum:"none,lines,chars"`
	CutLines       int     `yaml:"cut_lines" doc:"the last lines that are left" unit:"lines" min:"1"`
	CutChars       int     `yaml:"cut_chars" doc:"the characters that are left, a fifth of them from the beginning, or four for each token of the window that the last prompt left free" unit:"characters" min:"1"`
	AfterFailure   string  `yaml:"after_failure" doc:"what an automatic compression does once one made the history larger: nothing (to 0.30), or cut results only" enum:"nothing,cut"`
	Estimate       string  `yaml:"estimate" doc:"a result's estimate: the JSON of its part (to 0.27), or of its response and the tool's name" enum:"part,response"`
	OtherTokens    float64 `yaml:"other_tokens" doc:"the estimate of a character beyond ASCII: 1.3, from 0.43 on 1.5" unit:"tokens" min:"0"`
	Verify         bool    `yaml:"verify" doc:"a second call checks the summary"`
	Prompt         int     `yaml:"prompt_tokens" doc:"the system prompt of the compression and the sentence that asks for the summary" unit:"tokens" min:"0"`
	VerifyPrompt   int     `yaml:"verify_prompt_tokens" doc:"the sentence that asks for the check" unit:"tokens" min:"0"`
	summarize.Params
}

func defineGeminiCompression() policy.Definition {
	return policy.Definition{
		Name:    "gemini_compression",
		Summary: "Once the last prompt filled half of the window, the history before a user message at about 70 % of it becomes a summary and its acknowledgement, and tool results beyond the newest 50,000 tokens are cut.",
		Source:  "Gemini CLI, packages/core/src/services/chatCompressionService.ts (since 0.37 src/context), utils/tokenCalculation.ts, utils/fileUtils.ts, of @google/gemini-cli-core 0.22.4 to 0.61.0, oracle cases of 0.26.0, 0.30.0 and 0.61.0; a message is a content, a tool_result a functionResponse, a typed prompt where no call is open a place to split at; thinking is not in its history, and its environment context is not counted. A summary that makes the history larger is thrown away, and its calls are billed all the same. A result that was cut stays as it is, where the product cuts it again to the same size",
		Truth:   policy.TruthOracle,
		Moments: policy.Prepare | policy.Manual,
		Params: &GeminiCompression{
			Threshold: 0.5, Preserve: 0.3, ResponseBudget: 50000, Cut: "chars", CutLines: 30, CutChars: 40000, AfterFailure: "cut", Estimate: "response", OtherTokens: 1.5, Verify: true, Prompt: 1000, VerifyPrompt: 83,
			Params: summarize.DefaultParams(),
		},
		Example: `before: a prompt of 100,000 tokens in a window of 200,000; user messages at 0, 40 and 72 % of the characters
after:  the summary, "Got it. Thanks for the additional context!", and what begins at 72 %`,
		Window:     true,
		Compaction: &policy.Compaction{},
		New: func(p any) (policy.Stage, error) {
			return newCompression(p.(*GeminiCompression)), nil
		},
	}
}

// limit is the size of a prompt at which a window is compressed. The product compares with threshold x window, which
// need not be whole.
func (p *GeminiCompression) limit(window int) int {
	return int(math.Ceil(p.Threshold * float64(window)))
}

// Limits are what decides when gemini_compression acts.
func (p *GeminiCompression) Limits(l *policy.StageLimits) {
	l.Acts(policy.Limit{Name: "compression", Label: "compress", Tokens: p.limit(l.Window),
		From: fmt.Sprintf("%s x the window (%s): the last prompt", strict.FloatText(p.Threshold), l.Name("gemini_compression.threshold")), Key: "gemini_compression.threshold"})
}

// Check is what is questionable in a policy with gemini_compression.
func (p *GeminiCompression) Check(c *policy.Check) {
	c.Unused("gemini_compression.cut_chars", p.Cut != "chars", "gemini_compression.cut is "+p.Cut)
	c.Unused("gemini_compression.cut_lines", p.Cut != "lines", "gemini_compression.cut is "+p.Cut)
	c.Unused("gemini_compression.response_budget", p.Cut == "none", "gemini_compression.cut is none")
	c.Unused("gemini_compression.verify_prompt_tokens", !p.Verify, "gemini_compression.verify is off")
}

// geminiCompression acts before a call: the history is everything up to the last response, and what has joined since
// is the message about to be sent.
type geminiCompression struct {
	GeminiCompression
	failed  bool // an automatic compression made the history larger, and none has succeeded since
	unsplit measure.Unsplit

	estimate estimate
}

func newCompression(p *GeminiCompression) *geminiCompression {
	return &geminiCompression{GeminiCompression: *p, estimate: estimate{p.OtherTokens, p.Estimate == "part"}}
}

func (s *geminiCompression) Run(c *policy.Context) ([]policy.Edit, error) {
	if c.Moment == policy.Manual {
		if s.Manual != "replay" {
			return nil, nil
		}
		return s.compress(c, "manual", "the user asked for it", true)
	}
	prompt := s.prompt(c)
	limit := s.limit(c.Window)
	if prompt == 0 || prompt < limit || s.unsplit.Still(contents(c.View, nil)) {
		return nil, nil
	}
	return s.compress(c, "auto", "the last prompt's "+strconv.Itoa(prompt)+" tokens >= "+strconv.Itoa(limit), false)
}

// prompt is the size of the last prompt, 0 where there was none since a compression; where no usage is recorded, that
// of the messages.
func (s *geminiCompression) prompt(c *policy.Context) int {
	if c.Last.Known && !c.Last.Summary {
		return c.Last.Usage.Context()
	}
	if c.Last.Summary || len(c.View.Arrived()) == 0 {
		return 0
	}
	return c.Used
}

func (s *geminiCompression) compress(c *policy.Context, trigger, reason string, force bool) ([]policy.Edit, error) {
	history, pending := measure.History(c.View, force)
	if len(history) == 0 || s.failed && !force && s.AfterFailure == "nothing" {
		return nil, nil
	}
	cuts, err := s.cut(c, history)
	if err != nil {
		return nil, err
	}
	g := contents(c.View, cuts)
	if s.failed && !force { // results are cut without a summary
		if len(cuts) == 0 || s.tokens(g, history) >= s.prompt(c) {
			return nil, nil
		}
		return s.edits(c, history, cuts, "auto", reason+"; a compression failed before"), nil
	}
	split := s.split(g, history)
	if split == 0 {
		s.unsplit.Note(c.View, pending)
		return nil, nil
	}
	s.unsplit = measure.Unsplit{}
	summary, boundary, from, err := summarize.Take(c, s.Summary, summarize.Bare)
	if err != nil {
		return nil, err
	}
	call := s.call(c, history[:split], cuts, &summary)
	try := summarize.Plan{Trigger: trigger, Reason: reason, Call: call, Items: history[:split], Limit: c.Window}
	if failure := try.Failure(c); failure != nil {
		return failure, nil
	}
	if before := s.prompt(c); before > 0 && s.tokens(g, history[split:], textSize(&summary), size{quarters: len(geminiUnderstood)}) > before {
		s.failed = s.failed || !force
		reason += "; summary: " + from + "; the history would have been larger, and stays"
		return []policy.Edit{{Kind: policy.KindFail, Trigger: trigger, Items: history[:split], Call: call, Reason: reason}}, nil
	}
	s.failed = false // startChat
	keep := summarize.Kept(c, boundary, slices.Concat(history[split:], pending))
	e := policy.Edit{
		Kind: policy.KindSummarize, Trigger: trigger, Reason: reason + "; summary: " + from,
		Insert: []policy.Synthetic{
			{Role: "user", Label: "summary", Summary: true, Turn: true, Contents: []policy.Content{summary}},
			{Role: "assistant", Label: "acknowledgement", Contents: []policy.Content{policy.Text(geminiUnderstood)}},
		},
		Keep: keep, Call: call,
	}
	return append(s.edits(c, keep, cuts, trigger, reason), e), nil
}

// tokens is about the source's estimate of items and of more, in tokens; it is rounded down.
func (s *geminiCompression) tokens(g measure.GenAI, items []policy.ItemID, more ...size) int {
	sum := size{}
	for _, id := range items {
		sum.add(s.estimate.size(g, id))
	}
	for _, m := range more {
		sum.add(m)
	}
	return int(s.estimate.tokens(sum))
}

// edits cuts the results that stay, in their order.
func (s *geminiCompression) edits(c *policy.Context, keep []policy.ItemID, cuts map[policy.Target]*policy.Content, trigger, reason string) (edits []policy.Edit) {
	for _, id := range keep {
		for t := range policy.Targets(c.View, id) {
			if content := cuts[t]; content != nil {
				edits = append(edits, policy.Edit{Kind: policy.KindPersist, Trigger: trigger, Target: t, New: content, Reason: reason + "; tool results over the budget"})
			}
		}
	}
	return edits
}

// call is the compression's own request and the one that verifies it. Results are sent whole where they fit the
// window.
func (s *geminiCompression) call(c *policy.Context, head []policy.ItemID, cuts map[policy.Target]*policy.Content, summary *policy.Content) *policy.Call {
	whole := len(cuts) == 0 || s.tokens(contents(c.View, nil), head) < c.Window
	input := s.Prompt
	for _, id := range head {
		for t := range policy.Targets(c.View, id) {
			if content := cuts[t]; content != nil && !whole {
				input += c.Weigh.Content(content)
			} else if c.View.Kind(t) != jsonl.KindThinking {
				input += c.View.BlockTokens(t)
			}
		}
	}
	output := c.Weigh.Content(summary)
	call := &policy.Call{Kind: "compaction", Prompt: s.Prompt, Prefix: "own", Input: input, Output: output}
	if s.Verify {
		call.Then = &policy.Call{
			Kind: "compaction", Prompt: s.Prompt + s.VerifyPrompt, Prefix: "own",
			Input: input + output + s.VerifyPrompt, Output: output,
		}
	}
	return call
}
