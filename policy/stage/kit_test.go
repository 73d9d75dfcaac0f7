package stage

import (
	"fmt"
	"strings"
	"time"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/view"
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

// requestAfter is the number of the first request after message m.
func (c *convo) requestAfter(m int) int {
	n := 1
	for n <= len(c.Requests) && c.Requests[n-1].Message < m {
		n++
	}
	return n
}

// snips takes block b of message m for a Snip call on prompts, as the reader
// does.
func (c *convo) snips(m, b int, prompts ...int) *session.SnipCall {
	bl := &c.Messages[m].Blocks[b]
	bl.Name = "Snip"
	call := session.SnipCall{ToolID: bl.ID, Line: m + 1, Message: m, Answered: -1, Prompts: prompts}
	for k := m + 1; k < len(c.Messages) && c.Messages[k].Role == session.User && call.Answered < 0; k++ {
		for _, r := range c.Messages[k].Blocks {
			if r.Kind == jsonl.KindToolResult && r.ID == bl.ID {
				call.Answered, call.Failed = k, r.IsError
			}
		}
	}
	c.SnipCalls = append(c.SnipCalls, call)
	return &c.SnipCalls[len(c.SnipCalls)-1]
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
	view    *view.View
	fetched int
}

func (s *texts) Text(t policy.Target) (string, error) {
	if c := s.view.Replacement(t); c != nil {
		s.fetched++
		if c.Ref != nil {
			return s.c.texts[*c.Ref], nil
		}
		return c.Text, nil
	}
	return s.Recorded(t)
}

func (s *texts) Recorded(t policy.Target) (string, error) {
	s.fetched++
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
	memory  string // the session's summary file
}

func (r record) SessionMemory() (string, bool, error) { return r.memory, r.memory != "", nil }

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

// boundaryAt is a recorded compaction on a line.
func boundaryAt(line int) session.Boundary {
	return session.Boundary{Line: line, Summary: -1, Trigger: "auto"}
}
