package view

import "github.com/ctxkit/ctxkit/policy"

// A rebuild that puts messages in front of the newest part of the view leaves the checks of that part as they are where
// the pass stands before it as it did. What was checked before stays in the lists of the pass, below the part, until it
// is many times as much.

// manyLeft is how many times as many calls and thinking blocks may be left behind as there are in view, before the view
// is checked anew.
const manyLeft = 8

// keepsEnd takes over the checks of the items that a rebuild has kept, and checks those in front of them. It reports
// false where the view is to be checked anew: the edits did more, or what stays is checked otherwise behind what is new.
func (c *Checker) keepsEnd(edits []policy.Edit, arrived []policy.ItemID) bool {
	from, made, ok := c.stayed(edits)
	if !ok {
		return false
	}
	k := &c.check
	was, end := c.fed[from].before, k.stands()
	if left := was.called + was.thought; was.answers() || left > manyLeft*(end.called+end.thought-left)+fewCalls {
		return false
	}
	c.cover(edits, c.fed[:from], arrived)
	kept, calls, answers, thinking, found := c.fed[from:], k.calls, k.answers, k.thinking, len(k.found)
	c.fed, k.standing = c.fed[:0], standing{own: was.called}
	k.calls, k.answers, k.thinking = calls[:was.called:was.called], answers[:was.answered:was.answered], thinking[:was.thought:was.thought]
	for _, it := range c.view.items[:made] {
		c.item(it.id)
	}
	now := k.stands()
	k.calls, k.answers, k.thinking = calls, answers, thinking
	if now.any != was.any || now.role != was.role || now.loop != was.loop ||
		now.called != was.called || now.answered != was.answered || now.thought != was.thought {
		k.found = k.found[:found] // the new items are to be checked again
		return false
	}
	for i := range kept {
		kept[i].before.follow(&was, &now)
		c.repeats(kept[i].id)
	}
	end.follow(&was, &now)
	c.fed = append(c.fed, kept...)
	k.standing = end
	return true
}

// stayed finds the checked items, from one on, that the last rebuild of the edits has kept first, behind so many made
// ones. ok is false where other edits moved something too, or what a rebuild left behind is in view again.
func (c *Checker) stayed(edits []policy.Edit) (from, made int, ok bool) {
	first := policy.ItemID(0)
	for _, e := range edits {
		if !e.Moves() {
			continue
		}
		if len(e.Keep) == 0 { // it keeps nothing, or is no rebuild
			return 0, 0, false
		}
		first, made = e.Keep[0], len(e.Insert)
	}
	for from < len(c.fed) && c.fed[from].id != first {
		from++
	}
	items, fed := c.view.items[made:], c.fed[from:]
	if from < made || len(fed) == 0 || len(fed) > len(items) {
		return 0, 0, false
	}
	for i, it := range items {
		if i < len(fed) && it.id != fed[i].id || i >= len(fed) && c.covered.has(it.id) {
			return 0, 0, false
		}
	}
	return from, made, true
}

// answers reports whether what comes next belongs to a message with calls, or to one that can answer some.
func (s *standing) answers() bool { return s.own < s.called || s.to.from < s.to.end }

// follow puts another item in the place of the one before the kept ones, as the last that was checked.
func (s *standing) follow(was, now *standing) {
	if s.last == was.last {
		s.last = now.last
	}
}
