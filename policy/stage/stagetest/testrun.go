package stagetest

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/view"
)

// Named is a stage and its definition.
type Named struct {
	Def   policy.Definition
	Stage policy.Stage
}

// Start makes a stage with parameters: its defaults for nil, or a text as in Params.
func Start(t testing.TB, def policy.Definition, params any, args ...any) Named {
	t.Helper()
	if set, ok := params.(string); ok || params == nil {
		params = Params(t, def, set, args...)
	}
	return Named{def, must.Get(def.New(params))(t)}
}

// Params is a stage's parameters where a policy sets some, in the form of fmt.Sprintf: "keep: %d, tools: [Read]".
func Params(t testing.TB, def policy.Definition, set string, args ...any) any {
	t.Helper()
	return must.Get(policy.Decode("test", fmt.Appendf(nil, "stages: ["+def.Name+": {"+set+"}]", args...), Registry(t, def), nil))(t).Stages[0].Params
}

// Bench goes through a conversation as the engine does: ingest, prepare, project, respond, turn end.
type Bench struct {
	T      testing.TB
	C      *Convo
	Stages []Named
	View   *view.View
	Texts  *Texts
	Record Recording

	Window    int // tokens
	Shared    any // in place of the stages' own shared parameters; nil: their defaults
	Overhead  int
	MaxOutput int                          // tokens; 0: unknown
	Used      func(k int) (used, tail int) // nil: overhead and the view
	At        map[int]time.Time            // by request: in place of the recorded time
	Each      func(k int)                  // after each request
	Manual    map[int]bool                 // the user asks for a compaction before request k
	Warned    func(line int, message string)

	Last    policy.Response
	Payload []int // payload tokens at each request
}

// NewRun prepares a run with a window of 200,000 tokens.
func NewRun(t testing.TB, c *Convo, stages ...Named) *Bench {
	c.IndexTools()
	w := Quarter{c.Conversation}
	r := &Bench{T: t, C: c, Stages: stages, View: view.New(c.Conversation, w, w)}
	r.Texts = &Texts{C: c, View: r.View}
	r.Window = 200000
	return r
}

// Join puts all messages into the view.
func (r *Bench) Join() *Bench {
	for m := range r.C.Messages {
		r.View.Join(m)
	}
	return r
}

// Fire runs the stages of one moment before request k (0-based).
func (r *Bench) Fire(moment policy.Moment, k int, c policy.Context) {
	r.T.Helper()
	c.Moment = moment
	c.Request = k + 1
	c.View = r.View
	c.Conv = r.C.Conversation
	c.Agent = r.C.Agent
	c.Window = r.Window
	c.MaxOutput = r.MaxOutput
	c.Overhead = r.Overhead
	c.Last = r.Last
	c.Texts = r.Texts
	c.Record = r.Record
	c.Weigh = Quarter{r.C.Conversation}
	c.Estimate = r.View.Weight
	c.Warned = r.Warned
	c.Sent = r.Sent
	if at := min(k, len(r.C.Requests)-1); at >= 0 {
		m := r.C.Response(at)
		c.Model = m.Model
		c.Version = m.Version
	}
	c.Used, c.Before = r.Overhead+r.View.ClientTokens(), r.View.Tokens()
	if r.Used != nil {
		c.Used, c.UsedTail = r.Used(k)
	}
	for _, s := range r.Stages {
		if s.Def.Moments&moment == 0 {
			continue
		}
		if c.Shared = r.Shared; c.Shared == nil && s.Def.Shared != nil {
			c.Shared = s.Def.Shared.Params
		}
		edits, err := s.Stage.Run(&c)
		for i := 0; i < len(edits) && err == nil; i++ {
			edits[i].Stage = s.Def.Name
			edits[i].Request = k + 1
			_, err = r.View.Apply(edits[i])
		}
		if err != nil {
			r.T.Fatalf("%s at %s before request %d: %v", s.Def.Name, moment, k+1, err)
		}
	}
}

// All goes through the whole conversation.
func (r *Bench) All() *Bench {
	r.T.Helper()
	w := &steps{Bench: r, responding: -1}
	for m := range r.C.Messages {
		w.message(m)
	}
	w.settle()
	if w.active {
		r.Fire(policy.TurnEnd, w.next, policy.Context{Final: true})
	}
	return r
}

// steps is the engine's order of things.
type steps struct {
	*Bench
	next       int
	responding int
	open       map[string]bool
	active     bool
}

func (w *steps) message(m int) {
	w.T.Helper()
	msg := &w.C.Messages[m]
	if w.next < len(w.C.Requests) && w.C.Requests[w.next].Message == m {
		w.settle()
		w.request(w.next, msg)
		w.next++
		w.View.Join(m)
		w.responding = w.next - 1
		w.active = true
		w.open = map[string]bool{}
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
		if msg.Class == session.ClassPrompt && !msg.Is(session.Queued) && w.active {
			w.active = false
			w.Fire(policy.TurnEnd, w.next, policy.Context{})
		}
	}
	if msg.RecordOnly {
		w.View.Skip(m)
		return
	}
	w.View.Join(m)
	if msg.Class != session.ClassToolResult {
		return
	}
	w.Fire(policy.Ingest, w.next, policy.Context{Joined: []policy.ItemID{policy.ItemID(m)}, Now: msg.Time})
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
	w.Fire(policy.Respond, k+1, policy.Context{Now: w.C.Response(k).Time})
}

func (w *steps) request(k int, msg *session.Message) {
	w.T.Helper()
	if w.Manual[k] {
		w.Fire(policy.Manual, k, policy.Context{Asked: &policy.ManualCompaction{Recorded: -1}})
	}
	now := msg.Time
	if at, ok := w.At[k]; ok {
		now = at
	}
	w.Fire(policy.Prepare, k, policy.Context{Now: now})
	w.Fire(policy.Project, k, policy.Context{Now: now})
	w.Payload = append(w.Payload, w.Overhead+w.View.PayloadTokens())
	n := w.Overhead + w.View.Tokens()
	w.Last = policy.Response{
		Usage: jsonl.Usage{Input: n, Output: 100}, Known: true, Message: policy.ItemID(w.C.Requests[k].Message),
		Time: now, StopReason: msg.StopReason,
	}
	if w.Each != nil {
		w.Each(k)
	}
}

// Shown is Block of the first block of a message.
func (r *Bench) Shown(m int) string { return r.Block(m, 0) }

// Block is the text that replaces a block, "" where it is as recorded.
func (r *Bench) Block(m, b int) string {
	if c := r.View.Replacement(policy.BlockOf(m, b)); c != nil {
		return c.Text
	}
	return ""
}

// Edits lists kind, request and message of each edit, as "clear@3 m1, summarize@4".
func (r *Bench) Edits() string {
	var list []string
	for _, e := range r.View.Edits() {
		s := fmt.Sprintf("%s@%d", e.Kind, e.Request)
		if len(e.Items) == 0 && e.Kind != policy.KindSummarize {
			s += fmt.Sprintf(" m%d", e.Target.Item)
			if e.Target.Block > 0 {
				s += fmt.Sprintf(".%d", e.Target.Block)
			}
		}
		list = append(list, s)
	}
	return strings.Join(list, ", ")
}

// Sent is the blocks of an item as the Messages API takes them.
func (r *Bench) Sent(id policy.ItemID) ([]policy.SentBlock, error) {
	var list []policy.SentBlock
	for b := range r.View.Blocks(id) {
		t := policy.BlockOf(id, b)
		if c := r.View.Replacement(t); c != nil && c.Gone {
			continue
		}
		text, err := r.Texts.Text(t)
		if err != nil {
			return nil, err
		}
		s := policy.SentBlock{Source: t, Type: "text"}
		raw := r.View.Raw(t)
		says := map[string]any{"text": text}
		switch kind := r.View.Kind(t); {
		case raw == nil:
		case kind == jsonl.KindToolUse:
			s.Type = "tool_use"
			s.ID = raw.ID
			says = map[string]any{"id": raw.ID, "name": raw.Name, "input": map[string]any{"text": text}}
		case kind == jsonl.KindToolResult:
			s.Type = "tool_result"
			s.ID = raw.ID
			says = map[string]any{"tool_use_id": raw.ID, "content": text}
		case kind != jsonl.KindText && kind != jsonl.KindAttachment:
			s.Type = raw.Type
		}
		says["type"] = s.Type
		if s.JSON, err = json.Marshal(says); err != nil {
			return nil, err
		}
		list = append(list, s)
	}
	return list, nil
}
