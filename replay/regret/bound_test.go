package regret

import (
	"math/rand/v2"
	"testing"
)

// demand is a small case: what is needed, and the tokens that may be kept at each request.
type demand struct {
	needed   []need
	requests int
	budget   int
}

func dicedDemand(r *rand.Rand, blocks int) *demand {
	d := &demand{requests: 1 + r.IntN(8), budget: r.IntN(60)}
	for range 1 + r.IntN(blocks) {
		from := r.IntN(d.requests)
		d.needed = append(d.needed, need{tokens: 1 + r.IntN(20), from: from, to: from + r.IntN(d.requests-from)})
	}
	return d
}

func (d *demand) bound() (misses, tokens int) { return bound(d.needed, d.requests, d.budget) }

// fits reports whether the blocks of a set can be kept at every request.
func (d *demand) fits(set uint) bool {
	for k := range d.requests {
		b := d.budget
		for i, n := range d.needed {
			if set>>i&1 == 1 && n.from <= k && k <= n.to {
				b -= n.tokens
			}
		}
		if b < 0 {
			return false
		}
	}
	return true
}

// optimum tries every set of blocks.
func (d *demand) optimum() (misses, tokens int) {
	misses, tokens = len(d.needed)+1, 1<<30
	for set := range uint(1) << len(d.needed) {
		if !d.fits(set) {
			continue
		}
		m, t := 0, 0
		for i, n := range d.needed {
			if set>>i&1 == 0 {
				m++
				t += n.tokens
			}
		}
		misses, tokens = min(misses, m), min(tokens, t)
	}
	return misses, tokens
}

// The bound is never above what the best choice of blocks comes to, and now and then it reaches it.
func TestBoundBruteForce(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	reached, lost := 0, 0
	for i := range 3000 {
		d := dicedDemand(r, 8)
		misses, tokens := d.bound()
		m, tk := d.optimum()
		if misses > m || tokens > tk {
			t.Fatalf("case %d: bound %d misses, %d tokens; the optimum is %d, %d: %+v", i, misses, tokens, m, tk, d)
		}
		if m > 0 {
			lost++
			if misses == m {
				reached++
			}
		}
	}
	if lost < 500 || reached < lost/2 {
		t.Errorf("the bound reached the optimum in %d of %d cases that lose anything: it is worth nothing", reached, lost)
	}
}

// Whatever a policy keeps under the same budget, it misses no less than the bound.
func TestBoundRandomPolicies(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for i := range 1000 {
		d := dicedDemand(r, 30)
		misses, tokens := d.bound()
		for range 20 {
			var set uint
			m, tk := 0, 0
			for _, b := range r.Perm(len(d.needed)) {
				if d.fits(set | 1<<b) {
					set |= 1 << b
				}
			}
			for b, n := range d.needed {
				if set>>b&1 == 0 {
					m++
					tk += n.tokens
				}
			}
			if misses > m || tokens > tk {
				t.Fatalf("case %d: bound %d misses, %d tokens, a policy has %d, %d: %+v", i, misses, tokens, m, tk, d)
			}
		}
	}
}
