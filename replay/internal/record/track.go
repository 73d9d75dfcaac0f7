package record

import (
	"cmp"
	"fmt"
	"maps"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/view"
	"github.com/ctxkit/ctxkit/replay/tokens"
	"github.com/ctxkit/ctxkit/replay/wire"
)

// acts are what the client did, after the walk.
func (t *recordTrack) acts() Acts {
	acts := Acts{t.Edits(), t.notes}
	if len(acts.Edits) > len(acts.Notes) { // a note belongs to one edit of the recorded session: the others are the server's
		acts.Edits = nil
		for _, e := range t.Edits() {
			if e.Stage == StageName {
				acts.Edits = append(acts.Edits, e)
			}
		}
	}
	return acts
}

// recordTrack computes the recorded view.
type recordTrack struct {
	r *Record
	*view.View
	notes    []Act // by edit of the recorded session
	thinking ThinkingEdits
	pending  int // boundary before the next request, -1: none
	known    int // the first request (0-based) whose context is recorded, -1: none so far
	drops    []tokens.Drop
	folded   map[int]policy.ItemID // by collapse: its placeholder
	restarts Restarts
	editing  contextEditing

	reminders int // tokens of the reminders on no line that the overhead has
	err       error

	inferred map[policy.Target]bool // results that inferred microcompactions have named
	results  resultsByID
}

// StageName is the name of the stage on events of the recorded session.
const StageName = "recorded"

// apply applies an edit of an act, and notes it.
func (t *recordTrack) apply(e policy.Edit, act Act) policy.Edit {
	e.Stage = StageName
	e, err := t.Apply(e)
	if err != nil {
		t.fail(err)
		return e
	}
	t.notes = append(t.notes, act)
	return e
}

// fail ends the walk with an error, the first one.
func (t *recordTrack) fail(err error) {
	if t.err == nil {
		t.err = &jsonl.FileError{Path: t.r.Conv.Path, Err: fmt.Errorf("the recorded session: %w", err)}
	}
}

// Join adds a message. A result that the client had offloaded becomes the stub that it sent.
func (t *recordTrack) Join(m int) {
	t.View.Join(m)
	msg := &t.r.Conv.Messages[m]
	for b := range msg.Blocks {
		bl := &msg.Blocks[b]
		if bl.Offload == nil {
			continue
		}
		target := policy.BlockOf(m, b)
		t.apply(policy.Edit{
			Request: len(t.r.Weight) + 1, Kind: policy.KindPersist, Trigger: "auto", Target: target,
			New:    &policy.Content{Kind: bl.Kind, Length: bl.Text, Ref: &target, Stub: true},
			Reason: fmt.Sprintf("the client wrote the result to a file, line %d", bl.Line),
		}, Act{ActJoin, m})
	}
	switch b, alone, ok := msg.Compaction(); {
	case ok && alone:
		t.apply(policy.Edit{
			Request: len(t.r.Weight) + 1, Kind: policy.KindSummarize, Trigger: TriggerAuto, Keep: []policy.ItemID{policy.ItemID(m)},
			Reason: "the API compacted: the response is its summary",
		}, Act{ActJoin, m})
	case ok:
		if err := WithoutCompaction(t.View, m, b, len(t.r.Weight)); err != nil {
			t.fail(err)
		}
	}
	t.editing.join(m, msg)
}

// Done reports whether the walk ends early. The other methods do nothing: the recorded session has no stages.
func (t *recordTrack) Done() bool        { return t.err != nil }
func (t *recordTrack) Responds() bool    { return false }
func (t *recordTrack) Respond(int)       {}
func (t *recordTrack) TurnEnd(int, bool) {}
func (t *recordTrack) Manual(int, int)   {}

// known are the figures of an event that the client recorded; 0 is one that it did not.
func known(figures map[string]int) map[string]int {
	maps.DeleteFunc(figures, func(_ string, n int) bool { return n == 0 })
	return figures
}

// Unreported is the overhead of requests before the first one with usage: what the client counted, or the default.
func (r *Record) Unreported() int { return cmp.Or(r.Conv.Overhead, tokens.DefaultOverhead) }

// Request weighs request k (0-based): which part of its recorded context is in view, and which is overhead.
func (t *recordTrack) Request(k int) {
	r := t.r
	m := r.Conv.Requests[k].Message
	msg := &r.Conv.Messages[m]
	change := t.thinking.Change(k, m, msg.Model)
	if change.Request = k; len(change.Left)+len(change.Back) > 0 {
		r.Thinking = append(r.Thinking, change)
	}
	for _, e := range change.Edits(t.View, msg.Model) {
		e.Stage = policy.StageServer
		if _, err := t.Apply(e); err != nil {
			t.fail(err)
		}
	}
	over := r.Unreported()
	if k > 0 {
		over = r.Overhead[k-1]
	}
	if msg.HasUsage {
		u := r.Usage(msg)
		ctx := u.Context()
		within := u.Compactions()
		if b, alone, ok := msg.Compaction(); ok && !alone && within.Calls == 0 { // what it took is not recorded
			within = jsonl.Spent{Calls: 1, Input: t.PayloadTokens() + max(over, 0), Output: r.Cal.Block(m, b)}
		}
		if within.Calls > 0 {
			t.apply(compactedWithin(k, &within), NoAct)
		}
		t.edited(k, msg.Applied, ctx, over)
		if over = t.settle(k, ctx, over); t.known < 0 {
			t.known = k
		}
	}
	t.pending = -1
	r.Weight = append(r.Weight, t.PayloadTokens())
	r.Overhead = append(r.Overhead, over)
	r.Withheld = append(r.Withheld, t.editing.withheld())
}

// weightError is what the weights of a first request after a compaction are off by at most, in tokens: in sessions whose true
// requests are known that is less than 800; what recorded sessions sent on no line is more than 1,200.
const weightError = 1000

// settle makes the weight of R's payload and the overhead add up to the recorded context; it returns the overhead.
func (t *recordTrack) settle(k, ctx, over int) int {
	r := t.r
	rest := ctx - t.PayloadTokens()
	for len(t.drops) > 0 && t.drops[0].Request < k+1 {
		t.drops = t.drops[1:]
	}
	reminders := t.reminders
	if t.known < 0 || t.pending >= 0 {
		t.reminders = (wire.NextReminders(t.View) + 3) / 4
	}
	switch {
	case t.known < 0:
		return rest
	case t.pending < 0 && r.Conv.RestartedBefore(k+1):
		if fell := over - rest; fell > tokens.DropThreshold {
			t.apply(policy.Edit{
				Request: k + 1, Kind: policy.KindInferred, Trigger: policy.TriggerRestart, Detail: map[string]int{"fell": fell},
				Reason: policy.Thousands(fell) + " tokens that are on no line were not sent again after the restart",
			}, NoAct)
		}
	case t.pending >= 0:
		if r.Client.At(r.Conv.Boundaries[t.pending].Version).SameOverhead {
			over = r.Overhead[t.known] - r.Cal.Searched[r.Conv.Requests[t.known].Message]
		}
		over += t.reminders - reminders
		least := over // that is no error of the weights
		if r.Client.At(r.Conv.Boundaries[t.pending].Version).RecordsAttached {
			least += weightError
		}
		if rest > least {
			// The client sent what is on no line: re-read files, listings.
			r.Reinject[t.pending] = rest - over
			t.apply(policy.Edit{
				Request: k + 1, Kind: policy.KindAttach, Reason: "sent after the compaction, on no line of the file",
				Insert: []policy.Synthetic{Reinjection(rest - over)},
			}, Act{ActBoundary, t.pending})
			return over
		}
	case len(t.drops) > 0 && t.drops[0].Request == k+1:
		d := t.drops[0]
		t.apply(policy.Edit{
			Request: k + 1, Kind: policy.KindInferred, Trigger: "inferred", Detail: map[string]int{"fell": d.Tokens},
			Reason: fmt.Sprintf("the recorded context fell by %d tokens: %s", d.Tokens, d.Cause),
		}, NoAct)
		if !d.Shared {
			t.inferMicro(k)
			return ctx - t.PayloadTokens()
		}
	}
	return rest
}

// unrecorded is the label of the item for what a client sent after a compaction and did not record.
const unrecorded = "unrecorded attachments"

// Reinjection is the item for n tokens that a client sent after a compaction and did not record.
func Reinjection(n int) policy.Synthetic {
	return policy.Synthetic{
		Role: "user", Label: unrecorded, Attached: true,
		Contents: []policy.Content{{Kind: jsonl.KindText, Tokens: n}},
	}
}
