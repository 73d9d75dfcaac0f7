package measure

import (
	"slices"

	"github.com/ctxkit/ctxkit/policy"
)

// Follower remembers how much of a view a stage has seen. Without it a replay in views that never shrink grows faster than
// its requests (bar in docs/performance.md).
type Follower struct {
	begun        bool
	epoch        int
	edits, items int // seen of View.Edits and View.Arrived
}

// Follow returns the edits and the items that are new since the last call. anew is true at the first call and after a
// change of the epoch: the view has to be read as a whole.
func (f *Follower) Follow(v policy.View) (edits []policy.Edit, joined []policy.ItemID, anew bool) {
	edits = v.Edits()[f.edits:]
	joined = v.Arrived()[f.items:]
	anew = !f.begun || v.Epoch() != f.epoch
	*f = Follower{true, v.Epoch(), len(v.Edits()), len(v.Arrived())}
	return edits, joined, anew
}

// Arrived returns the items that are new in view since the last call. anew is true where they are all of the view: at
// the first call, after a change of the epoch, and after an edit that moved reports.
func (f *Follower) Arrived(v policy.View, moved func(policy.Edit) bool) (items []policy.ItemID, anew bool) {
	edits, joined, anew := f.Follow(v)
	for _, e := range edits {
		anew = anew || moved(e)
	}
	if anew {
		return v.IDs(), true
	}
	return slices.DeleteFunc(slices.Clone(joined), func(id policy.ItemID) bool { return !v.Has(id) }), false
}

// Ageing lists the results that a stage has not dealt with yet. Without it a replay in views that never shrink grows faster
// than its requests (bar in docs/performance.md).
type Ageing struct {
	Of func(r *policy.Result) bool // whether a result in view is listed; once it is not, it never is. Nil: all are

	epoch  int
	seen   int   // results of this epoch already in recent
	recent []int // indexes into View.Results
}

// Renew begins anew after a change of the view's epoch, and reports it.
func (a *Ageing) Renew(v policy.View) bool {
	changed := v.Epoch() != a.epoch
	if changed {
		*a = Ageing{Of: a.Of, epoch: v.Epoch()}
	}
	return changed
}

// Live lists the results in view that are not dealt with, oldest first, as indexes into View.Results.
func (a *Ageing) Live(v policy.View) []int {
	a.Renew(v)
	results := v.Results()
	for ; a.seen < len(results); a.seen++ {
		a.recent = append(a.recent, a.seen)
	}
	a.recent = slices.DeleteFunc(a.recent, func(i int) bool {
		r := &results[i]
		return r.State == policy.ResultGone || a.Of != nil && !a.Of(r)
	})
	return a.recent
}

// Done takes the oldest n live results as dealt with.
func (a *Ageing) Done(n int) { a.recent = slices.Clone(a.recent[n:]) }

// ItemSums keeps a figure of each item in view, and their sum, up to date. Without it a replay in views that never shrink
// grows faster than its requests (bar in docs/performance.md).
type ItemSums struct {
	Of    func(policy.View, policy.ItemID) int
	Items map[policy.ItemID]int
	Sum   int
	seen  Follower
}

// Follow updates the figures by what joined, what was changed and what left.
func (s *ItemSums) Follow(v policy.View) {
	edits, joined, anew := s.seen.Follow(v)
	if anew {
		s.Items = map[policy.ItemID]int{}
		s.Sum = 0
		for id := range v.Items {
			s.put(v, id)
		}
		return
	}
	for _, e := range edits {
		switch e.Kind {
		case policy.KindRemove, policy.KindCollapse:
			for _, id := range e.Items {
				s.Sum -= s.Items[id]
				delete(s.Items, id)
			}
		case policy.KindClear, policy.KindPersist, policy.KindTruncate, policy.KindTag, policy.KindWrap:
			if _, ok := s.Items[e.Target.Item]; ok {
				s.put(v, e.Target.Item)
			}
		}
	}
	for _, id := range joined {
		if v.Has(id) {
			s.put(v, id)
		}
	}
}

func (s *ItemSums) put(v policy.View, id policy.ItemID) {
	n := s.Of(v, id)
	s.Sum += n - s.Items[id]
	s.Items[id] = n
}
