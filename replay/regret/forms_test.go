package regret

import (
	"slices"
	"testing"
)

// TestForms: blocks with equal forms are told by the first one.
func TestForms(t *testing.T) {
	f := newForms(5)
	f.repeat(0, 2)
	f.repeat(0, 4)
	if want := []int{0, 1, 0, 3, 0}; !slices.Equal(f.first, want) {
		t.Errorf("first with the same form: %d, want %d", f.first, want)
	}
}

// TestHits: in equal texts the same needles are found at the same places, but for those that are forgotten; those of a
// text with more places than are kept are looked for again.
func TestHits(t *testing.T) {
	for _, full := range []bool{false, true} {
		s := newFinder()
		for i, n := range []string{"aaaaaaaaaa", "aaaaaaaa", "aaaaaaaab"} {
			s.add(n, i)
		}
		text := []byte("aaaaaaaaaab")
		h := hits{}
		if full {
			h.all = mostHits - 1
		}
		var got [2][]hit
		for b := range int(2) {
			forgotten := b == 1
			h.each(0, b, s, text, func(id int, from int) (again, ok bool) {
				if id == 0 || forgotten && id == 2 {
					return false, false
				}
				got[b] = append(got[b], hit{id, from})
				return true, true
			})
		}
		if want := []hit{{1, 0}, {1, 1}, {1, 2}, {2, 2}}; !slices.Equal(sorted(got[0]), want) || !slices.Equal(sorted(got[1]), want[:3]) {
			t.Errorf("full %v: found %v", full, got)
		}
	}
}

func sorted(list []hit) []hit {
	slices.SortFunc(list, func(a, b hit) int { return (a.id-b.id)*1000 + a.from - b.from })
	return list
}
