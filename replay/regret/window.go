package regret

import (
	"slices"
	"sort"
	"sync"
)

// window is a stretch of requests and what is needed in it: for a bound under
// any budget.
type window struct {
	footprints []int  // of what is needed: sums of the smallest one, two …
	shortest   []part // what is needed, the shortest stretches first
	tokens     int    // of all that is needed
}

// part is a needed block in a window, and all before it taken together.
type part struct {
	tokens, length    int // of this one
	sum, sumFootprint int // this one included
}

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

// bound is how many blocks, and how many tokens, at least do not fit a budget of
// tokens times requests.
func (w *window) bound(budget int) (misses, tokens int) {
	fit := sort.Search(len(w.footprints), func(i int) bool { return w.footprints[i] > budget })
	whole := sort.Search(len(w.shortest), func(i int) bool { return w.shortest[i].sumFootprint > budget })
	kept, left := 0, budget
	if whole > 0 {
		kept, left = w.shortest[whole-1].sum, budget-w.shortest[whole-1].sumFootprint
	}
	if whole < len(w.shortest) {
		length := w.shortest[whole].length
		kept += left / length // whole tokens of it, rounded down
		if left%length > 0 {
			kept++ // and up: what is kept must not be under the relaxation's
		}
	}
	return len(w.footprints) - fit, max(w.tokens-kept, 0)
}

// windows keeps windows for demands that need the same; nil keeps nothing.
// Several goroutines may use one.
type windows struct {
	mu     sync.RWMutex
	needed []need
	kept   map[[2]int]*window
	room   int // bytes that may still be kept
}

// of is the window from one request to another.
func (k *windows) of(needed []need, from, to int) *window {
	if k == nil {
		return newWindow(needed, from, to)
	}
	k.mu.RLock()
	w, same := k.kept[[2]int{from, to}], k.needed == nil || slices.Equal(needed, k.needed)
	k.mu.RUnlock()
	if !same {
		return newWindow(needed, from, to) // by another counter
	}
	if w != nil {
		return w
	}
	w = newWindow(needed, from, to)
	k.mu.Lock()
	defer k.mu.Unlock()
	if size := 40 * len(w.shortest); k.needed == nil || slices.Equal(needed, k.needed) && size <= k.room {
		k.needed = needed
		k.room -= size
		k.kept[[2]int{from, to}] = w
	}
	return w
}
