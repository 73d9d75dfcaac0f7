package view

import (
	"slices"
	"sort"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
)

// Checker checks the model view against the rules of the Messages API, with adjacent messages of one role taken as
// one. It passes over what is not sent and over payload-only edits. It can be called again while the view grows: where
// messages left the view, those from the first of them on are checked again, and all of them where some moved. Without
// that a replay grows faster than its requests (bar in docs/performance.md).
type Checker struct {
	view    *View
	check   apiCheck
	fed     []checked              // in the order of the view
	arrived int                    // of the items that ever joined
	joined  int                    // messages that had been offered
	edits   int                    // of the view's
	covered map[policy.ItemID]bool // a summary has taken the place of the item
}

// checked is an item that was checked, and where the pass stood before it.
type checked struct {
	id     policy.ItemID
	before standing
}

// NewChecker returns a checker of v that has checked nothing.
func NewChecker(v *View) *Checker {
	c := &Checker{view: v, fed: make([]checked, 0, len(v.conv.Messages)), covered: map[policy.ItemID]bool{}}
	c.anew()
	return c
}

// Check checks what is new and returns the violations. A violation that was returned before may be returned again.
func (c *Checker) Check() []Violation {
	v := c.view
	c.check.found = nil
	arrived := v.Arrived()
	var edits []policy.Edit // new ones
	if len(v.edits) > c.edits {
		edits = v.Edits()[c.edits:]
	}
	from, moved := c.firstMoved(edits)
	switch {
	case !moved:
		from = len(v.items)
	case from < 0:
		from = 0
		c.cover(edits, arrived[c.arrived:])
		c.anew()
	}
	from = c.back(from)
	for i := range edits {
		if t := edits[i].Target; v.posOf(t.Item) < from {
			c.block(t, edits[i].Kind)
		}
	}
	for id := range v.itemsFrom(from) {
		c.item(id)
	}
	c.arrived, c.joined, c.edits = len(arrived), v.Joined(), len(v.edits)
	c.end()
	return c.check.found
}

// firstMoved is the first position in the view from which edits took something away; below 0 where they changed the
// order. moved is false where nothing changed.
func (c *Checker) firstMoved(edits []policy.Edit) (from int, moved bool) {
	from = len(c.view.items)
	for i := range edits {
		kind := edits[i].Kind
		if !kind.Moves(edits[i].New) {
			continue
		}
		moved = true
		switch kind {
		case policy.KindRemove:
			for _, id := range edits[i].Items {
				from = min(from, c.view.posOf(id))
			}
		case policy.KindClear, policy.KindPersist, policy.KindTruncate:
			from = min(from, c.view.posOf(edits[i].Target.Item))
		default:
			return -1, true
		}
	}
	return from, moved
}

// back goes back to before the first checked item at a position of the view or behind it. It returns the position from
// which items are to be checked.
func (c *Checker) back(from int) int {
	i := len(c.fed)
	if i > 0 && c.view.posOf(c.fed[i-1].id) < from {
		return c.view.posOf(c.fed[i-1].id) + 1
	}
	i = sort.Search(i, func(i int) bool { return c.view.posOf(c.fed[i].id) >= from })
	if i < len(c.fed) {
		c.check.back(c.fed[i].before)
		c.fed = c.fed[:i]
	}
	if i == 0 {
		return 0
	}
	return c.view.posOf(c.fed[i-1].id) + 1
}

// CheckRequest is Check where the view is about to be sent: no recorded response may be last. An answer that a policy
// itself puts there is a prefill.
func (c *Checker) CheckRequest() []Violation {
	found := c.Check()
	if k := &c.check; k.any && k.role == session.Assistant && k.last >= 0 {
		found = append(found, Violation{k.last, LastIsUser, "a response is the last message: what was said after it is missing"})
	}
	return found
}

// CheckAPI checks all messages of a view as a [Checker] does.
func CheckAPI(v *View) []Violation { return NewChecker(v).Check() }

func (c *Checker) anew() {
	c.check = apiCheck{View: c.view, callAt: map[string]int{}}
	c.fed = nil
}

// cover notes what a summary or a placeholder has replaced of the items that were checked and those that arrived since.
func (c *Checker) cover(edits []policy.Edit, arrived []policy.ItemID) {
	summed := false
	removed := map[policy.ItemID]bool{}
	for _, e := range edits {
		switch e.Kind {
		case policy.KindSummarize, policy.KindCollapse:
			summed = true
		case policy.KindRemove:
			for _, id := range e.Items {
				removed[id] = true
			}
		}
	}
	if !summed {
		return
	}
	cover := func(id policy.ItemID) {
		if !removed[id] && !c.view.Has(id) {
			c.covered[id] = true
		}
	}
	for i := range c.fed {
		cover(c.fed[i].id)
	}
	for _, id := range arrived {
		cover(id)
	}
}

func (c *Checker) item(id policy.ItemID) {
	c.fed = append(c.fed, checked{id, c.check.stands()})
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
	switch c.view.Kind(t) {
	case jsonl.KindThinking, jsonl.KindRedactedThinking:
		if loop, ok := c.check.thinkingAt(t); ok {
			c.check.change(loop, t)
		}
	case jsonl.KindText:
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
	var now []policy.ItemID
	for _, t := range k.changed[k.loops] {
		if loop, ok := k.thinkingAt(t); ok && loop == k.loops {
			now = append(now, t.Item)
		}
	}
	slices.Sort(now)
	for _, id := range slices.Compact(now) {
		k.report(id, LastThinkingWhole, "thinking of the last tool loop was changed")
	}
}
