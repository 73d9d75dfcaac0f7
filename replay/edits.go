package replay

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/view"
)

// recordedAct is something that the client recorded, of which the record has edits.
type recordedAct struct {
	kind actKind
	at   int // index into the conversation's list of that kind; of a message that joined
}

type actKind uint8

const (
	actNone actKind = iota // on no line: found when a request was weighed
	actJoin
	actBoundary
	actMicro
	actSnip
	actCollapse
	actReplacement // the first of adjacent ones of one line
	actRestart
	actServer // what a response says that the API did to its request
)

var noAct = recordedAct{}

// event is where and how the client recorded an act, or nil for an act without a line.
func (r *Record) event(act recordedAct) *RecordedEvent {
	ev := &RecordedEvent{File: r.Conv.Path}
	switch act.kind {
	case actBoundary:
		b := &r.Conv.Boundaries[act.at]
		ev.Line, ev.Trigger, ev.PreTokens = b.Line, b.Trigger, b.PreTokens
	case actMicro:
		m := &r.Conv.Micro[act.at]
		ev.Line, ev.Trigger, ev.PreTokens, ev.TokensSaved = m.Line, m.Trigger, m.PreTokens, m.TokensSaved
	case actSnip:
		ev.Line, ev.Trigger = r.Conv.Snips[act.at].Line, triggerModel
	case actCollapse:
		ev.Line, ev.Trigger = r.Conv.Collapses[act.at].Line, triggerAuto
	case actReplacement:
		ev.Line, ev.Trigger = r.Conv.Replaced[act.at].Line, triggerAuto
	case actServer:
		ev.Line, ev.Trigger = r.Conv.Messages[r.Conv.Requests[act.at].Message].Line, triggerAuto
	case actRestart:
		ev.Line, ev.Trigger = r.Conv.Restarts[act.at].Line, policy.TriggerRestart
	default:
		return nil
	}
	return ev
}

// Triggers of the record's edits.
const (
	triggerAuto  = "auto"
	triggerModel = "model"
)

// recorded applies an act as the client recorded it. It skips what has left the view before.
func (t *recordTrack) recorded(act recordedAct) {
	switch act.kind {
	case actBoundary:
		t.boundary(act)
	case actMicro:
		t.micro(act)
	case actSnip:
		t.snip(act)
	case actCollapse:
		t.collapse(act)
	case actReplacement:
		for i, end := act.at, nextReplacement(t.r.Conv, act.at); i < end; i++ {
			t.replacement(i, act)
		}
	case actRestart:
		for _, e := range t.restarts.edits(&t.r.Conv.Restarts[act.at], t.view) {
			t.apply(e, act)
		}
	}
}

// restarting makes the edits of a view's restarts.
type restarting struct {
	seen int // messages that edits made, searched for what is on no line
}

// edits are the edits of a restart: the restart itself, which changes nothing, and what is in view that the new process
// did not read back, or could not because it is on no line. They are the same under every policy: what a client reads
// back is no decision of one.
func (r *restarting) edits(s *session.Restart, v *view.View) []policy.Edit {
	const reason = "the restarted client did not read this back from the file"
	made := policy.Edit{Request: s.Request, Trigger: policy.TriggerRestart, Reason: reason}
	edits := []policy.Edit{made}
	edits[0].Kind, edits[0].Reason = policy.KindRestart, "restart, seen from: "+string(s.Sign)
	messages := made
	messages.Kind = policy.KindRemove
	// Of a file that begins in mid-conversation the overhead is an assumption, and so is what was sent beyond it.
	assumed := len(v.Conversation().Messages) > 0 && v.Conversation().Messages[0].Is(session.Earlier)
	for ; r.seen < v.Made() && !assumed; r.seen++ {
		id := policy.ItemID(-r.seen - 1)
		if v.Synthetic(id).Label == unrecorded && v.Has(id) {
			messages.Items = append(messages.Items, id)
		}
	}
	var blocks []policy.Edit
	for from, to := 0, 0; from < len(s.Left); from = to {
		m := s.Left[from].Message
		for to = from; to < len(s.Left) && s.Left[to].Message == m; to++ {
		}
		id := policy.ItemID(m)
		switch {
		case !v.Has(id):
		case to-from == v.Blocks(id):
			messages.Items = append(messages.Items, id)
		default:
			for _, place := range s.Left[from:to] {
				e := made
				e.Kind, e.Target = policy.KindClear, policy.Target{Item: id, Block: place.Block}
				e.New = &policy.Content{Kind: v.Kind(e.Target), Gone: true}
				blocks = append(blocks, e)
			}
		}
	}
	if len(messages.Items) > 0 {
		edits = append(edits, messages)
	}
	return append(edits, blocks...)
}

func (t *recordTrack) snip(act recordedAct) {
	s := &t.r.Conv.Snips[act.at]
	e := policy.Edit{
		Request: s.Request, Kind: policy.KindRemove, Trigger: triggerModel, Reason: cmp.Or(s.Reason, "the model snipped the turn"),
	}
	for _, m := range s.Messages {
		if t.view.Has(policy.ItemID(m)) {
			e.Items = append(e.Items, policy.ItemID(m))
		}
	}
	if len(e.Items) > 0 {
		t.apply(e, act)
	}
}

func (t *recordTrack) collapse(act recordedAct) {
	conv := t.r.Conv
	c := &conv.Collapses[act.at]
	e := policy.Edit{
		Request: c.Request, Kind: policy.KindCollapse, Trigger: triggerAuto, Items: t.inSpan(act.at),
		Reason: fmt.Sprintf("the client collapsed messages %d to %d", c.From+1, c.To+1),
		Insert: []policy.Synthetic{{
			Role: session.User.String(), Label: "collapsed", Summary: true,
			Contents: []policy.Content{policy.NewContent(jsonl.KindText, c.Content)},
		}},
		Call: &policy.Call{Kind: "collapse", Prefix: "session"},
	}
	if len(e.Items) == 0 {
		return
	}
	if e = t.apply(e, act); t.err == nil {
		t.folded[act.at] = e.Insert[0].ID
	}
}

// inSpan returns what is in view of a collapse's span: messages, and placeholders of earlier collapses within it.
func (t *recordTrack) inSpan(i int) []policy.ItemID {
	conv := t.r.Conv
	c := &conv.Collapses[i]
	within := map[int][]policy.ItemID{} // by the first message of their span
	for k := range i {
		if o := &conv.Collapses[k]; o.From >= c.From && o.To <= c.To {
			if id, ok := t.folded[k]; ok && t.view.Has(id) {
				within[o.From] = append(within[o.From], id)
			}
		}
	}
	var items []policy.ItemID
	for m := c.From; m <= c.To; m++ {
		items = append(items, within[m]...)
		if t.view.Has(policy.ItemID(m)) {
			items = append(items, policy.ItemID(m))
		}
	}
	return items
}

// nextReplacement is the index after the adjacent replacements of one line that begin at i.
func nextReplacement(conv *session.Conversation, i int) int {
	first := &conv.Replaced[i]
	for i++; i < len(conv.Replaced) && conv.Replaced[i].Line == first.Line && conv.Replaced[i].Before == first.Before; i++ {
	}
	return i
}

func (t *recordTrack) replacement(i int, act recordedAct) {
	r := &t.r.Conv.Replaced[i]
	target := policy.Target{Item: policy.ItemID(r.Message), Block: r.Block}
	if !t.view.Has(target.Item) {
		return
	}
	content := policy.NewContent(jsonl.KindToolResult, r.Text)
	if t.view.Length(target) == content.Length {
		switch was, err := t.view.Text(target); {
		case err != nil:
			t.fail(err)
			return
		case was == r.Text:
			return // the client recorded it as it was sent
		}
	}
	e := policy.Edit{
		Request: r.Request, Kind: policy.KindClear, Trigger: triggerAuto, Target: target, New: &content,
		Reason: "the client sent another text in the result's place",
	}
	if strings.Contains(r.Text, "<persisted-output>") {
		e.Kind, e.Reason = policy.KindPersist, "the client wrote the result to a file"
	}
	t.apply(e, act)
}
