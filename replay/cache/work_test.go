package cache

import (
	"fmt"
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

// A place finds the entries of many models as those of few, and a copy has entries of its own.
func TestModelsAtOnePlace(t *testing.T) {
	s := &Sim{}
	const n = 24
	for i := range n {
		s.put(4, &entry{model: fmt.Sprint(i), tokens: i + 1})
	}
	c := s.Clone()
	for i := range n {
		c.put(4, &entry{model: fmt.Sprint(i), tokens: 100})
		if i == 0 {
			c.put(4, &entry{model: "another", tokens: 7})
		}
		if own, copied := s.places.at(4).get(fmt.Sprint(i)), c.places.at(4).get(fmt.Sprint(i)); own == nil || own.tokens != i+1 || copied == nil || copied.tokens != 100 {
			t.Errorf("model %d: %+v, in the copy %+v", i, own, copied)
		}
	}
	if e := s.places.at(4).get("another"); e != nil {
		t.Errorf("an entry of the copy: %+v", e)
	}
	s.Resize(4, 50)
	if e := s.places.at(4).get("5"); e == nil || e.tokens != 50 {
		t.Errorf("resized: %+v", e)
	}
	s.Resize(4, 0)
	if e := s.places.at(4).get("5"); e != nil {
		t.Errorf("of a prefix without tokens: %+v", e)
	}
	s.put(4, &entry{model: "5", tokens: 9})
	if e := s.places.at(4).get("5"); e == nil || e.tokens != 9 {
		t.Errorf("put in again: %+v", e)
	}
}
