package cache

import (
	"testing"
	"time"
)

// FuzzSim feeds the simulation what a broken client would send: it refuses it or splits the input into parts that add
// up to it.
func FuzzSim(f *testing.F) {
	f.Add([]byte{1, 2, 3, 4, 5, 6, 7, 8, 200, 100, 50, 25, 12, 6, 3, 1, 0, 255})
	f.Fuzz(func(t *testing.T, data []byte) {
		var s Sim
		next := func() int {
			if len(data) == 0 {
				return 0
			}
			n := int(data[0])
			data = data[1:]
			return n
		}
		now := start
		for len(data) > 0 {
			now = now.Add(time.Duration(next()-20) * 10 * time.Second)
			r := CachedRequest{Start: now, Lives: now.Add(time.Duration(next()) * time.Second), Model: []string{"a", "b"}[next()%2], Minimum: next(), Tokens: 16 * next()}
			for range next() % 6 {
				r.Breakpoints = append(r.Breakpoints, Breakpoint{Position: next(), Tokens: 8 * next(), TTL: TTL(next() % 2)})
			}
			switch next() % 6 {
			case 0:
				s.Change(next(), Cause{Kind: Edited})
			case 1:
				s.Shrink(next(), next())
			case 2:
				s.Warm(Breakpoint{Position: next(), Tokens: next()}, r.Model)
			case 3:
				s.Cool()
			case 4:
				s.Resize(next(), next())
			}
			var split Split
			var err error
			if next()%5 == 0 {
				split, err = s.Branch(next(), r)
			} else {
				split, _, err = s.Request(r)
			}
			if err != nil {
				continue
			}
			if split.Read < 0 || split.Write5m < 0 || split.Write1h < 0 || split.Uncached < 0 || split.Input() != r.Tokens {
				t.Fatalf("%+v is split into %+v", r, split)
			}
			for i := 1; i < len(s.places.list); i++ {
				if s.places.list[i].position <= s.places.list[i-1].position {
					t.Fatalf("places out of order: %+v", s.places.list)
				}
			}
		}
	})
}
