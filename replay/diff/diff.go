package diff

import (
	"strconv"

	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
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

// view is one side of a comparison.
type view struct {
	*policy.View
	history *History
}

// Compare says how right differs from left, two views of one conversation.
func Compare(left, right *policy.View) (*Diff, error) {
	return compare(left, right, false)
}

// Between says what became of the view at an earlier request of the same
// policy, and what changed first of what was sent then.
func Between(earlier, later *policy.View) (*Diff, error) {
	d, err := compare(earlier, later, true)
	if err == nil {
		d.First = first(earlier, later, NewHistory(later))
	}
	return d, err
}

// compare works two views out. related views are of one policy: their made-up
// messages have the same ids.
func compare(left, right *policy.View, related bool) (*Diff, error) {
	c := comparison{
		l: view{left, NewHistory(left)}, r: view{right, NewHistory(right)},
		d: &Diff{Messages: []Message{}, Before: left.PayloadTokens(), After: right.PayloadTokens()},
	}
	c.match(related)
	c.run()
	return c.d, c.err
}

type comparison struct {
	l, r    view
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

func recordOnly(v *policy.View, id policy.ItemID) bool {
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

// message compares one message: item l of the left view, item r of the right.
func (c *comparison) message(l, r policy.ItemID) Message {
	at := c.r.View
	id := r
	if !known(c.r.View, r) {
		at, id = c.l.View, l
	}
	m := describe(at, id)
	m.Left, m.Right = c.l.side(l), c.r.side(r)
	if m.Left.Status == Absent && m.Right.Status == Kept {
		m.Right.Status = Said
	}
	m.shown = c.l.has(l) || c.r.has(r)
	if c.l.has(l) && c.r.has(r) {
		m.Blocks = c.blocks(l, r)
		m.Same = len(m.Blocks) == 0 && sameTag(c.l.Tag(l), c.r.Tag(r))
	} else {
		m.Same = c.l.has(l) == c.r.has(r) // in none of them
		if c.r.has(r) && m.Right.Status == Added {
			m.Text = c.text(c.r.View, r)
		}
	}
	return m
}

func sameTag(a, b *policy.Content) bool { return a == b || a != nil && b != nil && a.Same(b) }

func known(v *policy.View, id policy.ItemID) bool {
	if id >= 0 {
		return int(id) < len(v.Conversation().Messages)
	}
	return v.Has(id)
}

func (v *view) has(id policy.ItemID) bool { return id != nowhere && v.Has(id) }

// side is how the view shows a message.
func (v *view) side(id policy.ItemID) Side {
	s := Side{Status: Kept}
	h := v.history
	switch {
	case v.has(id):
		s.Tokens = v.PayloadWeight(id)
		if id < 0 || v.Message(id).RecordOnly {
			s.Status = Added
			s.by(h.made[id])
			return s
		}
		for b := range v.Blocks(id) {
			if t := (policy.Target{Item: id, Block: b}); v.edit(t) != nil {
				s.Status = statusOf(v.edit(t).Kind)
				s.by(v.edit(t))
				return s
			}
		}
		if e := h.tagged[id]; e != nil {
			s.Status = Tagged
			s.by(e)
		}
	case id >= 0 && id != nowhere && h.gone[id] != nil:
		s.Status = statusOf(h.gone[id].Kind)
		s.by(h.gone[id])
	default:
		s.Status = Absent
	}
	return s
}

// edit is the edit that stands on a block: the server's, where it holds one.
func (v *view) edit(t policy.Target) *policy.Edit {
	if _, on := v.PayloadReplacement(t); on && v.history.server[t] != nil {
		return v.history.server[t]
	}
	return v.history.changed[t]
}

// blocks are those that the views do not show alike.
func (c *comparison) blocks(l, r policy.ItemID) []Block {
	var list []Block
	for i := range min(c.l.Blocks(l), c.r.Blocks(r)) {
		tl, tr := policy.Target{Item: l, Block: i}, policy.Target{Item: r, Block: i}
		if c.l.shows(tl).equal(c.r.shows(tr)) {
			continue
		}
		b := Block{Index: i, Left: c.l.blockSide(tl), Right: c.r.blockSide(tr)}
		if raw := c.r.Raw(tr); raw != nil {
			b.Type, b.ToolUse = raw.Type, raw.ID
		}
		b.Before, b.Replacement = c.blockText(&c.l, tl), c.blockText(&c.r, tr)
		list = append(list, b)
	}
	return list
}

func (v *view) blockSide(t policy.Target) Side {
	s := Side{Status: Kept, Tokens: v.BlockTokens(t)}
	if c, on := v.PayloadReplacement(t); on {
		s.Tokens = 0
		if c != nil {
			s.Tokens = v.BlockTokens(t) + v.PayloadWeight(t.Item) - v.Weight(t.Item)
		}
	}
	if e := v.edit(t); e != nil {
		s.Status = statusOf(e.Kind)
		s.by(e)
	}
	return s
}

// shown is what stands for a block in a view's payload.
type shown struct {
	model, payload *policy.Content
	server         bool
}

func (v *view) shows(t policy.Target) shown {
	s := shown{model: v.Replacement(t)}
	s.payload, s.server = v.PayloadReplacement(t)
	return s
}

func (s shown) equal(o shown) bool {
	return s.server == o.server && sameTag(s.model, o.model) && sameTag(s.payload, o.payload)
}

// blockText is what a view's payload shows of a block.
func (c *comparison) blockText(v *view, t policy.Target) string {
	if with, on := v.PayloadReplacement(t); on {
		if with == nil {
			return ""
		}
		return with.Text
	}
	text, err := v.Text(t)
	c.fail(err)
	return text
}

func (c *comparison) text(v *policy.View, id policy.ItemID) string {
	s := ""
	for b := range v.Blocks(id) {
		text, err := v.Text(policy.Target{Item: id, Block: b})
		c.fail(err)
		if r := v.Replacement(policy.Target{Item: id, Block: b}); text == "" && r != nil && r.Tokens > 0 {
			text = "(a stand-in of " + strconv.Itoa(r.Tokens) + " tokens)"
		}
		if s != "" {
			s += "\n"
		}
		s += text
	}
	return s
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
