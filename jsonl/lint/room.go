package lint

// atOnce is for how many values room is made.
const atOnce = 512

// shelf is a list that grows without moving what it holds. The zero value is empty.
type shelf[T any] struct{ parts [][]T }

func (s *shelf[T]) len() int {
	n := len(s.parts)
	if n == 0 {
		return 0
	}
	return (n-1)*atOnce + len(s.parts[n-1])
}

// at is the value at an index. It holds as long as the list.
func (s *shelf[T]) at(i int32) *T { return &s.parts[i/atOnce][i%atOnce] }

// add appends a value and returns its index.
func (s *shelf[T]) add(v T) int32 {
	at := s.len()
	if at%atOnce == 0 {
		s.parts = append(s.parts, make([]T, 0, atOnce))
	}
	last := &s.parts[len(s.parts)-1]
	*last = append(*last, v)
	return int32(at)
}

// room is a list with room for its first value, from what others share.
func room[T any](list []T, shared *[]T) []T {
	if list != nil {
		return list
	}
	if len(*shared) == 0 {
		*shared = make([]T, atOnce)
	}
	list, *shared = (*shared)[:0:1], (*shared)[1:]
	return list
}
