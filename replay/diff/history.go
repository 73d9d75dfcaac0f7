// Package diff compares two views of one conversation message by message: the state of each message, the edit behind
// it, and what was added.
package diff

import (
	"slices"

	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/view"
)

// History holds the edits of each message and block of a view.
type History struct {
	Gone    map[policy.ItemID]*policy.Edit // the last edit that removed an item from view
	Made    map[policy.ItemID]*policy.Edit // the edit that added a message
	Tagged  map[policy.ItemID]*policy.Edit
	Changed map[policy.Target]*policy.Edit // the last edit of a block in the model view
	Server  map[policy.Target]*policy.Edit // the last edit of a block by the server, or the last cache edit
}

// NewHistory reads the edits of a view.
func NewHistory(v *view.View) *History {
	h := &History{
		Gone: map[policy.ItemID]*policy.Edit{}, Made: map[policy.ItemID]*policy.Edit{}, Tagged: map[policy.ItemID]*policy.Edit{},
		Changed: map[policy.Target]*policy.Edit{}, Server: map[policy.Target]*policy.Edit{},
	}
	var recorded []policy.ItemID // every recorded message that ever joined, in order
	for _, id := range v.Arrived() {
		if id >= 0 {
			recorded = append(recorded, id)
		}
	}
	slices.Sort(recorded)
	in := map[policy.ItemID]bool{} // in view when the current edit was made
	edits := v.Edits()
	for i := range edits {
		e := &edits[i]
		for len(recorded) > 0 && int(recorded[0]) < e.Joined {
			in[recorded[0]] = true
			recorded = recorded[1:]
		}
		h.note(e, in)
	}
	return h
}

func (h *History) note(e *policy.Edit, in map[policy.ItemID]bool) {
	leave := func(id policy.ItemID) {
		h.Gone[id] = e
		delete(in, id)
	}
	switch e.Kind {
	case policy.KindClear, policy.KindPersist, policy.KindTruncate:
		h.Changed[e.Target] = e
	case policy.KindTag:
		h.Tagged[e.Target.Item] = e
	case policy.KindCacheEdit, policy.KindServerClear:
		h.Server[e.Target] = e
	case policy.KindServerKeep:
		delete(h.Server, e.Target)
	case policy.KindRemove, policy.KindCollapse:
		for _, id := range e.Items {
			leave(id)
		}
	case policy.KindSummarize:
		kept := map[policy.ItemID]bool{}
		for _, id := range slices.Concat(e.Lead, e.Keep) {
			kept[id] = true
			if id >= 0 && !in[id] {
				h.Made[id] = e // a recorded summary, or a message a boundary brought back
			}
		}
		for id := range in {
			if !kept[id] {
				leave(id)
			}
		}
		for id := range kept {
			in[id] = true
		}
	}
	for _, list := range [][]policy.Synthetic{e.Insert, e.Tail} {
		for i := range list {
			h.Made[list[i].ID] = e
			in[list[i].ID] = true
		}
	}
}
