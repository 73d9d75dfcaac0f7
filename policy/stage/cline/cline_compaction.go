package cline

import (
	"fmt"
	"math"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/stage/measure"
	"github.com/ctxkit/ctxkit/policy/stage/summarize"
	"github.com/ctxkit/ctxkit/policy/strict"
)

// ClineCompaction are the parameters of cline_compaction.
type ClineCompaction struct {
	Trigger       float64 `yaml:"trigger" doc:"compact once the request is estimated at this share of the input limit" min:"0.01" max:"1"`
	Input         float64 `yaml:"input_share" doc:"the input limit, as a share of the window: 1 where the model's entry names one as large as the window (Anthropic's), 0.9 where it names none" min:"0.01" max:"1"`
	Preserve      int     `yaml:"preserve_tokens" doc:"the newest messages that stay, by the estimate; no more than the target leaves" unit:"tokens" min:"0"`
	Target        float64 `yaml:"target" doc:"what the compacted request may have, as a share of the trigger" min:"0.01" max:"1"`
	LongTarget    float64 `yaml:"long_target" doc:"the same from five exchanges on, as a share of the input limit, where the model's largest output is known and smaller than that" min:"0.01" max:"1"`
	Underestimate float64 `yaml:"underestimate" doc:"the limits shrink by how far the last request of the turn was above its estimate, at most by this; 1: they do not" min:"1" max:"100"`
	Prompt        int     `yaml:"prompt_tokens" doc:"the summariser's system prompt and request" unit:"tokens" min:"0"`
	summarize.Params
}

const compactionName = "cline_compaction"

func defineClineCompaction() policy.Definition {
	return policy.Definition{
		Name:    compactionName,
		Summary: "Before a request that is estimated at 90 % of the model's input limit, the messages before the newest 20,000 tokens become a summary; the estimate is a third of the characters.",
		Source:  "Cline 3.0.65, strategy agentic, which is the default: @cline/core 0.0.86 (sdk/packages/core/src/extensions/context/compaction.ts, agentic-compaction.ts, compaction-shared.ts); messages weigh their role and content, the system prompt and the tools four characters a token",
		Differs: "The strategy basic, which follows where the summary fails or the API refuses a prompt, is left out",
		Truth:   policy.TruthOracle,
		Moments: policy.Prepare | policy.Manual,
		Params: &ClineCompaction{
			Trigger: 0.9, Input: 1, Preserve: 20000, Target: 0.7, LongTarget: 0.5, Underestimate: 4, Prompt: 150,
			Params: summarize.DefaultParams(),
		},
		Example: `before: 540,000 characters, which are 180,000 tokens by the estimate, in a window of 200,000
after:  "Context summary: …" and the newest messages of 60,000 characters, from an assistant message or a prompt on`,
		Window:     true,
		Compaction: &policy.Compaction{},
		New:        policy.Maker(func(p ClineCompaction) policy.Stage { return &clineCompaction{ClineCompaction: p} }),
	}
}

// limit is the estimate of a request at which it is compacted, tokens.
func (p *ClineCompaction) limit(window int) int {
	return int(math.Ceil(float64(window) * p.Input * p.Trigger))
}

// Limits are what decides when cline_compaction acts.
func (p *ClineCompaction) Limits(l *policy.StageLimits) {
	l.Acts(policy.Limit{Name: "compaction", Label: "compact", Tokens: p.limit(l.Window),
		From: fmt.Sprintf("%s x %s of the window (%s): the request, a third of its characters", strict.FloatText(p.Trigger), strict.FloatText(p.Input), l.Name("cline_compaction.trigger")), Key: "cline_compaction.trigger"})
}

// charsPerToken is the source's estimate of a text.
const charsPerToken = 3

// estimate is the estimate of a text of n characters, tokens.
func estimate(n int) int { return max((n+charsPerToken-1)/charsPerToken, 1) }

// clineCompaction weighs the messages as they are sent, to decide whether to compact, and as they were recorded, to
// decide what stays.
type clineCompaction struct {
	ClineCompaction
	sent measure.JsonLength
	due  measure.ItemSums // lengths of the items that are sent, a comma each
}

// budget is when the source compacts, in tokens.
type budget struct {
	request int     // the estimate of the request about to be made
	trigger float64 // the request compacts from here on
	scale   float64 // by which the trigger is smaller than the model's limit
}

// aim is what a compaction is to leave, in tokens.
type aim struct {
	overhead int // of the request, what is not messages
	messages int // the estimate of the messages, as recorded
	target   int // what the messages may have after an automatic compaction
}

func (s *clineCompaction) Run(c *policy.Context) ([]policy.Edit, error) {
	if c.Moment == policy.Manual && s.Manual != "replay" {
		return nil, nil
	}
	b := s.budget(c)
	if c.Moment == policy.Manual {
		a := s.aim(c, b)
		target := max(int(min(math.Max(1, math.Floor(b.trigger-float64(a.overhead))), float64(a.messages)*0.5)), 1)
		return s.compact(c, target, "manual", "the user asked for it")
	}
	if float64(b.request) < b.trigger {
		return nil, nil
	}
	reason := fmt.Sprintf("the request is estimated at %d tokens >= %d", int(float64(b.request)*b.scale), s.limit(c.Window))
	if b.scale > 1 {
		reason += fmt.Sprintf(", %.2f times a third of its characters, as the provider counted the last one", b.scale)
	}
	return s.compact(c, s.aim(c, b).target, "auto", reason)
}

// budget is the request and its trigger, by what has changed in the view since the last request.
func (s *clineCompaction) budget(c *policy.Context) budget {
	s.sent.Follow(c.View)
	s.due.Of = func(v policy.View, id policy.ItemID) int {
		if !measure.Sent(v, id) {
			return 0
		}
		return s.sentLength(v, id) + len(",")
	}
	s.due.Follow(c.View)
	total := s.due.Sum + len("[]") - len(",")
	if len(s.due.Items) == 0 {
		total = len("[]")
	}
	b := budget{request: estimate(total) + policy.WholeList(c.Overhead), scale: 1} // four characters a token of the overhead, a third of them
	if used := s.lastRequest(c); used > 0 && b.request > 0 {
		b.scale = min(s.Underestimate, max(1, float64(used)/float64(b.request)))
	}
	b.trigger = float64(c.Window) * s.Input / b.scale * s.Trigger
	return b
}

// aim works out what a compaction is to leave, from all items in view.
func (s *clineCompaction) aim(c *policy.Context, b budget) (a aim) {
	sum := 0
	exchanges := 0
	prompted := false
	for id := range c.View.Items {
		if !measure.Sent(c.View, id) {
			continue
		}
		sum += estimate(s.sentLength(c.View, id))
		a.messages += estimate(s.length(c.View, id))
		if c.View.Role(id) == session.User {
			prompted = true
		} else if prompted {
			exchanges++
			prompted = false
		}
	}
	a.overhead = max(b.request-sum, 0)
	limit := float64(c.Window) * s.Input / b.scale
	target := math.Floor(b.trigger * s.Target)
	if exchanges >= 5 && c.MaxOutput > 0 && float64(c.MaxOutput) < limit {
		target = math.Floor(limit * s.LongTarget)
	}
	target = max(1, min(target, limit, max(1, b.trigger-1)))
	a.target = int(max(1, math.Floor(target-float64(a.overhead))))
	return a
}

// lastRequest is the input of the last request, 0 where it belongs to an earlier prompt.
func (s *clineCompaction) lastRequest(c *policy.Context) int {
	if !c.Last.Known || c.Last.Summary {
		return 0
	}
	for id := range c.View.Backward {
		if id == c.Last.Message {
			break
		}
		if m := c.View.Message(id); m != nil && m.Class == session.ClassPrompt && !m.Is(session.Queued) {
			return 0
		}
	}
	return c.Last.Usage.Context()
}

// summaryMetadata is how many characters the JSON of a summary has next to its text, which stands in it twice: its
// heading, and figures of five digits.
const summaryMetadata = 231

// sentLength is the length of an item's JSON, as it is sent.
func (s *clineCompaction) sentLength(v policy.View, id policy.ItemID) int {
	n := s.sent.Items[id]
	if sy := v.Synthetic(id); sy != nil && sy.Summary {
		n += measure.ContentJSON(&sy.Contents[0]) + summaryMetadata
	}
	return n
}

// length is the length of an item's JSON as recorded.
func (s *clineCompaction) length(v policy.View, id policy.ItemID) int {
	n := s.sentLength(v, id)
	for t := range policy.Targets(v, id) {
		raw := v.Raw(t)
		c := v.Replacement(t)
		if raw == nil || c == nil {
			continue
		}
		whole := raw.Whole().JSON
		if raw.Kind == jsonl.KindToolResult && !raw.IsString && raw.Offload == nil {
			whole = raw.JSON.UTF16
		}
		n += whole - measure.ContentJSON(c)
	}
	return n
}

// compact replaces what is before the newest messages by a summary, where there is anything but an earlier one.
func (s *clineCompaction) compact(c *policy.Context, target int, trigger, reason string) ([]policy.Edit, error) {
	ids := c.View.IDs()
	cut := s.cut(c.View, ids, min(s.Preserve, target))
	if cut == 0 {
		return nil, nil
	}
	if sy := c.View.Synthetic(ids[cut-1]); sy != nil && sy.Summary {
		return nil, nil
	}
	plan := summarize.Plan{
		Trigger: trigger, Reason: reason, Call: s.call(c, ids[:cut]), Summary: s.Summary, Keep: ids[cut:],
		Wrap: func(text string) string { return "Context summary:\n\n" + summarize.Bare(text) },
	}
	return plan.Compact(c)
}

// cut is where the newest messages begin that weigh a number of tokens or more: at an assistant message or a prompt, and
// no later than the last prompt.
func (s *clineCompaction) cut(v policy.View, ids []policy.ItemID, tokens int) int {
	at := len(ids)
	sum := 0
	for at > 0 {
		at--
		if measure.Sent(v, ids[at]) {
			sum += estimate(s.length(v, ids[at]))
		}
		if sum >= tokens {
			break
		}
	}
	for i := len(ids) - 1; i > 0; i-- {
		if prompt, _ := begins(v, ids[i]); prompt {
			at = min(at, i)
			break
		}
	}
	for at > 0 {
		if prompt, answers := begins(v, ids[at]); !answers && (prompt || v.Role(ids[at]) == session.Assistant) {
			break
		}
		at--
	}
	return at
}

// begins reports whether a message is a prompt, and whether it answers calls.
func begins(v policy.View, id policy.ItemID) (prompt, answers bool) {
	if sy := v.Synthetic(id); v.Role(id) == session.Assistant || sy != nil && sy.Summary || !measure.Sent(v, id) {
		return false, false
	}
	for t := range policy.Targets(v, id) {
		if v.Kind(t) == jsonl.KindToolResult {
			answers = true
		} else {
			prompt = true
		}
	}
	return prompt, answers
}

// shownResult is how much of a result the summariser is shown, in characters.
const shownResult = 2000

// call is the request for the summary: the messages as text, without thinking and images, results cut. It is cut
// further where it does not fit the window.
func (s *clineCompaction) call(c *policy.Context, head []policy.ItemID) *policy.Call {
	n := s.Prompt
	for _, id := range head {
		for t := range policy.Targets(c.View, id) {
			switch c.View.Kind(t) {
			case jsonl.KindThinking, jsonl.KindRedactedThinking, jsonl.KindImage:
			case jsonl.KindToolResult:
				n += measure.CutTokens(c.View, t, shownResult)
			default:
				n += c.View.BlockTokens(t)
			}
		}
	}
	limit := int(float64(c.Window) * s.Input)
	if limit > 0 {
		n = min(n, limit)
	}
	return &policy.Call{Kind: "compaction", Prompt: min(s.Prompt, n), Prefix: "own", Input: max(n, 1)}
}
