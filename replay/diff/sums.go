package diff

import (
	"cmp"
	"maps"
	"slices"

	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/view"
)

// sums are the sums of messages by their sides.
type sums struct {
	rows []Row
	at   map[Row]int // row without sums -> index into rows
}

// add counts a message and returns the index of its row.
func (s *sums) add(m *MessageDiff) int {
	key := Row{Left: m.Left.kind(), Right: m.Right.kind(), Same: m.Same}
	if m.Same {
		key.Left = Side{Status: Kept}
		key.Right = Side{Status: Kept}
		if !m.Shown {
			key.Left.Status = Absent
			key.Right.Status = Absent
		}
	}
	n, ok := s.at[key]
	if !ok {
		if s.at == nil {
			s.at = map[Row]int{}
		}
		n = len(s.rows)
		s.at[key] = n
		s.rows = append(s.rows, key)
	}
	r := &s.rows[n]
	r.Messages++
	r.Before += m.Left.Tokens
	r.After += m.Right.Tokens
	return n
}

// take takes back a message that was counted in a row.
func (s *sums) take(p part) {
	r := &s.rows[p.row-1]
	r.Messages--
	r.Before -= p.before
	r.After -= p.after
}

// list is the rows of at least one message, in order.
func (s *sums) list() []Row {
	rows := make([]Row, 0, len(s.rows))
	for _, r := range s.rows {
		if r.Messages > 0 {
			rows = append(rows, r)
		}
	}
	slices.SortFunc(rows, func(a, b Row) int {
		return cmp.Or(cmp.Compare(a.order(), b.order()), a.Left.compare(&b.Left), a.Right.compare(&b.Right))
	})
	return rows
}

// kind is a side without what distinguishes its messages.
func (s Side) kind() Side {
	s.Tokens = 0
	s.Reason = ""
	return s
}

// order is the request of the later of a row's two edits. Rows without a change come first, edits after the last
// request come last.
func (r *Row) order() int {
	n := max(r.Left.Request, r.Right.Request)
	switch {
	case r.Same:
		return -1
	case n == 0 && (r.Left.Stage != "" || r.Right.Stage != ""):
		return 1 << 30
	}
	return n
}

// inOrder are the statuses in the order of the rows of one request: what left the view, then what came in its place.
var inOrder = []Status{Kept, Dropped, Tagged, Wrapped, Persisted, Truncated, Cleared, Removed, Collapsed, Summarised, Absent, Added, Said}

// compare orders two sides without their tokens and reasons.
func (s *Side) compare(o *Side) int {
	return cmp.Or(cmp.Compare(slices.Index(inOrder, s.Status), slices.Index(inOrder, o.Status)), cmp.Compare(s.Request, o.Request),
		cmp.Compare(s.Stage, o.Stage), compareBool(s.Server, o.Server))
}

func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}

// Sums follows two views of one conversation and sums up how they differ, as Stat does of their Diff. It reads what
// has changed since it was asked before, so that asking at each request of a session does not take time with the square of
// its length.
type Sums struct {
	c    comparison
	l, r *follower
	end  policy.ItemID // messages before it are counted, whether they are in a view or not
	sums sums
	of   []part                    // of the recorded messages
	made [2]map[policy.ItemID]part // of those that a policy made: the left one alone, the right one
}

// part is what a message adds to a row.
type part struct {
	row           int // its index plus one; 0: the message is in no row
	before, after int
}

// At compares two views as they are now; others than at the call before are compared as a whole. The Diff has totals and no
// messages. A view that forgets its edits cannot be followed.
func (s *Sums) At(left, right *view.View) (*Diff, []Row) {
	if s.l == nil || s.l.view != left || s.r.view != right {
		s.start(left, right)
	}
	s.l.next()
	s.r.next()
	touched := slices.Concat(s.l.touched, s.r.touched)
	if end := policy.ItemID(max(left.Joined(), right.Joined())); end > s.end {
		for id := s.end; id < end; id++ {
			touched = append(touched, id)
		}
		s.end = end
	}
	if left.Made() > 0 && right.Made() > 0 {
		s.c.match(false) // any of them may have another partner now
		for _, parts := range s.made {
			touched = slices.AppendSeq(touched, maps.Keys(parts))
		}
	}
	slices.Sort(touched)
	for _, id := range slices.Compact(touched) {
		s.count(id)
	}
	return &Diff{Messages: []MessageDiff{}, Before: left.PayloadTokens(), After: right.PayloadTokens()}, s.sums.list()
}

func (s *Sums) start(left, right *view.View) {
	l := newFollower(left)
	r := newFollower(right)
	l.tells = true
	r.tells = true
	*s = Sums{
		l: l, r: r, c: comparison{l: compared{left, l.History}, r: compared{right, r.History}},
		of: make([]part, len(left.Conversation().Messages)), made: [2]map[policy.ItemID]part{{}, {}},
	}
}

// count counts a message as it is now, and no longer as it was.
func (s *Sums) count(id policy.ItemID) {
	c := &s.c
	inLeft := c.l.Has(id)
	inRight := c.r.Has(id)
	if id < 0 { // the two views' own messages, which may have the same id
		s.made[0][id] = s.part(s.made[0][id], inLeft && !c.matched[id], id, nowhere)
		s.made[1][id] = s.part(s.made[1][id], inRight, cmp.Or(c.partner[id], nowhere), id)
		return
	}
	l := id
	r := id
	there := inRight || id < s.end
	if recordOnly(c.l.View, id) {
		there = inLeft || inRight
		switch {
		case !inLeft:
			l = nowhere
		case !inRight:
			r = nowhere
		}
	}
	s.of[id] = s.part(s.of[id], there, l, r)
}

// part is that of a message of two ids, if it is there; was is what it was before.
func (s *Sums) part(was part, there bool, l, r policy.ItemID) part {
	if was.row > 0 {
		s.sums.take(was)
	}
	if !there {
		return part{}
	}
	var m MessageDiff
	s.c.judge(&m, l, r)
	return part{s.sums.add(&m) + 1, m.Left.Tokens, m.Right.Tokens}
}
