package replay

import (
	"github.com/ctxkit/ctxkit/policy"
)

// replayedRecord makes the record's own track visible as a policy: the edits
// that NewRecord worked out are applied where they were made.
type replayedRecord struct {
	*engine
	at     int
	raised []int // boundaries whose event is made
}

func (t *replayedRecord) micro(int)       { t.due(false) }
func (t *replayedRecord) boundary(int)    { t.due(false) }
func (t *replayedRecord) manual(int, int) {}
func (t *replayedRecord) respond(int)     {}
func (t *replayedRecord) turnEnd(int, bool) {
}

func (t *replayedRecord) join(m int) {
	msg := &t.conv.Messages[m]
	if !msg.RecordOnly {
		for b := range msg.Blocks {
			t.raw += t.report.Block(m, b)
		}
	}
	t.view.Join(m)
}

func (t *replayedRecord) request(k int) {
	t.due(true)
	used, _ := t.used(k)
	t.account(k, used)
}

// due applies the record's edits that were made when as many messages had
// joined as have now. Those made as a request is weighed wait for it.
func (t *replayedRecord) due(weighing bool) {
	r := t.r
	for t.at < len(r.edits) && r.edits[t.at].Joined <= t.view.Joined() {
		first := t.at
		ed := r.edits[first]
		if atRequest(&ed, r.notes[first]) && !weighing {
			return
		}
		end := first + 1
		for end < len(r.edits) && r.edits[end].Joined == ed.Joined && r.edits[end].Kind == ed.Kind && r.notes[end] == r.notes[first] && ed.Kind == policy.KindClear && r.edits[end].Trigger == ed.Trigger {
			end++
		}
		t.at = end
		t.raise(r.edits[first:end], r.notes[first])
	}
}

// atRequest tells edits made as a request is weighed from those made where a
// line stands.
func atRequest(e *policy.Edit, act recordedAct) bool {
	return e.Kind == policy.KindAttach || act.micro < 0 && act.boundary < 0
}

// raise applies edits of one recorded act and makes its event.
func (t *replayedRecord) raise(edits []policy.Edit, act recordedAct) {
	next := edits[0].Request - 1
	if edits[0].Request == 0 {
		next = len(t.conv.Requests)
	}
	group := make([]policy.Edit, len(edits))
	for i := range edits {
		group[i] = edits[i]
		group[i].Insert = append([]policy.Synthetic(nil), edits[i].Insert...)
		if edits[i].Call != nil {
			c := *edits[i].Call
			if act.boundary >= 0 && t.conv.Boundaries[act.boundary].Summary >= 0 {
				c.Output = t.r.summary[act.boundary]
			}
			group[i].Call = &c
		}
	}
	n := len(t.events)
	t.applyAll(recordStage, group, next)
	if t.err != nil || n >= len(t.events) {
		return
	}
	ev := &t.events[n]
	switch {
	case act.boundary >= 0 && ev.Kind == policy.KindSummarize:
		b := &t.conv.Boundaries[act.boundary]
		ev.Recorded = &RecordedEvent{File: t.conv.Path, Line: b.Line, Trigger: b.Trigger, PreTokens: b.PreTokens}
	case act.micro >= 0:
		m := &t.conv.Micro[act.micro]
		ev.Recorded = &RecordedEvent{File: t.conv.Path, Line: m.Line, Trigger: m.Trigger, PreTokens: m.PreTokens, TokensSaved: m.TokensSaved}
	}
}
