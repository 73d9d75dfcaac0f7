package replay

// room hands out values that are allocated many at once.
type room[T any] []T

// next is a new zero value.
func (r *room[T]) next() *T {
	const many = 56 // of contents 4 KiB, with the allocator's 8 bytes
	if len(*r) == 0 {
		*r = make([]T, many)
	}
	v := &(*r)[0]
	*r = (*r)[1:]
	return v
}
