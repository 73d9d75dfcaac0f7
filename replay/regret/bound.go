package regret

import (
	"slices"

	"github.com/ctxkit/ctxkit/policy"
)

// demand is what a clairvoyant policy has to keep, and the tokens it may keep.
//
// Needed are all blocks that are used, each from the request it joined at to the last that uses it. The budget at
// request k is the judged policy's own tokens of evictable blocks at k. A needed block that the policy never missed
// counts there up to its last use even if something else held its content (a summary that quotes it, another block
// with the same text), because the clairvoyant has only the blocks themselves.
type demand struct {
	needed  []need
	budget  []int                   // by request, from 0; tokens
	windows *cache[[2]int, *window] // of demands with the same needs, or nil
}

type need struct {
	tokens   int
	from, to int // requests, 0-based, both included
}

// lastUses notes the last request that uses each block.
func (x *Index) lastUses() {
	x.last = make([]int32, x.base[len(x.base)-1])
	x.ends = make([][]int32, len(x.conv.Requests)+2)
	for i := range x.uses {
		x.last[x.uses[i].source] = int32(x.uses[i].request)
	}
	for b, n := range x.last {
		if n > 0 {
			x.used = append(x.used, int32(b))
			x.ends[n+1] = append(x.ends[n+1], int32(b))
		}
	}
}

func (x *Index) demand(edits []policy.Edit, w policy.Weigher, record bool, missed []bool) (*demand, error) {
	d := &demand{budget: make([]int, len(x.conv.Requests))}
	s := newSight(x, record)
	s.blind = true
	total := 0
	counted := make([]bool, len(s.present))
	now := 0 // n of the current request
	s.onChange = func(b int32) {
		m, i := x.at(b)
		if x.conv.Messages[m].RecordOnly || !evictable(x.conv.Messages[m].Blocks[i].Kind) {
			return
		}
		n := int(x.last[b])
		if holds := s.visible(b) || n > 0 && !missed[b] && s.joined > m && now <= n; holds != counted[b] {
			counted[b] = holds
			if t := w.Block(m, i); holds {
				total += t
			} else {
				total -= t
			}
		}
	}
	for now = 1; now <= len(d.budget); now++ {
		for _, b := range x.ends[now] {
			s.onChange(b)
		}
		if err := s.until(edits, now); err != nil {
			return nil, err
		}
		d.budget[now-1] = total
	}
	d.needed = make([]need, len(x.used))
	for k, b := range x.used {
		m, i := x.at(b)
		d.needed[k] = need{tokens: w.Block(m, i), from: x.joined[m] - 1, to: int(x.last[b]) - 1}
	}
	d.windows = x.shared.windowsOf(d.needed)
	return d, nil
}

// maxWindows is the approximate number of windows of requests that a bound examines.
const maxWindows = 256

// bound returns the fewest misses, and the fewest tokens to fetch again, of any choice of blocks that fits the budget
// at every request.
//
// Proof. A choice S is the set of blocks without a miss: each b of S is kept at every request of its stretch, so for
// every k the tokens of those b of S whose stretch contains k are at most B(k). Sum that over the requests k of any
// window W: the footprints a(b) = tokens(b) x |stretch(b) and W|, summed over S, are at most B(W), the sum of B(k)
// over W. So |S|, counting only blocks whose stretch intersects W, is at most the most blocks whose footprints fit
// B(W): a knapsack of equal values, for which taking the smallest footprints first is best. All other blocks that
// intersect W are misses. For tokens the values are tokens(b); the relaxation that allows a part of the last block is
// solved by taking the greatest value per footprint first, that is the shortest stretches, and is no smaller than the
// best whole choice. Both hold for each W, so the largest over any windows is a bound. (The footprint relaxation is
// PFOO-L of Berger, Beckmann and Harchol-Balter, "Practical bounds on optimal caching with variable object sizes",
// 2018, applied to windows.)
//
// The model has no block that leaves and comes back by itself, as server-side clearing can cause: Judge's budget
// counts it as kept in between.
func (d *demand) bound() (misses, tokens int) {
	for _, w := range d.stretches() {
		budget := 0
		for _, b := range d.budget[w[0] : w[1]+1] {
			budget += b
		}
		m, t := d.windows.get(w, func() (*window, int) { return newWindow(d.needed, w[0], w[1]) }).bound(budget)
		misses, tokens = max(misses, m), max(tokens, t)
	}
	return misses, tokens
}

// stretches lists the windows of requests to examine: from each large fall of the budget to the next, and dyadic ones
// down to a 32nd.
func (d *demand) stretches() [][2]int {
	n := len(d.budget)
	var out [][2]int
	for length := n; length > n>>6; length /= 2 {
		for from := 0; from < n; from += length {
			out = append(out, [2]int{from, min(from+length, n) - 1})
		}
	}
	var falls []int
	for k := 1; k < n; k++ {
		if d.budget[k] < d.budget[k-1] {
			falls = append(falls, k)
		}
	}
	fall := func(k int) int { return d.budget[k-1] - d.budget[k] }
	slices.SortStableFunc(falls, func(a, b int) int { return fall(b) - fall(a) })
	falls = falls[:min(len(falls), maxWindows/2)]
	slices.Sort(falls)
	for i, k := range falls {
		end := n
		if i+1 < len(falls) {
			end = falls[i+1]
		}
		out = append(out, [2]int{k, k}, [2]int{k, end - 1})
	}
	return out
}
