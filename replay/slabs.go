package replay

// slabs hold copies of short lists, many of them in one piece of memory. The zero value is empty.
type slabs[T any] struct {
	list [][]T
	at   int // index of the one that has room
}

// keep returns a copy of a list. A new slab is as large as all before it together, so that few short lists take little, but
// has so many elements at most, and room for the list at least.
func (s *slabs[T]) keep(short []T, most int) []T {
	n, held := len(short), 0
	if n == 0 {
		return nil
	}
	for ; s.at < len(s.list); s.at++ {
		if slab := &s.list[s.at]; cap(*slab)-len(*slab) >= n {
			*slab = append(*slab, short...)
			return (*slab)[len(*slab)-n : len(*slab) : len(*slab)]
		}
	}
	for _, slab := range s.list {
		held += cap(slab)
	}
	s.list = append(s.list, append(make([]T, 0, max(min(held, most), n)), short...))
	return s.list[s.at][:n:n]
}

// clear takes out all copies, which nobody may use any more, and keeps the memory.
func (s *slabs[T]) clear() {
	for i, slab := range s.list {
		clear(slab)
		s.list[i] = slab[:0]
	}
	s.at = 0
}
