package record

import (
	"slices"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/view"
	"github.com/ctxkit/ctxkit/replay/tokens"
)

// resultsByID finds the results of a view by the id of their call.
type resultsByID struct {
	places map[string][]int // indexes into View.Results
	epoch  int              // of the view
	listed int              // results of this epoch that are in places
}

// of returns the indexes of the results of some calls, in view order.
func (x *resultsByID) of(v *view.View, ids []string) (found []int) {
	if x.places == nil || v.Epoch() != x.epoch {
		x.places, x.epoch, x.listed = map[string][]int{}, v.Epoch(), 0
	}
	for results := v.Results(); x.listed < len(results); x.listed++ {
		id := results[x.listed].ID
		x.places[id] = append(x.places[id], x.listed)
	}
	for _, id := range ids {
		found = append(found, x.places[id]...)
	}
	slices.Sort(found)
	return slices.Compact(found)
}

// micro clears the results that a recorded microcompaction names, as the client's rule does.
func (t *recordTrack) micro(act Act) {
	m := &t.r.Conv.Micro[act.Index]
	rule := t.r.Client.Microcompaction
	found := 0
	reason := "the client microcompacted (" + m.Trigger + ")"
	detail := known(map[string]int{"pre_tokens": m.PreTokens, "tokens_saved": m.TokensSaved})
	// Applying changes results' states, not their number or order, and looks for none.
	for _, i := range t.results.of(t.View, m.ToolIDs) {
		res := t.Results()[i]
		if res.State == policy.ResultGone {
			continue
		}
		found++
		stub := policy.NewContent(jsonl.KindToolResult, "")
		if rule != nil {
			left, err := rule.Leaves(t.View, t.View, res.Target)
			if err != nil {
				t.fail(err)
				return
			}
			if left {
				continue // the boundary names it, and it does not change
			}
			stub = rule.Stub(t.View, res)
		}
		t.apply(policy.Edit{
			Request: m.Request, Kind: policy.KindClear, Trigger: m.Trigger, Target: res.Target, New: &stub,
			Reason: reason, Detail: detail,
		}, act)
	}
	if found == 0 {
		// All of its results are before the start of the file: the event appears without them. The tokens come off
		// the message for the earlier history, on every track.
		t.apply(t.r.HiddenMicro(act.Index, t.View), act)
	}
}

// HiddenMicro is the edit for a recorded microcompaction of results that are before the start of the file.
func (r *Record) HiddenMicro(i int, view *view.View) policy.Edit {
	m := &r.Conv.Micro[i]
	e := policy.Edit{
		Request: m.Request, Kind: policy.KindInferred, Trigger: m.Trigger,
		Reason: "the client microcompacted (" + m.Trigger + "): its results are not in the file",
		Detail: known(map[string]int{"pre_tokens": m.PreTokens, "tokens_saved": m.TokensSaved}),
	}
	if r.Conv.BeginsMidway() && view.Has(0) {
		e.Delta = -min(r.fromEstimate(m.TokensSaved), r.Cal.Message(0))
	}
	return e
}

// fromEstimate is what results weigh that a client estimates at a number of tokens: in proportion to the session's results.
func (r *Record) fromEstimate(n int) int {
	all := r.results()
	if all.estimate == 0 {
		return n
	}
	return n * all.weight / all.estimate
}

// resultWeight is what results weigh, and what a client estimates them at, in tokens.
type resultWeight struct{ weight, estimate int }

// weighResults adds up the results of the session.
func (r *Record) weighResults() (all resultWeight) {
	for m := range r.Conv.Messages {
		blocks := r.Conv.Messages[m].Blocks
		for b := range blocks {
			if blocks[b].Kind == jsonl.KindToolResult {
				all.weight += r.Cal.Block(m, b)
				all.estimate += tokens.Estimate(&blocks[b])
			}
		}
	}
	return all
}

// Hidden reports whether none of a recorded microcompaction's results is in the file.
func (r *Record) Hidden(i int) bool {
	return !slices.ContainsFunc(r.Conv.Micro[i].ToolIDs, func(id string) bool {
		_, _, ok := r.Conv.ToolUse(id)
		return ok
	})
}

// inferMicro makes the edits of a microcompaction that left no line, by the client's rule.
func (t *recordTrack) inferMicro(k int) {
	rule := t.r.Client.Microcompaction
	if rule == nil {
		return
	}
	edits, err := rule.Stage().Run(&policy.Context{
		Moment: policy.Prepare, Request: k + 1, View: t.View, Conv: t.r.Conv, Texts: t.View,
	})
	if err != nil {
		t.fail(err)
		return
	}
	for _, e := range edits {
		if t.inferred[e.Target] && e.New == t.Replacement(e.Target) {
			continue // the rule names it each time, and it does not change
		}
		t.inferred[e.Target] = true
		e.Request = k + 1
		e.Kind = policy.KindClear
		e.Trigger = "inferred"
		e.Reason = "what the client's rule clears here"
		t.apply(e, NoAct)
	}
}
