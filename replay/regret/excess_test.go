package regret

import (
	"testing"

	"github.com/ctxkit/ctxkit/replay/exact"
	"github.com/ctxkit/ctxkit/replay/price"
)

// TestSum: counts, chance and cost add up; there is an interval from 5 sessions on; chance alone is called by name, and
// re-reads are no part of it.
func TestSum(t *testing.T) {
	one := func(removed, rereads, quotes int, expected int64) *Regret {
		r := &Regret{Removed: removed, Expected: exact.Of(expected, milli)}
		for i := range rereads + quotes {
			e := Quoted
			if i < rereads {
				e = Reread
			}
			r.Misses = append(r.Misses, Miss{Evidence: e, USD: price.USD{Nano: 5, Known: true}})
		}
		return r
	}
	times := func(n int, r *Regret) (list []*Regret) {
		for range n {
			list = append(list, r)
		}
		return list
	}
	for name, c := range map[string]struct {
		list           []*Regret
		beyond, lo, hi int64
		known, chance  bool
	}{
		"nothing":           {nil, 0, 0, 0, false, false},
		"too few":           {times(fewest-1, one(100, 0, 9, 100)), 35600, 0, 0, false, false},
		"more than chance":  {times(fewest, one(100, 0, 4, 500)), 17500, 17500, 17500, true, false},
		"none, but removed": {times(fewest, one(50, 0, 0, 200)), -1000, -1000, -1000, true, true},
		"re-reads":          {times(fewest, one(50, 3, 0, 200)), -1000, -1000, -1000, true, true},
		"one of many":       {append(times(9, one(100, 0, 0, 10)), one(100, 0, 1, 10)), 900, -100, 2900, true, true},
		"idle sessions":     {append(times(fewest, one(0, 0, 0, 0)), one(100, 0, 9, 100)), 8900, 0, 0, false, false},
	} {
		names := make([]string, len(c.list))
		for i := range names {
			names[i] = string(rune('a' + i))
		}
		got := Sum(c.list, names)
		if got.Beyond.N != c.beyond || got.Lower.Known != c.known || got.Chance() != c.chance || !got.Cost.Known {
			t.Errorf("%s: %+v", name, got)
		}
		if near := func(a, b int64) bool { return a-b <= 1100 && b-a <= 1100 }; !near(got.Lower.N, c.lo) || !near(got.Upper.N, c.hi) {
			t.Errorf("%s: %s to %s, want about %d to %d", name, got.Lower, got.Upper, c.lo, c.hi)
		}
		if same := Sum(c.list, make([]string, len(c.list))); same.Lower.Known {
			t.Errorf("%s: an interval of one session: %+v", name, same)
		}
	}
	if got := Sum([]*Regret{one(10, 0, 0, 0), {Removed: 1, Misses: make([]Miss, 1)}}, []string{"a", "b"}); got.Cost.Known || got.Misses != 1 {
		t.Errorf("a cost that is not known: %+v", got)
	}
}
