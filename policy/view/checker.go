package view

import (
	"slices"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
)

// Checker checks the model view against the rules of the Messages API, with adjacent messages of one role taken as
// one. It passes over what is not sent and over payload-only edits. It can be called again while the view grows: all
// messages are checked again only where some left the view or moved, so that checking every request costs what is
// new.
type Checker struct {
	view    *View
	check   apiCheck
	fed     []policy.ItemID // checked, in order
	arrived int             // of the items that ever joined
	joined  int             // messages that had been offered
	edits   int             // of the view's
	covered map[policy.ItemID]bool
}

// NewChecker returns a checker of v that has checked nothing.
func NewChecker(v *View) *Checker {
	c := &Checker{view: v, covered: map[policy.ItemID]bool{}}
	c.anew()
	return c
}

// Check checks what is new and returns the violations. A violation that was returned before may be returned again.
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

// CheckAPI checks all messages of a view as a [Checker] does.
func CheckAPI(v *View) []Violation { return NewChecker(v).Check() }

func (c *Checker) anew() {
	c.check = apiCheck{v: c.view, found: c.check.found, thinking: map[policy.Target]bool{}}
	c.fed = c.fed[:0]
}

// cover notes what a summary or a placeholder has replaced.
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
	for _, id := range slices.Concat(c.fed, arrived) {
		if !removed[id] && !c.view.Has(id) {
			c.covered[id] = true
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

// block checks a replaced block again, unless it is not checked yet or gone.
func (c *Checker) block(t policy.Target, kind policy.EditKind) {
	replaced := kind == policy.KindClear || kind == policy.KindPersist || kind == policy.KindTruncate
	if !replaced || int(t.Item) >= c.joined || !c.view.Has(t.Item) {
		return
	}
	if c.check.thinking[t] {
		c.check.changed = append(c.check.changed, t.Item)
	}
	if c.view.Kind(t) == jsonl.KindText {
		c.check.text(t)
	}
}

// end reports what does not hold if no message follows.
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
