package cache

import (
	"fmt"
	"math/rand"
	"testing"
	"time"
)

// plainSim is Sim with a list of entries, all of which each call goes through.
type plainSim struct {
	entries []plainEntry
	sim     Sim // for its clock, last and broken; its places stay empty
}

type plainEntry struct {
	position int
	shared   bool
	entry
}

func (s *plainSim) put(position int, e entry, shared bool) {
	for i := range s.entries {
		old := &s.entries[i]
		if old.position != position || old.model != e.model {
			continue
		}
		shared = shared || old.shared
		if (old.shared || !s.sim.now.After(old.expires)) && old.expires.After(e.expires) {
			e.ttl, e.expires = old.ttl, old.expires
		}
		*old = plainEntry{position, shared, e}
		return
	}
	s.entries = append(s.entries, plainEntry{position, shared, e})
}

func (s *plainSim) each(do func(e *plainEntry) (keep bool)) {
	kept := s.entries[:0]
	for i := range s.entries {
		if e := s.entries[i]; do(&e) {
			kept = append(kept, e)
		}
	}
	s.entries = kept
}

func (s *plainSim) resize(position, tokens int) {
	s.each(func(e *plainEntry) bool {
		if e.position != position {
			return true
		}
		e.tokens = tokens
		return tokens > 0
	})
}

func (s *plainSim) change(position int, cause Cause) {
	s.sim.Change(position, cause)
	s.each(func(e *plainEntry) bool { return e.position < position })
}

func (s *plainSim) shrink(position, tokens int) {
	s.sim.Shrink(position, tokens)
	s.each(func(e *plainEntry) bool {
		if e.position >= position {
			e.tokens = max(e.tokens-tokens, 0)
		}
		return true
	})
}

func (s *plainSim) cool() {
	s.each(func(e *plainEntry) bool { e.shared = false; return true })
}

// request is Request, and with branch Branch at a position.
func (s *plainSim) request(r CachedRequest, branch bool, at int) (Split, Cause) {
	before := 1 << 40
	if branch {
		before = at
	}
	if !r.Start.IsZero() {
		s.sim.now = r.Start
	}
	var hit *plainEntry
	for b := len(r.Breakpoints) - 1; b >= 0 && hit == nil; b-- {
		for back := range LookBack {
			for i := range s.entries {
				e := &s.entries[i]
				if p := r.Breakpoints[b].Position - back; hit == nil && e.position == p && p < before && e.model == r.Model && (e.shared || !s.sim.now.After(e.expires)) {
					hit = e
				}
			}
		}
	}
	tokens := 0
	var found *place
	if hit != nil {
		tokens, found = hit.tokens, &place{position: hit.position}
	}
	split, cause := r.bill(tokens), s.sim.why(&r, found)
	if hit != nil {
		hit.expires = s.sim.expiry(&r, hit.ttl)
		if hit.position == s.sim.lastAt && hit.model == s.sim.last.model {
			s.sim.last.expires = hit.expires
		}
	}
	for _, b := range r.Breakpoints {
		if b.Tokens < r.Minimum || branch && b.Position >= at {
			continue
		}
		e := entry{model: r.Model, tokens: min(b.Tokens, r.Tokens), ttl: b.TTL, expires: s.sim.expiry(&r, b.TTL)}
		s.put(b.Position, e, false)
		if !branch {
			s.sim.last, s.sim.lastAt = e, b.Position
		}
	}
	if !branch {
		s.sim.any, s.sim.broken = true, change{}
	}
	return split, cause
}

// TestAgainstPlain plays random calls: requests and branches of several models at the same positions, and everything
// that changes the entries there.
func TestAgainstPlain(t *testing.T) {
	for seed := range int64(300) {
		rnd := rand.New(rand.NewSource(seed))
		models := 1 + rnd.Intn(6)
		positions := 3 + rnd.Intn(60)
		sim, plain := &Sim{}, &plainSim{}
		now := start
		for step := range 150 {
			model := fmt.Sprint("m", rnd.Intn(models))
			position := rnd.Intn(positions) * rnd.Intn(2)
			b := Breakpoint{position, rnd.Intn(9000), TTL(rnd.Intn(2))}
			switch rnd.Intn(14) {
			case 0:
				sim.Warm(b, model)
				plain.put(position, entry{model: model, tokens: b.Tokens, ttl: b.TTL}, true)
			case 1:
				sim.Cool()
				plain.cool()
			case 2, 3:
				n := rnd.Intn(8000) * rnd.Intn(4)
				sim.Resize(position, n)
				plain.resize(position, n)
			case 4:
				sim.Shrink(position, 700)
				plain.shrink(position, 700)
			case 5:
				sim.Change(position, Cause{Kind: Edited, Stage: fmt.Sprint(step)})
				plain.change(position, Cause{Kind: Edited, Stage: fmt.Sprint(step)})
			case 6:
				sim.Add(b, model, now)
				plain.put(position, entry{model: model, tokens: b.Tokens, ttl: b.TTL, expires: now.Add(b.TTL.Duration())}, false)
			case 7:
				*sim = sim.Clone()
			}
			now = now.Add(time.Duration(rnd.Intn(rnd.Intn(600)+1)) * time.Second)
			r := CachedRequest{Start: now, Lives: now.Add(9 * time.Second), Model: model, Minimum: rnd.Intn(1500), Tokens: 10000}
			ttl := TTL(rnd.Intn(2))
			for p, n := 0, 0; p < positions && len(r.Breakpoints) < MaxBreakpoints; p += 1 + rnd.Intn(positions/2) {
				n += rnd.Intn(3000)
				r.Breakpoints = append(r.Breakpoints, Breakpoint{p, n, ttl})
			}
			branch := rnd.Intn(4) == 0
			want, why := plain.request(r, branch, position)
			var got Split
			var err error
			cause := why // a branch has none of its own
			if branch {
				got, err = sim.Branch(position, r)
			} else {
				got, cause, err = sim.Request(r)
			}
			if err != nil || got != want || cause != why {
				t.Fatalf("seed %d, step %d: %+v, %s, %v; the plain one has %+v, %s", seed, step, got, cause, err, want, why)
			}
		}
	}
}
