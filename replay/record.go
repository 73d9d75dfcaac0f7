package replay

import (
	"cmp"
	"fmt"
	"maps"
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

// Record is what is computed of a recorded conversation for all policies: weights calibrated to its usage, and the
// recorded view R (what the client really sent) at each request. All replays of the conversation share it; it does
// not change.
type Record struct {
	Conv *session.Conversation
	Cal  *tokens.Calibration

	Counted tokens.CountedModel // how Cal weighs the conversation's model

	models    *price.Table
	kinds     *cache.KindTable
	kindOf    map[string]cache.CacheKind // by model of a request
	encoders  *tokens.Encoders
	programs  policy.Programs  // nil: none are started
	model     price.Model      // of the conversation, zero where it is not known
	client    *policy.Recorder // that recorded it
	encoding  sync.Mutex
	encoded   map[string]*tokens.WeightTable // by encoding; guarded by encoding
	largest   map[string]int                 // the largest recorded context by model
	weight    []int                          // weight of R's payload at each request, calibrated
	overhead  []int                          // context less that weight: system prompt, tools, unrecorded reminders
	reinject  []int                          // by boundary: tokens sent after it that are on no line
	summary   []int                          // by boundary: what the recorded summary took to write
	acts      recordedActs                   // what the client did
	settings  map[int]cache.BreakCause       // by request (0-based): what else the client did
	head      []cache.Head                   // of each request (heads)
	floor     []int                          // of each request (floors)
	tail      []tail                         // of each request (tails)
	thinking  []thinkingChange               // by the models of the record, in order of requests
	differ    []int32                        // requests (0-based) that are not like the one before (differing)
	hour      bool                           // see asksForHour
	asksAgain bool                           // the client sends a request after each turn that no line holds
	off       atomic.Pointer[offFound]       // nil: not looked for
	fit       *Fit                           // nil: the window is by model and client
	release   *policy.Policy                 // that recorded it; nil: not known
	results   func() resultWeight            // of the whole session
	uses      func() (*regret.Index, error)
	mostEdits int // of a replay

	factors    map[string]tokens.Factor // by recorded model: of the target's tokenizer; nil: the record is as recorded
	converting sync.Mutex
	converted  map[string]*Record // by target's tokenizer; guarded by converting
}

// recordedActs are what the client did.
type recordedActs struct {
	edits []policy.Edit // the record as edits on raw
	notes []recordedAct // by edit: what the client recorded
}

// Edits returns the record as edits on the raw history.
func (r *Record) Edits() []policy.Edit { return slices.Clip(r.acts.edits) }

// Chance is what chance makes look like a miss on the record's own track.
func (r *Record) Chance() (regret.Chance, error) {
	x, err := r.uses()
	if err != nil {
		return regret.Chance{}, err
	}
	return x.Chance(), nil
}

// Client is what is known of the client that recorded the conversation.
func (r *Record) Client() *policy.Recorder { return cmp.Or(r.client, &policy.Recorder{}) }

// table is the table of models of a replay.
func (r *Record) table(opt Options) *price.Table { return cmp.Or(opt.Prices, r.models) }

// RecordOptions are those of a record. The zero value is the default.
type RecordOptions struct {
	Encoders  *tokens.Encoders // that several records share, so that common texts are counted once; nil: its own
	Families  []policy.Family  // what is known of clients and models; nil: those that are built in
	MostEdits int64            // of a replay, which is an error where it has more; 0: the default of jsonl.InputLimits
	Programs  policy.Programs  // starts the programs that policies name; nil: a policy with one is an error
}

// NewRecord computes the record of a conversation.
func NewRecord(conv *session.Conversation) (*Record, error) {
	return NewRecordWith(conv, RecordOptions{})
}

// NewRecordWith is NewRecord with options.
func NewRecordWith(conv *session.Conversation, opt RecordOptions) (*Record, error) {
	models := price.Default()
	encoders, families := cmp.Or(opt.Encoders, &tokens.Encoders{}), opt.Families
	if families == nil {
		families = stage.Families()
	}
	kinds, err := cache.DefaultKinds()
	if err != nil {
		return nil, err
	}
	m, _ := models.Find(conv.Model)
	client := policy.RecorderOf(conv.Product, families)
	counted := tokens.CountedModel{Client: client}
	if counted.Tokenizer, err = tokens.TokenizerOf(conv.Model, m.Tokenizer); err != nil {
		return nil, err
	}
	counted.ClearsThinking = anyFamily(families, func(f *policy.Family) func(string) bool { return f.ClearsThinking })
	counted.UntilAnswer = anyFamily(families, func(f *policy.Family) func(string) bool { return f.KeepsUnanswered })
	if !tokens.IsClaude(counted.Tokenizer) {
		if counted.Encoder, err = encoders.Get(tokens.NameO200K); err != nil {
			return nil, err
		}
	}
	cal, err := tokens.Calibrate(conv, counted)
	if err != nil {
		return nil, err
	}
	r := &Record{
		Conv: conv, Cal: cal, Counted: counted, models: models, kinds: kinds, encoders: encoders, programs: opt.Programs, model: m, client: client,
		reinject: make([]int, len(conv.Boundaries)), summary: make([]int, len(conv.Boundaries)),
		encoded: map[string]*tokens.WeightTable{}, largest: map[string]int{}, settings: settingsChanges(conv, cal.Drops, client),
		differ: differing(conv), mostEdits: int(jsonl.InputLimits{Edits: opt.MostEdits}.Filled().Edits),
	}
	r.asksAgain = r.kind(conv.Model).Mode != cache.Auto && asksAgain(conv, cal)
	if !r.Cal.Recorded {
		if r.Cal.WeightTable, err = r.encode(tokens.NameO200K, r.ratio()); err != nil {
			return nil, err
		}
	}
	return r, r.follow()
}

// follow computes the recorded view, and what it says of the overhead, from the calibration.
func (r *Record) follow() error {
	r.results = sync.OnceValue(r.weighResults)
	n := len(r.Conv.Requests)
	r.thinking, r.hour = nil, asksForHour(r.Conv)
	r.weight, r.overhead = make([]int, 0, n), make([]int, 0, n)
	t := &recordTrack{
		r: r, view: view.New(r.Conv, r.Cal, nil), pending: -1, known: -1, drops: r.Cal.Drops, folded: map[int]policy.ItemID{}, inferred: map[policy.Target]bool{},
		thinking: leftOut{thinking: tokens.NewThinking(r.Conv, r.Counted)},
	}
	t.view.Limit(r.mostEdits)
	walk(r.Conv, t)
	if t.err != nil {
		return t.err
	}
	r.acts = t.acts()
	r.head, r.tail = r.heads(), r.tails()
	r.floor = r.floors()
	r.uses = sync.OnceValues(func() (*regret.Index, error) {
		return regret.NewIndex(r.Conv, r.acts.edits)
	})
	return nil
}

// acts are what the client did, after the walk.
func (t *recordTrack) acts() recordedActs {
	acts := recordedActs{t.view.Edits(), t.notes}
	if len(acts.edits) > len(acts.notes) { // a note is of one edit of the record: the others are the server's
		acts.edits = nil
		for _, e := range t.view.Edits() {
			if e.Stage == recordStage {
				acts.edits = append(acts.edits, e)
			}
		}
	}
	return acts
}

// recordTrack computes the recorded view.
type recordTrack struct {
	r        *Record
	view     *view.View
	notes    []recordedAct // by edit of the record
	thinking leftOut
	pending  int // boundary before the next request, -1: none
	known    int // the first request (0-based) whose context is recorded, -1: none so far
	drops    []tokens.Drop
	folded   map[int]policy.ItemID // by collapse: its placeholder
	restarts restarting
	editing  contextEditing
	err      error

	inferred map[policy.Target]bool // results that inferred microcompactions have named
	results  resultsByID
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
	t.notes = append(t.notes, act)
	return e
}

func (t *recordTrack) fail(err error) {
	if t.err == nil {
		t.err = &jsonl.FileError{Path: t.r.Conv.Path, Err: fmt.Errorf("the record: %w", err)}
	}
}

// join adds a message. A result that the client had offloaded becomes the stub that it sent.
func (t *recordTrack) join(m int) {
	t.view.Join(m)
	msg := &t.r.Conv.Messages[m]
	for b := range msg.Blocks {
		bl := &msg.Blocks[b]
		if bl.Offload == nil {
			continue
		}
		target := policy.Target{Item: policy.ItemID(m), Block: b}
		t.apply(policy.Edit{
			Request: len(t.r.weight) + 1, Kind: policy.KindPersist, Trigger: "auto", Target: target,
			New:    &policy.Content{Kind: bl.Kind, Length: bl.Text, Ref: &target, Stub: true},
			Reason: fmt.Sprintf("the client wrote the result to a file, line %d", bl.Line),
		}, recordedAct{actJoin, m})
	}
	switch b, alone, ok := msg.Compaction(); {
	case ok && alone:
		t.apply(policy.Edit{
			Request: len(t.r.weight) + 1, Kind: policy.KindSummarize, Trigger: triggerAuto, Keep: []policy.ItemID{policy.ItemID(m)},
			Reason: "the API compacted: the response is its summary",
		}, recordedAct{actJoin, m})
	case ok:
		if err := withoutCompaction(t.view, m, b, len(t.r.weight)); err != nil {
			t.fail(err)
		}
	}
	t.editing.join(m, msg)
}

func (t *recordTrack) done() bool        { return t.err != nil }
func (t *recordTrack) responds() bool    { return false }
func (t *recordTrack) respond(int)       {}
func (t *recordTrack) turnEnd(int, bool) {}
func (t *recordTrack) manual(int, int)   {}

func (t *recordTrack) boundary(act recordedAct) {
	b := &t.r.Conv.Boundaries[act.at]
	e := policy.Edit{
		Request: b.Request, Kind: policy.KindSummarize, Trigger: b.Trigger,
		Reason: "the client compacted (" + b.Trigger + ")",
		Detail: known(map[string]int{"pre_tokens": b.PreTokens, "post_tokens": b.PostTokens}),
		Call:   &policy.Call{Kind: "compaction"}, // compactionCall says more
	}
	for _, m := range b.Kept() {
		e.Keep = append(e.Keep, policy.ItemID(m))
	}
	t.apply(e, act)
	if b.Summary >= 0 {
		t.r.summary[act.at] = t.r.Cal.Message(b.Summary)
		if sealed(&t.r.Conv.Messages[b.Summary]) {
			t.r.summary[act.at] = max(t.r.summary[act.at], t.r.client.At(b.Version).SealedSummary)
		}
	}
	t.pending = act.at
}

// known are the figures of an event that the client recorded; 0 is one that it did not.
func known(figures map[string]int) map[string]int {
	maps.DeleteFunc(figures, func(_ string, n int) bool { return n == 0 })
	return figures
}

// unreported is the overhead of requests before the first one with usage: what the client counted, or the default.
func (r *Record) unreported() int { return cmp.Or(r.Conv.Overhead, tokens.DefaultOverhead) }

func (t *recordTrack) request(k int) {
	r := t.r
	m := r.Conv.Requests[k].Message
	msg := &r.Conv.Messages[m]
	change := t.thinking.change(k, m, msg.Model)
	if change.request = k; len(change.left)+len(change.back) > 0 {
		r.thinking = append(r.thinking, change)
	}
	for _, e := range change.edits(t.view, msg.Model) {
		e.Stage = policy.StageServer
		if _, err := t.view.Apply(e); err != nil {
			t.fail(err)
		}
	}
	over := r.unreported()
	if k > 0 {
		over = r.overhead[k-1]
	}
	ctx := -1
	if msg.HasUsage {
		u := r.usage(msg)
		ctx = u.Context()
		within := u.Compactions()
		if b, alone, ok := msg.Compaction(); ok && !alone && within.Calls == 0 { // what it took is not recorded
			within = jsonl.Spent{Calls: 1, Input: t.view.PayloadTokens() + max(over, 0), Output: r.Cal.Block(m, b)}
		}
		if within.Calls > 0 {
			t.apply(compactedWithin(k, &within), noAct)
		}
		t.edited(k, msg.Applied, ctx, over)
		if over = t.settle(k, ctx, over); t.known < 0 {
			t.known = k
		}
	}
	t.pending = -1
	r.largest[msg.Model] = max(r.largest[msg.Model], ctx)
	r.weight = append(r.weight, t.view.PayloadTokens())
	r.overhead = append(r.overhead, over)
}

// compactedWithin is the edit for what the API compacted within request k (0-based): the compaction's iterations are
// a call of their own, and the message's iteration was sent only what the last of them wrote.
func compactedWithin(k int, c *jsonl.Spent) policy.Edit {
	return policy.Edit{
		Request: k + 1, Kind: policy.KindSummarize, Trigger: "auto",
		Reason: "the API compacted within the request, as its usage says",
		Insert: []policy.Synthetic{{
			Role: "user", Label: "compaction", Summary: true, Contents: []policy.Content{{Kind: jsonl.KindText, Tokens: c.Output}},
		}},
		Call:   &policy.Call{Kind: "compaction", Input: c.Context(), Output: c.Output, Prefix: "session"},
		Detail: map[string]int{"pre_tokens": c.Context()},
	}
}

// weightError is what the weights of a first request after a compaction are off by at most, in tokens: in sessions whose true
// requests are known that is less than 800; what recorded sessions sent on no line is more than 1,200.
const weightError = 1000

// settle makes the weight of R's payload and the overhead add up to the recorded context; it returns the overhead.
func (t *recordTrack) settle(k, ctx, over int) int {
	r := t.r
	rest := ctx - t.view.PayloadTokens()
	for len(t.drops) > 0 && t.drops[0].Request < k+1 {
		t.drops = t.drops[1:]
	}
	switch {
	case t.known < 0:
		return rest
	case t.pending < 0 && r.Conv.RestartedBefore(k+1):
		if fell := over - rest; fell > tokens.DropThreshold {
			t.apply(policy.Edit{
				Request: k + 1, Kind: policy.KindInferred, Trigger: policy.TriggerRestart, Detail: map[string]int{"fell": fell},
				Reason: policy.Thousands(fell) + " tokens that are on no line were not sent again after the restart",
			}, noAct)
		}
	case t.pending >= 0:
		if r.client.At(r.Conv.Boundaries[t.pending].Version).SameOverhead {
			over = r.overhead[t.known] - r.Cal.Searched[r.Conv.Requests[t.known].Message]
		}
		least := over // that is no error of the weights
		if r.client.At(r.Conv.Boundaries[t.pending].Version).RecordsAttached {
			least += weightError
		}
		if rest > least {
			// The client sent what is on no line: re-read files, listings.
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
			return ctx - t.view.PayloadTokens()
		}
	}
	return rest
}

// unrecorded is the label of the item for what a client sent after a compaction and did not record.
const unrecorded = "unrecorded re-injection"

// reinjection is the item for n tokens that a client sent after a compaction and did not record.
func reinjection(n int) policy.Synthetic {
	return policy.Synthetic{
		Role: "user", Label: unrecorded, Attached: true,
		Contents: []policy.Content{{Kind: jsonl.KindText, Tokens: n}},
	}
}

// anyFamily returns a test of a model: whether a test of any family holds.
func anyFamily(families []policy.Family, test func(*policy.Family) func(model string) bool) func(model string) bool {
	return func(model string) bool {
		for i := range families {
			if is := test(&families[i]); is != nil && is(model) {
				return true
			}
		}
		return false
	}
}
