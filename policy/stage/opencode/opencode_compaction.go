package opencode

import (
	"fmt"
	"math"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/stage/measure"
	"github.com/ctxkit/ctxkit/policy/stage/summarize"
)

// OpencodeCompaction are the parameters of opencode_compaction.
type OpencodeCompaction struct {
	Auto           bool                  `yaml:"auto" doc:"compact on overflow; false: only when the user asks"`
	Count          string                `yaml:"count" doc:"the first version whose arithmetic and view apply: 1.1.36 leaves cache writes out, tests > and keeps no tail; 1.1.57 and 1.1.60 count all and test >=; 1.18.3 and 1.18 keep a tail, too" enum:"1.1.36,1.1.57,1.1.60,1.18.3,1.18"`
	Reserved       int                   `yaml:"reserved" doc:"taken from the input limit, where there is one (from 1.1.57 on); -1: min(20,000, largest output)" unit:"tokens" min:"-1"`
	InputLimit     *int                  `yaml:"input_limit" doc:"the most that the provider takes of the model (limit.input); left out: as in OpenCode's own table, such as 272000 for GPT-5" unit:"tokens" min:"1"`
	OutputMax      int                   `yaml:"output_token_max" doc:"OPENCODE_EXPERIMENTAL_OUTPUT_TOKEN_MAX: kept free for the answer, at most; 1.18 uses 32,000 where a step has just ended, and this before a request" unit:"tokens" min:"1"`
	TailTurns      int                   `yaml:"tail_turns" doc:"newest turns that may be kept verbatim (1.18); -1: the version's own, 0: none" unit:"turns" min:"-1"`
	PreserveRecent int                   `yaml:"preserve_recent_tokens" doc:"size limit of the kept turns (1.18); -1: a quarter of the usable window within the version's bounds" unit:"tokens" min:"-1"`
	Summary        policy.SummaryChoices `yaml:"summary" doc:"where the summary comes from, first that can: recorded, outline, typical, fixed: N tokens"`
	Prompt         int                   `yaml:"prompt_tokens" doc:"the compaction agent's prompts" unit:"tokens" min:"0"`
}

func defineOpencodeCompaction() policy.Definition {
	return policy.Definition{
		Name:    "opencode_compaction",
		Summary: "When a response overflows the usable window, the view becomes a question, its summary, the kept tail (1.18) and a prompt to go on.",
		Source:  "OpenCode 1.1.36 (commit 8c4bf225), 1.18.3 and 1.18.34: docs/internals/opencode.md sections 4, 5, 7 and 8, oracle cases",
		Differs: "A summary request over the window is taken as refused: the view stays, and the next response tries again. Of the request, the compaction agent's system prompt is counted and not shown; so are, in every request, the system prompt of the model, the environment and files of instructions (AGENTS.md, CLAUDE.md, CONTEXT.md), which no session holds. Reminders of the plan and build agents are not added",
		Truth:   policy.TruthOracle,
		Moments: policy.Respond | policy.Prepare | policy.Manual,
		Params: &OpencodeCompaction{
			Auto: true, Count: "1.1.36", Reserved: unset, OutputMax: defaultOutputTokenMax, TailTurns: unset, PreserveRecent: unset,
			Summary: policy.DefaultSummary(), Prompt: 225,
		},
		Example: `before: a step of 168,400 tokens (input + cache.read + output) > usable 168,000
after:  "What did we do so far?", the summary, "Continue if you have next steps"`,
		Window:     true,
		Compaction: &policy.Compaction{On: func(s *policy.StageConfig) bool { return s.Params.(*OpencodeCompaction).Auto }, Off: "set opencode_compaction.auto to false"},
		New: func(p any) (policy.Stage, error) {
			s := &opencodeCompaction{OpencodeCompaction: *p.(*OpencodeCompaction)}
			var err error
			s.version, err = s.rules()
			return s, err
		},
	}
}

// Limits are what decides when opencode_compaction acts.
func (p *OpencodeCompaction) Limits(l *policy.StageLimits) {
	version, err := p.rules()
	if err != nil { // unreachable: such a policy is not read
		return
	}
	limit := p.limit(l.Window, l.MaxInput, l.MaxOutput)
	from := "the most OpenCode reserves"
	if l.MaxOutput > 0 {
		from = fmt.Sprintf("min(largest output %s, %s)", policy.Thousands(l.MaxOutput), policy.Thousands(p.OutputMax))
	}
	if l.OutputFrom != "" {
		from += ": " + l.OutputFrom
	}
	if by := l.Name("opencode_compaction.output_token_max"); p.OutputMax != defaultOutputTokenMax {
		from += "; " + by
		if version.StreamIgnoresEnv {
			l.Note("where a step has just ended, %s is reserved at most, whatever %s says", policy.Thousands(defaultOutputTokenMax), by)
		}
	}
	l.Add(policy.Limit{Name: "output reserve", Tokens: maxOutput(limit, p.OutputMax), From: from})
	usable := policy.Limit{
		Name: "usable window", Label: "usable", Operator: ">", Tokens: version.usable(limit, p.Reserved, p.OutputMax), Of: policy.OfContext, Acts: true,
		From: "; compared with a step's input + cache reads + output", Key: "opencode_compaction",
		Raise: "reserve less, or take a larger window",
	}
	if version.CountsAll {
		usable.Operator = ">="
		usable.From = "; compared with all tokens of a step"
	}
	usable.From = p.usableFrom(version, limit) + usable.From
	if !p.Auto {
		usable.Operator = ""
		usable.Acts = false
		usable.From = p.usableFrom(version, limit) + "; not compared: false is " + l.Name("opencode_compaction.auto")
	}
	l.Add(usable)
	if p.Reserved >= 0 && version.CountsAll && !version.ReservesWindow && limit.Input == 0 {
		l.Note("opencode_compaction.reserved, %s, counts for models with an input limit of their own: this one has none", policy.Thousands(p.Reserved))
	}
}

// usableFrom says how the usable window is worked out.
func (p *OpencodeCompaction) usableFrom(v version, limit modelLimit) string {
	of := "context window"
	switch {
	case p.InputLimit != nil:
		of = "opencode_compaction.input_limit"
	case limit.Input != 0:
		of = fmt.Sprintf("input limit %s", policy.Thousands(limit.Input))
	}
	switch {
	case limit.Input == 0 && !v.ReservesWindow:
		return of + " - output reserve"
	case !v.CountsAll:
		return of
	case p.Reserved == unset:
		return of + " - min(20,000, output reserve)"
	}
	return of + " - opencode_compaction.reserved"
}

// Check is what is questionable in a policy with opencode_compaction.
func (p *OpencodeCompaction) Check(c *policy.Check) {
	version, err := p.rules()
	if err != nil { // unreachable: such a policy is not read
		return
	}
	c.Unused("opencode_compaction.reserved", !version.CountsAll, "opencode_compaction.count: %s has no reserve of its own", p.Count)
	for _, name := range []string{"tail_turns", "preserve_recent_tokens"} {
		c.Unused("opencode_compaction."+name, !version.KeepsTail, "opencode_compaction.count: %s keeps no tail", p.Count)
	}
}

// opencodeCompaction reproduces OpenCode's overflow test and the view after its compaction turn.
type opencodeCompaction struct {
	OpencodeCompaction
	version version
	done    policy.ItemID // the response that led to the last compaction
	any     bool
}

func (s *opencodeCompaction) Run(c *policy.Context) ([]policy.Edit, error) {
	if c.Moment == policy.Manual {
		return s.compact(c, "manual", "the user asked for it")
	}
	if !s.Auto || !c.Last.Known || c.Last.Summary || s.any && s.done == c.Last.Message {
		return nil, nil
	}
	limit := s.limit(c.Window, c.MaxInput, c.MaxOutput)
	most := s.OutputMax
	if c.Moment == policy.Respond && s.version.StreamIgnoresEnv { // it reads no environment where a step has just ended: section 4.1
		most = defaultOutputTokenMax
	}
	count := s.version.count(c.Last.Usage)
	usable := s.version.usable(limit, s.Reserved, most)
	if limit.Context == 0 || !s.version.overflows(count, usable) {
		return nil, nil
	}
	s.any = true
	s.done = c.Last.Message
	op := ">"
	if s.version.CountsAll {
		op = ">="
	}
	return s.compact(c, "auto", fmt.Sprintf("the last step's %d tokens %s usable %d", count, op, usable))
}

// limit are the model's limits as in OpenCode's table, tokens.
func (p *OpencodeCompaction) limit(context, input, output int) modelLimit {
	l := modelLimit{Context: context, Input: input, Output: output}
	if p.InputLimit != nil {
		l.Input = *p.InputLimit
	}
	return l
}

func (s *opencodeCompaction) compact(c *policy.Context, trigger, reason string) ([]policy.Edit, error) {
	if c.View.Len() == 0 {
		return nil, nil
	}
	head, keep := s.tail(c)
	call := &policy.Call{Kind: "compaction", Prompt: s.Prompt, Prefix: "own"}
	if s.version.KeepsTail {
		call.Input = s.input(c, head) + s.Prompt
	}
	plan := summarize.Plan{Trigger: trigger, Reason: reason, Call: call, Limit: c.Window, Summary: s.Summary, Keep: keep}
	plan.Insert = func(summary policy.Content) []policy.Synthetic {
		return []policy.Synthetic{compactionMessage(), {Role: "assistant", Label: "summary", Summary: true, Contents: []policy.Content{summary}}}
	}
	edits, err := plan.Compact(c)
	if err == nil && trigger == "auto" && edits[0].Kind != policy.KindFail {
		goOn := policy.Text(s.version.ContinueText)
		edits[0].Tail = []policy.Synthetic{{Role: "user", Label: "continue", Turn: true, Contents: []policy.Content{goOn}}}
	}
	return edits, err
}

// compactionMessage is the message that a compaction begins with.
func compactionMessage() policy.Synthetic {
	ask := policy.Text(compactionPrompt)
	return policy.Synthetic{Role: "user", Label: "compaction", Turn: true, Contents: []policy.Content{ask}}
}

// summarisedOutput is how many characters of a tool output the 1.18 summariser is shown.
const summarisedOutput = 2000

// input is the size of what the 1.18 summariser is sent of the head, in tokens: every text, tool outputs cut.
func (s *opencodeCompaction) input(c *policy.Context, head []policy.ItemID) int {
	n := 0
	for _, id := range head {
		for t := range policy.Targets(c.View, id) {
			limit := math.MaxInt
			if c.View.Kind(t) == jsonl.KindToolResult {
				limit = summarisedOutput
			}
			n += measure.CutTokens(c.View, t, limit)
		}
	}
	return n
}

// The literal texts OpenCode puts in front of a model.
const (
	// clearedText replaces a pruned tool output. OpenCode 1.1.36 to 1.18.34: section 6.
	clearedText = "[Old tool result content cleared]"

	// compactionPrompt is how the model sees a compaction message. OpenCode 1.1.36 to 1.18.34: section 6.
	compactionPrompt = "What did we do so far?"

	// continueTextPinned is the synthetic prompt after an automatic compaction. OpenCode 1.1.36: section 8.
	continueTextPinned = "Continue if you have next steps"

	// continueText is the same prompt since v1.1.57. OpenCode 1.18.3 and 1.18.34: section 8.
	continueText = "Continue if you have next steps, or stop and ask for clarification if you are unsure how to proceed."

	// truncatedHint is the sentence before the advice below a truncated output; the path goes between it and the line
	// end. OpenCode 1.1.36 to 1.18.34: section 9.
	truncatedHint = "The tool call succeeded but the output was truncated. Full output saved to: "

	// truncatedAdvice ends the hint for an agent without the task tool. OpenCode 1.1.36 to 1.18.34: section 9.
	truncatedAdvice = "Use Grep to search the full content or Read with offset/limit to view specific sections."
)
