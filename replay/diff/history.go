// Package diff says how two views of one conversation differ, message by
// message: what became of each, by which edit, and what was added. It reads
// views and the edits that made them; it makes none.
package diff

import (
	"slices"

	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/view"
)

// History is what the edits of a view did to each message and block.
type History struct {
	gone    map[policy.ItemID]*policy.Edit // that took an item out of view, the last one
	made    map[policy.ItemID]*policy.Edit // that added a message
	tagged  map[policy.ItemID]*policy.Edit
	changed map[policy.Target]*policy.Edit // the last that changed a block in the model view
	server  map[policy.Target]*policy.Edit // the last that changed it in the payload
}

// NewHistory reads the edits of a view.
func NewHistory(v *view.View) *History {
	h := &History{
		gone: map[policy.ItemID]*policy.Edit{}, made: map[policy.ItemID]*policy.Edit{}, tagged: map[policy.ItemID]*policy.Edit{},
		changed: map[policy.Target]*policy.Edit{}, server: map[policy.Target]*policy.Edit{},
	}
	var recorded []policy.ItemID // every recorded message that ever joined, in order
	for _, id := range v.Arrived() {
		if id >= 0 {
			recorded = append(recorded, id)
		}
	}
	slices.Sort(recorded)
	in := map[policy.ItemID]bool{} // in view when the edit at hand was made
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
		h.gone[id] = e
		delete(in, id)
	}
	switch e.Kind {
	case policy.KindClear, policy.KindPersist, policy.KindTruncate:
		h.changed[e.Target] = e
	case policy.KindTag:
		h.tagged[e.Target.Item] = e
	case policy.KindCacheEdit, policy.KindServerClear:
		h.server[e.Target] = e
	case policy.KindServerKeep:
		delete(h.server, e.Target)
	case policy.KindRemove, policy.KindCollapse:
		for _, id := range e.Items {
			leave(id)
		}
	case policy.KindSummarize:
		kept := map[policy.ItemID]bool{}
		for _, id := range slices.Concat(e.Lead, e.Keep) {
			kept[id] = true
			if id >= 0 && !in[id] {
				h.made[id] = e // a recorded summary, or a message a boundary brought back
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
			h.made[list[i].ID] = e
			in[list[i].ID] = true
		}
	}
}

// Changed is the edit that changed a block of the model view, or nil.
func (h *History) Changed(t policy.Target) *policy.Edit { return h.changed[t] }

// Server is the edit that the server, or a cache edit, holds on a block of the
// payload, or nil.
func (h *History) Server(t policy.Target) *policy.Edit { return h.server[t] }

// Made is the edit that added a message, or nil.
func (h *History) Made(id policy.ItemID) *policy.Edit { return h.made[id] }

// Tagged is the edit that tagged a message, or nil.
func (h *History) Tagged(id policy.ItemID) *policy.Edit { return h.tagged[id] }
