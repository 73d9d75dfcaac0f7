package openhands

import (
	"fmt"
	"maps"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/stage/measure"
	"github.com/ctxkit/ctxkit/policy/stage/summarize"
)

// CondenserEvents are the parameters of condenser_events.
type CondenserEvents struct {
	MaxSize      int     `yaml:"max_size" doc:"condense when the view holds more events than this; half of it is left" unit:"events" min:"4"`
	MaxTokens    *int    `yaml:"max_tokens" doc:"condense as well when the prompt is over this; half of it is left" unit:"tokens" min:"1"`
	AgentLimit   bool    `yaml:"agent_limit" doc:"whether the window is such a limit too"`
	KeepFirst    int     `yaml:"keep_first" doc:"the first events, which stay: the system prompt is the first of them" unit:"events" min:"0"`
	Cut          string  `yaml:"cut" doc:"where a condensation begins and ends: halves, anywhere, and what lost its call or result goes too; units, at the next event that parts no call from its result and no tool loop that began with thinking" enum:"halves,units"`
	Progress     float64 `yaml:"minimum_progress" doc:"no condensation that forgets less than this share of the events" min:"0" max:"1"`
	HardReset    bool    `yaml:"hard_reset" doc:"where tokens or the user want a condensation and there is none, everything becomes the summary"`
	Overflow     bool    `yaml:"overflow" doc:"condense to half of the events when a request is larger than the window"`
	MaxEventSize int     `yaml:"max_event_chars" doc:"how much of an event the summariser is shown" unit:"characters" min:"1"`
	Prompt       int     `yaml:"prompt_tokens" doc:"the summariser's prompt" unit:"tokens" min:"0"`
	summarize.Params
}

// The values of cut.
const (
	cutHalves = "halves"
	cutUnits  = "units"
)

// condenserEvents counts events, including the system prompt.
type condenserEvents struct {
	CondenserEvents
	sums measure.ItemSums
}

func defineCondenserEvents() policy.Definition {
	return policy.Definition{
		Name:    "condenser_events",
		Summary: "Before a request whose view holds more than 120 events, the events between the first 4 and the newest 55 become a summary in their place.",
		Source:  "OpenHands, LLMSummarizingCondenser: openhands-sdk/openhands/sdk/context/condenser/llm_summarizing_condenser.py, base.py and utils.py, context/view/manipulation_indices.py and properties (commit 0d2b16d9, and as of August 2026); an event is shown to the summariser by its preview of 500 characters; a tool call, a tool result and any other message is an event, a message with several calls goes as a whole. Where the summary request exceeds the window it fails, and the view stays: the first release's run ends with the error, later ones go on",
		Truth:   policy.TruthDocumented,
		Moments: policy.Prepare | policy.Manual,
		Params: &CondenserEvents{
			MaxSize: 120, KeepFirst: 4, Cut: cutHalves, Overflow: true, MaxEventSize: 500, Prompt: 480,
			Params: summarize.DefaultParams(),
		},
		Example: `before: 121 events: the system prompt, a prompt, 59 calls, 58 results, a prompt and an answer
after:  the first 4, the summary, the newest 55`,
		Window:     true,
		Compaction: &policy.Compaction{},
		New: func(p any) (policy.Stage, error) {
			s := &condenserEvents{CondenserEvents: *p.(*CondenserEvents)}
			if half := s.MaxSize / 2; s.KeepFirst >= half-1 {
				msg := fmt.Sprintf("condenser_events.keep_first %d leaves no room for a tail: half of max_size is %d", s.KeepFirst, half)
				return nil, &policy.Error{Msg: msg, Hint: fmt.Sprintf("make keep_first smaller than %d", half-1)}
			}
			s.sums.Of = events
			return s, nil
		},
	}
}

// Check is what is questionable in a policy with condenser_events.
func (p *CondenserEvents) Check(c *policy.Check) {
	c.Unused("condenser_events.minimum_progress", p.Cut == cutHalves, "condenser_events.cut: halves asks for no progress")
}

// limit is the largest prompt in tokens that is not condensed, 0: any is.
func (p *CondenserEvents) limit(window int) int {
	switch {
	case p.MaxTokens == nil && p.AgentLimit:
		return window
	case p.MaxTokens == nil:
		return 0
	case p.AgentLimit && window > 0:
		return min(*p.MaxTokens, window)
	}
	return *p.MaxTokens
}

// Limits are what decides when condenser_events acts.
func (p *CondenserEvents) Limits(l *policy.StageLimits) {
	l.Note("condensing: > %s events (condenser_events.max_size)", policy.Thousands(p.MaxSize))
	key := "condenser_events.max_tokens"
	limit := p.limit(l.Window)
	switch {
	case p.MaxTokens != nil && limit == *p.MaxTokens:
		l.Acts(policy.Limit{Name: "condensing", Label: "condense", Operator: ">", Tokens: limit, From: l.Name(key), Key: key})
	case p.AgentLimit:
		l.Note("condensing: a request > the window (condenser_events.agent_limit)")
	case p.Overflow:
		l.Note("condensing: a request > the window (condenser_events.overflow)")
	}
}

// events is how many events an item is.
func events(v policy.View, id policy.ItemID) int {
	calls := 0
	results := 0
	other := 0
	for t := range policy.Targets(v, id) {
		switch v.Kind(t) {
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
	d, ok := s.demand(c)
	if !ok {
		return nil, nil
	}
	size := 1 + s.sums.Sum
	span, ok := s.span(c.View, size, d.tail)
	if !ok || len(span.forgotten(c)) == 0 {
		if !s.HardReset || !d.hard {
			return nil, nil
		}
		span = eventSpan{from: 1, to: size}
		d.reason += "; nothing less can be forgotten"
	}
	return s.condense(c, span, d)
}

// demand is why a view is condensed.
type demand struct {
	trigger, reason string
	tail            int  // the newest events, which stay
	hard            bool // the agent cannot go on without
}

// demand reports what there is; of several the least is left.
func (s *condenserEvents) demand(c *policy.Context) (d demand, ok bool) {
	size := 1 + s.sums.Sum
	head := min(s.KeepFirst, size) + 1 // and the summary
	if c.Moment == policy.Manual {
		return demand{"manual", fmt.Sprintf("the user asked for it, %d events", size), size/2 - head, true}, s.Manual == "replay"
	}
	d = demand{trigger: "auto", tail: size}
	tokens := measure.PromptTokens(c)
	limit := s.limit(c.Window)
	over := limit > 0 && tokens > limit
	switch {
	case over && limit < c.Window || over && c.Window == 0:
		d.reason = fmt.Sprintf("%d tokens > %d", tokens, limit)
	case over || s.Overflow && c.Window > 0 && tokens > c.Window:
		d.trigger = "overflow"
		d.reason = fmt.Sprintf("a request of %d tokens > the window of %d", tokens, c.Window)
	}
	switch d.hard = d.reason != ""; {
	case !d.hard:
	case !over:
		d.tail = size/2 - head
	case s.Cut == cutUnits:
		d.tail = s.after(c.View, tokens-limit/2)
	default:
		d.tail = s.MaxSize/2 - head
	}
	if size > s.MaxSize {
		d.tail = min(d.tail, s.MaxSize/2-head)
		if d.reason == "" {
			d.reason = fmt.Sprintf("%d events > %d", size, s.MaxSize)
		}
	}
	return d, d.reason != ""
}

// after is how many of the newest events are left when the fewest after the first that stay are forgotten that have
// more than a number of tokens.
func (s *condenserEvents) after(v policy.View, tokens int) int {
	at := 1
	for id := range v.Items {
		if at += s.sums.Items[id]; at <= s.KeepFirst || s.sums.Items[id] == 0 {
			continue
		}
		if tokens -= v.Weight(id); tokens < 0 {
			break
		}
	}
	return 1 + s.sums.Sum - at
}

// span is the events between the head and the newest tail, at the next places where the view may be parted; false:
// there are none, or too few.
func (s *condenserEvents) span(v policy.View, size, tail int) (eventSpan, bool) {
	span := eventSpan{from: s.KeepFirst, to: size - tail, summaries: true}
	if s.Cut == cutHalves {
		return span, tail > 0 && span.to > span.from
	}
	places := s.places(v)
	from := next(places, span.from)
	to := next(places, span.to)
	return eventSpan{from: from, to: to}, to > from && float64(to-from) >= s.Progress*float64(size)
}

// next is the first place from an index on, 0 where there is none.
func next(places []bool, from int) int {
	for at := max(from, 0); at < len(places); at++ {
		if places[at] {
			return at
		}
	}
	return 0
}

// places reports for each event, and for the end, whether the view may be parted before it: not while a call has no
// result, and not in a tool loop, which is a call with thinking and the calls without and the results that follow it.
func (s *condenserEvents) places(v policy.View) []bool {
	places := make([]bool, 2+s.sums.Sum)
	places[0] = true
	answered := map[string]bool{}
	open := session.OpenCalls{}
	for _, r := range v.Results() {
		answered[r.ID] = r.State != policy.ResultGone
	}
	at := 1
	loop := false
	for id := range v.Items {
		if s.sums.Items[id] == 0 {
			continue
		}
		first, last := toolEvents(v, id)
		places[at] = len(open) == 0 && (!loop || first == noTool || first == thoughtCall)
		if m := v.Message(id); m != nil {
			open.Note(m)
			maps.DeleteFunc(open, func(call string, _ bool) bool { return !answered[call] })
		}
		loop = first == thoughtCall || loop && first == tool && last == tool
		at += s.sums.Items[id]
	}
	places[at] = true
	return places
}

// What an event is to a tool loop.
const (
	noTool      = iota
	tool        // a result, or a call without thinking
	thoughtCall // a call with thinking
)

// toolEvents is what the first and the last event of an item are.
func toolEvents(v policy.View, id policy.ItemID) (first, last int) {
	thinking := false
	results := false
	calls := false
	other := false
	for t := range policy.Targets(v, id) {
		switch v.Kind(t) {
		case jsonl.KindThinking, jsonl.KindRedactedThinking:
			thinking = true
		case jsonl.KindToolUse:
			calls = true
		case jsonl.KindToolResult:
			results = true
		default:
			other = true
		}
	}
	switch {
	case calls && thinking:
		return thoughtCall, thoughtCall
	case calls, results && !other:
		return tool, tool
	case results:
		return tool, noTool
	}
	return noTool, noTool
}

// condense replaces a span by a summary.
func (s *condenserEvents) condense(c *policy.Context, span eventSpan, d demand) ([]policy.Edit, error) {
	forgotten := span.forgotten(c)
	if len(forgotten) == 0 {
		return nil, nil
	}
	summary, boundary, from, err := summarize.Take(c, s.Summary, summarize.Bare)
	if err != nil {
		return nil, err
	}
	if late := summarize.Since(c, boundary); len(late) > 0 { // the summary does not cover it
		span.before = late[0]
		span.late = true
		if less := span.forgotten(c); len(less) > 0 {
			forgotten = less
		}
	}
	e := policy.Edit{
		Kind: policy.KindSummarize, Trigger: d.trigger, Reason: d.reason + "; summary: " + from,
		Insert: summarize.Message(summary),
		Call:   &policy.Call{Kind: "compaction", Prompt: s.Prompt, Prefix: "own", Input: s.Prompt},
		Detail: map[string]int{"events": 1 + s.sums.Sum},
	}
	at := 1
	for id := range c.View.Items {
		first := at
		at += s.sums.Items[id]
		switch {
		case forgotten[id]:
			e.Call.Input += s.shown(c.View, id)
		case first < span.from:
			e.Lead = append(e.Lead, id)
		default:
			e.Keep = append(e.Keep, id)
		}
	}
	if len(e.Lead) > 0 && c.View.Role(e.Lead[0]) == session.Assistant { // the first message has to be a user's
		e.Lead, e.Keep = nil, append(e.Lead, e.Keep...)
	}
	try := summarize.Plan{Trigger: d.trigger, Reason: d.reason, Call: e.Call, Limit: c.Window}
	if failure := try.Failure(c); failure != nil {
		return failure, nil
	}
	return []policy.Edit{e}, nil
}

// shown is what the summariser is sent of an item, in tokens.
func (s *condenserEvents) shown(v policy.View, id policy.ItemID) int {
	n := 0
	for t := range policy.Targets(v, id) {
		n += measure.CutTokens(v, t, s.MaxEventSize)
	}
	return n
}

// eventSpan is the events [from:to) of a view, counted from the system prompt as event 0. If late is set, it ends
// before the item before.
type eventSpan struct {
	from, to  int
	summaries bool // the new one takes the place of every earlier one
	before    policy.ItemID
	late      bool
}

// forgotten returns the items that are replaced: those with an event in the span, calls whose results are replaced
// and results whose calls are (the source drops what has lost its other half).
func (s eventSpan) forgotten(c *policy.Context) map[policy.ItemID]bool {
	v := c.View
	gone := map[policy.ItemID]bool{}
	at := 1
	open := true
	for id := range v.Items {
		if s.late && id == s.before {
			open = false
		}
		n := events(v, id)
		sy := v.Synthetic(id)
		if n > 0 && at < s.to && at+n > s.from && open || s.summaries && sy != nil && sy.Summary {
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
