package openhands

import (
	"fmt"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/stage/measure"
	"github.com/ctxkit/ctxkit/policy/stage/summarize"
)

// CondenserEvents are the parameters of condenser_events.
type CondenserEvents struct {
	MaxSize      int                   `yaml:"max_size" doc:"condense when the view holds more events than this; half of it is left" unit:"events" min:"4"`
	MaxTokens    *int                  `yaml:"max_tokens" doc:"condense as well when the prompt is over this" unit:"tokens" min:"1"`
	KeepFirst    int                   `yaml:"keep_first" doc:"the first events, which stay: the system prompt is the first of them" unit:"events" min:"0"`
	MaxEventSize int                   `yaml:"max_event_chars" doc:"how much of an event the summariser is shown" unit:"characters" min:"1"`
	Prompt       int                   `yaml:"prompt_tokens" doc:"the summariser's prompt" unit:"tokens" min:"0"`
	Summary      policy.SummaryChoices `yaml:"summary" doc:"where the summary comes from, first that can: recorded, outline, fixed: N tokens"`
	Manual       string                `yaml:"manual" doc:"what becomes of compactions the user asked for" enum:"replay,ignore"`
}

// condenserEvents counts events, including the system prompt.
type condenserEvents struct {
	p    CondenserEvents
	sums measure.ItemSums
}

func defineCondenserEvents() policy.Definition {
	return policy.Definition{
		Name:    "condenser_events",
		Summary: "Before a request whose view holds more than 120 events, the events between the first 4 and the newest 55 become a summary in their place.",
		Source:  "OpenHands, LLMSummarizingCondenser: openhands-sdk/openhands/sdk/context/condenser/llm_summarizing_condenser.py (commit 0d2b16d9; 10,000 characters an event from openhands/memory/condenser/impl of 76483ad8); a tool call, a tool result and any other message is an event, a message with several calls goes as a whole",
		Truth:   policy.TruthDocumented,
		Moments: policy.Prepare | policy.Manual,
		Params: &CondenserEvents{
			MaxSize: 120, KeepFirst: 4, MaxEventSize: 10000, Prompt: 480,
			Summary: policy.SummaryChoices{{Kind: policy.SummaryRecorded}, {Kind: policy.SummaryFixed, Tokens: policy.DefaultSummaryTokens}}, Manual: "replay",
		},
		Example: `before: 121 events: the system prompt, a prompt, 59 calls, 58 results, a prompt and an answer
after:  the first 4, the summary, the newest 55`,
		Limits:     limits,
		Compaction: &policy.Compaction{},
		New: func(p any) (policy.Stage, error) {
			s := &condenserEvents{p: *p.(*CondenserEvents)}
			if half := s.p.MaxSize / 2; s.p.KeepFirst >= half-1 {
				msg := fmt.Sprintf("condenser_events.keep_first %d leaves no room for a tail: half of max_size is %d", s.p.KeepFirst, half)
				return nil, &policy.Error{Msg: msg, Hint: fmt.Sprintf("make keep_first smaller than %d", half-1)}
			}
			s.sums.Of = events
			return s, nil
		},
	}
}

func limits(s *policy.StageConfig, c policy.Circumstances, l *policy.Limits) {
	p := s.Params.(*CondenserEvents)
	l.Note("condensing: > %s events (condenser_events.max_size)", policy.Thousands(p.MaxSize))
	if p.MaxTokens != nil {
		l.Add(policy.Limit{Name: "condensing", Label: "condense", Operator: ">", Tokens: *p.MaxTokens, Of: policy.OfContext, Acts: true, From: c.Name("condenser_events.max_tokens"), Key: "condenser_events.max_tokens"})
	}
}

// events is how many events an item is.
func events(v policy.View, id policy.ItemID) int {
	calls, results, other := 0, 0, 0
	for b := range v.Blocks(id) {
		switch v.Kind(policy.Target{Item: id, Block: b}) {
		case jsonl.KindToolUse:
			calls++
		case jsonl.KindToolResult:
			results++
		default:
			other = 1
		}
	}
	switch {
	case v.Role(id) == session.Assistant:
		return max(calls, 1) // its texts are the thought of its first call
	case !measure.Sent(v, id):
		return 0
	}
	return results + other
}

func (s *condenserEvents) Run(c *policy.Context) ([]policy.Edit, error) {
	s.sums.Follow(c.View)
	size := 1 + s.sums.Sum
	if c.Moment == policy.Manual {
		if s.p.Manual != "replay" {
			return nil, nil
		}
		return s.condense(c, size, size/2, "manual", fmt.Sprintf("the user asked for it, %d events", size))
	}
	reason := fmt.Sprintf("%d events > %d", size, s.p.MaxSize)
	if size <= s.p.MaxSize {
		if s.p.MaxTokens == nil || measure.PromptTokens(c) <= *s.p.MaxTokens {
			return nil, nil
		}
		reason = fmt.Sprintf("%d tokens > %d", measure.PromptTokens(c), *s.p.MaxTokens)
	}
	return s.condense(c, size, s.p.MaxSize/2, "auto", reason)
}

// condense replaces what lies between the head and the tail by a summary, so that target events are left, including
// the summary.
func (s *condenserEvents) condense(c *policy.Context, size, target int, trigger, reason string) ([]policy.Edit, error) {
	head := min(s.p.KeepFirst, size)
	tail := target - head - 1
	span := eventSpan{from: s.p.KeepFirst, to: size - tail}
	if tail <= 0 || span.to <= span.from {
		return nil, nil
	}
	forgotten := span.forgotten(c)
	if len(forgotten) == 0 {
		return nil, nil
	}
	summary, boundary, from, err := summarize.Take(c, s.p.Summary, summarize.Bare)
	if err != nil {
		return nil, err
	}
	if late := summarize.Since(c, boundary); len(late) > 0 { // the summary does not cover it
		span.before, span.late = late[0], true
		if less := span.forgotten(c); len(less) > 0 {
			forgotten = less
		}
	}
	e := policy.Edit{
		Kind: policy.KindSummarize, Trigger: trigger, Reason: reason + "; summary: " + from,
		Insert: []policy.Synthetic{{Role: "user", Label: "summary", Summary: true, Contents: []policy.Content{summary}}},
		Call:   &policy.Call{Kind: "compaction", Prompt: s.p.Prompt, Prefix: "own", Input: s.p.Prompt},
		Detail: map[string]int{"events": size},
	}
	at := 1
	for id := range c.View.Items {
		first := at
		at += s.sums.Items[id]
		switch {
		case forgotten[id]:
			e.Call.Input += s.shown(c.View, id)
		case first < s.p.KeepFirst:
			e.Lead = append(e.Lead, id)
		default:
			e.Keep = append(e.Keep, id)
		}
	}
	if len(e.Lead) > 0 && c.View.Role(e.Lead[0]) == session.Assistant { // the first message has to be a user's
		e.Lead, e.Keep = nil, append(e.Lead, e.Keep...)
	}
	return []policy.Edit{e}, nil
}

// shown is what the summariser is sent of an item, in tokens.
func (s *condenserEvents) shown(v policy.View, id policy.ItemID) int {
	n := 0
	for b := range v.Blocks(id) {
		n += measure.CutTokens(v, policy.Target{Item: id, Block: b}, s.p.MaxEventSize)
	}
	return n
}

// eventSpan is the events [from:to) of a view, counted from the system prompt as event 0. If late is set, it ends
// before the item before.
type eventSpan struct {
	from, to int
	before   policy.ItemID
	late     bool
}

// forgotten returns the items that are replaced: those with an event in the span, calls whose results are replaced
// and results whose calls are (the source drops what has lost its other half), and every earlier summary.
func (s eventSpan) forgotten(c *policy.Context) map[policy.ItemID]bool {
	v := c.View
	gone := map[policy.ItemID]bool{}
	at, open := 1, true
	for id := range v.Items {
		if s.late && id == s.before {
			open = false
		}
		n, sy := events(v, id), v.Synthetic(id)
		if n > 0 && at < s.to && at+n > s.from && open || sy != nil && sy.Summary {
			gone[id] = true
		}
		at += n
	}
	if !anyEvent(v, gone) {
		return nil
	}
	for again := true; again; {
		again = false
		for _, r := range v.Results() {
			if r.State == policy.ResultGone {
				continue
			}
			m, _, ok := c.Conv.ToolUse(r.ID)
			call := policy.ItemID(m)
			if ok && v.Has(call) && gone[call] != gone[r.Target.Item] {
				gone[call], gone[r.Target.Item], again = true, true, true
			}
		}
	}
	return gone
}

// anyEvent reports whether anything but summaries is replaced.
func anyEvent(v policy.View, gone map[policy.ItemID]bool) bool {
	for id := range gone {
		if sy := v.Synthetic(id); sy == nil || !sy.Summary {
			return true
		}
	}
	return false
}
