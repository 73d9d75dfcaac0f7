package view

import (
	"slices"

	"github.com/ctxkit/ctxkit/policy"
)

// Proposal is what edits would do to the payload if they were applied, in tokens by the client's own estimate.
type Proposal struct {
	Freed     int // the payload would be smaller by
	Rewritten int // of what was sent last and is still as it was, what would have to be sent behind a change
}

// Propose weighs edits that are not applied. Each is taken by itself: of two edits to one block both count.
func (v *View) Propose(edits []policy.Edit) Proposal {
	var freed int
	first := len(v.items) // position of the first item that changes
	change := func(id policy.ItemID) {
		if v.Has(id) {
			first = min(first, v.posOf(id))
		}
	}
	inserted := func(list []policy.Synthetic) (n int) {
		for i := range list {
			for b := range list[i].Contents {
				n += v.content(&list[i].Contents[b])[v.client]
			}
		}
		return n
	}
	for i := range edits {
		e := &edits[i]
		switch e.Kind {
		case policy.KindClear, policy.KindPersist, policy.KindTruncate, policy.KindWrap, policy.KindCacheEdit, policy.KindServerClear, policy.KindServerKeep:
			if v.inView(e.Target) != nil {
				continue
			}
			freed += v.payloadBlocks(e.Target)[v.client]
			switch {
			case e.Kind == policy.KindServerKeep:
				freed -= v.blockTokens(e.Target)[v.client]
			case e.New != nil:
				freed -= v.content(e.New)[v.client]
			}
			if e.Kind != policy.KindCacheEdit {
				change(e.Target.Item)
			}
		case policy.KindTag:
			if e.New != nil {
				freed -= v.content(e.New)[v.client]
			}
			change(e.Target.Item)
		case policy.KindRemove, policy.KindCollapse:
			for _, id := range e.Items {
				if v.Has(id) {
					freed += v.ClientPayloadWeight(id)
				}
				change(id)
			}
			freed -= inserted(e.Insert)
		case policy.KindAttach:
			freed -= inserted(e.Insert)
		case policy.KindSummarize:
			freed += v.ClientPayloadTokens() - inserted(e.Insert) - inserted(e.Tail)
			for _, id := range slices.Concat(e.Lead, e.Keep) {
				freed -= v.ClientPayloadWeight(id)
			}
			kept := 0 // what the rebuilt view begins with, in items
			for kept < len(e.Lead) && kept < len(v.items) && v.items[kept].id == e.Lead[kept] {
				kept++
			}
			first = min(first, kept)
		}
	}
	return Proposal{Freed: freed, Rewritten: max(v.unchanged(first)-max(freed, 0), 0)}
}

// unchanged is the tokens of what was sent last from an item on, up to the first change since.
func (v *View) unchanged(from int) (n int) {
	end := v.sent.items
	if v.sent.any {
		end = min(end, max(v.posOf(v.sent.changed.Item), 0))
	}
	for i := from; i < end; i++ {
		if it := v.items[i]; !it.removed() {
			n += v.ClientPayloadWeight(it.id)
		}
	}
	return n
}
