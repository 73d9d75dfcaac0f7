package session

// chunks is a list that grows without being copied: that would need more memory than all that is kept.
type chunks[T any] struct{ list [][]T }

const chunkLen = 1 << 10 // elements of a chunk

// add appends an element and returns its place.
func (c *chunks[T]) add(element T) int32 {
	last := len(c.list) - 1
	switch {
	case last < 0:
		c.list, last = make([][]T, 1), 0 // grows from nothing: most lists are short
	case len(c.list[last]) == chunkLen:
		c.list, last = append(c.list, make([]T, 0, chunkLen)), last+1
	}
	c.list[last] = append(c.list[last], element)
	return int32(c.len() - 1)
}

// at is the element at a place. It moves while the first chunk grows.
func (c *chunks[T]) at(i int32) *T { return &c.list[i/chunkLen][i%chunkLen] }

func (c *chunks[T]) len() int {
	if len(c.list) == 0 {
		return 0
	}
	last := len(c.list) - 1
	return last*chunkLen + len(c.list[last])
}

// distinct is a list of values that repeat.
type distinct[T comparable] struct {
	list []*T
	at   map[T]int32
	last int32 // place asked for last
}

// place is the place of a value.
func (d *distinct[T]) place(value T) int32 {
	if len(d.list) > 0 && *d.list[d.last] == value {
		return d.last
	}
	at, ok := d.at[value]
	if !ok {
		if d.at == nil {
			d.at = map[T]int32{}
		}
		kept := value // allocated only here
		at, d.list = int32(len(d.list)), append(d.list, &kept)
		d.at[value] = at
	}
	d.last = at
	return at
}
