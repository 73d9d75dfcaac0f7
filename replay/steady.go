package replay

import "sort"

// steady is a value of each request (0-based) that few of them change: those that share it share its memory.
type steady[T comparable] struct {
	from   []int32 // the first request with values[i]
	values []T
}

func steadyOf[T comparable](list []T) (s steady[T]) {
	for k, v := range list {
		if k == 0 || v != list[k-1] {
			s.from, s.values = append(s.from, int32(k)), append(s.values, v)
		}
	}
	return s
}

// at is the value of request k (0-based). There has to be one.
func (s *steady[T]) at(k int) T {
	return s.values[sort.Search(len(s.from), func(i int) bool { return int(s.from[i]) > k })-1]
}
