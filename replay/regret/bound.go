package regret

import (
	"slices"
	"sort"

	"github.com/ctxkit/ctxkit/policy"
)

// need is a block that the recorded conversation used again.
type need struct {
	tokens   int
	from, to int // requests, 0-based, both included: from the one it joined at to the last that uses it
}

// needs lists the blocks that are used and that no other block can stand in for.
func (x *Index) needs(w policy.Weigher) []need {
	last := map[int]int{}
	var order []int
	for i := range x.uses {
		u := &x.uses[i]
		if !x.alone(u) {
			continue
		}
		if _, ok := last[u.sources[0]]; !ok {
			order = append(order, u.sources[0])
		}
		last[u.sources[0]] = u.request
	}
	list := make([]need, 0, len(order))
	for _, b := range order {
		m, i := x.at(b)
		if from, to := x.joined[m]-1, last[b]-1; from <= to {
			list = append(list, need{tokens: w.Block(m, i), from: from, to: to})
		}
	}
	return list
}

// alone reports whether a single block holds what was used, or a line of it.
func (x *Index) alone(u *needle) bool {
	if lines := u.lines(); len(lines) > 0 {
		return slices.ContainsFunc(lines, func(l int) bool { return x.lines[l].single })
	}
	return u.single
}

// Bound returns the fewest misses, and the fewest tokens to fetch again, of any choice of blocks that keeps no more
// than a budget of tokens at any request. The clairvoyant knows what will be used and keeps the blocks themselves; it
// writes no summaries.
func (x *Index) Bound(w policy.Weigher, budget int) *Bound {
	misses, tokens := bound(x.needs(w), len(x.conv.Requests), budget)
	return &Bound{Budget: budget, Misses: misses, Tokens: tokens}
}

// bound examines windows of the n requests: all, halves, quarters … down to single requests.
//
// Proof. A choice S is the set of blocks without a miss: each b of S is kept at every request of its stretch, so for
// every k the tokens of those b of S whose stretch contains k are at most B. Sum that over the requests k of any
// window W: the footprints a(b) = tokens(b) x |stretch(b) and W|, summed over S, are at most B x |W|. So |S|, counting
// only blocks whose stretch intersects W, is at most the most blocks whose footprints fit B x |W|: a knapsack of equal
// values, for which taking the smallest footprints first is best. All other blocks that intersect W are misses. For
// tokens the values are tokens(b); the relaxation that allows a part of the last block is solved by taking the greatest
// value per footprint first, that is the shortest stretches, and is no smaller than the best whole choice. Both hold for
// each W, so the largest over any windows is a bound. (The footprint relaxation is PFOO-L of Berger, Beckmann and
// Harchol-Balter, "Practical bounds on optimal caching with variable object sizes", 2018, applied to windows.)
func bound(needs []need, n, budget int) (misses, tokens int) {
	budget = max(budget, 0)
	for length := n; length > 0; length /= 2 {
		for from := 0; from < n; from += length {
			to := min(from+length, n) - 1
			m, t := newWindow(needs, from, to).bound(budget * (to - from + 1))
			misses, tokens = max(misses, m), max(tokens, t)
		}
	}
	return misses, tokens
}

// window is a stretch of requests with the blocks that are needed in it.
type window struct {
	footprints []int  // sums of the smallest one, two … footprints
	shortest   []part // the needed blocks, the shortest stretches first
	tokens     int    // of all needed blocks
}

// part is a needed block in a window, with sums up to and including it.
type part struct {
	tokens, length    int // of this one
	sum, sumFootprint int
}

// newWindow returns the window of the requests from, to (both included).
func newWindow(needed []need, from, to int) *window {
	w := &window{}
	for _, n := range needed {
		if l := min(n.to, to) - max(n.from, from) + 1; l > 0 {
			w.shortest = append(w.shortest, part{tokens: n.tokens, length: l})
			w.footprints = append(w.footprints, n.tokens*l)
			w.tokens += n.tokens
		}
	}
	slices.Sort(w.footprints)
	for i := 1; i < len(w.footprints); i++ {
		w.footprints[i] += w.footprints[i-1]
	}
	slices.SortFunc(w.shortest, func(a, b part) int { return a.length - b.length })
	sum, footprint := 0, 0
	for i := range w.shortest {
		p := &w.shortest[i]
		sum += p.tokens
		footprint += p.tokens * p.length
		p.sum, p.sumFootprint = sum, footprint
	}
	return w
}

// bound returns the fewest blocks, and the fewest tokens, that do not fit a budget. The budget is in tokens times
// requests.
func (w *window) bound(budget int) (misses, tokens int) {
	fit := sort.Search(len(w.footprints), func(i int) bool { return w.footprints[i] > budget })
	whole := sort.Search(len(w.shortest), func(i int) bool { return w.shortest[i].sumFootprint > budget })
	kept, left := 0, budget
	if whole > 0 {
		kept, left = w.shortest[whole-1].sum, budget-w.shortest[whole-1].sumFootprint
	}
	if whole < len(w.shortest) {
		// The kept part of a block is rounded up: a bound must not be too high.
		length := w.shortest[whole].length
		kept += (left + length - 1) / length
	}
	return len(w.footprints) - fit, max(w.tokens-kept, 0)
}
