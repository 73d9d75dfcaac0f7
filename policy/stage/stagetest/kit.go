package stagetest

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/jsonl/pattern"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/view"
)

// Convo builds a small conversation by hand.
type Convo struct {
	*session.Conversation
	Texts map[policy.Target]string
	clock time.Time
}

// Midday is when the conversations begin.
var Midday = time.Date(2026, 1, 25, 12, 0, 0, 0, time.UTC)

// NewConvo returns a conversation without messages.
func NewConvo() *Convo {
	return &Convo{
		Conversation: &session.Conversation{SessionID: "session", CWD: "/home/u/p", Path: "session.jsonl", Model: "claude-opus-4-5-20251101"},
		Texts:        map[policy.Target]string{},
		clock:        Midday,
	}
}

// Talk returns a conversation that Play begins.
func Talk(format string, args ...any) *Convo { return NewConvo().Play(format, args...) }

// BlockText is a block and its text.
type BlockText struct {
	session.Block
	Said string // the recorded text
}

// Block returns a block of one text.
func Block(kind jsonl.Kind, typ, text string) BlockText {
	return BlockText{session.Block{ContentBlock: jsonl.ContentBlock{Kind: kind, Type: typ, Text: jsonl.Measure(text)}}, text}
}

// Say returns a text block.
func Say(text string) BlockText { return Block(jsonl.KindText, "text", text) }

// Think returns a thinking block.
func Think(text string) BlockText { return Block(jsonl.KindThinking, "thinking", text) }

// Use returns a tool_use with a small input.
func Use(id, tool string) BlockText {
	return Calling(id, tool, `{"path":"a"}`)
}

// Result returns a tool_result with string content.
func Result(id, text string) BlockText {
	p := Block(jsonl.KindToolResult, "tool_result", text)
	p.ID = id
	p.JSON = jsonl.Metrics{UTF16: p.Text.JSON, Bytes: p.Text.Bytes + 2}
	p.IsString = true
	p.Persisted = strings.Contains(text, "<persisted-output>")
	return p
}

// Results returns a tool_result with array content: texts, and Image for an image.
func Results(id string, texts ...string) BlockText {
	p := jsonl.ContentBlock{Kind: jsonl.KindToolResult, Type: "tool_result", ID: id}
	p.JSON.UTF16 = len("[]") + max(len(texts)-1, 0)
	var shown []string
	for _, t := range texts {
		if t == Image {
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
	return BlockText{session.Block{ContentBlock: p}, strings.Join(shown, "\n\n")}
}

// Image is an image among the texts of Results.
const Image = "\x00image"

// Add appends a message, a second later than the last, and returns its index.
func (c *Convo) Add(m session.Message, parts ...BlockText) int {
	at := len(c.Messages)
	c.clock = c.clock.Add(time.Second)
	m.UUID = fmt.Sprintf("m%d", at)
	m.Time = c.clock
	for b, p := range parts {
		m.Blocks = append(m.Blocks, p.Block)
		c.Texts[policy.BlockOf(at, b)] = p.Said
	}
	c.Messages = append(c.Messages, m)
	return at
}

// User appends a user message of a class.
func (c *Convo) User(class session.Class, parts ...BlockText) int {
	return c.Add(session.Message{Role: session.User, Class: class}, parts...)
}

// Attach appends an attachment of a type.
func (c *Convo) Attach(kind string, parts ...BlockText) int {
	return c.Add(session.Message{Attachment: kind, Role: session.User, Class: session.ClassAttachment}, parts...)
}

// Prompt appends a typed prompt.
func (c *Convo) Prompt(text string) int {
	p := Say(text)
	p.IsString = true
	return c.User(session.ClassPrompt, p)
}

// Answers appends a message with tool results.
func (c *Convo) Answers(parts ...BlockText) int { return c.User(session.ClassToolResult, parts...) }

// Assistant appends the response of a request.
func (c *Convo) Assistant(parts ...BlockText) int {
	stop := "end_turn"
	for _, p := range parts {
		if p.Kind == jsonl.KindToolUse {
			stop = "tool_use"
		}
	}
	at := c.Add(session.Message{Model: c.Model, StopReason: stop, Role: session.Assistant, Class: session.ClassResponse, HasUsage: true}, parts...)
	c.Requests = append(c.Requests, session.APICall{N: len(c.Requests) + 1, Message: at})
	return at
}

// Call appends one round, an assistant message that calls a tool and a result of n characters, and returns the index
// of the result.
func (c *Convo) Call(id, tool string, n int) (answer int) {
	c.Assistant(Use(id, tool))
	return c.Answers(Result(id, strings.Repeat("x", n)))
}

// playWord is a word of Play, how often it is repeated, and what ends it.
var playWord = pattern.New(`(?:("(?:[^"\\]|\\.)*")|(\S+?))(?:\*(\d+))?(;\s*|\s*\n\s*|[ \t]+|$)`)

// Play appends messages that are written in short, in the form of fmt.Sprintf, each to the end of its line or ";":
// "prompt TEXT", "queued TEXT" for a prompt while the agent works, "call ID TOOL LENGTH" for a round, "attach KIND TEXT", or
// assistant, answers, user or meta and their parts: "say TEXT", "think TEXT", "use ID TOOL", "calling ID TOOL INPUT", "result ID
// TEXT", "failing ID TEXT", "image ID TEXT" for a result of a text and an image, "picture NAME" in a prompt. A word may be quoted, and x*400 is x 400 times. A
// comment begins with " # ".
func (c *Convo) Play(format string, args ...any) *Convo {
	if len(args) > 0 {
		format = fmt.Sprintf(format, args...)
	}
	var said []string
	for line := range strings.Lines(format) {
		line, _, _ = strings.Cut(line, " # ")
		for _, m := range playWord().FindAllStringSubmatch(strings.TrimSpace(line), -1) {
			w := m[2]
			n := 1
			if m[1] != "" {
				var err error
				if w, err = strconv.Unquote(m[1]); err != nil {
					panic(line)
				}
			}
			if m[3] != "" {
				n, _ = strconv.Atoi(m[3])
			}
			if said = append(said, strings.Repeat(w, n)); strings.TrimSpace(m[4]) != "" || m[4] == "" {
				c.play(said)
				said = nil
			}
		}
	}
	return c
}

func (c *Convo) play(said []string) {
	var parts []BlockText
	p := said[1:]
	if !slices.Contains([]string{"assistant", "answers", "user", "meta"}, said[0]) {
		p = nil
	}
	for len(p) > 0 {
		var part BlockText
		n := 3
		switch p[0] {
		case "say":
			part = Say(p[1])
			n = 2
		case "think":
			part = Think(p[1])
			n = 2
		case "picture":
			part = Block(jsonl.KindImage, "image", "")
			n = 2
		case "result":
			part = Result(p[1], p[2])
		case "failing":
			part = Failing(p[1], p[2])
		case "image":
			part = Results(p[1], p[2], Image)
		case "use":
			part = Use(p[1], p[2])
		case "calling":
			part = Calling(p[1], p[2], p[3])
			n = 4
		default:
			panic(p[0])
		}
		parts = append(parts, part)
		p = p[n:]
	}
	switch said[0] {
	case "prompt":
		c.Prompt(said[1])
	case "queued":
		c.Messages[c.Prompt(said[1])].Marks |= session.Queued
	case "attach":
		c.Attach(said[1], Block(jsonl.KindAttachment, "attachment", said[2]))
	case "user":
		c.User(session.ClassPrompt, parts...)
	case "call":
		n, _ := strconv.Atoi(said[3])
		c.Call(said[1], said[2], n)
	case "assistant":
		c.Assistant(parts...)
	case "answers":
		c.Answers(parts...)
	case "meta":
		c.User(session.ClassMeta, parts...)
	default:
		panic(said[0])
	}
}

// RequestAfter is the number of the first request after message m.
func (c *Convo) RequestAfter(m int) int {
	n := 1
	for n <= len(c.Requests) && c.Requests[n-1].Message < m {
		n++
	}
	return n
}

// Snips turns block b of message m into a Snip call on prompts, as the reader of sessions does.
func (c *Convo) Snips(m, b int, prompts ...int) *session.SnipCall {
	bl := &c.Messages[m].Blocks[b]
	bl.Name = "Snip"
	call := session.SnipCall{ToolID: bl.ID, Line: m + 1, Message: m, Answered: -1, Prompts: prompts}
	for k := m + 1; k < len(c.Messages) && c.Messages[k].Role == session.User && call.Answered < 0; k++ {
		for _, r := range c.Messages[k].Blocks {
			if r.Kind == jsonl.KindToolResult && r.ID == bl.ID {
				call.Answered = k
				call.Failed = r.IsError
			}
		}
	}
	c.SnipCalls = append(c.SnipCalls, call)
	return &c.SnipCalls[len(c.SnipCalls)-1]
}

// Quarter weighs four characters a token, as the agents do.
type Quarter struct{ Conv *session.Conversation }

// Message is the weight of a recorded message, in tokens.
func (w Quarter) Message(message int) (n int) {
	for b := range w.Conv.Messages[message].Blocks {
		n += w.Block(message, b)
	}
	return n
}

// Block is the weight of a recorded block, in tokens; an image is 2000.
func (w Quarter) Block(message, b int) int {
	bl := &w.Conv.Messages[message].Blocks[b]
	n := bl.Text.UTF16
	if bl.Kind == jsonl.KindToolUse {
		n = len(bl.Name) + bl.JSON.UTF16
	}
	images := 0
	if bl.Kind == jsonl.KindImage {
		images = 1
	}
	for _, p := range bl.Parts {
		if p.Kind == jsonl.KindImage {
			images++
		}
	}
	return policy.RoundQuarter(n) + images*2000
}

// Content is the weight of a content, in tokens.
func (w Quarter) Content(c *policy.Content) int {
	switch {
	case c.Tokens > 0:
		return c.Tokens
	case c.Ref != nil:
		return w.Block(int(c.Ref.Item), c.Ref.Block)
	}
	return policy.RoundQuarter(c.Length.UTF16)
}

// Texts fetches texts as the engine does. Fetched counts how often.
type Texts struct {
	C       *Convo
	View    *view.View
	Fetched int
}

// Text returns the text of a block in view.
func (s *Texts) Text(t policy.Target) (string, error) {
	if c := s.View.Replacement(t); c != nil {
		s.Fetched++
		if c.Ref != nil {
			return s.C.Texts[*c.Ref], nil
		}
		return c.Text, nil
	}
	return s.Recorded(t)
}

// Recorded returns the recorded text of a block.
func (s *Texts) Recorded(t policy.Target) (string, error) {
	s.Fetched++
	text, ok := s.C.Texts[t]
	if !ok {
		return "", fmt.Errorf("no text of block %d of message %d", t.Block, t.Item)
	}
	return text, nil
}

// Recording is what the transcript holds: nothing, one summary for all, or what Find finds.
type Recording struct {
	Content *policy.Content
	Find    func(n int) (policy.Content, int, bool)
	Tail    []policy.Synthetic
	Memory  string // the session's summary file
}

// SessionMemory returns Memory.
func (r Recording) SessionMemory() (string, bool, error) { return r.Memory, r.Memory != "", nil }

// Summary returns the recorded summary for request n, and its boundary.
func (r Recording) Summary(n int) (policy.Content, int, bool) {
	if r.Find != nil {
		return r.Find(n)
	}
	if r.Content == nil {
		return policy.Content{}, -1, false
	}
	return *r.Content, 0, true
}

// TypicalSummary returns a placeholder of the default size.
func (r Recording) TypicalSummary(int) policy.Content {
	return policy.Content{Kind: jsonl.KindText, Tokens: policy.DefaultSummaryTokens}
}

// Reinjected returns Tail.
func (r Recording) Reinjected(int) []policy.Synthetic { return slices.Clone(r.Tail) }

// BoundaryAt returns a recorded compaction on a line.
func BoundaryAt(line int) session.Boundary {
	return session.Boundary{Line: line, Summary: -1, Trigger: "auto"}
}

// Order lists, per item of the view, a message or the label of what a policy put in: "m0 summary m5-m8".
func (r *Bench) Order() string {
	var list []string
	for id := range r.View.Items {
		name := fmt.Sprintf("m%d", id)
		if sy := r.View.Synthetic(id); sy != nil {
			name = sy.Label
		}
		if n := len(list) - 1; n >= 0 && strings.HasSuffix(list[n], fmt.Sprintf("m%d", id-1)) {
			first, _, _ := strings.Cut(list[n], "-")
			list[n] = first + "-" + name
			continue
		}
		list = append(list, name)
	}
	return strings.Join(list, " ")
}

// Uses returns a prompt, n rounds of 400 characters, which are 100 tokens a result, and an answer.
func Uses(n int) *Convo { return RoundsOf(n, 400) }

// RoundsOf returns a prompt, n calls with results of size characters, and an answer.
func RoundsOf(n, size int) *Convo {
	c := rounds(n, size)
	c.Assistant(Say("done"))
	return c
}

// Small returns n rounds of 9 tokens, the first of 10: a call of 4 and a result of 5; the prompt, of 1, belongs to
// the first.
func Small(n int) *Convo { return rounds(n, 20) }

func rounds(n, size int) *Convo {
	c := NewConvo()
	c.Prompt("go")
	for i := range n {
		c.Call(fmt.Sprintf("t%d", i), "Read", size)
	}
	return c
}

// Calling returns a tool_use with an input.
func Calling(id, tool, input string) BlockText {
	p := Block(jsonl.KindToolUse, "tool_use", input)
	p.ID = id
	p.Name = tool
	p.JSON = p.Text
	p.Text = jsonl.Metrics{}
	return p
}

// Failing returns a tool_result that is an error.
func Failing(id, text string) BlockText {
	p := Result(id, text)
	p.IsError = true
	return p
}

// Registry returns a registry of the given stages.
func Registry(t testing.TB, definitions ...policy.Definition) policy.Registry {
	t.Helper()
	return must.Get(policy.NewRegistry(policy.Family{Name: "test", Stages: definitions}))(t)
}
