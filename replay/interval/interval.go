// Package interval says how far a ratio over clustered data could be off: a 90 % percentile interval from a bootstrap
// over the clusters. It computes with integers and a fixed seed, so that its bounds are the same on every machine and in
// any order of the clusters.
package interval

import (
	"cmp"
	"math/bits"
	"slices"

	"github.com/ctxkit/ctxkit/replay/exact"
)

const (
	// Draws is how often the clusters are drawn.
	Draws = 2000
	// Percent is the share of the draws inside the interval.
	Percent = 90
	// Places is how many digits a ratio has after the point.
	Places = 9

	one  = 1_000_000_000 // 1 with so many places
	seed = 0x63747869747631
)

// Ratio is what one cluster adds to a ratio: its numerator and its denominator, each a sum over what is in the cluster.
// Denominators are not below 0.
type Ratio struct{ Num, Den int64 }

// Interval is a ratio over all clusters with the bounds of its interval, each with Places digits. They are not known
// where the denominator is 0.
type Interval struct{ Value, Lower, Upper exact.Decimal }

// Covers reports whether x is in the interval; false where the bounds are not known.
func (i *Interval) Covers(x exact.Decimal) bool {
	return i.Lower.Known && i.Lower.Cmp(x) <= 0 && x.Cmp(i.Upper) <= 0
}

// Of is the interval of the sum of the numerators by the sum of the denominators.
func Of(clusters []Ratio) Interval {
	list := slices.Clone(clusters)
	slices.SortFunc(list, compare)
	if !slices.ContainsFunc(list, func(r Ratio) bool { return r.Num != 0 }) { // no draw differs
		list = list[len(list)-min(len(list), 1):] // the largest denominator
	}
	return bootstrap(len(list), func(times []int64) (int64, bool) { return quotient(list, times) })
}

// Difference is the interval of the ratio of a less that of b. a[i] and b[i] are of the same cluster.
func Difference(a, b []Ratio) Interval {
	type pair struct{ a, b Ratio }
	pairs := make([]pair, len(a))
	for i := range a {
		pairs[i] = pair{a[i], b[i]}
	}
	slices.SortFunc(pairs, func(x, y pair) int { return cmp.Or(compare(x.a, y.a), compare(x.b, y.b)) })
	list, others := make([]Ratio, len(a)), make([]Ratio, len(a))
	for i, p := range pairs {
		list[i], others[i] = p.a, p.b
	}
	return bootstrap(len(list), func(times []int64) (int64, bool) {
		x, okX := quotient(list, times)
		y, okY := quotient(others, times)
		return x - y, okX && okY
	})
}

func compare(a, b Ratio) int { return cmp.Or(cmp.Compare(a.Num, b.Num), cmp.Compare(a.Den, b.Den)) }

// bootstrap draws n of n clusters with replacement, Draws times. of is the statistic where cluster i is there times[i]
// times; not ok where it is not defined, and such a draw is left out.
func bootstrap(n int, of func(times []int64) (int64, bool)) Interval {
	times := make([]int64, n)
	for i := range times {
		times[i] = 1
	}
	value, ok := of(times)
	if !ok {
		return Interval{}
	}
	rng := splitmix64(seed)
	draws := make([]int64, 0, Draws)
	for range Draws {
		clear(times)
		for range n {
			times[rng.below(n)]++
		}
		if x, ok := of(times); ok {
			draws = append(draws, x)
		}
	}
	slices.Sort(draws)
	if len(draws) == 0 {
		return Interval{Value: exact.Of(value, Places)}
	}
	out := len(draws) * (100 - Percent) / 200 // on either side
	return Interval{exact.Of(value, Places), exact.Of(draws[out], Places), exact.Of(draws[len(draws)-1-out], Places)}
}

// quotient is the ratio where each cluster is there so many times, with Places digits, rounded towards 0; not ok where
// it is not defined or too large.
func quotient(list []Ratio, times []int64) (int64, bool) {
	var num, den int64
	for i, r := range list {
		num += r.Num * times[i]
		den += r.Den * times[i]
	}
	size := uint64(max(num, -num))
	hi, lo := bits.Mul64(size, one)
	if den <= 0 || hi >= uint64(den) {
		return 0, false
	}
	q, _ := bits.Div64(hi, lo, uint64(den))
	if q > 1<<62 {
		return 0, false
	}
	if num < 0 {
		return -int64(q), true
	}
	return int64(q), true
}

// splitmix64 is the generator of Steele, Lea and Flood, "Fast splittable pseudorandom number generators" (2014).
type splitmix64 uint64

func (s *splitmix64) next() uint64 {
	*s += 0x9e3779b97f4a7c15
	z := uint64(*s)
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// below is a number from 0 to n-1.
func (s *splitmix64) below(n int) int {
	hi, _ := bits.Mul64(s.next(), uint64(n))
	return int(hi)
}
