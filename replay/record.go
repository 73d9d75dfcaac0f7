package replay

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/stage"
	"github.com/ctxkit/ctxkit/policy/view"
	"github.com/ctxkit/ctxkit/replay/cache"
	"github.com/ctxkit/ctxkit/replay/price"
	"github.com/ctxkit/ctxkit/replay/regret"
	"github.com/ctxkit/ctxkit/replay/tokens"
)

// Record is what a recorded conversation says about itself, whatever the
// policy: weights calibrated to its usage, and the recorded view R (what the
// client really sent) at each request. It is computed once and shared by all
// replays of the conversation; it does not change.
type Record struct {
	Conv *session.Conversation
	Cal  *tokens.Calibration

	Counted tokens.Model // how Cal weighs the conversation's model

	models   *price.Table
	encoders *tokens.Encoders
	model    price.Model // of the conversation, zero where it is not known
	encoded  encodedTables
	context  []int              // recorded context of each request; -1 where it is not known
	weight   []int              // weight of R at each request, calibrated
	overhead []int              // what R's weight leaves of the context: system prompt, tools, unrecorded reminders
	reinject []int              // by boundary: what was sent after it and no line holds
	summary  []int              // by boundary: weight of everything it rebuilt but kept messages
	edits    []policy.Edit      // the record as edits on raw
	notes    []recordedAct      // by edit: what the client recorded
	settings map[int]cache.Kind // by request (0-based): what the client did beside
	uses     func() (*regret.Index, error)
	digests  *policy.Digests // nil: nothing is kept for the next replay
	most     atomic.Int64    // edits that a replay made; of a shared record
}

// sharedTexts is how many bytes of what was made of its texts a shared record
// keeps, and so many again for regret.
const sharedTexts = 8 << 20

// Share has the record keep what its replays make of its texts, for those to
// come. It is for a record that is replayed many times: each is quicker, and
// its result the same. It must be called before the first replay.
func (r *Record) Share() { r.digests = policy.NewDigests(sharedTexts) }

// Edits returns the record as edits on the raw history. The caller does not change them.
func (r *Record) Edits() []policy.Edit { return r.edits }

// table is the table of models a replay goes by.
func (r *Record) table(opt Options) *price.Table {
	if opt.Prices != nil {
		return opt.Prices
	}
	return r.models
}

// NewRecord works out the record of a conversation.
func NewRecord(conv *session.Conversation) (*Record, error) {
	return NewRecordWith(conv, nil)
}

// NewRecordWith is NewRecord with encoders that several records share: texts
// they have in common are counted once. nil: with encoders of its own.
func NewRecordWith(conv *session.Conversation, encoders *tokens.Encoders) (*Record, error) {
	models, err := price.Default()
	if err != nil {
		return nil, err
	}
	if encoders == nil {
		encoders = &tokens.Encoders{}
	}
	m, _ := models.Find(conv.Model)
	counted := tokens.Model{Tokenizer: m.Tokenizer, ClearsThinking: clearsThinking(conv.Model)}
	if counted.Tokenizer == "" {
		counted.Tokenizer = "old" // a model nobody knows
	}
	cal, err := tokens.Calibrate(conv, counted)
	if err != nil {
		return nil, err
	}
	r := &Record{
		Conv: conv, Cal: cal, Counted: counted, models: models, encoders: encoders, model: m,
		reinject: make([]int, len(conv.Boundaries)), summary: make([]int, len(conv.Boundaries)),
	}
	r.settings = settingsChanges(conv)
	addDrops(r.settings, r.Cal.Drops)
	if !r.Cal.Recorded {
		if r.Cal.Table, err = r.encode(tokens.NameO200K, r.ratio()); err != nil {
			return nil, err
		}
	}
	n := len(conv.Requests)
	r.context, r.weight, r.overhead = make([]int, 0, n), make([]int, 0, n), make([]int, 0, n)
	t := &recordTrack{r: r, view: view.New(conv, r.Cal, nil), pending: -1}
	t.drops = r.Cal.Drops
	walk(conv, t)
	if t.err != nil {
		return nil, t.err
	}
	r.edits = t.view.Edits()
	r.uses = sync.OnceValues(r.index)
	return r, nil
}

// index finds the uses that regret goes by.
func (r *Record) index() (*regret.Index, error) {
	x, err := regret.NewIndex(r.Conv, r.edits)
	if err == nil && r.digests != nil {
		x.Share(sharedTexts)
	}
	return x, err
}

// recordTrack drives the recorded view.
type recordTrack struct {
	r       *Record
	view    *view.View
	pending int // boundary whose first request is still to come, -1: none
	drops   []tokens.Drop
	folded  map[int]policy.ItemID // by collapse: its placeholder
	err     error
}

// recordStage is the stage name on events of the record.
const recordStage = "recorded"

func (t *recordTrack) apply(e policy.Edit, act recordedAct) policy.Edit {
	e.Stage = recordStage
	e, err := t.view.Apply(e)
	if err != nil {
		t.fail(err)
		return e
	}
	t.r.notes = append(t.r.notes, act)
	return e
}

func (t *recordTrack) fail(err error) {
	if t.err == nil {
		t.err = fmt.Errorf("%s: the record: %w", t.r.Conv.Path, err)
	}
}

// join adds a message. What the client had offloaded it sent as the stub.
func (t *recordTrack) join(m int) {
	t.view.Join(m)
	msg := &t.r.Conv.Messages[m]
	for b := range msg.Blocks {
		bl := &msg.Blocks[b]
		if !bl.ReadBack() {
			continue
		}
		target := policy.Target{Item: policy.ItemID(m), Block: b}
		t.apply(policy.Edit{
			Request: len(t.r.context) + 1, Kind: policy.KindPersist, Trigger: "auto", Target: target,
			New:    &policy.Content{Kind: bl.Kind, Length: bl.Text, Ref: &target, Stub: true},
			Reason: fmt.Sprintf("the client wrote the result to a file, line %d", bl.Line),
		}, recordedAct{actJoin, m})
	}
}

func (t *recordTrack) done() bool                    { return t.err != nil }
func (t *recordTrack) respond(int)                   {}
func (t *recordTrack) turnEnd(int, bool)             {}
func (t *recordTrack) manual(boundary int, next int) {}

// requestNumber is n for an edit: 0 where no request follows.
func requestNumber(conv *session.Conversation, n int) int {
	if n > len(conv.Requests) {
		return 0
	}
	return n
}

func (t *recordTrack) boundary(i int) {
	b := &t.r.Conv.Boundaries[i]
	e := policy.Edit{
		Request: b.Request, Kind: policy.KindSummarize, Trigger: b.Trigger,
		Reason: "the client compacted (" + b.Trigger + ")",
		Detail: map[string]int{"pre_tokens": b.PreTokens},
		Call:   &policy.Call{Kind: "compaction", Prefix: compactionPrefix(b.Version)},
	}
	if b.PostTokens > 0 {
		e.Detail["post_tokens"] = b.PostTokens
	}
	if b.Summary >= 0 {
		e.Keep = append(e.Keep, policy.ItemID(b.Summary))
	}
	for _, p := range b.Preserved {
		e.Keep = append(e.Keep, policy.ItemID(p))
	}
	for _, a := range b.Attached {
		e.Keep = append(e.Keep, policy.ItemID(a))
	}
	t.apply(e, recordedAct{actBoundary, i})
	if b.Summary >= 0 {
		t.r.summary[i] = t.r.Cal.Message(b.Summary)
	}
	t.pending = i
}

// compactionPrefix says what a client's compaction request begins with: from
// 2.1.37 on it is taken for a fork of the session that reads the warm cache. The
// usage of one recorded request says so, a read of 166,636 tokens.
func compactionPrefix(version string) string {
	if version != "" && session.CompareVersions(version, "2.1.37") >= 0 {
		return "session"
	}
	return "own"
}

func (t *recordTrack) micro(i int) {
	m := &t.r.Conv.Micro[i]
	rule := microcompaction()
	want := make(map[string]bool, len(m.ToolIDs))
	for _, id := range m.ToolIDs {
		want[id] = true
	}
	found, reason := 0, "the client microcompacted ("+m.Trigger+")"
	detail := map[string]int{"pre_tokens": m.PreTokens, "tokens_saved": m.TokensSaved}
	// Applying changes results' states, not their number or order.
	for _, res := range t.view.Results() {
		if !want[res.ID] || res.State == policy.ResultGone {
			continue
		}
		found++
		if left, err := rule.Leaves(t.view, t.view, res.Target); err != nil {
			t.fail(err)
			return
		} else if left {
			continue // it is named, and stays as it is
		}
		stub := policy.NewContent(jsonl.KindToolResult, rule.Stub(t.view, res))
		t.apply(policy.Edit{
			Request: m.Request, Kind: policy.KindClear, Trigger: m.Trigger, Target: res.Target, New: &stub,
			Reason: reason, Detail: detail,
		}, recordedAct{actMicro, i})
	}
	if found == 0 {
		// All of its results lie before the start of the file: the act is
		// told all the same. What it took off is taken off what stands in for
		// the earlier history, on every track alike.
		t.apply(t.r.hiddenMicro(i, t.view), recordedAct{actMicro, i})
	}
}

// hiddenMicro is the edit for a recorded microcompaction of results that lie
// before the start of the file.
func (r *Record) hiddenMicro(i int, view *view.View) policy.Edit {
	m := &r.Conv.Micro[i]
	e := policy.Edit{
		Request: m.Request, Kind: policy.KindInferred, Trigger: m.Trigger,
		Reason: "the client microcompacted (" + m.Trigger + "): its results are not in the file",
		Detail: map[string]int{"pre_tokens": m.PreTokens, "tokens_saved": m.TokensSaved},
	}
	if len(r.Conv.Messages) > 0 && r.Conv.Messages[0].Earlier && view.Has(0) {
		e.Delta = -min(m.TokensSaved, r.Cal.Message(0))
	}
	return e
}

// hidden reports whether none of a recorded microcompaction's results is in
// the file.
func (r *Record) hidden(i int) bool {
	for _, id := range r.Conv.Micro[i].ToolIDs {
		if _, _, ok := r.Conv.ToolUse(id); ok {
			return false
		}
	}
	return true
}

func (t *recordTrack) request(k int) {
	r := t.r
	msg := &r.Conv.Messages[r.Conv.Requests[k].Message]
	over := tokens.DefaultOverhead
	if k > 0 {
		over = r.overhead[k-1]
	}
	ctx := -1
	if msg.HasUsage {
		ctx = msg.Usage.Context()
		if within := msg.Usage.Compactions(); within.Calls > 0 {
			t.apply(compactedWithin(k, &within), noAct)
		}
		over = t.settle(k, ctx, over)
	}
	t.pending = -1
	r.context = append(r.context, ctx)
	r.weight = append(r.weight, t.view.Tokens())
	r.overhead = append(r.overhead, over)
}

// compactedWithin is the edit for what the API compacted within request k: its
// iterations are a call of their own, and what the last wrote is all that the
// message's iteration was sent.
func compactedWithin(k int, c *jsonl.Spent) policy.Edit {
	return policy.Edit{
		Request: k + 1, Kind: policy.KindSummarize, Trigger: "auto", Reason: "the API compacted within the request, as its usage says",
		Insert: []policy.Synthetic{{
			Role: "user", Label: "compaction", Summary: true, Contents: []policy.Content{{Kind: jsonl.KindText, Tokens: c.Output}},
		}},
		Call:   &policy.Call{Kind: "compaction", Input: c.Context(), Output: c.Output, Prefix: "session"},
		Detail: map[string]int{"pre_tokens": c.Context()},
	}
}

// settle makes R's weight and the overhead add up to the recorded context.
func (t *recordTrack) settle(k, ctx, over int) int {
	r := t.r
	rest := ctx - t.view.Tokens()
	first := k == 0 || r.context[k-1] < 0 && t.none(k)
	for len(t.drops) > 0 && t.drops[0].Request < k+1 {
		t.drops = t.drops[1:]
	}
	switch {
	case first:
		return rest
	case t.pending >= 0:
		if rest > over {
			// The client sent more than its lines hold: re-read files, listings.
			r.reinject[t.pending] = rest - over
			t.apply(policy.Edit{
				Request: k + 1, Kind: policy.KindAttach, Reason: "sent after the compaction, on no line of the file",
				Insert: []policy.Synthetic{reinjection(rest - over)},
			}, recordedAct{actBoundary, t.pending})
			return over
		}
	case len(t.drops) > 0 && t.drops[0].Request == k+1:
		d := t.drops[0]
		t.apply(policy.Edit{
			Request: k + 1, Kind: policy.KindInferred, Trigger: "inferred", Detail: map[string]int{"fell": d.Tokens},
			Reason: fmt.Sprintf("the recorded context fell by %d tokens: %s", d.Tokens, d.Cause),
		}, noAct)
		if !d.Shared {
			t.inferMicro(k)
			return ctx - t.view.Tokens()
		}
	}
	return rest
}

// inferMicro makes the edits of a microcompaction that left no line: those the
// client's rule would have made there.
func (t *recordTrack) inferMicro(k int) {
	edits, err := microcompaction().Stage().Run(&policy.Context{
		Moment: policy.Prepare, Request: k + 1, View: t.view, Conv: t.r.Conv, Texts: t.view,
	})
	if err != nil {
		t.fail(err)
		return
	}
	for _, e := range edits {
		e.Request, e.Kind, e.Trigger = k+1, policy.KindClear, "inferred"
		e.Reason = "what the client's rule clears here"
		t.apply(e, noAct)
	}
}

// none reports whether no request before k has a known context.
func (t *recordTrack) none(k int) bool {
	for _, c := range t.r.context[:k] {
		if c >= 0 {
			return false
		}
	}
	return true
}

// reinjection is the item that stands for what a client sent after a
// compaction and did not write down.
func reinjection(n int) policy.Synthetic {
	return policy.Synthetic{
		Role: "user", Label: "unrecorded re-injection", Attached: true,
		Contents: []policy.Content{{Kind: jsonl.KindText, Tokens: n}},
	}
}

// microcompaction is the rule of the client whose sessions record
// microcompactions.
func microcompaction() policy.Microcompaction {
	for _, f := range stage.Families() {
		if f.Microcompaction != nil {
			return f.Microcompaction
		}
	}
	return nil
}

// clearsThinking reports whether the server of a model clears the thinking of
// earlier turns by itself.
func clearsThinking(model string) bool {
	return slices.ContainsFunc(stage.Families(), func(f policy.Family) bool { return f.ClearsThinking != nil && f.ClearsThinking(model) })
}
