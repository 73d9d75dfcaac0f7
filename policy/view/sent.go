package view

import (
	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/policy"
)

// What a prompt cache asks of a view: where the next payload first differs from
// the one sent before. A place is the number of a block in the order it is sent,
// tools and system prompt not counted. Places only ever grow towards the end;
// messages that leave from far back leave a gap in them.

// recount is how many items from the end places are counted anew when messages
// leave: more than any look-back reaches.
const recount = 256

// sending is what a view remembers of the payload sent last.
type sending struct {
	items   int        // items[:items] were in it
	changed SentChange // the first change since, where any is true
	any     bool
	dropped []ServerDrop
}

// SentChange is a change to what has been sent.
type SentChange struct {
	Place int           // of the first block that is not what it was
	Item  policy.ItemID // it belongs to
	Edit  int           // index into Edits of the edit that changed it
}

// ServerDrop is a block that the server itself takes out of its cached view: the
// prefix stays what it was.
type ServerDrop struct {
	Place  int // of the block
	Tokens int // it is shorter by, by the report's counter
}

// Sent notes that the payload has been sent as it stands. Blocks that join
// later, and edits to them, change nothing of it.
func (v *View) Sent() {
	v.sent = sending{items: len(v.items), dropped: v.sent.dropped[:0]}
}

// FirstChange is the change since Sent that comes first in the payload; of those
// to one block the one made first. ok is false where the payload sent last is
// the beginning of the next one.
func (v *View) FirstChange() (c SentChange, ok bool) { return v.sent.changed, v.sent.any }

// ServerDrops is what cache_edits took off since Sent, in the order they were
// made. The slice is the view's own.
func (v *View) ServerDrops() []ServerDrop { return v.sent.dropped }

// Places is the place the next block to join will have.
func (v *View) Places() int { return v.places }

// Place is that of an item's first block.
func (v *View) Place(id policy.ItemID) (place int, ok bool) {
	if !v.Has(id) {
		return 0, false
	}
	return int(v.items[v.posOf(id)].place), true
}

// PayloadWeight is the current weight of an item in the payload, in tokens.
func (v *View) PayloadWeight(id policy.ItemID) int { return v.weight(id)[0] + v.payloadWeight(id)[0] }

// ClientPayloadWeight is PayloadWeight by the counter client arithmetic is done
// in.
func (v *View) ClientPayloadWeight(id policy.ItemID) int {
	if v.weigh[1] == nil {
		return v.PayloadWeight(id)
	}
	return v.weight(id)[1] + v.payloadWeight(id)[1]
}

// SentBlocks is how many of an item's blocks go to the API: an attachment that
// the client keeps to itself does not.
func (v *View) SentBlocks(id policy.ItemID) int {
	n := v.Blocks(id)
	for b := range v.Blocks(id) {
		if t := (policy.Target{Item: id, Block: b}); v.Kind(t) == jsonl.KindAttachment && v.Length(t).UTF16 == 0 {
			n--
		}
	}
	return n
}

// touch notes that the edit being applied changes a block.
func (v *View) touch(t policy.Target) {
	if p := v.posOf(t.Item); p < v.sent.items {
		v.changedAt(int(v.items[p].place)+t.Block, t.Item)
	}
}

func (v *View) changedAt(place int, id policy.ItemID) {
	if s := &v.sent; !s.any || place < s.changed.Place {
		s.any, s.changed = true, SentChange{Place: place, Item: id, Edit: len(v.edits)}
	}
}

// touchPayload notes what a payload-only edit changes of a block of which was
// had been left (nothing, where had is false): nothing where it still shows the
// same; a cache_edit takes tokens off and leaves the prefix what it was.
func (v *View) touchPayload(e *policy.Edit, was *policy.Content, had bool, saved int) {
	now, has := v.PayloadReplacement(e.Target)
	switch p := v.posOf(e.Target.Item); {
	case had == has && sameContent(was, now):
	case e.Kind != policy.KindCacheEdit:
		v.touch(e.Target)
	case p < v.sent.items:
		v.sent.dropped = append(v.sent.dropped, ServerDrop{int(v.items[p].place) + e.Target.Block, saved})
	}
}

func sameContent(a, b *policy.Content) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.Same(b)
}

// left counts places anew after items left from position p on.
func (v *View) left(p int) {
	if p < v.sent.items {
		v.changedAt(int(v.items[p].place), v.items[p].id)
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
		v.places = int(before.place)
		if !before.removed() {
			v.places += v.SentBlocks(before.id)
		}
	}
	for i := p; i < len(v.items); i++ {
		it := &v.items[i]
		it.place = int32(v.places)
		if !it.removed() {
			v.places += v.SentBlocks(it.id)
		}
	}
}

// rebuilt finds how far the view just rebuilt begins as the one before did.
func (v *View) rebuilt(before []item) {
	same, sent := 0, 0
	for i, it := range before {
		if i >= v.sent.items {
			break
		}
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
	place, id := v.places, policy.ItemID(0)
	if same < len(v.items) {
		place, id = int(v.items[same].place), v.items[same].id
	}
	v.changedAt(place, id)
}
