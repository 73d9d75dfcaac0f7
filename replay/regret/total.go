package regret

import "github.com/ctxkit/ctxkit/replay/exact"

// Total is the regret of one or more replays together.
type Total struct {
	Misses, Removed, Tokens int
	Rereads, Edits, Quotes  int
	Cost                    exact.Decimal // USD, of getting the missed blocks back
}

// Sum adds up replays.
func Sum(list []*Regret) (t Total) {
	cost := (&Regret{}).Cost()
	known := true
	for _, r := range list {
		t.Misses += len(r.Misses)
		t.Removed += r.Removed
		t.Tokens += r.Tokens
		t.Rereads += r.Count(Reread)
		t.Edits += r.Count(Edited)
		t.Quotes += r.Count(Quoted)
		c := r.Cost()
		known = known && c.Known
		cost.Add(c)
	}
	if known {
		t.Cost = cost.Decimal()
	}
	return t
}
