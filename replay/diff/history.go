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
	f := newFollower(v)
	if len(v.Edits()) > 0 {
		f.next()
	}
	return f.History
}

// follower reads the edits of a view as they come.
type follower struct {
	*History
	view    *view.View
	edits   int                    // how many were read
	arrived int                    // how many of view.Arrived were
	in      map[policy.ItemID]bool // in view when the current edit was made
	waiting []policy.ItemID        // recorded messages that arrived and are not in, in order
	tells   bool                   // touched is wanted
	touched []policy.ItemID        // what arrived, and what edits were about, since next was called before
}

func newFollower(v *view.View) *follower {
	return &follower{
		view: v, in: map[policy.ItemID]bool{},
		History: &History{
			Gone: map[policy.ItemID]*policy.Edit{}, Made: map[policy.ItemID]*policy.Edit{}, Tagged: map[policy.ItemID]*policy.Edit{},
			Changed: map[policy.Target]*policy.Edit{}, Server: map[policy.Target]*policy.Edit{},
		},
	}
}

// next reads the edits that are new. No message arrives with an index below the Joined of an edit that was read before.
func (f *follower) next() {
	f.touched = nil
	edits := f.view.Edits()[f.edits:]
	arrived := f.view.Arrived()[f.arrived:]
	f.touch(arrived...)
	for _, id := range arrived {
		if id >= 0 {
			f.waiting = append(f.waiting, id)
		}
	}
	f.arrived += len(arrived)
	if len(edits) == 0 {
		return
	}
	slices.Sort(f.waiting)
	for i := range edits {
		e := &edits[i]
		for len(f.waiting) > 0 && int(f.waiting[0]) < e.Joined {
			f.in[f.waiting[0]] = true
			f.waiting = f.waiting[1:]
		}
		f.note(e)
	}
	f.edits += len(edits)
}

func (f *follower) touch(ids ...policy.ItemID) {
	if f.tells {
		f.touched = append(f.touched, ids...)
	}
}

func (f *follower) leave(id policy.ItemID, e *policy.Edit) {
	f.Gone[id] = e
	delete(f.in, id)
	f.touch(id)
}

func (f *follower) note(e *policy.Edit) {
	switch e.Kind {
	case policy.KindClear, policy.KindPersist, policy.KindTruncate:
		f.Changed[e.Target] = e
		f.touch(e.Target.Item)
	case policy.KindWrap:
		if f.Changed[e.Target] = e; e.New.Ref != nil && *e.New.Ref == e.Target {
			delete(f.Changed, e.Target)
		}
		f.touch(e.Target.Item)
	case policy.KindTag:
		f.Tagged[e.Target.Item] = e
		f.touch(e.Target.Item)
	case policy.KindCacheEdit, policy.KindServerClear:
		f.Server[e.Target] = e
		f.touch(e.Target.Item)
	case policy.KindServerKeep:
		delete(f.Server, e.Target)
		f.touch(e.Target.Item)
	case policy.KindRemove, policy.KindCollapse:
		for _, id := range e.Items {
			f.leave(id, e)
		}
	case policy.KindSummarize:
		kept := map[policy.ItemID]bool{}
		for _, id := range slices.Concat(e.Lead, e.Keep) {
			kept[id] = true
			if id >= 0 && !f.in[id] {
				f.Made[id] = e // a recorded summary, or a message a boundary brought back
			}
			f.touch(id)
		}
		for id := range f.in {
			if !kept[id] {
				f.leave(id, e)
			}
		}
		for id := range kept {
			f.in[id] = true
		}
	}
	for _, s := range e.Made() { // they have arrived: touched already
		f.Made[s.ID] = e
		f.in[s.ID] = true
	}
}
