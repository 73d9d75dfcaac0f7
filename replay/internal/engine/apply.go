package engine

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/replay/diff"
	"github.com/ctxkit/ctxkit/replay/internal/account"
	"github.com/ctxkit/ctxkit/replay/internal/record"
)

// editSource is where edits come from.
type editSource struct {
	stage    string
	next     int                   // 0-based number of the request to come
	turnEnd  bool                  // the stage ran at the end of a turn
	context  *policy.Context       // in which the stage ran; nil: they are no stage's
	recorded *record.RecordedEvent // where the client recorded them; nil: it did not
}

// applyAll applies the edits of one run of a stage, or of one act of the client; adjacent edits of one kind are one event,
// except those with a summary of their own.
//
// An edit at the end of the session belongs to the request that would have come next, but that of a turn end or a restart to none.
func (e *Engine) applyAll(edits []policy.Edit, from editSource) {
	if len(edits) == 0 {
		return
	}
	n := from.next + 1
	if (from.turnEnd || edits[0].Trigger == policy.TriggerRestart) && n > len(e.conv.Requests) {
		n = 0
	}
	for len(edits) > 0 {
		first := &edits[0]
		j := 1
		for j < len(edits) && edits[j].Kind == first.Kind && edits[j].Call == nil &&
			first.Kind != policy.KindSummarize && first.Kind != policy.KindCollapse && first.Kind != policy.KindFail {
			j++
		}
		group := edits[:j]
		edits = edits[j:]
		ev := Event{
			N: len(e.rows.events), Stage: from.stage, Kind: first.Kind, Trigger: first.Trigger, Reason: first.Reason, Detail: first.Detail,
			Recorded: from.recorded, Targets: []EventTarget{},
		}
		if n > 0 {
			ev.Request = &n
		}
		length := e.view.Len()
		for i := range group {
			ed := group[i]
			ed.Stage = from.stage
			ed.Group = ev.N
			ed.Request = n
			if e.apply(&ev, ed, &from); e.Done() {
				return
			}
		}
		if ev.Kind == policy.KindSummarize {
			ev.Messages = max(length-e.view.Len(), 0)
			ev.Kept = e.segment()
		}
		ev.Saved = ev.Before - ev.After
		e.rows.events = append(e.rows.events, ev)
		e.changes.events = append(e.changes.events, ev.N)
	}
}

// apply applies an edit of an event, and makes its calls.
func (e *Engine) apply(ev *Event, ed policy.Edit, from *editSource) {
	if q := e.observers.asking; q != nil && q.Event == ev.N {
		e.ask(&ed, from.context)
		return
	}
	for c := ed.Call; c != nil; c = c.Then {
		e.call(c, ed.Made(), from.next)
	}
	if ed.Kind == policy.KindSummarize {
		e.restarts.unread = 0
		e.noteCompaction(&ed, from.next)
	}
	restart := ed.Trigger == policy.TriggerRestart
	was := e.view.PayloadTokens()
	client := e.view.ClientPayloadTokens()
	for _, id := range ed.Items {
		if restart && id < 0 { // what is on no line is not in the raw history
			was -= e.view.PayloadWeight(id)
		}
	}
	ed, err := e.view.Apply(ed)
	if err != nil {
		if over := (*jsonl.LimitError)(nil); errors.As(err, &over) {
			err = fmt.Errorf("at request %d of %d %w", cmp.Or(ed.Request, len(e.conv.Requests)+1), len(e.conv.Requests), err)
		}
		e.fail(err)
		return
	}
	e.changes.trimmed += client - e.view.ClientPayloadTokens()
	switch {
	case restart:
		e.restarts.unread += was - e.view.PayloadTokens()
	case ed.Stage != policy.StageServer:
		e.clearance.weigh(&ed, was-e.view.PayloadTokens())
	}
	ev.Before += ed.Before
	ev.After += ed.After
	e.targets(ev, &ed)
	e.checkSticky(&ed, from.next)
}

// segment is what the last edit, a compaction, left behind its summary; nil where that is nothing.
func (e *Engine) segment() *Segment {
	last := e.view.Edits()[len(e.view.Edits())-1]
	head, anchor, tail, ok := diff.Segment(e.view, &last)
	if !ok {
		return nil
	}
	return &Segment{Head: head.Name(e.conv), Anchor: anchor.Name(e.conv), Tail: tail.Name(e.conv)}
}

// targets adds what an edit changed to its event.
func (e *Engine) targets(ev *Event, ed *policy.Edit) {
	switch ed.Kind {
	case policy.KindClear, policy.KindPersist, policy.KindTruncate, policy.KindCacheEdit, policy.KindServerClear,
		policy.KindServerKeep, policy.KindTag, policy.KindWrap:
		var raw *session.Block
		if ed.Target.Block != policy.WholeItem {
			raw = e.view.Raw(ed.Target)
		}
		unchanged := ed.New != nil && ed.New.Ref != nil && !ed.New.Stub // the edit names it only
		if raw != nil && raw.Kind == jsonl.KindToolResult && !unchanged {
			ev.Results++
			e.clearance.note(ed)
		}
		t := EventTarget{Message: ed.Target.Item.Name(e.conv)}
		if raw != nil {
			t.ToolUse = raw.ID
		}
		ev.Targets = append(ev.Targets, t)
	case policy.KindRemove, policy.KindCollapse, policy.KindCall, policy.KindFail:
		if !ed.Kind.KeepsView() {
			ev.Messages += len(ed.Items)
		}
		for _, id := range ed.Items {
			ev.Targets = append(ev.Targets, EventTarget{Message: id.Name(e.conv)})
		}
	}
}

// call adds the request of an edit's own model call, and sets the call's tokens where they are 0.
func (e *Engine) call(c *policy.Call, inserted []policy.Synthetic, next int) {
	k := min(next, len(e.conv.Requests)-1)
	var facts *account.RequestFacts
	over := 0 // may be below zero: see weighRequest
	if k >= 0 {
		facts = e.facts(k)
		if c.Prefix == "session" {
			over = facts.Overhead
		}
	}
	if c.Output == 0 {
		c.Output = e.summaryTokens(inserted)
	}
	row := account.Request{
		N: next + 1, Kind: c.Kind, Overhead: max(over, 0), Output: c.Output, Messages: e.view.Len(), Events: []int{len(e.rows.events)},
	}
	row.Tokens, row.Payload = c.Size(e.view, over)
	c.Input = row.Tokens
	if k >= 0 {
		row.Model = e.conv.Response(k).Model
	}
	e.fail(e.account.Call(facts, e.view, c, &row))
	e.send(SentRequest{Request: &row, Call: c, Start: e.progress.now})
	e.rows.requests = append(e.rows.requests, row)
}

// summaryTokens is the tokens of summaries.
func (e *Engine) summaryTokens(inserted []policy.Synthetic) (n int) {
	for i := range inserted {
		if inserted[i].Summary {
			for b := range inserted[i].Contents {
				n += e.counter.Report.Content(&inserted[i].Contents[b])
			}
		}
	}
	return n
}

// noteCompaction notes the estimate before a compaction, and which recorded summary it reuses.
func (e *Engine) noteCompaction(ed *policy.Edit, next int) {
	if !e.changes.compacted {
		e.changes.used, _ = e.used()
	}
	e.changes.compacted = true
	e.progress.last.Summary = true
	e.progress.compactAt = next
	for _, s := range ed.Made() {
		for _, c := range s.Contents {
			for k := range e.conv.Boundaries {
				if s.Summary && c.Ref != nil && e.conv.Boundaries[k].Summary == int(c.Ref.Item) {
					e.summaries[k] = true
				}
			}
		}
	}
}
