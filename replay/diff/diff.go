package diff

import (
	"strconv"

	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/view"
)

// Status is what became of a message or a block in a view.
type Status string

// The statuses. Of a message with several changed blocks it is the first one's.
const (
	Kept       Status = "kept"       // as it was said
	Cleared    Status = "cleared"    // a placeholder stands for it
	Persisted  Status = "persisted"  // a stub stands for it, the text is in a file
	Truncated  Status = "truncated"  // cut
	Removed    Status = "removed"    // out of view
	Collapsed  Status = "collapsed"  // a span's placeholder stands for it
	Summarised Status = "summarised" // a summary stands for it
	Tagged     Status = "tagged"     // text was appended
	Dropped    Status = "dropped"    // deleted from the server's cached view
	Added      Status = "added"      // a message that the policy made
	Said       Status = "said"       // said since the earlier of two requests
	Absent     Status = "absent"     // not there: made by the other view alone, or not said yet
)

// statusOf is the status an edit leaves things in.
func statusOf(k policy.Kind) Status {
	switch k {
	case policy.KindClear, policy.KindServerClear:
		return Cleared
	case policy.KindPersist:
		return Persisted
	case policy.KindTruncate:
		return Truncated
	case policy.KindRemove:
		return Removed
	case policy.KindCollapse:
		return Collapsed
	case policy.KindSummarize:
		return Summarised
	case policy.KindTag:
		return Tagged
	case policy.KindCacheEdit:
		return Dropped
	}
	return Added
}

// Side is how one view shows a message or a block, and by which edit.
type Side struct {
	Status  Status `json:"status"`
	Tokens  int    `json:"tokens"`
	Stage   string `json:"stage,omitempty"`
	Request int    `json:"request,omitempty"` // n of the request the edit was made at; 0: none, or after the last
	Reason  string `json:"reason,omitempty"`
	Server  bool   `json:"server,omitempty"` // it is the server's own doing: the client still holds it
}

func (s *Side) by(e *policy.Edit) {
	if e == nil {
		return
	}
	s.Stage, s.Request, s.Reason, s.Server = e.Stage, e.Request, e.Reason, e.Kind.PayloadOnly()
}

// Block is one block that the views do not show alike.
type Block struct {
	Index       int    `json:"block"`
	Type        string `json:"type"`
	ToolUse     string `json:"tool_use_id,omitempty"`
	Left        Side   `json:"left"`
	Right       Side   `json:"right"`
	Replacement string `json:"replacement"` // what the right view shows

	Before string `json:"-"` // what the left view shows
}

// Message is one message and how both views show it.
type Message struct {
	ID     string  `json:"message"` // uuid, or synthetic-N
	Role   string  `json:"role"`
	About  string  `json:"about"` // what it is: "prompt", "Read, Grep", "result of Read", a label
	Line   int     `json:"line,omitempty"`
	Left   Side    `json:"left"`
	Right  Side    `json:"right"`
	Same   bool    `json:"same"` // both views show the same
	Blocks []Block `json:"blocks,omitempty"`
	Text   string  `json:"text,omitempty"` // of a message that the right view added

	group int  // edits of one firing
	shown bool // in one of the views
}

// Shown reports whether any of the two views holds the message.
func (m *Message) Shown() bool { return m.shown }

// Group tells apart what different firings of stages did: messages of one group
// left their view together. 0: no edit took them.
func (m *Message) Group() int { return m.group }

// Diff is how two views of a conversation differ.
type Diff struct {
	Messages []Message `json:"messages"` // in the order of the right view, what left it before what came in its place
	Before   int       `json:"tokens_before"`
	After    int       `json:"tokens_after"`
	First    *First    `json:"first_change,omitempty"` // of two requests of one policy
}

// compared is one side of a comparison.
type compared struct {
	*view.View
	history *History
}

// Compare says how right differs from left, two views of one conversation.
func Compare(left, right *view.View) (*Diff, error) {
	return compare(left, right, false)
}

// Between says what became of the view at an earlier request of the same
// policy, and what changed first of what was sent then.
func Between(earlier, later *view.View) (*Diff, error) {
	d, err := compare(earlier, later, true)
	if err == nil {
		d.First = first(earlier, later, NewHistory(later))
	}
	return d, err
}

// compare works two views out. related views are of one policy: their made-up
// messages have the same ids.
func compare(left, right *view.View, related bool) (*Diff, error) {
	c := comparison{
		l: compared{left, NewHistory(left)}, r: compared{right, NewHistory(right)},
		d: &Diff{Messages: []Message{}, Before: left.PayloadTokens(), After: right.PayloadTokens()},
	}
	c.match(related)
	c.run()
	return c.d, c.err
}

type comparison struct {
	l, r    compared
	d       *Diff
	partner map[policy.ItemID]policy.ItemID // made-up message of the right view -> the same one of the left
	matched map[policy.ItemID]bool          // of the left
	err     error
}

// match pairs the made-up messages that both views hold.
func (c *comparison) match(related bool) {
	c.partner, c.matched = map[policy.ItemID]policy.ItemID{}, map[policy.ItemID]bool{}
	var lefts []policy.ItemID
	for id := range c.l.Items {
		if id < 0 {
			lefts = append(lefts, id)
		}
	}
	for id := range c.r.Items {
		if id >= 0 {
			continue
		}
		for _, at := range lefts {
			if c.matched[at] || related && at != id || !related && !sameMessage(c.l.Synthetic(at), c.r.Synthetic(id)) {
				continue
			}
			c.partner[id], c.matched[at] = at, true
			break
		}
	}
}

func sameMessage(a, b *policy.Synthetic) bool {
	if a.Role != b.Role || a.Label != b.Label || len(a.Contents) != len(b.Contents) {
		return false
	}
	for i := range a.Contents {
		if !a.Contents[i].Same(&b.Contents[i]) {
			return false
		}
	}
	return true
}

// run goes through the right view. What is gone from it stands before the
// message that follows it in the conversation, what was added behind what is
// gone, and what only the left view added before it.
func (c *comparison) run() {
	lost := c.lost()
	flush := func(before policy.ItemID) {
		for len(lost) > 0 && lost[0].before <= before {
			id := lost[0].id
			if lost = lost[1:]; id < 0 || recordOnly(c.l.View, id) {
				c.add(nowhere, c.message(id, nowhere)) // the left view's own
				continue
			}
			c.add(id, c.message(id, id))
		}
	}
	var made []policy.ItemID
	release := func() {
		for _, id := range made {
			left := nowhere
			if at, ok := c.partner[id]; ok {
				left = at
			}
			c.add(id, c.message(left, id))
		}
		made = made[:0]
	}
	for id := range c.r.Items {
		if id < 0 || recordOnly(c.r.View, id) && !c.l.Has(id) {
			made = append(made, id)
			continue
		}
		flush(id)
		release()
		c.add(id, c.message(id, id))
	}
	flush(nowhere)
	release()
}

// nowhere is no item of any view, and comes after all of them.
const nowhere = policy.ItemID(1<<31 - 1)

func recordOnly(v *view.View, id policy.ItemID) bool {
	m := v.Message(id)
	return m != nil && m.RecordOnly
}

// gone is an item that the right view does not hold, and the message of the
// conversation it stands before, or is.
type gone struct{ id, before policy.ItemID }

// lost lists what was said and is in the right view no more, and what only the
// left view made, in the order of the conversation.
func (c *comparison) lost() []gone {
	before := map[policy.ItemID][]policy.ItemID{} // message -> what the left view made before it
	var made []policy.ItemID
	for id := range c.l.Items {
		switch {
		case id < 0 && !c.matched[id] || recordOnly(c.l.View, id) && !c.r.Has(id):
			made = append(made, id)
		case id >= 0:
			before[id], made = append(before[id], made...), nil
		}
	}
	var list []gone
	end := policy.ItemID(max(c.l.Joined(), c.r.Joined()))
	before[end] = append(before[end], made...)
	for id := range end + 1 {
		for _, at := range before[id] {
			list = append(list, gone{at, id})
		}
		if id < end && !c.r.Has(id) && !recordOnly(c.r.View, id) {
			list = append(list, gone{id, id})
		}
	}
	return list
}

// add appends a message, with what its edits have in common.
func (c *comparison) add(id policy.ItemID, m Message) {
	if e := c.r.history.gone[id]; e != nil && !c.r.Has(id) {
		m.group = e.Group + 1
	}
	c.d.Messages = append(c.d.Messages, m)
}

func (c *comparison) fail(err error) {
	if c.err == nil {
		c.err = err
	}
}

// ItemName names an item in output: its uuid, or synthetic-N.
func ItemName(conv *session.Conversation, id policy.ItemID) string {
	if id >= 0 {
		return conv.Messages[id].UUID
	}
	return "synthetic-" + strconv.Itoa(int(-id))
}
