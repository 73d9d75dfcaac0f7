package regret

import (
	"github.com/ctxkit/ctxkit/replay/exact"
	"github.com/ctxkit/ctxkit/replay/interval"
)

// Total is the regret of one or more replays together.
type Total struct {
	Misses, Removed, Tokens int
	Rereads, Edits, Quotes  int
	Expected                exact.Decimal
	Cost                    exact.Decimal // USD, of getting the misses back

	// Excess is the misses less those that chance explains, with the bounds of a 90 % interval over the replays with
	// removed blocks; over the removed blocks where the replays are too few.
	Excess, Lower, Upper exact.Decimal
	Over                 string // "sessions" or "blocks"
}

// Sum adds up replays.
func Sum(list []*Regret) Total {
	t := Total{Expected: exact.Of(0, milli), Excess: exact.Of(0, milli)}
	cost := (&Regret{}).Cost()
	known := true
	var units []interval.Ratio
	for _, r := range list {
		t.Misses += len(r.Misses)
		t.Removed += r.Removed
		t.Tokens += r.Tokens
		t.Rereads += r.Count(Reread)
		t.Edits += r.Count(Edited)
		t.Quotes += r.Count(Quoted)
		t.Expected = t.Expected.Add(r.Expected)
		t.Excess = t.Excess.Add(r.Excess)
		c := r.Cost()
		known = known && c.Known
		cost.Add(c)
		if r.Removed > 0 {
			units = append(units, interval.Ratio{Num: r.Excess.N, Den: int64(r.Removed)})
		}
	}
	if known {
		t.Cost = cost.Decimal()
	}
	t.Over = "sessions"
	if len(units) < fewest {
		t.Over, units = "blocks", units[:0]
		for b := range max(t.Removed, t.Misses) {
			excess := -t.Expected.N / int64(max(t.Removed, 1))
			if b < t.Misses {
				excess += 1000
			}
			units = append(units, interval.Ratio{Num: excess, Den: 1})
		}
	}
	t.Lower, t.Upper = t.Excess, t.Excess
	if rate := interval.Of(units); rate.Lower.Known {
		n := int64(max(t.Removed, 1))
		t.Lower, t.Upper = inMilli(rate.Lower.Times(n)), inMilli(rate.Upper.Times(n))
	}
	return t
}

// fewest is the number of sessions from which on an interval is over them.
const fewest = 5

// milli is how many digits after the point numbers of misses have.
const milli = 3

// inMilli reads a number of thousandths.
func inMilli(d exact.Decimal) exact.Decimal {
	return exact.Decimal{N: d.Round(0).N, Places: milli, Known: d.Known}
}

// Chance reports whether chance alone could have made as many misses. It makes no re-reads.
func (t *Total) Chance() bool { return t.Rereads == 0 && t.Lower.N <= 0 }
