package regret

import (
	"slices"
	"sort"
)

// window is a stretch of requests with the blocks that are needed in it. Its bound can be computed for any budget.
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

// newWindow returns the window of the requests from, to (both included) and its size in bytes.
func newWindow(needed []need, from, to int) (*window, int) {
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
	return w, 40 * len(w.shortest)
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
