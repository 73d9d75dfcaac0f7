package stage

import "github.com/ctxkit/ctxkit/policy"

// itemSums keeps a figure of each item in view, and their sum, up to date by
// what joined, what was changed and what left.
type itemSums struct {
	of    func(policy.View, policy.ItemID) int
	items map[policy.ItemID]int
	sum   int
	epoch int
	seen  int // of the items that ever joined
	edits int // of the view
}

func (s *itemSums) follow(v policy.View) {
	edits := v.Edits()
	anew := s.items == nil || v.Epoch() != s.epoch
	if anew {
		s.items, s.sum, s.epoch = map[policy.ItemID]int{}, 0, v.Epoch()
		for id := range v.Items {
			s.put(v, id)
		}
	} else {
		for i := s.edits; i < len(edits); i++ {
			switch e := &edits[i]; e.Kind {
			case policy.KindRemove, policy.KindCollapse:
				for _, id := range e.Items {
					s.sum -= s.items[id]
					delete(s.items, id)
				}
			case policy.KindClear, policy.KindPersist, policy.KindTruncate, policy.KindTag:
				if _, ok := s.items[e.Target.Item]; ok {
					s.put(v, e.Target.Item)
				}
			}
		}
		for _, id := range v.Arrived()[s.seen:] {
			if v.Has(id) {
				s.put(v, id)
			}
		}
	}
	s.edits, s.seen = len(edits), len(v.Arrived())
}

func (s *itemSums) put(v policy.View, id policy.ItemID) {
	n := s.of(v, id)
	s.sum += n - s.items[id]
	s.items[id] = n
}
