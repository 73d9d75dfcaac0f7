// Package diff compares two views of one conversation message by message: the state of each message, the edit behind
// it, and what was added.
package diff

import (
	"slices"

	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/view"
)

// Row is the sum of the messages that have the same sides.
type Row struct {
	Left     Side `json:"left"`  // without tokens and reason
	Right    Side `json:"right"` // without tokens and reason
	Same     bool `json:"same"`
	Messages int  `json:"messages"`
	Before   int  `json:"tokens_before"`
	After    int  `json:"tokens_after"`
}

// Stat sums up a diff: first the messages that are the same in both views, then the others by the request of their
// edits. Rows of one request are in a fixed order, by what became of the messages on the left, then on the right.
func (d *Diff) Stat() []Row {
	var s sums
	for i := range d.Messages {
		s.add(&d.Messages[i])
	}
	return s.list()
}

// Mark is a place in the raw history where one firing of a stage compacted something, or the client was restarted.
type Mark struct {
	Before       int             `json:"-"`       // index of the message of the conversation that follows
	Request      int             `json:"request"` // n of the main request it belongs to; 0: after the last
	Stage        string          `json:"stage"`
	Kind         policy.EditKind `json:"kind"`
	Reason       string          `json:"reason"`
	Edits        int             `json:"edits"` // blocks changed, or messages removed
	TokensBefore int             `json:"tokens_before"`
	TokensAfter  int             `json:"tokens_after"`
	Head         string          `json:"head_uuid,omitempty"` // of what a compaction left verbatim: the first message
	Tail         string          `json:"tail_uuid,omitempty"` // and the last
}

// Segment is what a compaction left verbatim behind its summary: the first and the last recorded message, and the
// summary. ok is false where it left nothing or has no summary. What was attached again is no part of it.
func Segment(v *view.View, e *policy.Edit) (head, anchor, tail policy.ItemID, ok bool) {
	summary := false
	for _, s := range e.Insert {
		if s.Summary {
			anchor = s.ID
			summary = true
		}
	}
	for i := 0; i < len(e.Keep) && !(ok && summary); i++ {
		switch m := v.Message(e.Keep[i]); {
		case m == nil || m.Is(session.Reattached):
		case m.Class == session.ClassSummary && !summary:
			anchor = e.Keep[i]
			summary = true
		case m.Class != session.ClassSummary && !ok:
			head = e.Keep[i]
			ok = true
		}
	}
	for _, id := range slices.Backward(e.Keep) {
		if m := v.Message(id); m != nil && !m.Is(session.Reattached) && m.Class != session.ClassSummary {
			tail = id
			break
		}
	}
	return head, anchor, tail, ok && summary
}

// Marks lists the places where the edits of a view compacted earlier messages, and the restarts of the client, each with
// what was not read back. Results cut on arrival, additions and tags leave no mark.
func Marks(v *view.View) []Mark {
	var marks []Mark
	group := -1
	edits := v.Edits()
	for _, e := range edits {
		switch e.Kind {
		case policy.KindClear, policy.KindRemove, policy.KindCollapse, policy.KindSummarize, policy.KindCacheEdit, policy.KindServerClear:
		case policy.KindRestart:
			group = e.Group
			marks = append(marks, Mark{Before: e.Joined, Request: e.Request, Stage: e.Stage, Kind: e.Kind, Reason: e.Reason})
			continue
		default:
			continue
		}
		n := max(len(e.Items), 1)
		left := e.Trigger == policy.TriggerRestart && len(marks) > 0 && marks[len(marks)-1].Kind == policy.KindRestart
		if len(marks) > 0 && (e.Group == group || left) {
			m := &marks[len(marks)-1]
			m.Edits += n
			m.TokensBefore += e.Before
			m.TokensAfter += e.After
			continue
		}
		group = e.Group
		m := Mark{
			Before: e.Joined, Request: e.Request, Stage: e.Stage, Kind: e.Kind, Reason: e.Reason,
			Edits: n, TokensBefore: e.Before, TokensAfter: e.After,
		}
		if head, _, tail, ok := Segment(v, &e); ok && e.Kind == policy.KindSummarize {
			m.Head, m.Tail = v.Message(head).UUID, v.Message(tail).UUID
		}
		marks = append(marks, m)
	}
	return marks
}

// First is the first change of what was sent at an earlier request: from there on the prompt cache must be written
// again.
type First struct {
	Message string `json:"message"`
	Line    int    `json:"line,omitempty"`
	About   string `json:"about"`
	Block   int    `json:"block"` // -1: the whole message
	ToolUse string `json:"tool_use_id,omitempty"`
	Side    Side   `json:"change"`
	Prefix  int    `json:"prefix_tokens"` // unchanged tokens before it, without overhead
	Sent    int    `json:"sent_tokens"`   // all that was sent at the earlier request
}

// first returns the first change, or nil if everything that was sent is the same. A cache edit is no change: it keeps
// the prefix valid.
func first(l, r *compared) *First {
	now := r.IDs()
	prefix := 0
	change := func(in *compared, id policy.ItemID, block int, side Side) *First {
		m := describe(in.View, id)
		return &First{
			Message: m.ID, Line: m.Line, About: m.About, Block: block, Side: side,
			Prefix: prefix, Sent: l.PayloadTokens(),
		}
	}
	for i, id := range l.IDs() {
		switch {
		case i < len(now) && now[i] == id:
		case i < len(now) && r.has(id): // another message is before it
			return change(r, now[i], -1, r.side(now[i]))
		default:
			return change(l, id, -1, r.side(id))
		}
		for t := range policy.Targets(r, id) {
			a := l.shows(t)
			z := r.shows(t)
			server := r.history.Server[t]
			if a.equal(z) || z.server && server != nil && server.Kind == policy.KindCacheEdit {
				continue
			}
			f := change(r, id, t.Block, r.blockSide(t))
			if raw := r.Raw(t); raw != nil {
				f.ToolUse = raw.ID
			}
			return f
		}
		if !sameTag(l.Tag(id), r.Tag(id)) {
			return change(r, id, -1, r.side(id))
		}
		prefix += r.PayloadWeight(id)
	}
	return nil
}
