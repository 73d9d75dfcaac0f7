package cache

import (
	"testing"
	"time"
)

// grow makes n requests of a conversation that only grows, marked as a client does: the head, the message before the
// last, and the last. No request comes after the lifetimes.
func grow(tb testing.TB, n int) *Sim {
	s := &Sim{}
	for i := range n {
		last := 2 + 2*i
		r := CachedRequest{Start: start.Add(time.Duration(i) * time.Minute), Model: "m", Minimum: 10, Tokens: 100 * (last + 1)}
		for _, at := range []int{0, 1, last - 1, last} {
			if k := len(r.Breakpoints); k == 0 || at > r.Breakpoints[k-1].Position {
				r.Breakpoints = append(r.Breakpoints, Breakpoint{Position: at, Tokens: 100 * (at + 1)})
			}
		}
		if _, _, err := s.Request(r); err != nil {
			tb.Fatal(err)
		}
	}
	return s
}

// The head is written at each request: finding its entry does not go through those of all requests.
func TestWorkOfAGrowingConversation(t *testing.T) {
	const n = 4000
	if once, twice := grow(t, n).places.looked, grow(t, 2*n).places.looked; once < n || float64(twice) > 2.2*float64(once) {
		t.Errorf("%d entries looked at in %d requests, %d in twice as many", once, n, twice)
	}
}

func BenchmarkGrowing(b *testing.B) {
	const n = 10000
	b.ReportAllocs()
	for b.Loop() {
		grow(b, n)
	}
	b.ReportMetric(float64(b.N)*n/b.Elapsed().Seconds(), "requests/s")
}
