package claude

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/stage/summarize"
)

// SessionMemory are the parameters of session_memory.
type SessionMemory struct {
	MinTokens       int                   `yaml:"min_tokens" doc:"the messages kept weigh at least this" unit:"tokens" min:"0"`
	MinTextMessages int                   `yaml:"min_text_messages" doc:"and hold at least this number of messages with text" unit:"messages" min:"0"`
	MaxTokens       int                   `yaml:"max_tokens" doc:"no earlier message is taken once they weigh this" unit:"tokens" min:"0"`
	InitTokens      int                   `yaml:"init_tokens" doc:"used tokens at which the summary is first written" unit:"tokens" min:"0"`
	GrowthTokens    int                   `yaml:"growth_tokens" doc:"it is brought up to date once used has grown by this" unit:"tokens" min:"0"`
	GrowthToolCalls int                   `yaml:"growth_tool_calls" doc:"and this number of tools was called since, or the last response called none" unit:"calls" min:"0"`
	Summary         policy.SummaryChoices `yaml:"summary" doc:"used if the session's own summary.md is not next to the transcript, first that can: recorded, outline, typical, fixed: N tokens"`
	Wording         string                `yaml:"wording" doc:"the text before the summary: one line that announces it (below), or the words of the client's summary message (continued)" enum:"below,continued"`
	Prefix          string                `yaml:"prefix" doc:"what a request that brings the summary up to date begins with: the session's warm prefix or a system prompt of its own; no source says, the former is assumed" enum:"session,own"`
	PromptTokens    int                   `yaml:"prompt_tokens" doc:"the prompt of such a request, the summary so far included; no source says: assumed" unit:"tokens" min:"0"`
	OutputTokens    int                   `yaml:"output_tokens" doc:"what such a request writes; no source says: assumed" unit:"tokens" min:"1"`
}

func defineSessionMemory() policy.Definition {
	return policy.Definition{
		Name:    "session_memory",
		Summary: "Before a request whose used tokens reach the auto-compact threshold, the view becomes the summary that was kept up to date in the background, and the newest messages verbatim; only where there is none does autocompact follow.",
		Source:  "Claude Code, the five-level pipeline analysis; the threshold analysis of 2.1.x has the same order",
		Differs: "No source says what becomes of an update whose request exceeds the effective window: here it fails, and the next response tries again. The preserved_segment of its event names the first and last message kept, and the summary as anchor, as compactions that sessions record do; the analysis' example has the session's first message and the last one summarized there",
		Truth:   policy.TruthDescribed,
		Moments: policy.Respond | policy.Prepare,
		Params: &SessionMemory{
			MinTokens: 10000, MinTextMessages: 5, MaxTokens: 40000,
			InitTokens: 10000, GrowthTokens: 5000, GrowthToolCalls: 3,
			Summary: policy.SummaryChoices{{Kind: policy.SummaryOutline}},
			Wording: "below", Prefix: "session", PromptTokens: 3000, OutputTokens: 2000,
		},
		Example: `before: used 167,000 >= threshold 167,000; 134 messages, the summary holds what was said up to u128; u129-u134 weigh 12,000 tokens
after:  "Below is a summary of the session so far: …", then u129-u134 as they are; no model is called`,
		Window:     true,
		Shared:     sharedWindow(),
		Compaction: &policy.Compaction{On: func(s *policy.StageConfig) bool { return windowOf(s).AutoCompact }, With: "autocompact"},
		New:        policy.Maker(func(p SessionMemory) policy.Stage { return &sessionMemory{SessionMemory: p} }),
	}
}

// Limits are what decides when session_memory acts.
func (p *SessionMemory) Limits(l *policy.StageLimits) {
	t := limitsOf(l)
	l.Add(policy.Limit{Name: "session memory start", Operator: ">=", Tokens: p.InitTokens, Of: policy.OfGrowth, Acts: true,
		From: "session_memory.init_tokens: the summary is first written", Key: "session_memory.init_tokens"})
	l.Add(policy.Limit{Name: "session memory update", Operator: ">=", Tokens: p.GrowthTokens, Of: policy.OfGrowth, Acts: true, Key: "session_memory.growth_tokens",
		From: fmt.Sprintf("session_memory.growth_tokens since the last, and %d tool calls or a response without any", p.GrowthToolCalls)})
	l.Add(policy.Limit{Name: "messages kept", Operator: ">=", Tokens: p.MinTokens,
		From: fmt.Sprintf("session_memory.min_tokens, and %d messages with text; no more is taken once they weigh %s", p.MinTextMessages, policy.Thousands(p.MaxTokens))})
	if t.On {
		l.Acts(policy.Limit{Name: "session memory compaction", Tokens: t.Auto,
			From: "the auto-compact threshold", Key: "session_memory"})
	}
}

// Check is what is questionable in a policy with session_memory.
func (p *SessionMemory) Check(c *policy.Check) {
	t := windowOf(c.Stage).Resolve(policy.Circumstances{Window: c.Window(), Set: true})
	overhead := c.Overhead()
	c.AtMost("min_tokens", p.MinTokens, "max_tokens", p.MaxTokens)
	if c.Has("autocompact") == nil {
		c.Add(policy.RuleAlone, "session_memory", "add one, or leave this out", "it does nothing without autocompact")
	}
	if !t.On {
		c.Add(policy.RuleNever, "session_memory", "leave it out, or set window.auto_compact to true", "window.auto_compact is off")
	}
	if n := p.InitTokens; n >= c.LargestWindow() {
		c.Add(policy.RuleNever, "session_memory.init_tokens", "make it smaller", "%d is not below %d, the window", n, c.LargestWindow())
	}
	if t.On && overhead < t.Auto && p.MinTokens+overhead >= t.Auto {
		c.Add(policy.RuleAlways, "session_memory.min_tokens", "make it smaller", "%d tokens kept with %d of system prompt and tools reach %d, where it compacts again", p.MinTokens, overhead, t.Auto)
	}
}

// sessionMemory keeps a summary up to date after each response of the main thread, and compacts with it. The summary
// is the session's own file if there is one, in its last state: no other is recorded.
//
// Size is the client's count: the sum of the last response's usage. Growth is counted from the last update, or from
// the smallest size since: what a compaction took off does not count against it.
type sessionMemory struct {
	SessionMemory
	written bool          // the summary has been written once
	at      int           // size at the last update
	calls   int           // tools called since
	covers  policy.ItemID // the newest message the summary was made from
	marked  bool          // last is known: lastSummarizedMessageId
	last    policy.ItemID // no later than covers: it moves only where no tool call is open
	epoch   int
}

func (s *sessionMemory) Run(c *policy.Context) ([]policy.Edit, error) {
	if c.Agent != "" {
		return nil, nil
	}
	if c.View.Epoch() != s.epoch {
		s.epoch = c.View.Epoch()
		s.marked = s.marked && c.View.Has(s.last)
	}
	if c.Moment == policy.Respond {
		return s.update(c), nil
	}
	return s.compact(c)
}

// update decides whether the summary is brought up to date after a response. The client decides before the response's
// tools have run: their calls are open.
func (s *sessionMemory) update(c *policy.Context) []policy.Edit {
	if !c.View.Has(c.Last.Message) {
		return nil
	}
	open := 0
	for t := range policy.Targets(c.View, c.Last.Message) {
		if c.View.Kind(t) == jsonl.KindToolUse {
			open++
		}
	}
	s.calls += open
	size := c.Used - c.UsedTail
	s.at = min(s.at, size)
	grown := size - s.at
	reason := fmt.Sprintf("the summary is brought up to date: grown by %d tokens >= %d, ", grown, s.GrowthTokens)
	switch {
	case !s.written && size >= s.InitTokens:
		reason = fmt.Sprintf("the summary is first written: used %d >= %d", size, s.InitTokens)
	case !s.written || grown < s.GrowthTokens:
		return nil
	case s.calls >= s.GrowthToolCalls:
		reason += fmt.Sprintf("%d tools called >= %d", s.calls, s.GrowthToolCalls)
	case open == 0:
		reason += "and the response calls no tool"
	default:
		return nil
	}
	try := summarize.Plan{Trigger: "auto", Reason: reason, Call: s.call(c), Limit: thresholds(c).Effective}
	if failure := try.Failure(c); failure != nil {
		return failure // the summary stays as it is, and the next response tries again
	}
	detail := map[string]int{"size": size, "grown": grown, "tool_calls": s.calls}
	s.written = true
	s.at = size
	s.calls = 0
	s.covers = c.Last.Message
	if open == 0 {
		s.marked = true
		s.last = c.Last.Message
	}
	return []policy.Edit{{Kind: policy.KindCall, Trigger: "auto", Reason: reason, Call: try.Call, Detail: detail}}
}

// call is the request that brings the summary up to date: the messages up to the response, and the prompt.
func (s *sessionMemory) call(c *policy.Context) *policy.Call {
	call := &policy.Call{Kind: "session_memory", Prompt: s.PromptTokens, Output: s.OutputTokens, Prefix: s.Prefix}
	call.Input = c.View.Tokens() + s.PromptTokens
	for id := range c.View.Backward {
		if id == c.Last.Message {
			break
		}
		call.Input -= c.View.Weight(id)
	}
	if s.Prefix == "session" {
		call.Input += c.Overhead
	}
	return call
}

// compact rebuilds the view from the summary. It does nothing if there is no summary yet or it is still the template,
// if the last message it covers is gone, or if the result would be as large again.
func (s *sessionMemory) compact(c *policy.Context) ([]policy.Edit, error) {
	t := thresholds(c)
	if !t.On || c.Used < t.Auto || c.View.Len() == 0 || s.marked && !c.View.Has(s.last) {
		return nil, nil
	}
	keep := s.window(c)
	summary, from, err := s.summary(c, len(keep) > 0)
	if err != nil || from == "" {
		return nil, err
	}
	size := contentEstimate(&summary)
	for _, id := range keep {
		size += c.Estimate(id)
	}
	if size = policy.WholeList(size); size >= t.Auto {
		return nil, nil
	}
	return []policy.Edit{{
		Kind: policy.KindSummarize, Trigger: "auto",
		Reason: fmt.Sprintf("used %d >= threshold %d; summary: %s; %d messages stay as they are", c.Used, t.Auto, from, len(keep)),
		Insert: summarize.Message(summary),
		Keep:   keep,
		Detail: map[string]int{"pre_tokens": c.Used, "post_tokens": size, "kept_messages": len(keep)},
	}}, nil
}

// summary returns the summary as a message holds it and where it is from, "" if there is none.
func (s *sessionMemory) summary(c *policy.Context, kept bool) (content policy.Content, from string, err error) {
	text, ok, err := c.Record.SessionMemory()
	switch {
	case err != nil, ok && summarize.EmptyMemory(text), !ok && !s.written:
		return content, "", err
	case ok:
		return policy.Text(s.message(c, text, kept)), "the session's own summary.md", nil
	}
	return summarize.SummarySource{
		Of:       "view",
		Typical:  c.Record.TypicalSummary(c.Request),
		Recorded: summarize.Recorded(c, new(int)),
		Outline:  func() (string, error) { return summarize.OutlineMemory(c, s.covered(c.View)) },
		Wrap:     func(text string) string { return s.message(c, text, kept) },
	}.Take(s.Summary)
}

// covered yields what the summary was made from: the view up to the last update.
func (s *sessionMemory) covered(v policy.View) func(func(policy.ItemID) bool) {
	return func(yield func(policy.ItemID) bool) {
		for id := range v.Items {
			if !yield(id) || id == s.covers {
				return
			}
		}
	}
}

// message puts the words around the summary.
func (s *sessionMemory) message(c *policy.Context, text string, kept bool) string {
	if s.Wording == "continued" {
		return SummaryText{Version: c.Version, Transcript: transcriptPath(c.Conv), Auto: true, Kept: kept}.Message(text)
	}
	return "Below is a summary of the session so far:\n\n" + strings.TrimSpace(text)
}

// contentEstimate is the client's estimate of a text a policy put in.
func contentEstimate(c *policy.Content) int {
	if c.Tokens > 0 {
		return c.Tokens
	}
	return policy.RoundQuarter(c.Length.UTF16)
}

// compactedHere reports whether session_memory has rebuilt the view before this request.
func compactedHere(c *policy.Context) bool {
	edits := c.View.Edits()
	for i := len(edits) - 1; i >= 0; i-- {
		switch {
		case edits[i].Request != c.Request:
			return false
		case edits[i].Kind == policy.KindSummarize && edits[i].Stage == "session_memory":
			return true
		}
	}
	return false
}

// window returns what a compaction by session memory keeps: everything after the last message the summary covers
// (nothing in a session without one), then, if that is too little, earlier messages one by one. What an earlier
// compaction inserted is never kept: it is behind that boundary, or is made anew.
//
// The client's messages are lines. Here a message is not divided into its lines, which the client undoes afterwards
// anyway, and counts as many messages with text as it has lines with text.
func (s *sessionMemory) window(c *policy.Context) []policy.ItemID {
	items := c.View.IDs()
	start := len(items)
	var tokens, texts int
	take := func() {
		start--
		if id := items[start]; !madeByCompaction(c.View, id) {
			tokens += c.Estimate(id)
			texts += textLines(c.View, id)
		}
	}
	for s.marked && start > 0 && items[start-1] != s.last {
		take()
	}
	for start > 0 && (tokens < s.MinTokens || texts < s.MinTextMessages) {
		if take(); tokens >= s.MaxTokens {
			break
		}
	}
	start = withCalls(c.View, items, start)
	return slices.DeleteFunc(items[start:], func(id policy.ItemID) bool { return madeByCompaction(c.View, id) })
}

// madeByCompaction reports whether a compaction inserted an item: its summary, or an attachment. The placeholder of a
// collapsed span is not one.
func madeByCompaction(v policy.View, id policy.ItemID) bool {
	if sy := v.Synthetic(id); sy != nil {
		return sy.Summary && sy.Label != collapsedLabel || sy.Attached
	}
	return v.Message(id).Class == session.ClassSummary
}

// textLines counts the lines of an item that hold text.
func textLines(v policy.View, id policy.ItemID) int {
	m := v.Message(id)
	if m == nil {
		return 1
	}
	n := 0
	row := int32(-1)
	for b := range m.Blocks {
		if bl := &m.Blocks[b]; bl.Kind == jsonl.KindText && bl.Row != row && v.Length(policy.BlockOf(id, b)).UTF16 > 0 {
			n += 1
			row = bl.Row
		}
	}
	return n
}

// withCalls moves the start of what is kept back until every tool_result in it has its tool_use.
func withCalls(v policy.View, items []policy.ItemID, start int) int {
	at := make(map[policy.ItemID]int, len(items))
	for i, id := range items {
		at[id] = i
	}
	for i := len(items) - 1; i >= start; i-- {
		for t := range policy.Targets(v, items[i]) {
			if items[i] < 0 || v.Kind(t) != jsonl.KindToolResult {
				continue
			}
			use, _, ok := v.Conversation().ToolUse(v.Raw(t).ID)
			if p, in := at[policy.ItemID(use)]; ok && in {
				start = min(start, p)
			}
		}
	}
	return start
}

// Request is what an update of the summary is sent: the messages up to the response, and the prompt, which no source prints.
func (s *sessionMemory) Request(c *policy.Context, _ *policy.Edit) (policy.CallRequest, error) {
	var later []policy.ItemID
	for id := range c.View.Backward {
		if id == c.Last.Message {
			break
		}
		later = append(later, id)
	}
	return onlyWithout(later, "it came after the response", s.PromptTokens), nil
}

// onlyWithout is a request for a summary of a view without some of its items.
func onlyWithout(items []policy.ItemID, why string, prompt int) (r policy.CallRequest) {
	if len(items) > 0 {
		r.Edits = append(r.Edits, policy.Edit{Kind: policy.KindRemove, Items: items, Reason: why})
	}
	r.Edits = append(r.Edits, policy.Asking("", prompt))
	return r
}
