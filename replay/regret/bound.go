package regret

import (
	"slices"
	"sort"

	"github.com/ctxkit/ctxkit/policy"
)

// demand is what a clairvoyant would have to keep, and what it may.
//
// Needed are the blocks that are used at all, each from the request it joined
// at to the last that uses it. The budget at request k is the judged policy's
// own tokens of evictable blocks at k; a needed block that it never missed
// counts there up to its last use even where something else stood in for it (a
// summary that quotes it, another block that holds the same), because the
// clairvoyant's blocks are their own only sources.
type demand struct {
	needed []need
	budget []int    // by request, from 0; tokens
	shared *windows // of demands for the same; nil: none
}

type need struct {
	tokens   int
	from, to int // requests, 0-based, both included
}

// lastUses notes which request uses each block last.
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
	d := &demand{budget: make([]int, len(x.conv.Requests)), shared: x.windows}
	s := newSight(x, record)
	s.blind = true
	total := 0
	counted := make([]bool, len(s.present))
	now := 0 // n of the request at hand
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
	return d, nil
}

// maxWindows is about how many windows of requests a bound looks at.
const maxWindows = 256

// bound is how many misses any choice of blocks has at least that fits the
// budget at every request, and how many tokens it fetches again at least.
//
// Proof. A choice S is the set of blocks without a miss: each b of S is kept at
// every request of its stretch, so that for every k the tokens of those b of S
// whose stretch holds k are at most B(k). Sum that over the requests k of any
// window W: the footprints a(b) = tokens(b) x |stretch(b) and W|, summed over
// S, are at most B(W), the sum of B(k) over W. So |S|, counting only blocks
// whose stretch meets W, is at most the most blocks whose footprints fit B(W):
// a knapsack of equal values, for which taking the smallest footprints first is
// best. All other blocks that meet W are misses. For tokens the values are
// tokens(b); the relaxation that lets the last block be kept in part is solved
// by taking the greatest value per footprint first, that is the shortest
// stretches, and is no smaller than the best whole choice. Both hold for each
// W, so the largest over any windows is a bound. (The footprint relaxation is
// PFOO-L of Berger, Beckmann and Harchol-Balter, "Practical bounds on optimal
// caching with variable object sizes", 2018, applied to windows.)
//
// A block that leaves and comes back by itself, as server-side clearing can
// have it, is not in the model: Judge's budget counts it as kept in between.
func (d *demand) bound() (misses, tokens int) {
	for _, w := range d.windows() {
		m, t := d.within(w[0], w[1])
		misses, tokens = max(misses, m), max(tokens, t)
	}
	return misses, tokens
}

// windows are stretches of requests worth looking at: where the budget fell,
// up to where it falls again, and dyadic ones down to a 32nd.
func (d *demand) windows() [][2]int {
	n := len(d.budget)
	var out [][2]int
	for length, levels := n, 0; length > 0 && levels < 6; length, levels = length/2, levels+1 {
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
	sort.SliceStable(falls, func(i, j int) bool {
		return d.budget[falls[i]-1]-d.budget[falls[i]] > d.budget[falls[j]-1]-d.budget[falls[j]]
	})
	if len(falls) > maxWindows/2 {
		falls = falls[:maxWindows/2]
	}
	slices.Sort(falls)
	for i, k := range falls {
		end := n - 1
		if i+1 < len(falls) {
			end = falls[i+1] - 1
		}
		out = append(out, [2]int{k, k}, [2]int{k, end})
	}
	return out
}

// within is the bound of one window.
func (d *demand) within(from, to int) (misses, tokens int) {
	budget := 0
	for _, b := range d.budget[from : to+1] {
		budget += b
	}
	return d.shared.of(d.needed, from, to).bound(budget)
}
