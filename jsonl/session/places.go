package session

import "hash/maphash"

// places finds elements of a list by what they are, in a small part of the memory of a map: it holds their places, and
// compares with the elements.
type places struct {
	seed  maphash.Seed
	slots []int32 // a place plus one, 0: free; a power of two
}

func newPlaces(elements int) places {
	size := 16
	for 3*size < 5*elements {
		size *= 2
	}
	slots := make([]int32, size)
	clear(slots) // a page that is read first is mapped twice: to read it, and to write it
	return places{seed: maphash.MakeSeed(), slots: slots}
}

// full reports whether so many elements need more slots.
func (p *places) full(elements int) bool { return 5*elements > 3*len(p.slots) }

// text is the hash of a text.
func (p *places) text(s string) uint64 { return maphash.String(p.seed, s) }

// slot is the slot of the element with a hash that is the one, or the free one where it belongs.
func (p *places) slot(hash uint64, is func(i int32) bool) *int32 {
	for ; ; hash++ {
		s := &p.slots[hash&uint64(len(p.slots)-1)]
		if *s == 0 || is(*s-1) {
			return s
		}
	}
}
