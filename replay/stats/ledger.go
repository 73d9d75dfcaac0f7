// Package stats tells what fills the context of a conversation: by category, tool, file, result and turn, at each
// request of a replay.
package stats

import (
	"slices"
	"sort"

	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/view"
	"github.com/ctxkit/ctxkit/replay/category"
)

// Stay is a run of main requests whose payloads hold a block with the same number of tokens.
type Stay struct {
	From   int `json:"from"` // n of the first request
	To     int `json:"to"`   // n of the last one
	Tokens int `json:"tokens"`
}

// LedgerBlock is a content block, and in which requests it stood with how many tokens. One that joined and left between
// two requests stood in none.
type LedgerBlock struct {
	Item     policy.ItemID `json:"-"`
	Index    int           `json:"-"` // within the item; the item's number of blocks for a text that was added to it
	Category category.Name `json:"category"`
	Of       string        `json:"of,omitempty"` // the tool, the type of an attachment, or the class of a message
	Spans    []Stay        `json:"spans"`
	Line     int           `json:"line,omitempty"` // of the session's file; 0 for what is on none

	from   int  // of the open span
	weight int  // of an unsent one, tokens
	tokens int  // of the open span
	unsent int  // n of the request before which it joined, and was gone again; 0: some request held it
	open   bool // the last span has not ended
}

// Ledger says which block stood in which request's payload, of one replay. Its Observe is the Observe of replay.Options.
// The work for a request is what joined and what edits changed, not what it holds.
type Ledger struct {
	Blocks   []LedgerBlock
	Requests int // main requests so far

	first   []int                 // by message: index of its first block in Blocks; 0: not seen so far
	made    map[policy.ItemID]int // the same of an item that an edit made
	added   map[policy.ItemID]int // index of the block for a text that an edit added to an item
	live    []policy.ItemID       // in view since the last rebuild, and some that have left it
	arrived int                   // of View.Arrived, that were seen
	edits   int                   // of View.Edits
	sum     int                   // tokens of the blocks in the payload
	less    int                   // tokens that edits took off the view and off no block: of the history before the file
	classes *category.Classes
}

// NewLedger returns a ledger at the beginning of a conversation.
func NewLedger(conv *session.Conversation) *Ledger {
	l := &Ledger{
		Blocks:  []LedgerBlock{{Category: category.Earlier, Of: "microcompacted"}},
		classes: category.NewClasses(conv), first: make([]int, len(conv.Messages)),
		made: map[policy.ItemID]int{}, added: map[policy.ItemID]int{},
	}
	return l
}

// of is the index of an item's first block.
func (l *Ledger) of(id policy.ItemID) (at int, ok bool) {
	if id < 0 {
		at, ok = l.made[id]
		return at, ok
	}
	at = l.first[id]
	return at, at > 0
}

// Observe takes in the view that main request n sends. Requests come in order.
func (l *Ledger) Observe(n int, v *view.View) {
	l.Requests = n
	for _, e := range v.Edits()[l.edits:] {
		l.edit(n, v, &e)
	}
	l.edits = len(v.Edits())
	for _, id := range v.Arrived()[l.arrived:] {
		l.live = append(l.live, id)
		if l.touch(n, v, id); !v.Has(id) {
			l.pass(n, v, id)
		}
	}
	l.arrived = len(v.Arrived())
	l.set(n, &l.Blocks[0], l.less != 0, l.less)
}

// Close ends the spans that are open. No Observe may follow it.
func (l *Ledger) Close() {
	for i := range l.Blocks {
		l.close(&l.Blocks[i], l.Requests)
	}
}

// edit brings up to date what an edit may have changed.
func (l *Ledger) edit(n int, v *view.View, e *policy.Edit) {
	switch e.Kind {
	case policy.KindSummarize:
		for _, id := range l.live {
			l.touch(n, v, id)
		}
		l.live = nil
		for _, id := range slices.Concat(e.Lead, e.Keep) { // what is inserted has arrived
			l.live = append(l.live, id)
			l.touch(n, v, id)
		}
		l.less = 0
	case policy.KindRemove, policy.KindCollapse:
		for _, id := range e.Items {
			l.touch(n, v, id)
		}
	case policy.KindClear, policy.KindPersist, policy.KindTruncate, policy.KindTag, policy.KindWrap,
		policy.KindCacheEdit, policy.KindServerClear, policy.KindServerKeep:
		l.touch(n, v, e.Target.Item)
	case policy.KindInferred:
		l.less += e.Delta
	}
}

// touch brings the blocks of an item up to date.
func (l *Ledger) touch(n int, v *view.View, id policy.ItemID) {
	at, known := l.of(id)
	in := v.Has(id)
	if !known {
		if !in {
			return
		}
		at = l.add(v, id)
	}
	rest := 0 // of a text that was added to the item
	if in {
		rest = v.PayloadWeight(id)
	}
	for t := range policy.Targets(v, id) {
		tokens := 0
		if in {
			tokens = v.PayloadBlockTokens(t)
			rest -= tokens
		}
		l.set(n, &l.Blocks[at+t.Block], in, tokens)
	}
	l.setAdded(n, v, id, rest)
}

// setAdded notes what a text weighs that an edit added to an item; 0: there is none.
func (l *Ledger) setAdded(n int, v *view.View, id policy.ItemID, tokens int) {
	at, known := l.added[id]
	if !known {
		if tokens == 0 {
			return
		}
		at = len(l.Blocks)
		l.added[id] = at
		l.Blocks = append(l.Blocks, LedgerBlock{Item: id, Index: v.Blocks(id), Category: category.Inserted, Of: "tag"})
	}
	l.set(n, &l.Blocks[at], tokens != 0, tokens)
}

// pass adds the blocks of an item that has joined before request n and left the view again.
func (l *Ledger) pass(n int, v *view.View, id policy.ItemID) {
	if _, known := l.of(id); known {
		return
	}
	at := l.add(v, id)
	for t := range policy.Targets(v, id) {
		bl := &l.Blocks[at+t.Block]
		bl.unsent, bl.weight = n, v.PayloadBlockTokens(t)
	}
}

// add appends the blocks of an item.
func (l *Ledger) add(v *view.View, id policy.ItemID) int {
	at := len(l.Blocks)
	if id < 0 {
		l.made[id] = at
	} else {
		l.first[id] = at
	}
	for t := range policy.Targets(v, id) {
		bl := LedgerBlock{Item: id, Index: t.Block}
		bl.Category, bl.Of = l.classes.Of(v, t)
		if raw := v.Raw(t); raw != nil {
			bl.Line = raw.Line
		}
		l.Blocks = append(l.Blocks, bl)
	}
	return at
}

// set notes what a block weighs from request n on.
func (l *Ledger) set(n int, b *LedgerBlock, in bool, tokens int) {
	if b.open == in && b.tokens == tokens {
		return
	}
	l.sum += tokens - b.tokens
	l.close(b, n-1)
	b.open = in
	b.tokens = tokens
	b.from = n
}

// close ends the open span of a block with request n.
func (l *Ledger) close(b *LedgerBlock, n int) {
	if b.open && b.from <= n {
		b.Spans = append(b.Spans, Stay{b.from, n, b.tokens})
	}
	b.open = false
}

// Sum is the tokens of all blocks in the payload of the last request that was observed.
func (l *Ledger) Sum() int { return l.sum }

// At is the span of a block that holds request n; ok is false where the payload did not hold the block.
func (b *LedgerBlock) At(n int) (s Stay, ok bool) {
	i := sort.Search(len(b.Spans), func(i int) bool { return b.Spans[i].To >= n })
	if i == len(b.Spans) || b.Spans[i].From > n {
		return s, false
	}
	return b.Spans[i], true
}
