package stage

import (
	"fmt"
	"testing"
	"time"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/view"
)

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
	view   *view.View
	texts  *texts
	record record

	limits   policy.Thresholds
	overhead int
	used     func(k int) (used, tail int) // nil: overhead and the view
	at       map[int]time.Time            // by request: stands in for the recorded time
	each     func(k int)                  // after each request
	manual   map[int]bool                 // the user asks for a compaction before request k
	warned   func(line int, message string)

	last    policy.Response
	seen    []int // edits of the view before each request was prepared
	payload []int // payload tokens at each request
}

func newRun(t testing.TB, c *convo, stages ...named) *run {
	c.IndexTools()
	w := quarter{c.Conversation}
	r := &run{t: t, c: c, stages: stages, view: view.New(c.Conversation, w, w)}
	r.texts = &texts{c: c, view: r.view}
	r.limits = policy.DefaultWindow().Resolve(200000, 0)
	return r
}

// fire runs the stages of one moment before request k (0-based).
func (r *run) fire(moment policy.Moment, k int, c policy.Context) {
	r.t.Helper()
	c.Moment, c.Request, c.View, c.Conv, c.Agent = moment, k+1, r.view, r.c.Conversation, r.c.Agent
	c.Limits, c.Overhead, c.Last = r.limits, r.overhead, r.last
	c.Texts, c.Record, c.Weigh, c.Estimate = r.texts, r.record, quarter{r.c.Conversation}, r.view.Weight
	c.Warned = r.warned
	if at := min(k, len(r.c.Requests)-1); at >= 0 {
		m := &r.c.Messages[r.c.Requests[at].Message]
		c.Model, c.Version = m.Model, m.Version
	}
	c.Used, c.Before = r.overhead+r.view.ClientTokens(), r.view.Tokens()
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
