package diff

import "slices"

// Row is the sum of the messages that have the same sides.
type Row struct {
	Left     Side `json:"left"`  // without tokens and reason
	Right    Side `json:"right"` // without tokens and reason
	Same     bool `json:"same"`
	Messages int  `json:"messages"`
	Before   int  `json:"tokens_before"`
	After    int  `json:"tokens_after"`
}

// Stat sums up a diff: first the messages that are the same in both views, then the others by the request of their
// edits.
func (d *Diff) Stat() []Row {
	rows := []Row{}
	at := map[Row]int{}
	for i := range d.Messages {
		m := &d.Messages[i]
		key := Row{Left: m.Left.kind(), Right: m.Right.kind(), Same: m.Same}
		if m.Same {
			key.Left, key.Right = Side{Status: Kept}, Side{Status: Kept}
			if !m.Shown {
				key.Left.Status, key.Right.Status = Absent, Absent
			}
		}
		n, ok := at[key]
		if !ok {
			n = len(rows)
			at[key] = n
			rows = append(rows, key)
		}
		r := &rows[n]
		r.Messages++
		r.Before += m.Left.Tokens
		r.After += m.Right.Tokens
	}
	slices.SortStableFunc(rows, func(a, b Row) int { return a.order() - b.order() })
	return rows
}

// kind is a side without what distinguishes its messages.
func (s Side) kind() Side {
	s.Tokens, s.Reason = 0, ""
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
