package measure

import "github.com/ctxkit/ctxkit/policy"

// itemSums keeps a figure of each item in view, and their sum, up to date by
// what joined, what was changed and what left.
type ItemSums struct {
	Of    func(policy.View, policy.ItemID) int
	Items map[policy.ItemID]int
	Sum   int
	epoch int
	seen  int // of the items that ever joined
	edits int // of the view
}

func (s *ItemSums) Follow(v policy.View) {
	edits := v.Edits()
	anew := s.Items == nil || v.Epoch() != s.epoch
	if anew {
		s.Items, s.Sum, s.epoch = map[policy.ItemID]int{}, 0, v.Epoch()
		for id := range v.Items {
			s.put(v, id)
		}
	} else {
		for i := s.edits; i < len(edits); i++ {
			switch e := &edits[i]; e.Kind {
			case policy.KindRemove, policy.KindCollapse:
				for _, id := range e.Items {
					s.Sum -= s.Items[id]
					delete(s.Items, id)
				}
			case policy.KindClear, policy.KindPersist, policy.KindTruncate, policy.KindTag:
				if _, ok := s.Items[e.Target.Item]; ok {
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

func (s *ItemSums) put(v policy.View, id policy.ItemID) {
	n := s.Of(v, id)
	s.Sum += n - s.Items[id]
	s.Items[id] = n
}
