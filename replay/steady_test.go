package replay

import (
	"math/rand/v2"
	"testing"
)

func TestSteady(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for n := range 50 {
		list := make([]int, n)
		for k := range list {
			if list[k] = r.IntN(4); k > 0 && r.IntN(3) > 0 {
				list[k] = list[k-1]
			}
		}
		s := steadyOf(len(list), func(k int) int { return list[k] })
		for k, want := range list {
			if got := s.at(k); got != want {
				t.Fatalf("request %d has %d, want %d of %v", k, got, want, list)
			}
		}
		for i := 1; i < len(s.values); i++ {
			if s.values[i] == s.values[i-1] {
				t.Fatalf("%v is there twice for %v", s.values, list)
			}
		}
	}
}
