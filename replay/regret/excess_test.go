package regret

import (
	"testing"

	"github.com/ctxkit/ctxkit/replay/exact"
	"github.com/ctxkit/ctxkit/replay/price"
)

// TestSum: counts, chance and cost add up; few sessions are drawn by block; chance alone is called by name.
func TestSum(t *testing.T) {
	one := func(removed, misses int, expected int64) *Regret {
		r := &Regret{Removed: removed, Expected: exact.Of(expected, milli), Excess: exact.Of(int64(misses)*1000-expected, milli)}
		for range misses {
			r.Misses = append(r.Misses, Miss{Evidence: Edited, USD: price.USD{Nano: 5, Known: true}})
		}
		return r
	}
	many := make([]*Regret, fewest)
	for i := range many {
		many[i] = one(100, 4, 500)
	}
	for name, c := range map[string]struct {
		list           []*Regret
		excess, lo, hi int64
		over           string
		chance         bool
	}{
		"nothing":           {[]*Regret{one(0, 0, 0)}, 0, 0, 0, "blocks", true},
		"as chance":         {[]*Regret{one(100, 1, 900)}, 100, -900, 2100, "blocks", true},
		"more than chance":  {[]*Regret{one(100, 9, 100)}, 8900, 3900, 13900, "blocks", false},
		"sessions alike":    {many, 17500, 17500, 17500, "sessions", false},
		"one that removes":  {append([]*Regret{one(0, 0, 0)}, one(100, 9, 100)), 8900, 3900, 13900, "blocks", false},
		"a cost not known":  {[]*Regret{one(10, 0, 0), {Removed: 1, Misses: make([]Miss, 1), Excess: exact.Of(1000, milli)}}, 1000, 0, 3000, "blocks", true},
		"none, but removed": {[]*Regret{one(50, 0, 200)}, -200, -200, -200, "blocks", true},
	} {
		got := Sum(c.list)
		if got.Excess.N != c.excess || got.Over != c.over || got.Chance() != c.chance || got.Cost.Known == (name == "a cost not known") {
			t.Errorf("%s: %+v", name, got)
		}
		if near := func(a, b int64) bool { return a-b <= 1100 && b-a <= 1100 }; !near(got.Lower.N, c.lo) || !near(got.Upper.N, c.hi) {
			t.Errorf("%s: %s to %s, want about %d to %d", name, got.Lower, got.Upper, c.lo, c.hi)
		}
	}
}
