package regret

import (
	"maps"
	"slices"

	"github.com/ctxkit/ctxkit/replay/exact"
	"github.com/ctxkit/ctxkit/replay/interval"
)

// Total is the regret of one or more replays together.
type Total struct {
	Misses, Removed, Tokens int
	Rereads, Edits, Quotes  int
	Expected                exact.Decimal // edits and quotes that chance makes; it makes no re-reads
	Cost                    exact.Decimal // USD, of getting the misses back

	// Beyond is the edits and quotes less those that chance makes, with the bounds of a 90 % interval over the sessions
	// with removed blocks. The bounds are not known where these are fewer than 5.
	Beyond, Lower, Upper exact.Decimal
}

// Sum adds up replays. sessions names the session of each: agents of one are drawn together.
func Sum(list []*Regret, sessions []string) Total {
	t := Total{Expected: exact.Of(0, milli)}
	cost := (&Regret{}).Cost()
	known := true
	bySession := map[string]interval.Ratio{}
	for i, r := range list {
		other := r.Count(Edited) + r.Count(Quoted)
		t.Misses += len(r.Misses)
		t.Removed += r.Removed
		t.Tokens += r.Tokens
		t.Rereads += r.Count(Reread)
		t.Edits += r.Count(Edited)
		t.Quotes += r.Count(Quoted)
		t.Expected = t.Expected.Add(r.Expected)
		c := r.Cost()
		known = known && c.Known
		cost.Add(c)
		if r.Removed > 0 {
			u := bySession[sessions[i]]
			bySession[sessions[i]] = interval.Ratio{Num: u.Num + int64(other)*1000 - r.Expected.N, Den: u.Den + int64(r.Removed)}
		}
	}
	if known {
		t.Cost = cost.Decimal()
	}
	t.Beyond = exact.Of(int64(t.Edits+t.Quotes)*1000-t.Expected.N, milli)
	if len(bySession) >= fewest {
		rate := interval.Of(slices.Collect(maps.Values(bySession))) // in any order
		t.Lower, t.Upper = inMilli(rate.Lower.Times(int64(t.Removed))), inMilli(rate.Upper.Times(int64(t.Removed)))
	}
	return t
}

// fewest is the number of sessions from which on there is an interval.
const fewest = 5

// milli is how many digits after the point numbers of misses have.
const milli = 3

// inMilli reads a number of thousandths.
func inMilli(d exact.Decimal) exact.Decimal {
	return exact.Decimal{N: d.Round(0).N, Places: milli, Known: d.Known}
}

// Chance reports whether chance alone could have made as many edits and quotes: the interval of those beyond chance is
// not above 0.
func (t *Total) Chance() bool { return t.Lower.Known && t.Lower.N <= 0 }
