package policy

import (
	"slices"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/session"
)

// Checker holds a view against the rules of CheckAPI again and again while it
// grows and is edited. What was looked at is looked at again only where
// messages left the view or changed places, so that checking every request
// costs what is new.
type Checker struct {
	view    *View
	check   apiCheck
	fed     []ItemID // looked at, in order
	arrived int      // of the items that ever joined
	joined  int      // messages that had been offered
	edits   int      // of the view's
	covered map[ItemID]bool
}

// NewChecker returns a checker of v that has looked at nothing.
func NewChecker(v *View) *Checker {
	c := &Checker{view: v, covered: map[ItemID]bool{}}
	c.anew()
	return c
}

// Check looks at what is new. It returns what does not hold; what did not hold
// before and still does not may be told again.
func (c *Checker) Check() []Violation {
	v := c.view
	c.check.found = nil
	arrived := v.Arrived()
	edits := v.Edits()[c.edits:]
	if slices.ContainsFunc(edits, func(e Edit) bool { return e.moves() }) {
		c.cover(edits, arrived[c.arrived:])
		c.anew()
		for id := range v.Items {
			c.item(id)
		}
	} else {
		for i := range edits {
			c.block(edits[i].Target, edits[i].Kind)
		}
		for _, id := range arrived[c.arrived:] {
			if v.Has(id) {
				c.item(id)
			}
		}
	}
	c.arrived, c.joined, c.edits = len(arrived), v.Joined(), len(v.Edits())
	c.end()
	return c.check.found
}

// moves reports whether an edit takes messages away or puts them elsewhere.
func (e *Edit) moves() bool {
	return e.Kind == KindRemove || e.Kind == KindCollapse || e.Kind == KindSummarize
}

func (c *Checker) anew() {
	c.check = apiCheck{v: c.view, found: c.check.found, thinking: map[Target]bool{}}
	c.fed = c.fed[:0]
}

// cover notes what a summary or a placeholder has taken the place of.
func (c *Checker) cover(edits []Edit, arrived []ItemID) {
	summed := false
	removed := map[ItemID]bool{}
	for i := range edits {
		switch edits[i].Kind {
		case KindSummarize, KindCollapse:
			summed = true
		case KindRemove:
			for _, id := range edits[i].Items {
				removed[id] = true
			}
		}
	}
	if !summed {
		return
	}
	for _, ids := range [][]ItemID{c.fed, arrived} {
		for _, id := range ids {
			if !removed[id] && !c.view.Has(id) {
				c.covered[id] = true
			}
		}
	}
}

func (c *Checker) item(id ItemID) {
	c.fed = append(c.fed, id)
	if c.covered[id] {
		c.check.report(id, SummaryOrTail, "a message that a summary has taken the place of is in view again")
	}
	if s := c.view.Synthetic(id); s != nil {
		for i := range s.Contents {
			if ref := s.Contents[i].Ref; ref != nil && c.view.Has(ref.Item) {
				c.check.report(id, SummaryOrTail, "the %s repeats a message that is in view", s.name())
			}
		}
	}
	c.check.item(id)
}

// name is what a made-up message is called in a sentence.
func (s *Synthetic) name() string {
	if s.Label == "" {
		return "made-up message"
	}
	return s.Label
}

// block looks again at a block that was changed where it stands.
func (c *Checker) block(t Target, kind Kind) {
	switch {
	case kind != KindClear && kind != KindPersist && kind != KindTruncate:
	case int(t.Item) >= c.joined || !c.view.Has(t.Item): // not looked at yet, or gone
	default:
		if c.check.thinking[t] {
			c.check.changed = append(c.check.changed, t.Item)
		}
		if c.view.Kind(t) == jsonl.KindText {
			c.check.text(t)
		}
	}
}

// end reports what does not hold if nothing comes after.
func (c *Checker) end() {
	k := &c.check
	if k.any && k.role == session.User {
		k.unanswered()
		if !k.loop {
			return // the loop is over
		}
	}
	slices.Sort(k.changed)
	k.changed = slices.Compact(k.changed)
	for _, id := range k.changed {
		k.report(id, LastThinkingWhole, "thinking of the last tool loop was changed")
	}
}
