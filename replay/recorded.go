package replay

import (
	"slices"

	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
)

// RecordedTrack is the policy of the recorded track.
func RecordedTrack() *policy.Policy {
	return &policy.Policy{Name: recordStage, Recorded: true, Window: policy.DefaultWindow(), Cache: policy.DefaultCaching()}
}

// replayedRecord is the recorded track as a policy: it applies the edits of the Record at the places where they were
// made.
type replayedRecord struct {
	*engine
	at     int // the next of the record's edits
	before int // used before a compaction that the client made here, 0: none
}

// ownTrack is the record's own track.
func (e *engine) ownTrack() *replayedRecord { return &replayedRecord{engine: e} }

func (t *replayedRecord) manual(int, int)   {}
func (t *replayedRecord) responds() bool    { return false }
func (t *replayedRecord) respond(int)       {}
func (t *replayedRecord) turnEnd(int, bool) {}

func (t *replayedRecord) recorded(act recordedAct) {
	if act.kind == actBoundary && t.before == 0 {
		t.before, _ = t.used(len(t.weight))
	}
	if act.kind != actMicro {
		t.noteChanges()
	}
	t.applyAct(act, false)
	t.cache.again = t.cache.again || act.kind == actRestart
}

func (t *replayedRecord) join(m int) {
	msg := t.said(m)
	t.view.Join(m)
	if b, alone, ok := msg.Compaction(); ok && !alone {
		if err := withoutCompaction(t.view, m, b, len(t.weight)); err != nil {
			t.fail(err)
		}
	}
	t.applyAct(recordedAct{actJoin, m}, false)
}

func (t *replayedRecord) request(k int) {
	t.weigh(k)
	used, _ := t.used(k)
	if t.before > 0 {
		used, t.before = t.before, 0
	}
	t.account(k, used)
}

// weigh applies the edits that were made when request k (0-based) was weighed.
func (t *replayedRecord) weigh(k int) {
	t.leaveOut(k)
	acts := &t.r.acts
	for t.at < len(acts.edits) {
		act := acts.notes[t.at]
		if acts.edits[t.at].Joined > t.view.Joined() || !atRequest(acts.edits[t.at].Kind, act) {
			return
		}
		t.applyAct(act, true)
	}
}

// applyAct applies the edits of one recorded act. Without weighing these are the edits made at its line. With weighing
// they are one event of those made when the request after the line was weighed.
func (t *replayedRecord) applyAct(act recordedAct, weighing bool) {
	r := &t.r.acts
	for t.at < len(r.edits) && r.notes[t.at] == act {
		if atRequest(r.edits[t.at].Kind, act) != weighing {
			return
		}
		ed := r.edits[t.at]
		group := []policy.Edit{ed}
		grouped := ed.Kind == policy.KindClear || act.kind == actReplacement || act.kind == actServer // into one event
		for t.at++; grouped && t.at < len(r.edits) && r.notes[t.at] == act; t.at++ {
			o := r.edits[t.at]
			if o.Joined != ed.Joined || o.Kind != ed.Kind || o.Trigger != ed.Trigger {
				break
			}
			group = append(group, o)
		}
		if t.applyEvent(group, act); weighing {
			return
		}
	}
}

// atRequest reports whether an edit was made when a request was weighed, and not at a line.
func atRequest(kind policy.EditKind, act recordedAct) bool {
	return kind == policy.KindAttach || act == noAct || act.kind == actServer
}

// applyEvent applies edits of one recorded act, which it may change, and makes its event.
func (t *replayedRecord) applyEvent(edits []policy.Edit, act recordedAct) {
	for i := range edits {
		edits[i].Insert = slices.Clone(edits[i].Insert)
		if edits[i].Call != nil {
			c := *edits[i].Call
			switch {
			case act.kind == actBoundary:
				c = *t.compactionCall(&t.conv.Boundaries[act.at], edits[i].Keep)
				c.Output = t.r.summary[act.at]
				if u := t.conv.Boundaries[act.at].Usage; u != nil {
					c.Input, c.Output = u.Context(), u.Output
				}
			case act.kind == actCollapse:
				c.Output = t.report.Content(&edits[i].Insert[0].Contents[0])
			}
			edits[i].Call = &c
		}
	}
	var at *RecordedEvent
	if act.kind != actBoundary || edits[0].Kind == policy.KindSummarize {
		at = t.r.event(act)
	}
	t.applyAll(recordStage, edits, edits[0].Request-1, false, at)
	if act.kind == actMicro && edits[0].Kind == policy.KindInferred {
		t.raw += edits[0].Delta // of the message for the earlier history, which is in every view
	}
}

// compactionCall is the request for the summary of a recorded compaction. It holds the view as it was before a
// microcompaction at the same request.
func (t *replayedRecord) compactionCall(b *session.Boundary, kept []policy.ItemID) *policy.Call {
	before, over := t.view.Tokens(), 0
	list := t.view.Edits()
	for i := len(list) - 1; i >= 0; i-- {
		e := list[i]
		if e.Request != b.Request {
			break
		}
		if (e.Kind == policy.KindClear || e.Kind == policy.KindInferred) && e.Trigger != policy.TriggerRestart {
			before += e.Before - e.After
		}
	}
	if n := len(t.conv.Requests); n > 0 {
		over = t.overhead(min(b.Request, n) - 1)
	}
	if t.r.client.CompactionCall == nil {
		return &policy.Call{Kind: "compaction"}
	}
	return t.r.client.CompactionCall(b.Version, t.view, kept, before, over)
}
