package view

import (
	"slices"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
)

// Checker holds a view against the rules of CheckAPI again and again while it
// grows and is edited. What was looked at is looked at again only where
// messages left the view or changed places, so that checking every request
// costs what is new.
type Checker struct {
	view    *View
	check   apiCheck
	fed     []policy.ItemID // looked at, in order
	arrived int             // of the items that ever joined
	joined  int             // messages that had been offered
	edits   int             // of the view's
	covered map[policy.ItemID]bool
}

// NewChecker returns a checker of v that has looked at nothing.
func NewChecker(v *View) *Checker {
	c := &Checker{view: v, covered: map[policy.ItemID]bool{}}
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
	if slices.ContainsFunc(edits, func(e policy.Edit) bool { return e.Moves() }) {
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

func (c *Checker) anew() {
	c.check = apiCheck{v: c.view, found: c.check.found, thinking: map[policy.Target]bool{}}
	c.fed = c.fed[:0]
}

// cover notes what a summary or a placeholder has taken the place of.
func (c *Checker) cover(edits []policy.Edit, arrived []policy.ItemID) {
	summed := false
	removed := map[policy.ItemID]bool{}
	for i := range edits {
		switch edits[i].Kind {
		case policy.KindSummarize, policy.KindCollapse:
			summed = true
		case policy.KindRemove:
			for _, id := range edits[i].Items {
				removed[id] = true
			}
		}
	}
	if !summed {
		return
	}
	for _, ids := range [][]policy.ItemID{c.fed, arrived} {
		for _, id := range ids {
			if !removed[id] && !c.view.Has(id) {
				c.covered[id] = true
			}
		}
	}
}

func (c *Checker) item(id policy.ItemID) {
	c.fed = append(c.fed, id)
	if c.covered[id] {
		c.check.report(id, SummaryOrTail, "a message that a summary has taken the place of is in view again")
	}
	if s := c.view.Synthetic(id); s != nil {
		for i := range s.Contents {
			if ref := s.Contents[i].Ref; ref != nil && c.view.Has(ref.Item) {
				c.check.report(id, SummaryOrTail, "the %s repeats a message that is in view", s.Name())
			}
		}
	}
	c.check.item(id)
}

// block looks again at a block that was changed where it stands.
func (c *Checker) block(t policy.Target, kind policy.Kind) {
	switch {
	case kind != policy.KindClear && kind != policy.KindPersist && kind != policy.KindTruncate:
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
