package view

import (
	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/policy"
)

// A prompt cache reads where the next payload first differs from the last one. A place is the number of a block in
// the order it is sent, without tools and system prompt. Places grow towards the end; messages that leave from far
// back leave a gap in them.

// recount is how far from the end, in items, places are counted again when messages leave: more than any look-back of
// a cache.
const recount = 256

// sending is what a view remembers of the payload sent last.
type sending struct {
	items   int        // items[:items] were in it
	changed SentChange // the first change since, where any is true
	any     bool
	dropped []ServerDrop
	left    int                    // tokens of it that have left the payload since
	touched map[policy.Target]bool // blocks that are not what was sent
}

// SentChange is a change to what has been sent.
type SentChange struct {
	Place int           // of the first block that is not what it was
	Item  policy.ItemID // it belongs to
	Edit  int           // index into Edits of the edit that changed it
}

// ServerDrop is a block that the server's cached view does not hold any more. The cached prefix stays valid.
type ServerDrop struct {
	Place  int // of the block
	Tokens int // it is shorter by, by the report's counter
}

// Sent notes that the payload has been sent. Blocks that join later, and edits to them, do not change it.
func (v *View) Sent() { v.sent = sending{items: len(v.items)} }

// LeftTokens is how much of the payload sent last has left it since, by the report's counter: what a request would not
// read if what stays were read wherever it stands now.
func (v *View) LeftTokens() int { return v.sent.left }

// PayloadFrom is the tokens of the payload from a place on.
func (v *View) PayloadFrom(place int) (n int) {
	if from := v.skip(0); from < len(v.items) && place <= v.items[from].place {
		return v.PayloadTokens() - v.inferred[0] // all of it
	}
	for i := len(v.items); i > 0; {
		if from := i - summed; i%summed == 0 {
			if first := v.skip(from); first >= i || v.items[first].place >= place {
				n += v.sumFrom(from)
				i = from
				continue
			}
		}
		i--
		it := &v.items[i]
		switch {
		case it.removed():
		case it.place >= place:
			n += v.PayloadWeight(it.id)
		default:
			for b := place - it.place; b < v.Blocks(it.id); b++ {
				n += v.payloadBlock(policy.BlockOf(it.id, b))
			}
			return n
		}
	}
	return n
}

// summed is how many positions of a view have a sum: a change far from its end is not to cost as much as the view is long.
const summed = 16

// sum is what the items at some positions weigh in the payload, once it was asked for. Without it a replay grows faster
// than its requests (bar in docs/performance.md).
type sum struct {
	tokens int
	known  bool
}

// sumFrom is the sum of the positions from one on, a multiple of summed.
func (v *View) sumFrom(from int) int {
	for len(v.sums) <= from/summed {
		v.sums = append(v.sums, sum{})
	}
	s := &v.sums[from/summed]
	if !s.known {
		*s = sum{known: true}
		for _, it := range v.items[from : from+summed] {
			if !it.removed() {
				s.tokens += v.PayloadWeight(it.id)
			}
		}
	}
	return s.tokens
}

// unsum forgets the sum that an item is part of, which is changed or leaves.
func (v *View) unsum(id policy.ItemID) {
	if at := v.posOf(id); at >= 0 && at/summed < len(v.sums) {
		v.sums[at/summed].known = false
	}
}

// leaves notes that a block with a number of tokens is not sent any more as it was.
func (v *View) leaves(t policy.Target, tokens int) {
	if p := v.posOf(t.Item); p < 0 || p >= v.sent.items || v.sent.touched[t] {
		return
	}
	if v.sent.touched == nil {
		v.sent.touched = map[policy.Target]bool{}
	}
	v.sent.touched[t] = true
	v.sent.left += tokens
}

// itemLeaves notes that an item at a position, with a number of tokens in the payload, is not sent any more.
func (v *View) itemLeaves(p int, id policy.ItemID, tokens int) {
	if p >= v.sent.items {
		return
	}
	v.sent.left += tokens
	if len(v.sent.touched) == 0 {
		return
	}
	for t := range policy.Targets(v, id) {
		if v.sent.touched[t] {
			v.sent.left -= v.payloadBlock(t)
		}
	}
}

// allLeave is itemLeaves of all items but those that are marked to be kept. Most of what leaves was sent, so what was not,
// and what stays, is taken off the whole.
func (v *View) allLeave() {
	v.sent.left += v.PayloadTokens() - v.inferred[0]
	for p, it := range v.items {
		if !it.removed() && (p >= v.sent.items || v.posOf(it.id) <= -2) {
			v.sent.left -= v.PayloadWeight(it.id)
		}
	}
	for t := range v.sent.touched {
		if p := v.posOf(t.Item); p < v.sent.items && v.Has(t.Item) {
			v.sent.left -= v.payloadBlock(t)
		}
	}
}

// FirstChange is the change since Sent that comes first in the payload; of those to one block the one made first. ok
// is false where the next payload begins with the whole of the last one.
func (v *View) FirstChange() (c SentChange, ok bool) { return v.sent.changed, v.sent.any }

// ServerDrops lists the blocks that left the cached view since Sent without changing its prefix, in order. The slice is the view's own.
func (v *View) ServerDrops() []ServerDrop { return v.sent.dropped }

// Places is the place the next block to join will have.
func (v *View) Places() int { return v.places }

// Place is that of an item's first block.
func (v *View) Place(id policy.ItemID) (place int, ok bool) {
	if !v.Has(id) {
		return 0, false
	}
	return v.items[v.posOf(id)].place, true
}

// PayloadWeight is the current weight of an item in the payload, in tokens.
func (v *View) PayloadWeight(id policy.ItemID) int {
	return v.weight(id)[0] + v.payloadWeight(id)[0]
}

// ClientPayloadWeight is PayloadWeight by the client's counter.
func (v *View) ClientPayloadWeight(id policy.ItemID) int {
	return v.weight(id)[v.client] + v.payloadWeight(id)[v.client]
}

// isSent reports whether a block goes to the API. An attachment that the client does not send has no text.
func (v *View) isSent(t policy.Target) bool {
	if c := v.Replacement(t); c != nil && c.Gone {
		return false
	}
	return v.Kind(t) != jsonl.KindAttachment || v.Length(t).UTF16 > 0
}

// SentBlocks is the number of an item's blocks that go to the API.
func (v *View) SentBlocks(id policy.ItemID) (n int) {
	for t := range policy.Targets(v, id) {
		if v.isSent(t) {
			n++
		}
	}
	return n
}

// touch notes that the edit being applied changes a block.
func (v *View) touch(t policy.Target) {
	if p := v.posOf(t.Item); p < v.sent.items {
		v.changedAt(v.items[p].place+t.Block, t.Item)
	}
}

func (v *View) changedAt(place int, id policy.ItemID) {
	if s := &v.sent; !s.any || place < s.changed.Place {
		s.any = true
		s.changed = SentChange{Place: place, Item: id, Edit: len(v.edits)}
	}
}

// touchPayload notes the change of a block by a payload-only edit. was is the earlier payload replacement, if had. An
// edit that replaces by the same content changes nothing; a cache_edit, and an edit of what the cache holds without the
// block, takes saved tokens off and keeps the prefix.
func (v *View) touchPayload(e *policy.Edit, was *policy.Content, had bool, saved int) {
	now, has := v.PayloadReplacement(e.Target)
	switch p := v.posOf(e.Target.Item); {
	case had == has && sameContent(was, now):
	case e.Kind != policy.KindCacheEdit && !e.Warm:
		v.touch(e.Target)
	case p < v.sent.items:
		v.sent.dropped = append(v.sent.dropped, ServerDrop{v.items[p].place + e.Target.Block, saved})
	}
}

func sameContent(a, b *policy.Content) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.Same(b)
}

// left counts places again after items left from position p on.
func (v *View) left(p int) {
	if p < v.sent.items {
		v.changedAt(v.items[p].place, v.items[p].id)
	}
	if len(v.items)-p <= recount {
		v.number(p)
	}
}

// number gives the items from position p on their places.
func (v *View) number(p int) {
	v.places = 0
	if p > 0 {
		before := &v.items[p-1]
		v.places = before.place
		if !before.removed() {
			v.places += v.SentBlocks(before.id)
		}
	}
	for i := p; i < len(v.items); i++ {
		it := &v.items[i]
		it.place = v.places
		if !it.removed() {
			v.places += v.SentBlocks(it.id)
		}
	}
}

// rebuilt finds the first change of the view just rebuilt to what was sent before.
func (v *View) rebuilt(before []item) {
	same := 0
	sent := 0
	for _, it := range before[:min(v.sent.items, len(before))] {
		if it.removed() {
			continue
		}
		sent++
		if same == sent-1 && same < len(v.items) && v.items[same].id == it.id {
			v.items[same].place = it.place
			same++
		}
	}
	v.number(same)
	v.sent.items = same
	if same == sent {
		return
	}
	place := v.places
	id := policy.ItemID(0)
	if same < len(v.items) {
		place = v.items[same].place
		id = v.items[same].id
	}
	v.changedAt(place, id)
}

// ThinkingAfter counts the thinking blocks in view behind the first change that an edit just applied made to what the
// client sends, and gives the message of the first of them. The prefix they were made with is no longer sent.
func (v *View) ThinkingAfter(e *policy.Edit) (n int, first policy.ItemID) {
	from := len(v.items)
	var changed []policy.ItemID
	switch e.Kind {
	case policy.KindClear, policy.KindPersist, policy.KindTruncate, policy.KindTag, policy.KindWrap:
		changed = []policy.ItemID{e.Target.Item}
	case policy.KindRemove, policy.KindCollapse:
		changed = e.Items
	case policy.KindSummarize:
		from = len(e.Lead) - 1
	}
	for _, id := range changed {
		if p := v.posOf(id); p >= 0 {
			from = min(from, p)
		}
	}
	for i := len(v.items) - 1; i > from; i-- {
		it := v.items[i]
		m := v.Message(it.id)
		if it.removed() || m == nil {
			continue
		}
		for b := range m.Blocks {
			if k := m.Blocks[b].Kind; k == jsonl.KindThinking || k == jsonl.KindRedactedThinking {
				n += 1
				first = it.id
			}
		}
	}
	return n, first
}
