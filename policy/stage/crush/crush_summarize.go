package crush

import (
	"fmt"
	"strings"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/stage/summarize"
)

// CrushSummarize are the parameters of crush_summarize.
type CrushSummarize struct {
	Auto    bool   `yaml:"auto" doc:"summarise when little of the window is left; false (disable_auto_summarize): only when the user asks"`
	Large   int    `yaml:"large_window" doc:"a larger window than this is a large one" unit:"tokens" min:"0"`
	Buffer  int    `yaml:"buffer" doc:"summarise when no more than this is left of a large window" unit:"tokens" min:"0"`
	Percent int    `yaml:"percent" doc:"summarise when no more than this share is left of any other window" unit:"percent" min:"0" max:"100"`
	Count   string `yaml:"count" doc:"what a step fills: read leaves out what it wrote to the cache, all counts it too" enum:"read,all"`
	Prompt  int    `yaml:"prompt_tokens" doc:"the summariser's system prompt and the request for the summary" unit:"tokens" min:"0"`
	summarize.Params
}

func defineCrushSummarize() policy.Definition {
	return policy.Definition{
		Name:    "crush_summarize",
		Summary: "After a step that leaves 20,000 tokens or less of a window over 200,000, or 20 % of a smaller one, the view becomes a summary, and in the middle of a turn the turn's prompt once more.",
		Source:  "Crush, internal/agent/agent.go, commit 004515c4: StopWhen and OnStepFinish of sessionAgent.Run, Summarize, getSessionMessages, updateSessionTokenCounters; internal/agent/templates/summary.md; a summary request that exceeds the window fails: nothing is replaced, and the next response tries again",
		Truth:   policy.TruthDocumented,
		Moments: policy.Respond | policy.Manual,
		Params: &CrushSummarize{
			Auto: true, Large: 200000, Buffer: 20000, Percent: 20, Count: "read", Prompt: 474,
			Params: summarize.DefaultParams(),
		},
		Example: `before: a step of 160,000 tokens that called a tool, in a window of 200,000
after:  the summary, "The previous session was interrupted because it got too long, the initial user request was: …"`,
		Window:     true,
		Compaction: &policy.Compaction{On: func(s *policy.StageConfig) bool { return s.Params.(*CrushSummarize).Auto }, Off: "set crush_summarize.auto to false"},
		New:        policy.Maker(func(p CrushSummarize) policy.Stage { return &crushSummarize{CrushSummarize: p} }),
	}
}

// limit is the number of tokens of a step at which a window is summarised.
func (p *CrushSummarize) limit(window int) int {
	if window > p.Large {
		return window - p.Buffer
	}
	return window - window*p.Percent/100
}

// Limits are what decides when crush_summarize acts.
func (p *CrushSummarize) Limits(l *policy.StageLimits) {
	key := "crush_summarize.percent"
	from := fmt.Sprintf("%d %% of the window is left (%s)", p.Percent, l.Name("crush_summarize.percent"))
	if l.Window > p.Large {
		key = "crush_summarize.buffer"
		from = fmt.Sprintf("%s of the window are left (%s)", policy.Thousands(p.Buffer), l.Name("crush_summarize.buffer"))
	}
	limit := policy.Limit{
		Name: "summary", Label: "compact", Operator: ">=", Tokens: p.limit(l.Window), Of: policy.OfContext, Acts: p.Auto, From: from, Key: key,
		Lower: "make " + key + " larger", Raise: "make " + key + " smaller",
	}
	if !p.Auto {
		limit.Operator, limit.From = "", "not compared: false is "+l.Name("crush_summarize.auto")
	}
	l.Add(limit)
}

// crushSummarize keeps the token counters of a session and the prompt of the current turn.
type crushSummarize struct {
	CrushSummarize
	prompt, output int // of the last step that reported any

	turn    int    // the message of the prompt that began the turn, and
	request string // what the turn was last begun with
}

func (s *crushSummarize) Run(c *policy.Context) ([]policy.Edit, error) {
	if c.Moment == policy.Manual {
		if s.Manual != "replay" {
			return nil, nil
		}
		return s.summarize(c, false, "manual", "the user asked for it")
	}
	if !s.Auto || !c.Last.Known || c.Last.Summary || c.Window == 0 {
		return nil, nil
	}
	used := s.count(c.Last.Usage)
	if limit := s.limit(c.Window); used >= limit {
		return s.summarize(c, calls(c), "auto", fmt.Sprintf("the last step's %d >= %d", used, limit))
	}
	return nil, nil
}

// count brings the counters up to date with a step; a figure of zero leaves the one before.
func (s *crushSummarize) count(u jsonl.Usage) int {
	input := u.Input + u.CacheRead
	if s.Count == "all" {
		input += u.CacheWrite
	}
	if input != 0 {
		s.prompt = input
	}
	if u.Output != 0 {
		s.output = u.Output
	}
	return s.prompt + s.output
}

// calls reports whether the last response called a tool.
func calls(c *policy.Context) bool {
	m := c.View.Message(c.Last.Message)
	if m == nil {
		return false
	}
	for b := range m.Blocks {
		if m.Blocks[b].Kind == jsonl.KindToolUse {
			return true
		}
	}
	return false
}

// summarize replaces the view. A turn that is not done goes on with its prompt.
func (s *crushSummarize) summarize(c *policy.Context, goOn bool, trigger, reason string) ([]policy.Edit, error) {
	if c.View.Len() == 0 {
		return nil, nil
	}
	plan := summarize.Plan{
		Trigger: trigger, Reason: reason, Summary: s.Summary, Limit: c.Window,
		Call: &policy.Call{Kind: "compaction", Prompt: s.Prompt, Prefix: "own"},
	}
	edits, err := plan.Compact(c)
	if err != nil || edits[0].Kind == policy.KindFail {
		return edits, err
	}
	s.prompt, s.output = 0, c.Weigh.Content(&edits[0].Insert[0].Contents[0])
	if goOn {
		text, err := s.begun(c)
		if err != nil {
			return nil, err
		}
		again := policy.Text(text)
		edits[0].Tail = []policy.Synthetic{{Role: "user", Label: "continue", Turn: true, Contents: []policy.Content{again}}}
	}
	return edits, nil
}

// begun is the prompt that a turn goes on with: that of the turn in the client's words, which are wrapped again each
// time the same turn is interrupted.
func (s *crushSummarize) begun(c *policy.Context) (string, error) {
	at := -1
	for m := min(c.View.Joined(), len(c.Conv.Messages)) - 1; m >= 0 && at < 0; m-- {
		if msg := &c.Conv.Messages[m]; msg.Class == session.ClassPrompt && !msg.Is(session.Queued) && !msg.RecordOnly {
			at = m
		}
	}
	if at != s.turn || s.request == "" {
		s.turn = at
		s.request = ""
		if at >= 0 {
			var parts []string
			for b := range c.Conv.Messages[at].Blocks {
				if c.Conv.Messages[at].Blocks[b].Kind != jsonl.KindText {
					continue
				}
				text, err := c.Texts.Recorded(policy.BlockOf(at, b))
				if err != nil {
					return "", fmt.Errorf("reading the turn's prompt: %w", err)
				}
				parts = append(parts, text)
			}
			s.request = strings.Join(parts, "\n")
		}
	}
	s.request = fmt.Sprintf(interrupted, s.request)
	return s.request, nil
}

// interrupted is the prompt of a turn that goes on after a summary.
const interrupted = "The previous session was interrupted because it got too long, the initial user request was: `%s`"
