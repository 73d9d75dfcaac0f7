package diff

import "slices"

// Row sums up the messages that the views show in one way.
type Row struct {
	Left     Side `json:"left"`  // its tokens and reason are left out
	Right    Side `json:"right"` //
	Same     bool `json:"same"`
	Messages int  `json:"messages"`
	Before   int  `json:"tokens_before"`
	After    int  `json:"tokens_after"`
}

// Stat sums a diff up: what both views show alike first, then the rest in the
// order of the requests it happened at.
func (d *Diff) Stat() []Row {
	rows := []Row{}
	at := map[Row]int{}
	for i := range d.Messages {
		m := &d.Messages[i]
		key := Row{Left: m.Left.kind(), Right: m.Right.kind(), Same: m.Same}
		if m.Same {
			key.Left, key.Right = Side{Status: Kept}, Side{Status: Kept}
			if !m.Shown() {
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
	slices.SortStableFunc(rows, func(a, b Row) int {
		if a.Same != b.Same {
			if a.Same {
				return -1
			}
			return 1
		}
		return last(a) - last(b)
	})
	return rows
}

// kind is a side without what tells its messages apart.
func (s Side) kind() Side {
	return Side{Status: s.Status, Stage: s.Stage, Request: s.Request, Server: s.Server}
}

// last is the request of the later of a row's two edits; those after the last
// request come last.
func last(r Row) int {
	n := max(r.Left.Request, r.Right.Request)
	if n == 0 && (r.Left.Stage != "" || r.Right.Stage != "") {
		return 1 << 30
	}
	return n
}
