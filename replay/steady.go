package replay

import "sort"

// steady is a list of values, one of each request for the most part, that mostly are as the one before: those that
// share a value share its memory.
type steady[T comparable] struct {
	n      int     // values, the same ones counted too
	from   []int32 // the first index of values[i]
	values []T
}

// steadyOf is the list of n values. The value of each place is asked for once, in order.
func steadyOf[T comparable](n int, value func(k int) T) (s steady[T]) {
	for k := range n {
		s.add(value(k))
	}
	return s
}

func (s *steady[T]) add(v T) {
	if s.n == 0 || v != s.values[len(s.values)-1] {
		s.from, s.values = append(s.from, int32(s.n)), append(s.values, v)
	}
	s.n++
}

// at is value k (0-based). There has to be one.
func (s *steady[T]) at(k int) T {
	return s.values[sort.Search(len(s.from), func(i int) bool { return int(s.from[i]) > k })-1]
}
