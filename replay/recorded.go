package replay

import (
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
)

// replayedRecord makes the record's own track visible as a policy: the edits
// that NewRecord worked out are applied where they were made.
type replayedRecord struct {
	*engine
	at     int // the next of the record's edits
	before int // used as it was before a compaction the client made here, 0: none
}

func (t *replayedRecord) micro(i int) { t.due(recordedAct{actMicro, i}, false) }
func (t *replayedRecord) edited(act recordedAct) {
	t.noteChanges()
	t.due(act, false)
}
func (t *replayedRecord) boundary(i int) {
	if t.before == 0 {
		t.before, _ = t.used(len(t.weight))
	}
	t.noteChanges()
	t.due(recordedAct{actBoundary, i}, false)
}
func (t *replayedRecord) manual(int, int) {}
func (t *replayedRecord) respond(int)     {}
func (t *replayedRecord) turnEnd(int, bool) {
}

func (t *replayedRecord) join(m int) {
	msg := &t.conv.Messages[m]
	if msg.Class != session.ClassAttachment && !msg.Time.IsZero() {
		t.now = msg.Time
	}
	if !msg.RecordOnly {
		for b := range msg.Blocks {
			t.raw += t.report.Block(m, b)
		}
	}
	t.view.Join(m)
	t.due(recordedAct{actJoin, m}, false)
}

func (t *replayedRecord) request(k int) {
	t.weigh()
	used, _ := t.used(k)
	if t.before > 0 {
		used, t.before = t.before, 0
	}
	t.account(k, used)
}

// weigh applies the edits the record made as it weighed the next request.
func (t *replayedRecord) weigh() {
	for t.at < len(t.r.edits) && t.r.edits[t.at].Joined <= t.view.Joined() && atRequest(&t.r.edits[t.at], t.r.notes[t.at]) {
		t.due(t.r.notes[t.at], true)
	}
}

// due applies the edits of one recorded act: those made where its line stands,
// or, weighing, one event of those made as the request after it was weighed.
func (t *replayedRecord) due(act recordedAct, weighing bool) {
	r := t.r
	for t.at < len(r.edits) && r.notes[t.at] == act && atRequest(&r.edits[t.at], act) == weighing {
		first := t.at
		ed := &r.edits[first]
		end := first + 1
		for end < len(r.edits) && r.edits[end].Joined == ed.Joined && r.notes[end] == act && grouped(ed.Kind, act) && r.edits[end].Kind == ed.Kind && r.edits[end].Trigger == ed.Trigger {
			end++
		}
		t.at = end
		t.raise(r.edits[first:end], act)
		if weighing {
			return
		}
	}
}

// grouped reports whether edits of one act are one event.
func grouped(k policy.Kind, act recordedAct) bool {
	return k == policy.KindClear || act.kind == actReplacement
}

// atRequest tells edits made as a request is weighed from those made where a
// line stands.
func atRequest(e *policy.Edit, act recordedAct) bool {
	return e.Kind == policy.KindAttach || act == noAct
}

// raise applies edits of one recorded act and makes its event.
func (t *replayedRecord) raise(edits []policy.Edit, act recordedAct) {
	next := edits[0].Request - 1
	group := make([]policy.Edit, len(edits))
	for i := range edits {
		group[i] = edits[i]
		group[i].Insert = append([]policy.Synthetic(nil), edits[i].Insert...)
		if edits[i].Call != nil {
			c := *edits[i].Call
			switch {
			case act.kind == actBoundary && t.conv.Boundaries[act.at].Summary >= 0:
				c.Output = t.r.summary[act.at]
			case act.kind == actCollapse:
				c.Output = t.report.Content(&edits[i].Insert[0].Contents[0])
			}
			group[i].Call = &c
		}
	}
	n := len(t.events)
	t.applyAll(recordStage, group, next, false)
	if act.kind == actMicro && group[0].Kind == policy.KindInferred {
		t.raw += group[0].Delta // of the stand-in, which every view shares
	}
	if t.err != nil || n >= len(t.events) {
		return
	}
	if kind := t.events[n].Kind; act.kind != actBoundary || kind == policy.KindSummarize {
		t.events[n].Recorded = t.r.recorded(act)
	}
}
