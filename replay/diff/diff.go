package diff

import (
	"cmp"
	"slices"

	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/view"
)

// Status is the state of a message or a block in a view.
type Status string

// The statuses. A message with several changed blocks has that of the first one.
const (
	Kept       Status = "kept"       // as recorded
	Cleared    Status = "cleared"    // replaced by a placeholder
	Persisted  Status = "persisted"  // replaced by a stub, the text is in a file
	Truncated  Status = "truncated"  // cut
	Removed    Status = "removed"    // out of view
	Collapsed  Status = "collapsed"  // replaced by the placeholder of a span
	Summarised Status = "summarised" // replaced by a summary
	Tagged     Status = "tagged"     // text was appended
	Wrapped    Status = "wrapped"    // text was put around
	Dropped    Status = "dropped"    // deleted from the server's cached view
	Added      Status = "added"      // a message that the policy made
	Said       Status = "said"       // said since the earlier of two requests
	Absent     Status = "absent"     // not there: made by the other view alone, or not said yet
)

// statuses are those that an edit causes; Added if the kind is not listed.
var statuses = map[policy.EditKind]Status{
	policy.KindClear: Cleared, policy.KindServerClear: Cleared, policy.KindPersist: Persisted, policy.KindTruncate: Truncated,
	policy.KindRemove: Removed, policy.KindCollapse: Collapsed, policy.KindSummarize: Summarised,
	policy.KindTag: Tagged, policy.KindWrap: Wrapped, policy.KindCacheEdit: Dropped,
}

// Side is how one view shows a message or a block, and the edit behind it.
type Side struct {
	Status  Status `json:"status"`
	Tokens  int    `json:"tokens"`
	Stage   string `json:"stage,omitempty"`
	Request int    `json:"request,omitempty"` // n of the request the edit was made at; 0: none, or after the last
	Reason  string `json:"reason,omitempty"`
	Server  bool   `json:"server,omitempty"` // the server made the edit: the client still holds the content
}

// by sets the edit behind a side, unless it is nil.
func (s *Side) by(e *policy.Edit) {
	if e != nil {
		s.Status = cmp.Or(statuses[e.Kind], Added)
		if e.New != nil && e.New.Gone {
			s.Status = Removed
		}
		s.Stage, s.Request, s.Reason, s.Server = e.Stage, e.Request, e.Reason, e.Kind.PayloadOnly()
	}
}

// BlockDiff is one block that differs between the views.
type BlockDiff struct {
	Index       int    `json:"block"`
	Type        string `json:"type"`
	ToolUse     string `json:"tool_use_id,omitempty"`
	Left        Side   `json:"left"`
	Right       Side   `json:"right"`
	Replacement string `json:"replacement"` // what the right view shows

	Before string `json:"-"` // what the left view shows
}

// MessageDiff is one message and how both views show it.
type MessageDiff struct {
	ID     string      `json:"message"` // uuid, or synthetic-N
	Role   string      `json:"role"`
	About  string      `json:"about"` // what it is: "prompt", "Read, Grep", "result of Read", a label
	Line   int         `json:"line,omitempty"`
	Left   Side        `json:"left"`
	Right  Side        `json:"right"`
	Same   bool        `json:"same"` // both views show the same
	Blocks []BlockDiff `json:"blocks,omitempty"`
	Text   string      `json:"text,omitempty"` // of a message that the right view added, or that was asked for by its line

	Item  policy.ItemID `json:"-"` // in the right view, or in the left one where that alone made it
	Group int           `json:"-"` // equal for messages that left their view by one firing of a stage; 0: no edit removed it
	Shown bool          `json:"-"` // at least one of the views holds it
}

// Diff is how two views of a conversation differ.
type Diff struct {
	Messages []MessageDiff `json:"messages"` // in the order of the right view, what left it before what came in its place
	Before   int           `json:"tokens_before"`
	After    int           `json:"tokens_after"`
	First    *First        `json:"first_change,omitempty"` // of two requests of one policy
}

// compared is one side of a comparison.
type compared struct {
	*view.View
	history *History
}

// Compare returns the differences of two views of one conversation.
func Compare(left, right *view.View) (*Diff, error) { return compare(left, right, false) }

// Between returns the differences of the views at two requests of one policy, and the first change of what was sent
// at the earlier one.
func Between(earlier, later *view.View) (*Diff, error) { return compare(earlier, later, true) }

// compare computes a Diff. related views belong to one policy: the messages that it made have the same ids in both.
func compare(left, right *view.View, related bool) (*Diff, error) {
	c := comparison{
		l: compared{left, NewHistory(left)}, r: compared{right, NewHistory(right)},
		d: &Diff{Before: left.PayloadTokens(), After: right.PayloadTokens()},
	}
	c.match(related)
	c.run()
	if related {
		c.d.First = first(&c.l, &c.r)
	}
	return c.d, c.err
}

type comparison struct {
	l, r    compared
	d       *Diff
	partner map[policy.ItemID]policy.ItemID // made message of the right view -> the same one of the left
	matched map[policy.ItemID]bool          // of the left
	err     error
}

// match pairs the messages that a policy made and both views hold.
func (c *comparison) match(related bool) {
	c.partner = map[policy.ItemID]policy.ItemID{}
	c.matched = map[policy.ItemID]bool{}
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
		i := slices.IndexFunc(lefts, func(at policy.ItemID) bool {
			return !c.matched[at] && (related && at == id || !related && sameMessage(c.l.Synthetic(at), c.r.Synthetic(id)))
		})
		if i >= 0 {
			c.partner[id] = lefts[i]
			c.matched[lefts[i]] = true
		}
	}
}

func sameMessage(a, b *policy.Synthetic) bool {
	return a.Role == b.Role && a.Label == b.Label &&
		slices.EqualFunc(a.Contents, b.Contents, func(a, b policy.Content) bool { return a.Same(&b) })
}

// run lists the messages in the order of the right view. A message that is only in the left view stands before the next
// message of the conversation. At one place the order is: messages that only the left policy made, messages that left,
// messages that the right policy made.
func (c *comparison) run() {
	lost := c.lost()
	c.d.Messages = make([]MessageDiff, 0, len(lost)+c.r.Len())
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
			c.add(id, c.message(cmp.Or(c.partner[id], nowhere), id)) // 0 is the id of a recorded message
		}
		made = nil
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

// nowhere is the id of no item; it is larger than all ids.
const nowhere = policy.ItemID(1<<31 - 1)

func recordOnly(v *view.View, id policy.ItemID) bool {
	m := v.Message(id)
	return m != nil && m.RecordOnly
}

// gone is an item that the right view does not hold, and the next message of the conversation, or the item itself.
type gone struct{ id, before policy.ItemID }

// lost lists what is no longer in the right view, and what only the left view made, in the order of the conversation.
func (c *comparison) lost() []gone {
	before := map[policy.ItemID][]policy.ItemID{} // message -> what the left view made before it
	var made []policy.ItemID
	for id := range c.l.Items {
		switch {
		case id < 0 && !c.matched[id] || recordOnly(c.l.View, id) && !c.r.Has(id):
			made = append(made, id)
		case id >= 0 && len(made) > 0:
			before[id] = append(before[id], made...)
			made = nil
		}
	}
	end := policy.ItemID(max(c.l.Joined(), c.r.Joined()))
	list := make([]gone, 0, max(int(end)-c.r.Len(), 0)+len(made)) // about
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

// add appends a message with its group.
func (c *comparison) add(id policy.ItemID, m MessageDiff) {
	if e := c.r.history.Gone[id]; e != nil && !c.r.Has(id) {
		m.Group = e.Group + 1
	}
	c.d.Messages = append(c.d.Messages, m)
}

func (c *comparison) fail(err error) {
	if c.err == nil {
		c.err = err
	}
}

// ItemName is the name of an item in output: its uuid, or synthetic-N.
func ItemName(conv *session.Conversation, id policy.ItemID) string { return id.Name(conv) }
