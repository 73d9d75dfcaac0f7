package engine

import (
	"cmp"
	"slices"

	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/replay/internal/record"
)

// RecordedTrack returns the policy that repeats what the client really sent, from the context changes that it recorded.
func RecordedTrack() *policy.Policy {
	return &policy.Policy{Name: record.StageName, Recorded: true, Window: policy.DefaultWindow(), Cache: policy.DefaultCaching()}
}

// restarts are the restarts of the client, and what it did not read back then.
type restarts struct {
	record.Restarts
	unread int // tokens, since the last compaction, which would have taken them, too
	sum    int // of unread over main requests
}

// clearsThinking reports whether a stage of a policy says which thinking the server leaves out.
func clearsThinking(pol *policy.Policy) bool {
	for i := range pol.Stages {
		if s, ok := pol.Stages[i].Params.(policy.ServerEdit); ok {
			if _, thinking := s.ServerEdit(); thinking {
				return true
			}
		}
	}
	return false
}

// recordedEdits makes the edits before a request that are no decision of a policy: what the server leaves out by itself
// and, on the recorded session's own track, what the client did when the request was weighed. Where the client asks
// again after a turn, that request has written the cache without what the server leaves out.
func (e *Engine) recordedEdits(q *request) {
	if e.err != nil {
		return
	}
	if e.thinking != nil {
		model := cmp.Or(e.options.Model, q.msg.Model)
		change := e.thinking.Change(q.k, e.conv.Requests[q.k].Message, model)
		edits := change.Edits(e.view, model)
		if len(edits) > 0 && e.record.AsksAgain && e.record.Tails[q.k].Ended {
			for i := range edits {
				edits[i].Warm = edits[i].Kind == policy.KindServerClear
			}
		}
		e.applyAll(edits, editSource{stage: policy.StageServer, next: q.k})
	}
	if !e.policy.Recorded {
		return
	}
	for acts := &e.record.Acts; e.nextEdit < len(acts.Edits); {
		act := acts.Notes[e.nextEdit]
		ed := &acts.Edits[e.nextEdit]
		if ed.Joined > e.view.Joined() || !atRequest(ed.Kind, act) {
			return
		}
		e.replayAct(act, true)
	}
}

// Recorded applies an act of the client: every one on the recorded session's own track. On the track of a policy it
// applies a restart, and a microcompaction of results that are not in the file, because every view holds the same
// message for the earlier history.
func (e *Engine) Recorded(act record.Act) {
	switch {
	case e.policy.Recorded:
		if act.Kind != record.ActMicro {
			e.account.NoteChanges(e.view)
		}
		e.replayAct(act, false)
		if act.Kind == record.ActRestart {
			e.account.Restart()
		}
	case act.Kind == record.ActRestart:
		e.restart(act)
	case act.Kind == record.ActMicro && e.record.Hidden(act.Index):
		ed := e.record.HiddenMicro(act.Index, e.view)
		if ed.Delta == 0 {
			return
		}
		ed.Stage = record.StageName
		if _, err := e.view.Apply(ed); err != nil {
			e.fail(err)
		}
		e.progress.raw += ed.Delta
	}
}

// restart applies a restart of the client. What the policy did before stays: a client writes that to the file.
func (e *Engine) restart(act record.Act) {
	s := &e.conv.Restarts[act.Index]
	e.account.NoteChanges(e.view)
	e.applyAll(e.restarts.Edits(s, e.view), editSource{stage: record.StageName, next: s.Request - 1, recorded: e.record.Event(act)})
	e.account.Restart()
}

// replayAct applies the edits of one recorded act. Without weighing these are the edits made at its line. With weighing
// they are one event of those made when the request after the line was weighed.
func (e *Engine) replayAct(act record.Act, weighing bool) {
	r := &e.record.Acts
	for e.nextEdit < len(r.Edits) && r.Notes[e.nextEdit] == act {
		if atRequest(r.Edits[e.nextEdit].Kind, act) != weighing {
			return
		}
		ed := r.Edits[e.nextEdit]
		group := []policy.Edit{ed}
		grouped := ed.Kind == policy.KindClear || act.Kind == record.ActReplacement || act.Kind == record.ActServer // into one event
		for e.nextEdit++; grouped && e.nextEdit < len(r.Edits) && r.Notes[e.nextEdit] == act; e.nextEdit++ {
			o := r.Edits[e.nextEdit]
			if o.Joined != ed.Joined || o.Kind != ed.Kind || o.Trigger != ed.Trigger {
				break
			}
			group = append(group, o)
		}
		if e.applyEvent(group, act); weighing {
			return
		}
	}
}

// atRequest reports whether an edit was made when a request was weighed, and not at a line.
func atRequest(kind policy.EditKind, act record.Act) bool {
	return kind == policy.KindAttach || act == record.NoAct || act.Kind == record.ActServer
}

// applyEvent applies edits of one recorded act, which it may change, and makes its event.
func (e *Engine) applyEvent(edits []policy.Edit, act record.Act) {
	for i := range edits {
		edits[i].Insert = slices.Clone(edits[i].Insert)
		if edits[i].Call != nil {
			c := *edits[i].Call
			switch {
			case act.Kind == record.ActBoundary:
				c = *e.compactionCall(&e.conv.Boundaries[act.Index], edits[i].Keep)
				c.Output = e.record.Summary[act.Index]
				if u := e.conv.Boundaries[act.Index].Usage; u != nil {
					c.Input = u.Context()
					c.Output = u.Output
				}
			case act.Kind == record.ActCollapse:
				c.Output = e.counter.Report.Content(&edits[i].Insert[0].Contents[0])
			}
			edits[i].Call = &c
		}
	}
	from := editSource{stage: record.StageName, next: edits[0].Request - 1}
	if act.Kind != record.ActBoundary || edits[0].Kind == policy.KindSummarize {
		from.recorded = e.record.Event(act)
	}
	e.applyAll(edits, from)
	if act.Kind == record.ActMicro && edits[0].Kind == policy.KindInferred {
		e.progress.raw += edits[0].Delta // of the message for the earlier history, which is in every view
	}
}

// compactionCall is the request for the summary of a recorded compaction. It holds the view as it was before a
// microcompaction at the same request.
func (e *Engine) compactionCall(b *session.Boundary, rest []policy.ItemID) *policy.Call {
	before := e.view.Tokens()
	over := 0
	list := e.view.Edits()
	for i := len(list) - 1; i >= 0; i-- {
		ed := list[i]
		if ed.Request != b.Request {
			break
		}
		if (ed.Kind == policy.KindClear || ed.Kind == policy.KindInferred) && ed.Trigger != policy.TriggerRestart {
			before += ed.Before - ed.After
		}
	}
	if n := len(e.conv.Requests); n > 0 {
		over = e.OverheadAt(min(b.Request, n) - 1)
	}
	if e.record.Client.CompactionCall == nil {
		return &policy.Call{Kind: "compaction"}
	}
	return e.record.Client.CompactionCall(b.Version, e.view, rest, before, over)
}
