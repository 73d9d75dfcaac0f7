package gemini

import (
	"slices"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/stage/measure"
)

// known is what a compression knows of an item of the history.
type known struct {
	id     policy.ItemID
	free   bool  // no call is open before it
	start  bool  // measure.Turns.Starts
	cut    bool  // the figures are with a result cut
	length int32 // measure.GenAI.Item
	size   size
}

// memory keeps what is known of the last history for the next one, most of which is the same. It takes as much as the
// history is long.
type memory struct {
	seen  measure.Follower
	items []known
	spare []known       // of the history before
	turns measure.Turns // behind the items
}

// of is what there is to know of a history with results cut. The slice is valid until the next call.
func (m *memory) of(v policy.View, history []policy.ItemID, cuts map[policy.Target]*policy.Content, e estimate) []known {
	changed := m.changed(v, cuts)
	old, list := m.items, slices.Grow(m.spare[:0], len(history))
	at, from, n := stayed(history, old)
	turns := measure.Turns{}
	for i := range at {
		list = append(list, known{id: history[i]})
		list[i].turn(v, &turns)
	}
	list = append(list, old[from:from+n]...)
	if n > 0 && from+n == len(old) && old[from].free {
		turns = m.turns
	} else {
		for i := range n {
			list[at+i].turn(v, &turns)
		}
	}
	for _, id := range history[at+n:] {
		list = append(list, known{id: id})
		list[len(list)-1].turn(v, &turns)
	}
	g := contents(v, cuts)
	for i := range list {
		if k := &list[i]; i < at || i >= at+n || k.cut || len(changed) > 0 && changed[k.id] != 0 {
			k.length, k.size, k.cut = int32(g.Item(k.id)), e.size(g, k.id), changed[k.id] == isCut
		}
	}
	m.items, m.spare, m.turns = list, old, turns
	return list
}

// stayed finds the items of a history that stayed since another one: n items from history[at] on, which were those from
// old[from] on. Those before are a policy's, and call nothing.
func stayed(history []policy.ItemID, old []known) (at, from, n int) {
	recorded := func(id policy.ItemID) bool { return id >= 0 }
	if at = slices.IndexFunc(history, recorded); at < 0 {
		return len(history), 0, 0
	}
	if from = slices.IndexFunc(old, func(k known) bool { return k.id == history[at] }); from < 0 {
		return at, 0, 0
	}
	for n < min(len(history)-at, len(old)-from) && history[at+n] == old[from+n].id {
		n++
	}
	return at, from, n
}

// turn follows the calls up to an item.
func (k *known) turn(v policy.View, turns *measure.Turns) {
	k.free = turns.Free()
	k.start = turns.Starts(v, k.id)
}

// Why the figures of an item are not what they were.
const (
	isEdited = iota + 1
	isCut
)

// changed are the items that edits changed since the last call, and those with a result to be cut.
func (m *memory) changed(v policy.View, cuts map[policy.Target]*policy.Content) map[policy.ItemID]int {
	var items map[policy.ItemID]int
	note := func(id policy.ItemID, why int) {
		if items == nil {
			items = map[policy.ItemID]int{}
		}
		items[id] = why
	}
	edits, _, _ := m.seen.Follow(v)
	for _, e := range edits {
		if e.New != nil {
			note(e.Target.Item, isEdited)
		}
	}
	for t := range cuts {
		note(t.Item, isCut)
	}
	return items
}

// size is the size of texts: quarters of a token, and characters beyond ASCII.
type size struct{ quarters, others int }

func (s *size) add(o size) { s.quarters, s.others = s.quarters+o.quarters, s.others+o.others }

// tokens is a size in tokens.
func (e estimate) tokens(s size) float64 {
	return e.ascii(s.quarters) + e.other*float64(s.others)
}

// measured is about the size of a text by its lengths: other characters are taken to have three bytes.
func measured(l jsonl.Metrics) size {
	others := min((l.Bytes-l.UTF16+1)/2, l.UTF16)
	if l.UTF16 > geminiFullText {
		others = 0
	}
	return size{l.UTF16 - others, others}
}

// textSize is about the size of a text that a stage puts in.
func textSize(c *policy.Content) size {
	if c.Tokens > 0 {
		return size{quarters: 4 * c.Tokens}
	}
	return measured(c.Length)
}

// size is about the source's estimate of an item.
func (e estimate) size(g measure.GenAI, id policy.ItemID) (sum size) {
	v := g.View
	for b := range v.Blocks(id) {
		t := policy.Target{Item: id, Block: b}
		raw, c := v.Raw(t), v.Replacement(t)
		switch kind := v.Kind(t); {
		case c != nil && c.Tokens > 0:
			sum.add(textSize(c))
		case kind == jsonl.KindThinking || kind == jsonl.KindRedactedThinking:
		case kind == jsonl.KindImage:
			sum.quarters += 4 * geminiImage
		case raw != nil && kind == jsonl.KindToolResult && !e.points:
			sum.quarters += responseSize(g, t)
		case raw != nil && (kind == jsonl.KindToolResult || kind == jsonl.KindToolUse):
			sum.quarters += g.Part(t)
		default:
			sum.add(measured(v.Length(t)))
		}
	}
	return sum
}

// responseSize is the size of a functionResponse, in quarters of a token.
func responseSize(g measure.GenAI, t policy.Target) int {
	return len(g.View.Conversation().Tool(g.View.Raw(t))) + g.Response(t)
}
