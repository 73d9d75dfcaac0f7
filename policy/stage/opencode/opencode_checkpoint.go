package opencode

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/stage/measure"
	"github.com/ctxkit/ctxkit/policy/stage/summarize"
)

// OpencodeCheckpoint are the parameters of opencode_checkpoint.
type OpencodeCheckpoint struct {
	Auto         bool                  `yaml:"auto" doc:"compact by size (compaction.auto); false: only when the user asks"`
	Rules        string                `yaml:"rules" doc:"the first release whose rules apply: 2.0.21 keeps a tenth of the window free, cuts results at 1,250 characters and sends a request that is too large again as text" enum:"2.0.3,2.0.21"`
	Keep         int                   `yaml:"keep" doc:"the newest text that stays next to the summary (compaction.keep.tokens)" unit:"tokens" min:"0"`
	Buffer       int                   `yaml:"buffer" doc:"kept free of the window (compaction.buffer); -1: 20,000 and no less than the answer by 2.0.3, a tenth of the window and no less than 16,000 by 2.0.21" unit:"tokens" min:"-1"`
	InputLimit   *int                  `yaml:"input_limit" doc:"the most that the provider takes of the model (limit.input); left out: as in OpenCode's own table" unit:"tokens" min:"1"`
	Summary      policy.SummaryChoices `yaml:"summary" doc:"where the summary comes from, first that can: recorded, outline, typical, fixed: N tokens"`
	Prompt       int                   `yaml:"prompt_tokens" doc:"the prompt that asks for the first summary" unit:"tokens" min:"0"`
	UpdatePrompt int                   `yaml:"update_prompt_tokens" doc:"the prompt that asks to bring a summary up to date" unit:"tokens" min:"0"`
}

func defineOpencodeCheckpoint() policy.Definition {
	return policy.Definition{
		Name:    "opencode_checkpoint",
		Summary: "Before a request whose estimate reaches the usable window, the view becomes one user message: a summary of what is older, and the newest 15,000 tokens as text.",
		Source:  "OpenCode 2, packages/core/src/session/compaction.ts and runner/llm.ts of September and October 2026 (2.0.3 to 2.0.26)",
		Differs: "A request over the window is taken as the provider's error that starts a compaction. A message does not say its provider: the first word of its model's name stands for it",
		Truth:   policy.TruthDocumented,
		Moments: policy.Prepare | policy.Manual,
		Params: &OpencodeCheckpoint{
			Auto: true, Rules: "2.0.21", Keep: 15000, Buffer: unset, Summary: policy.DefaultSummary(), Prompt: 681, UpdatePrompt: 837,
		},
		Example: `before: the last response's 171,002 tokens and a result of 8,998 = 180,000, the usable window of 200,000
after:  one user message with the summary and the last exchange as text`,
		Window:     true,
		Compaction: &policy.Compaction{On: func(s *policy.StageConfig) bool { return s.Params.(*OpencodeCheckpoint).Auto }, Off: "set opencode_checkpoint.auto to false"},
		New: policy.Maker(func(p OpencodeCheckpoint) policy.Stage {
			return &opencodeCheckpoint{OpencodeCheckpoint: p, anchors: map[string]anchor{}, sums: measure.ItemSums{Of: estimate}}
		}),
	}
}

// early reports whether the rules are those of 2.0.3.
func (p *OpencodeCheckpoint) early() bool { return p.Rules == "2.0.3" }

// ceiling is the estimate from which on a request is preceded by a compaction; ok is false where none is.
func (p *OpencodeCheckpoint) ceiling(limit modelLimit) (tokens int, ok bool) {
	if p.InputLimit != nil {
		limit.Input = *p.InputLimit
	}
	window := limit.Context
	buffer := p.Buffer
	if limit.Input > 0 {
		window = limit.Input
	}
	switch {
	case p.early():
		if buffer == unset {
			buffer = 20000
		}
		tokens = limit.Context - max(min(limit.Output, defaultOutputTokenMax), buffer)
		if limit.Input > 0 {
			tokens = min(limit.Input-buffer, tokens)
		}
		return tokens, limit.Context > 0
	case buffer == unset && window >= 32000:
		buffer = max(window/10, 16000)
	case buffer == unset:
		buffer = window / 10
	}
	return window - buffer, window > 0
}

// Limits are what decides when opencode_checkpoint acts.
func (p *OpencodeCheckpoint) Limits(l *policy.StageLimits) {
	tokens, ok := p.ceiling(modelLimit{l.Window, l.MaxInput, l.MaxOutput})
	if !ok {
		return
	}
	limit := policy.Limit{
		Name: "usable window", Label: "usable", Operator: ">=", Tokens: tokens, Of: policy.OfContext, Acts: p.Auto, Key: "opencode_checkpoint.buffer",
		From:  "what " + l.Name("opencode_checkpoint.buffer") + " leaves of the window, or of what the provider takes; compared with the last response's total and an estimate of what came after it",
		Lower: "make opencode_checkpoint.buffer larger", Raise: "make opencode_checkpoint.buffer smaller",
	}
	if !p.Auto {
		limit.Operator, limit.From = "", "not compared: false is "+l.Name("opencode_checkpoint.auto")
	}
	l.Add(limit)
}

// opencodeCheckpoint reproduces the compaction of OpenCode 2.
type opencodeCheckpoint struct {
	OpencodeCheckpoint
	anchors map[string]anchor // the newest response of each provider; of all, by the rules of 2.0.3
	sums    measure.ItemSums
	recent  bool // the checkpoint in view has recent text
}

// anchor is a response whose total is known, tokens.
type anchor struct {
	message policy.ItemID
	tokens  int
}

// anchorOf names the anchor that a model's requests are measured by.
func (p *OpencodeCheckpoint) anchorOf(model string) string {
	if p.early() {
		return ""
	}
	provider, _, _ := strings.Cut(model, "-")
	return provider
}

func (s *opencodeCheckpoint) Run(c *policy.Context) ([]policy.Edit, error) {
	s.sums.Follow(c.View)
	if c.Moment == policy.Manual {
		return s.compact(c, "manual", "the user asked for it", 0)
	}
	s.note(c)
	last, ok := c.View.Last()
	if sy := c.View.Synthetic(last); !s.Auto || !ok || sy != nil && sy.Summary {
		return nil, nil
	}
	used := s.used(c)
	ceiling, ok := s.ceiling(modelLimit{c.Window, c.MaxInput, c.MaxOutput})
	switch sent := measure.PromptTokens(c); {
	case !ok:
	case used >= ceiling:
		return s.compact(c, "auto", fmt.Sprintf("the request of about %d tokens >= usable %d", used, ceiling), 0)
	case sent > c.Window:
		return s.compact(c, "auto", fmt.Sprintf("the request of %d tokens > %d, the window", sent, c.Window), used)
	}
	return nil, nil
}

// note remembers the last response where its total can be an anchor.
func (s *opencodeCheckpoint) note(c *policy.Context) {
	u := &c.Last.Usage
	m := c.View.Message(c.Last.Message)
	if c.Last.Known && m != nil && c.Last.StopReason != "error" && u.Context() > 0 {
		s.anchors[s.anchorOf(m.Model)] = anchor{c.Last.Message, u.Context() + u.Output}
	}
}

// used is the client's estimate of the request: the anchor's total and what came after, or all of it.
func (s *opencodeCheckpoint) used(c *policy.Context) int {
	a, ok := s.anchors[s.anchorOf(c.Model)]
	if !ok || !c.View.Has(a.message) {
		return c.Overhead + s.sums.Sum
	}
	n := a.tokens
	for id := range c.View.Backward {
		if id == a.message {
			break
		}
		n += s.sums.Items[id]
	}
	return n
}

// estimate is the client's estimate of an item, in tokens, part by part.
func estimate(v policy.View, id policy.ItemID) (tokens int) {
	chars := 0 // of a message that a policy made, which is one text
	for t := range policy.Targets(v, id) {
		r := v.Replacement(t)
		raw := v.Raw(t)
		switch kind := v.Kind(t); {
		case r != nil && r.Tokens > 0:
			tokens += r.Tokens
		case raw == nil:
			chars += v.Length(t).UTF16
		case kind == jsonl.KindImage:
			tokens += 1500
		case kind == jsonl.KindDocument:
			tokens += 2000
		case kind == jsonl.KindToolUse:
			tokens += policy.RoundQuarter(len(raw.Name) + raw.JSON.UTF16)
		case kind == jsonl.KindToolResult:
			tokens += policy.RoundQuarter(v.Length(t).UTF16) + 1500*measure.Images(v, t)
		default:
			tokens += policy.RoundQuarter(v.Length(t).UTF16)
		}
	}
	return tokens + policy.RoundQuarter(chars)
}

// entry is a message of the store as a compaction writes it: a response with the results of its calls is one.
type entry struct {
	first    policy.ItemID
	text     string
	user     bool // a prompt
	thoughts int  // of the text, which a request as text leaves out, characters
}

// entries writes the messages of the view that have a text.
func (s *opencodeCheckpoint) entries(c *policy.Context) (list []entry, err error) {
	for id := range c.View.Items {
		if sy := c.View.Synthetic(id); sy != nil && sy.Summary {
			continue
		}
		lines, thoughts, err := s.lines(c, id)
		switch {
		case err != nil:
			return nil, err
		case len(lines) == 0:
		case !startsMessage(c.View, id) && len(list) > 0:
			last := &list[len(list)-1]
			last.text = last.text + "\n" + strings.Join(lines, "\n")
			last.thoughts += thoughts
		default:
			m := c.View.Message(id)
			list = append(list, entry{id, strings.Join(lines, "\n"), m != nil && m.Class == session.ClassPrompt, thoughts})
		}
	}
	return list, nil
}

// lines are those of an item.
func (s *opencodeCheckpoint) lines(c *policy.Context, id policy.ItemID) (lines []string, thoughts int, err error) {
	says := "[Synthetic context]: "
	switch m := c.View.Message(id); {
	case c.View.Role(id) == session.Assistant:
		says = "[Assistant]: "
	case m != nil && m.Class == session.ClassPrompt:
		says = "[User]: "
	case m != nil && m.Attachment == "system":
		return nil, 0, nil // a change of the instructions has no text
	}
	for t := range policy.Targets(c.View, id) {
		text, err := c.Texts.Text(t)
		if err != nil {
			return nil, 0, err
		}
		raw := c.View.Raw(t)
		line := ""
		switch kind := c.View.Kind(t); {
		case kind == jsonl.KindImage, kind == jsonl.KindDocument:
			line = "[Attached " + raw.Type + "]"
		case kind == jsonl.KindToolUse:
			line = "[Assistant tool call]: " + raw.Name + "(" + text + ")"
		case kind == jsonl.KindToolResult && raw.IsError:
			line = "[Tool error]: " + s.cut(text)
		case kind == jsonl.KindToolResult:
			line = "[Tool result]: " + s.cut(text)
		case text == "", kind == jsonl.KindRedactedThinking:
			continue
		case kind == jsonl.KindThinking:
			line = "[Assistant reasoning]: " + text
			thoughts += jsonl.Measure(line).UTF16 + 1
		default:
			line = says + text
		}
		lines = append(lines, line)
	}
	return lines, thoughts, nil
}

// cut is a tool's output as a compaction writes it.
func (p *OpencodeCheckpoint) cut(text string) string {
	limit := 1250
	if p.early() {
		limit = summarisedOutput
	}
	for at := range text {
		if limit--; limit < 0 {
			return text[:at] + "\n[truncated]"
		}
	}
	return text
}

// kept is the index of the first entry that stays as text, len(list) where none does. again says that the view begins
// with a checkpoint that has recent text.
func (p *OpencodeCheckpoint) kept(list []entry, again bool) int {
	start := len(list) - 1
	sum := 0
	for i := start; i >= 0; i-- {
		if sum += policy.RoundQuarter(jsonl.Measure(list[i].text).UTF16); sum > p.Keep {
			break
		}
		start = i
	}
	for _, from := range []int{start, len(list) - 1} {
		for ; from > 0; from-- {
			if list[from].user {
				return from
			}
		}
	}
	if again {
		return 0
	}
	return len(list)
}

// compact replaces the view; refused is the estimate of the request that the API refused, 0: it refused none.
func (s *opencodeCheckpoint) compact(c *policy.Context, trigger, reason string, refused int) ([]policy.Edit, error) {
	list, err := s.entries(c)
	if err != nil {
		return nil, err
	}
	if len(list) == 0 {
		return []policy.Edit{{Kind: policy.KindFail, Trigger: trigger, Reason: reason + "; nothing to compact yet: it fails"}}, nil
	}
	ids := c.View.IDs()
	sy := c.View.Synthetic(ids[0])
	update := sy != nil && sy.Summary
	from := s.kept(list, update && s.recent)
	summary, boundary, source, err := summarize.Take(c, s.Summary, summarize.Bare)
	if err != nil {
		return nil, err
	}
	for late := summarize.Since(c, boundary); len(late) > 0 && from > 0 && list[from-1].first >= late[0]; {
		from-- // the recorded summary does not cover it
	}
	older := len(ids)
	if from < len(list) {
		older = slices.Index(ids, list[from].first)
	}
	try := summarize.Plan{Trigger: trigger, Reason: reason, Call: s.call(c, ids, older, list[:from], update, refused), Limit: c.Window}
	if failure := try.Failure(c); failure != nil {
		return failure, nil
	}
	try.Call.Output = c.Weigh.Content(&summary) // the message has recent text, too
	var texts []string
	for _, e := range list[from:] {
		texts = append(texts, e.text)
	}
	s.recent = len(texts) > 0
	return []policy.Edit{{
		Kind: policy.KindSummarize, Trigger: trigger, Reason: reason + "; summary: " + source,
		Insert: []policy.Synthetic{{Role: "user", Label: "checkpoint", Summary: true, Contents: checkpoint(summary, strings.Join(texts, "\n\n"))}},
		Call:   try.Call,
	}}, nil
}

// checkpoint is the content of the message that takes the place of the view. The client's sentence in it, of 130
// characters, is a placeholder.
func checkpoint(summary policy.Content, recent string) []policy.Content {
	if recent != "" {
		recent = "\n\n<recent-context>\n" + recent + "\n</recent-context>"
	}
	return []policy.Content{
		policy.Text("<conversation-checkpoint>\n"), {Kind: jsonl.KindText, Tokens: policy.RoundQuarter(130)}, policy.Text("\n\n<summary>\n"),
		summary, policy.Text("\n</summary>" + recent + "\n</conversation-checkpoint>"),
	}
}

// call is the request for the summary of the oldest items: the session's own with the prompt. From 2.0.21 on one that is
// too large is sent as text instead, the oldest exchanges left out, and smaller each time that the API refuses it.
func (s *opencodeCheckpoint) call(c *policy.Context, ids []policy.ItemID, older int, list []entry, update bool, refused int) *policy.Call {
	call := &policy.Call{Kind: "compaction", Prompt: s.Prompt, Prefix: "session"}
	text := c.Overhead // the request as text without the prompt, estimated
	if update {
		call.Prompt = s.UpdatePrompt
		text += s.sums.Items[ids[0]]
	}
	call.Input = c.Overhead + call.Prompt
	if older < len(ids) {
		call.Cut = &policy.Target{Item: ids[older]}
	}
	estimated := c.Overhead
	for _, id := range ids[:older] {
		call.Input += c.View.Weight(id)
		estimated += s.sums.Items[id]
	}
	if s.early() {
		return call
	}
	for _, e := range list {
		text += policy.RoundQuarter(jsonl.Measure(e.text).UTF16 - e.thoughts)
	}
	send := func(target int) {
		call.Input = min(text, target) + call.Prompt
		call.Cut = &policy.Target{Item: ids[0]}
	}
	aim, ok := s.ceiling(modelLimit{c.Window, c.MaxInput, c.MaxOutput})
	if !ok {
		aim = 200000
	}
	if refused > 0 {
		aim = min(aim, refused*7/10)
	}
	if target := aim - call.Prompt - 42; estimated > target {
		send(target)
	}
	first := call.Input
	for _, percent := range []int{70, 50, 35} {
		if call.Input > c.Window {
			call.Retries++
			send(first * percent / 100)
		}
	}
	return call
}

// Request is what the call is sent: the messages that do not stay as text, and the prompt.
func (s *opencodeCheckpoint) Request(c *policy.Context, e *policy.Edit) (r policy.CallRequest, err error) {
	call := e.Call
	if e.Refused != nil {
		call = e.Refused
	}
	ids := c.View.IDs()
	switch {
	case call.Cut != nil && call.Cut.Item == ids[0]:
		r.Unknown = "the messages are sent as one text, without the oldest where it is too large"
	case call.Cut != nil:
		kept := ids[slices.Index(ids, call.Cut.Item):]
		r.Edits = []policy.Edit{{Kind: policy.KindRemove, Items: kept, Reason: "it is no part of what is summarized"}}
	}
	r.Edits = append(r.Edits, policy.Asking("", call.Prompt))
	return r, nil
}
