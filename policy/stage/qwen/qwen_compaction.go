package qwen

import (
	"fmt"
	"math"
	"slices"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/stage/measure"
	"github.com/ctxkit/ctxkit/policy/stage/summarize"
	"github.com/ctxkit/ctxkit/policy/strict"
)

// QwenCompaction are the parameters of qwen_compaction.
type QwenCompaction struct {
	Share    float64 `yaml:"share" doc:"compact from this share of the window on, if that is less than what reserve and buffer leave of it" min:"0" max:"1"`
	Reserve  int     `yaml:"reserve" doc:"kept free for the summary, which may be no longer" unit:"tokens" min:"1"`
	Buffer   int     `yaml:"buffer" doc:"kept free beyond that" unit:"tokens" min:"0"`
	Rescue   int     `yaml:"rescue" doc:"so close to what the reserve leaves, and so far above the limit at least, a compaction is forced, breaker or not" unit:"tokens" min:"0"`
	Failures int     `yaml:"max_failures" doc:"no further automatic try after this number of failures in a row, of either kind" unit:"failures" min:"1"`
	Prompt   int     `yaml:"prompt_tokens" doc:"the system prompt of the compaction and the sentence that asks for the summary" unit:"tokens" min:"0"`
	Prefix   string  `yaml:"prefix" doc:"what the summary request begins with: its own prompt, or what the session's requests do, where that leaves room for the summary (0.24, for providers with a prompt cache)" enum:"own,session"`
	summarize.Params
}

func defineQwenCompaction() policy.Definition {
	return policy.Definition{
		Name:    "qwen_compaction",
		Summary: "Once the next prompt is estimated at 85 % of the window, or at all but 33,000 tokens of it, the history becomes a summary and its acknowledgement; an open call stays. After three failures in a row there is no further try, but for one that is forced near the end of the window.",
		Source:  "Qwen Code: chatCompressionService.ts, postCompactAttachments.ts, tokenEstimation.ts and geminiChat.ts as bundled in the npm releases 0.21.2 and 0.24.4, oracle cases of 0.24.4",
		Differs: "The five newest files and three newest images, which it attaches again as the disk has them, are left out; so are its compactions of 20 screenshots. A request that is too large is compacted there when the API refuses it: here it is refused",
		Truth:   policy.TruthOracle,
		Moments: policy.Prepare | policy.Manual,
		Params: &QwenCompaction{
			Share: 0.85, Reserve: 20000, Buffer: 13000, Rescue: 3000, Failures: 3, Prompt: 920, Prefix: "session",
			Params: summarize.DefaultParams(),
		},
		Example: `before: a last prompt of 160,000 tokens with 3,000 of output, a result of 16,000 characters to be sent; a window of 200,000
after:  167,000 >= min(170,000, 167,000): the summary, "Got it. Thanks for the additional context!", the open call and its result`,
		Window:     true,
		Compaction: &policy.Compaction{},
		New: policy.Maker(func(p QwenCompaction) policy.Stage {
			s := &qwenCompaction{QwenCompaction: p}
			s.breaker.Most = s.Failures
			s.rescues.Most = s.Failures
			return s
		}),
	}
}

// thresholds is computeThresholds: the estimates, in tokens, from which on a compaction is made, and forced. They
// need not be whole.
func (p *QwenCompaction) thresholds(window int) (auto, hard float64) {
	left := max(window-p.Reserve, 0)
	auto = p.Share * float64(window)
	if ceiling := left - p.Buffer; ceiling > 0 {
		auto = min(auto, float64(ceiling))
	}
	return auto, min(float64(window), max(float64(left-p.Rescue), auto+float64(p.Rescue)))
}

// Limits are what decides when qwen_compaction acts.
func (p *QwenCompaction) Limits(l *policy.StageLimits) {
	auto, hard := p.thresholds(l.Window)
	l.Acts(policy.Limit{Name: "compaction", Label: "compact", Tokens: int(math.Ceil(auto)),
		From: fmt.Sprintf("%s x the window, or the window less %d: the next prompt, estimated", strict.FloatText(p.Share), p.Reserve+p.Buffer), Key: "qwen_compaction.share"})
	l.Acts(policy.Limit{Name: "forced compaction", Tokens: int(math.Ceil(hard)),
		From: fmt.Sprintf("the window less %d, or %d more than where it compacts", p.Reserve+p.Rescue, p.Rescue), Key: "qwen_compaction.rescue"})
}

type qwenCompaction struct {
	QwenCompaction
	breaker summarize.Breaker // of automatic compactions
	rescues summarize.Breaker // of forced ones
}

func (s *qwenCompaction) Run(c *policy.Context) ([]policy.Edit, error) {
	manual := c.Moment == policy.Manual
	if manual && s.Manual != "replay" {
		return nil, nil
	}
	h := &prompt{View: c.View, size: c.Last.Usage.Context()}
	h.history, h.pending = measure.History(c.View, manual)
	if len(h.history) < 2 {
		return nil, nil
	}
	h.known = c.Last.Known && !c.Last.Summary && h.size > 0
	next := h.estimate(c.Last.Usage.Total())
	if !h.known {
		h.size = next
	}
	auto, hard := s.thresholds(c.Window)
	forced := float64(next) >= hard
	a := &attempt{trigger: "auto", prompt: s.Prompt, choices: s.Summary, trailer: resume}
	breaker := &s.breaker
	switch {
	case manual:
		a.trigger = "manual"
		a.reason = "the user asked for it"
		breaker = nil
	case forced:
		a.reason = fmt.Sprintf("the next prompt's %d tokens >= %d: forced", next, int(math.Ceil(hard)))
		breaker = &s.rescues
	case float64(next) < auto:
		return nil, nil
	default:
		a.reason = fmt.Sprintf("the next prompt's %d tokens >= %d", next, int(math.Ceil(auto)))
	}
	if breaker != nil && breaker.Open() {
		return nil, nil
	}
	edits, failed, err := s.compact(c, a, h, next, forced && !manual, hard)
	switch {
	case err != nil:
	case !failed:
		s.breaker.Note(nil)
		s.rescues.Note(nil)
	case breaker != nil:
		breaker.Note(edits)
	}
	return edits, err
}

// summaryMargin is what a request for a summary leaves free next to its input and output, in tokens.
const summaryMargin = 1024

func (s *qwenCompaction) compact(c *policy.Context, a *attempt, h *prompt, next int, forced bool, hard float64) (edits []policy.Edit, failed bool, err error) {
	g := contents(c.View)
	last := len(h.history) - 1
	a.items = h.history
	var keep []policy.ItemID
	if g.CallsTool(h.history[last]) {
		if a.items = h.history[:last]; a.trigger != "manual" {
			keep = h.history[last:]
		}
	}
	if h.answered = slices.ContainsFunc(h.pending, g.AnswersCall); h.answered {
		a.items = slices.Concat(h.history, h.pending)
	}
	a.session = s.Prefix == "session" && h.known && next+s.Prompt+s.Reserve <= c.Window
	sum, failure, err := a.take(c)
	if err != nil || failure != nil {
		return failure, true, err
	}
	size := h.after(a, sum, keep)
	most := max(min(s.Reserve, c.Window-quarter(chars(c.View, a.items))-s.Prompt-summaryMargin), 1)
	switch {
	case !a.session && sum.tokens >= most:
		return a.fail(sum, fmt.Sprintf("the summary reached its limit of %d tokens", most)), true, nil
	case size > h.size:
		return a.fail(sum, "the history would have been larger"), true, nil
	case forced && float64(size+quarter(chars(c.View, h.pending))) >= hard:
		return a.fail(sum, "the next prompt would still have been too large"), true, nil
	}
	return a.replace(c, sum, slices.Concat(keep, h.pending)), false, nil
}

// prompt is a view as Qwen Code has it before a request.
type prompt struct {
	policy.View
	history, pending []policy.ItemID

	size     int  // the last prompt's, in tokens; an estimate where its usage is unknown
	known    bool // its usage is known
	answered bool // results are about to be sent
}

// estimate is estimatePromptTokens: the last prompt and its output, and a quarter of the characters of what is about
// to be sent; where no usage is known, of everything.
func (h *prompt) estimate(total int) int {
	if h.known {
		return total + quarter(chars(h.View, h.pending))
	}
	return quarter(chars(h.View, h.history) + chars(h.View, h.pending))
}

// after is what the product takes for the size of the last prompt after a compaction, in tokens. It compares its
// estimates where the request began as the session's do; else it takes the usage of the request, and 1,000 tokens of
// that for its prompt.
func (h *prompt) after(a *attempt, sum *summary, keep []policy.ItemID) int {
	if !a.session {
		input := sum.call.Input - promptSurplus
		if h.answered {
			input -= quarter(chars(h.View, h.pending))
		}
		return max(h.size-max(input, 0)+sum.tokens, 0)
	}
	was := quarter(chars(h.View, h.history))
	now := quarter(sum.length() + len(resume) + len(understood) + chars(h.View, keep))
	return max(h.size-was, 0) + now
}

// length is about the length of the summary, in UTF-16 units.
func (s *summary) length() int {
	if s.Tokens > 0 {
		return 4 * s.Tokens
	}
	return s.Length.UTF16
}

// Figures of tokenEstimation.ts and compactionInputSlimming.ts.
const (
	charsPerToken = 4
	charsOfResult = 64 // next to its text
	charsOfImage  = 1600 * charsPerToken
)

func quarter(chars int) int { return (chars + charsPerToken - 1) / charsPerToken }

// chars is estimateContentChars of items.
func chars(v policy.View, items []policy.ItemID) (n int) {
	g := contents(v)
	for _, id := range items {
		for t := range policy.Targets(v, id) {
			switch kind := v.Kind(t); {
			case kind == jsonl.KindThinking || kind == jsonl.KindRedactedThinking:
			case kind == jsonl.KindImage:
				n += charsOfImage
			case v.Raw(t) != nil && kind == jsonl.KindToolResult:
				n += textLength(v, t) + charsOfResult + measure.Images(v, t)*charsOfImage
			case v.Raw(t) != nil && kind == jsonl.KindToolUse:
				n += g.Part(t)
			default:
				n += textLength(v, t)
			}
		}
	}
	return n
}

func textLength(v policy.View, t policy.Target) int {
	if c := v.Replacement(t); c != nil && c.Tokens > 0 {
		return charsPerToken * c.Tokens
	}
	return v.Length(t).UTF16
}
