package record

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/view"
)

// Act is something that the client recorded, of which the recorded session has edits.
type Act struct {
	Kind  ActKind
	Index int // index into the conversation's list of that kind; of a message that joined
}

// ActKind is the kind of an act.
type ActKind uint8

// The kinds of acts.
const (
	ActNone ActKind = iota // on no line: found when a request was weighed
	ActJoin
	ActBoundary
	ActMicro
	ActSnip
	ActCollapse
	ActReplacement // the first of adjacent ones of one line
	ActRestart
	ActServer // what a response says that the API did to its request
)

// NoAct is an act on no line.
var NoAct = Act{}

// Event is where and how the client recorded an act, or nil for an act without a line.
func (r *Record) Event(act Act) *RecordedEvent {
	ev := &RecordedEvent{File: r.Conv.Path}
	switch act.Kind {
	case ActBoundary:
		b := &r.Conv.Boundaries[act.Index]
		ev.Line, ev.Trigger, ev.PreTokens, ev.Compaction = b.Line, b.Trigger, b.PreTokens, r.CompactionKind(act.Index)
	case ActMicro:
		m := &r.Conv.Micro[act.Index]
		ev.Line = m.Line
		ev.Trigger = m.Trigger
		ev.PreTokens = m.PreTokens
		ev.TokensSaved = m.TokensSaved
	case ActSnip:
		ev.Line = r.Conv.Snips[act.Index].Line
		ev.Trigger = TriggerModel
	case ActCollapse:
		ev.Line = r.Conv.Collapses[act.Index].Line
		ev.Trigger = TriggerAuto
	case ActReplacement:
		ev.Line = r.Conv.Replaced[act.Index].Line
		ev.Trigger = TriggerAuto
	case ActServer:
		ev.Line = r.Conv.Response(act.Index).Line
		ev.Trigger = TriggerAuto
	case ActRestart:
		ev.Line = r.Conv.Restarts[act.Index].Line
		ev.Trigger = policy.TriggerRestart
	default:
		return nil
	}
	return ev
}

// RecordedEvent is where and how the client recorded an event.
type RecordedEvent struct {
	File        string `json:"file"`
	Line        int    `json:"line"`
	Trigger     string `json:"trigger"`
	PreTokens   int    `json:"pre_tokens,omitempty"` // 0: not recorded
	TokensSaved int    `json:"tokens_saved,omitempty"`

	Compaction CompactionKind `json:"compaction,omitempty"` // empty: none, or the client does not say
}

// Triggers of the recorded session's edits.
const (
	TriggerAuto  = "auto"
	TriggerModel = "model"
)

// Recorded applies an act as the client recorded it. It skips what has left the view before.
func (t *recordTrack) Recorded(act Act) {
	switch act.Kind {
	case ActBoundary:
		t.boundary(act)
	case ActMicro:
		t.micro(act)
	case ActSnip:
		t.snip(act)
	case ActCollapse:
		t.collapse(act)
	case ActReplacement:
		for i, end := act.Index, nextReplacement(t.r.Conv, act.Index); i < end; i++ {
			t.replacement(i, act)
		}
	case ActRestart:
		for _, e := range t.restarts.Edits(&t.r.Conv.Restarts[act.Index], t.View) {
			t.apply(e, act)
		}
	}
}

// Restarts makes the edits of a view's restarts.
type Restarts struct {
	searched int // messages that edits made, searched for what is on no line
}

// Edits are the edits of a restart: the restart itself, which changes nothing, and what is in view that the new process
// did not read back, or could not because it is on no line. They are the same under every policy: what a client reads
// back is no decision of one.
func (r *Restarts) Edits(s *session.Restart, v *view.View) []policy.Edit {
	const reason = "the restarted client did not read this back from the file"
	made := policy.Edit{Request: s.Request, Trigger: policy.TriggerRestart, Reason: reason}
	edits := []policy.Edit{made}
	edits[0].Kind = policy.KindRestart
	edits[0].Reason = "restart, seen from: " + string(s.Sign)
	messages := made
	messages.Kind = policy.KindRemove
	// Of a file that begins in mid-conversation the overhead is an assumption, and so is what was sent beyond it.
	assumed := len(v.Conversation().Messages) > 0 && v.Conversation().Messages[0].Is(session.Earlier)
	for ; r.searched < v.Made() && !assumed; r.searched++ {
		id := policy.ItemID(-r.searched - 1)
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
				e.Kind = policy.KindClear
				e.Target = policy.BlockOf(id, place.Block)
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

// snip removes the messages of a recorded snip that are in view.
func (t *recordTrack) snip(act Act) {
	s := &t.r.Conv.Snips[act.Index]
	e := policy.Edit{
		Request: s.Request, Kind: policy.KindRemove, Trigger: TriggerModel, Reason: cmp.Or(s.Reason, "the model snipped the turn"),
	}
	for _, m := range s.Messages {
		if t.Has(policy.ItemID(m)) {
			e.Items = append(e.Items, policy.ItemID(m))
		}
	}
	if len(e.Items) > 0 {
		t.apply(e, act)
	}
}

// collapse puts a placeholder in the place of the messages of a recorded collapse.
func (t *recordTrack) collapse(act Act) {
	conv := t.r.Conv
	c := &conv.Collapses[act.Index]
	e := policy.Edit{
		Request: c.Request, Kind: policy.KindCollapse, Trigger: TriggerAuto, Items: t.inSpan(act.Index),
		Reason: fmt.Sprintf("the client collapsed messages %d to %d", c.From+1, c.To+1),
		Insert: []policy.Synthetic{{
			Role: session.User.String(), Label: "collapsed", Summary: true,
			Contents: []policy.Content{policy.Text(c.Content)},
		}},
		Call: &policy.Call{Kind: "collapse", Prefix: "session"},
	}
	if len(e.Items) == 0 {
		return
	}
	if e = t.apply(e, act); t.err == nil {
		t.folded[act.Index] = e.Insert[0].ID
	}
}

// inSpan returns what is in view of a collapse's span: messages, and placeholders of earlier collapses within it.
func (t *recordTrack) inSpan(i int) []policy.ItemID {
	conv := t.r.Conv
	c := &conv.Collapses[i]
	within := map[int][]policy.ItemID{} // by the first message of their span
	for k := range i {
		if o := &conv.Collapses[k]; o.From >= c.From && o.To <= c.To {
			if id, ok := t.folded[k]; ok && t.Has(id) {
				within[o.From] = append(within[o.From], id)
			}
		}
	}
	var items []policy.ItemID
	for m := c.From; m <= c.To; m++ {
		items = append(items, within[m]...)
		if t.Has(policy.ItemID(m)) {
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

// replacement puts the text that the client sent in the place of a result.
func (t *recordTrack) replacement(i int, act Act) {
	r := &t.r.Conv.Replaced[i]
	target := policy.BlockOf(r.Message, r.Block)
	if !t.Has(target.Item) {
		return
	}
	content := policy.NewContent(jsonl.KindToolResult, r.Text)
	if t.Length(target) == content.Length {
		switch was, err := t.Text(target); {
		case err != nil:
			t.fail(err)
			return
		case was == r.Text:
			return // the client recorded it as it was sent
		}
	}
	e := policy.Edit{
		Request: r.Request, Kind: policy.KindClear, Trigger: TriggerAuto, Target: target, New: &content,
		Reason: "the client sent another text in the result's place",
	}
	if strings.Contains(r.Text, "<persisted-output>") {
		e.Kind = policy.KindPersist
		e.Reason = "the client wrote the result to a file"
	}
	t.apply(e, act)
}
