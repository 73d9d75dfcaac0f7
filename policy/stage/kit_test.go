package stage

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
)

// convo builds a small conversation by hand.
type convo struct {
	*session.Conversation
	texts map[policy.Target]string
	clock time.Time
}

var midday = time.Date(2026, 1, 25, 12, 0, 0, 0, time.UTC)

func newConvo() *convo {
	return &convo{
		Conversation: &session.Conversation{SessionID: "session", CWD: "/home/u/p", Path: "session.jsonl", Model: "claude-opus-4-5-20251101"},
		texts:        map[policy.Target]string{},
		clock:        midday,
	}
}

// part is a block and its text.
type part struct {
	session.Block
	text string
}

func block(kind jsonl.Kind, typ, text string) part {
	return part{session.Block{Block: jsonl.Block{Kind: kind, Type: typ, Text: jsonl.Measure(text)}}, text}
}

func say(text string) part   { return block(jsonl.KindText, "text", text) }
func think(text string) part { return block(jsonl.KindThinking, "thinking", text) }

func use(id, tool string) part {
	p := block(jsonl.KindToolUse, "tool_use", `{"path":"a"}`)
	p.ID, p.Name, p.JSON, p.Text = id, tool, p.Text, jsonl.Metrics{}
	return p
}

// result is a tool_result with string content.
func result(id, text string) part {
	p := block(jsonl.KindToolResult, "tool_result", text)
	p.ID, p.IsString = id, true
	p.JSON = jsonl.Metrics{UTF16: p.Text.JSON, Bytes: p.Text.Bytes + 2}
	p.Persisted = strings.Contains(text, "<persisted-output>")
	return p
}

// results is a tool_result with array content: texts, and image for an image.
func results(id string, texts ...string) part {
	p := part{session.Block{Block: jsonl.Block{Kind: jsonl.KindToolResult, Type: "tool_result", ID: id}}, ""}
	p.JSON.UTF16 = len("[]") + max(len(texts)-1, 0)
	var shown []string
	for _, t := range texts {
		if t == image {
			p.Parts = append(p.Parts, jsonl.Part{Kind: jsonl.KindImage, Type: "image"})
			p.JSON.UTF16 += 5000
			continue
		}
		shown = append(shown, t)
		m := jsonl.Measure(t)
		p.Parts = append(p.Parts, jsonl.Part{Kind: jsonl.KindText, Type: "text", Text: m})
		p.Text = p.Text.Add(m)
		p.JSON.UTF16 += len(`{"type":"text","text":}`) + m.JSON
	}
	p.text = strings.Join(shown, "\n\n")
	return p
}

const image = "\x00image"

// add appends a message and gives its index. Time goes on by a second.
func (c *convo) add(m session.Message, parts ...part) int {
	at := len(c.Messages)
	c.clock = c.clock.Add(time.Second)
	m.UUID, m.Time = fmt.Sprintf("m%d", at), c.clock
	for b, p := range parts {
		m.Blocks = append(m.Blocks, p.Block)
		c.texts[policy.Target{Item: policy.ItemID(at), Block: b}] = p.text
	}
	c.Messages = append(c.Messages, m)
	return at
}

func (c *convo) user(class session.Class, parts ...part) int {
	return c.add(session.Message{Role: session.User, Class: class}, parts...)
}

func (c *convo) prompt(text string) int {
	p := say(text)
	p.IsString = true
	return c.user(session.ClassPrompt, p)
}

func (c *convo) answers(parts ...part) int { return c.user(session.ClassToolResult, parts...) }

// assistant appends the response of a request.
func (c *convo) assistant(parts ...part) int {
	at := c.add(session.Message{Role: session.Assistant, Class: session.ClassResponse, HasUsage: true, Model: c.Model, StopReason: "end_turn"}, parts...)
	for _, p := range parts {
		if p.Kind == jsonl.KindToolUse {
			c.Messages[at].StopReason = "tool_use"
		}
	}
	c.Requests = append(c.Requests, session.Request{N: len(c.Requests) + 1, Message: at})
	return at
}

// calls appends one round: an assistant message that calls a tool, and a
// result of n characters.
func (c *convo) call(id, tool string, n int) (answer int) {
	c.assistant(use(id, tool))
	return c.answers(result(id, strings.Repeat("x", n)))
}

// quarter weighs four characters a token, as the agents do.
type quarter struct{ conv *session.Conversation }

func (w quarter) Block(message, b int) int {
	bl := &w.conv.Messages[message].Blocks[b]
	n := bl.Text.UTF16
	if bl.Kind == jsonl.KindToolUse {
		n = len(bl.Name) + bl.JSON.UTF16
	}
	images := 0
	for _, p := range bl.Parts {
		if p.Kind == jsonl.KindImage {
			images++
		}
	}
	return policy.RoundQuarter(n) + images*imageTokens
}

func (w quarter) Content(c *policy.Content) int {
	switch {
	case c.Tokens > 0:
		return c.Tokens
	case c.Ref != nil:
		return w.Block(int(c.Ref.Item), c.Ref.Block)
	}
	return policy.RoundQuarter(c.Length.UTF16)
}

// texts fetches texts as the engine does; fetched counts how often.
type texts struct {
	c       *convo
	view    *policy.View
	fetched int
}

func (s *texts) Text(t policy.Target) (string, error) {
	s.fetched++
	if c := s.view.Replacement(t); c != nil {
		if c.Ref != nil {
			return s.c.texts[*c.Ref], nil
		}
		return c.Text, nil
	}
	text, ok := s.c.texts[t]
	if !ok {
		return "", fmt.Errorf("no text of block %d of message %d", t.Block, t.Item)
	}
	return text, nil
}

// record is what the transcript holds: nothing, one summary for all, or what
// find finds.
type record struct {
	summary *policy.Content
	find    func(n int) (policy.Content, int, bool)
	tail    []policy.Synthetic
}

func (r record) Summary(n int) (policy.Content, int, bool) {
	if r.find != nil {
		return r.find(n)
	}
	if r.summary == nil {
		return policy.Content{}, -1, false
	}
	return *r.summary, 0, true
}

func (r record) Reinjected(int) []policy.Synthetic { return append([]policy.Synthetic(nil), r.tail...) }

// named is a stage at work.
type named struct {
	def   policy.Definition
	stage policy.Stage
}

// start makes a stage with parameters, nil for its defaults.
func start(t testing.TB, def policy.Definition, params any) named {
	t.Helper()
	if params == nil {
		params = def.Params
	}
	st, err := def.New(params)
	if err != nil {
		t.Fatal(err)
	}
	return named{def, st}
}

// run goes through a conversation as the engine does: ingest, prepare,
// project, respond, turn end.
type run struct {
	t      testing.TB
	c      *convo
	stages []named
	view   *policy.View
	texts  *texts
	record record

	limits   policy.Thresholds
	overhead int
	used     func(k int) (used, tail int) // nil: overhead and the view
	at       map[int]time.Time            // by request: stands in for the recorded time
	each     func(k int)                  // after each request
	manual   map[int]bool                 // the user asks for a compaction before request k

	last    policy.Response
	seen    []int // edits of the view before each request was prepared
	payload []int // payload tokens at each request
}

func newRun(t testing.TB, c *convo, stages ...named) *run {
	c.IndexTools()
	w := quarter{c.Conversation}
	r := &run{t: t, c: c, stages: stages, view: policy.NewView(c.Conversation, w, w)}
	r.texts = &texts{c: c, view: r.view}
	r.limits = policy.DefaultWindow().Resolve(200000, 0)
	return r
}

// fire runs the stages of one moment before request k (0-based).
func (r *run) fire(moment policy.Moment, k int, c policy.Context) {
	r.t.Helper()
	c.Moment, c.Request, c.View, c.Conv, c.Agent = moment, k+1, r.view, r.c.Conversation, r.c.Agent
	c.Limits, c.Overhead, c.Last = r.limits, r.overhead, r.last
	c.Texts, c.Record, c.Weigh = r.texts, r.record, quarter{r.c.Conversation}
	if at := min(k, len(r.c.Requests)-1); at >= 0 {
		m := &r.c.Messages[r.c.Requests[at].Message]
		c.Model, c.Version = m.Model, m.Version
	}
	c.Used = r.overhead + r.view.ClientTokens()
	if r.used != nil {
		c.Used, c.UsedTail = r.used(k)
	}
	for _, s := range r.stages {
		if s.def.Moments&moment == 0 {
			continue
		}
		edits, err := s.stage.Run(&c)
		if err != nil {
			r.t.Fatalf("%s at %s before request %d: %v", s.def.Name, moment, k+1, err)
		}
		for _, e := range edits {
			e.Stage, e.Request = s.def.Name, k+1
			if _, err := r.view.Apply(e); err != nil {
				r.t.Fatalf("%s at %s before request %d: %v", s.def.Name, moment, k+1, err)
			}
		}
	}
}

// all goes through the whole conversation.
func (r *run) all() *run {
	r.t.Helper()
	w := &steps{run: r, responding: -1}
	for m := range r.c.Messages {
		w.message(m)
	}
	w.settle()
	if w.active {
		r.fire(policy.TurnEnd, w.next, policy.Context{Final: true})
	}
	return r
}

// steps is the engine's order of things.
type steps struct {
	*run
	next       int
	responding int
	open       map[string]bool
	active     bool
}

func (w *steps) message(m int) {
	w.t.Helper()
	msg := &w.c.Messages[m]
	if w.next < len(w.c.Requests) && w.c.Requests[w.next].Message == m {
		w.settle()
		w.request(w.next, msg)
		w.next++
		w.view.Join(m)
		w.responding, w.active, w.open = w.next-1, true, map[string]bool{}
		for b := range msg.Blocks {
			if msg.Blocks[b].Kind == jsonl.KindToolUse {
				w.open[msg.Blocks[b].ID] = true
			}
		}
		if len(w.open) == 0 {
			w.settle()
		}
		return
	}
	if msg.Class != session.ClassToolResult {
		w.settle()
		if msg.Class == session.ClassPrompt && !msg.Queued && w.active {
			w.active = false
			w.fire(policy.TurnEnd, w.next, policy.Context{})
		}
	}
	if msg.RecordOnly {
		w.view.Skip(m)
		return
	}
	w.view.Join(m)
	if msg.Class != session.ClassToolResult {
		return
	}
	w.fire(policy.Ingest, w.next, policy.Context{Joined: []policy.ItemID{policy.ItemID(m)}, Now: msg.Time})
	for b := range msg.Blocks {
		delete(w.open, msg.Blocks[b].ID)
	}
	if len(w.open) == 0 {
		w.settle()
	}
}

func (w *steps) settle() {
	if w.responding < 0 {
		return
	}
	k := w.responding
	w.responding = -1
	w.fire(policy.Respond, k+1, policy.Context{Now: w.c.Messages[w.c.Requests[k].Message].Time})
}

func (w *steps) request(k int, msg *session.Message) {
	w.t.Helper()
	if w.manual[k] {
		w.fire(policy.Manual, k, policy.Context{Asked: &policy.ManualCompaction{Recorded: -1}})
	}
	now := msg.Time
	if at, ok := w.at[k]; ok {
		now = at
	}
	w.seen = append(w.seen, len(w.view.Edits()))
	w.fire(policy.Prepare, k, policy.Context{Now: now})
	w.fire(policy.Project, k, policy.Context{Now: now})
	w.payload = append(w.payload, w.overhead+w.view.PayloadTokens())
	n := w.overhead + w.view.Tokens()
	w.last = policy.Response{
		Usage: jsonl.Usage{Input: n, Output: 100}, Known: true, Message: policy.ItemID(w.c.Requests[k].Message),
		Time: now, StopReason: msg.StopReason,
	}
	if w.each != nil {
		w.each(k)
	}
}

// at says what stands in place of the first block of a message, "" where it
// stands as recorded.
func (r *run) shown(m int) string { return r.block(m, 0) }

func (r *run) block(m, b int) string {
	if c := r.view.Replacement(policy.Target{Item: policy.ItemID(m), Block: b}); c != nil {
		return c.Text
	}
	return ""
}

// kinds lists kind, request and message of each edit, as "clear@3 m1".
func (r *run) edits() []string {
	var list []string
	for _, e := range r.view.Edits() {
		s := fmt.Sprintf("%s@%d", e.Kind, e.Request)
		if len(e.Items) == 0 && e.Kind != policy.KindSummarize {
			s += fmt.Sprintf(" m%d", e.Target.Item)
			if e.Target.Block > 0 {
				s += fmt.Sprintf(".%d", e.Target.Block)
			}
		}
		list = append(list, s)
	}
	return list
}

// boundaryAt is a recorded compaction on a line.
func boundaryAt(line int) session.Boundary {
	return session.Boundary{Line: line, Summary: -1, Trigger: "auto"}
}
