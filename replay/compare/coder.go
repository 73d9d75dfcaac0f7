package compare

import (
	"encoding/binary"
	"time"
)

// coder writes values, or reads them back in the same order: one description of a type does for both. A length
// that is read is not trusted: it allocates and reads no more than the input has.
type coder struct {
	reading  bool
	out      []byte
	in       string // what is left of it
	decimals []int  // of each figure
	err      error
}

func integer[T ~int | ~int64](c *coder, n *T) {
	if !c.reading {
		c.out = binary.AppendVarint(c.out, int64(*n))
		return
	}
	v := c.unsigned()
	x := int64(v >> 1)
	if v&1 != 0 {
		x = ^x
	}
	*n = T(x)
}

// unsigned reads an unsigned number.
func (c *coder) unsigned() (n uint64) {
	for i := range min(len(c.in), binary.MaxVarintLen64) {
		b := c.in[i]
		n |= uint64(b&0x7f) << (7 * i)
		if b < 0x80 {
			c.in = c.in[i+1:]
			return n
		}
	}
	c.fail()
	return 0
}

func (c *coder) fail() { c.err, c.in = errDamaged, "" }

// length reads or writes a length. One that is read is no more than the bytes that are left.
func (c *coder) length(n int) int {
	if !c.reading {
		c.out = binary.AppendUvarint(c.out, uint64(n))
		return n
	}
	v := c.unsigned()
	if v > uint64(len(c.in)) {
		c.fail()
		return 0
	}
	return int(v)
}

func word[T ~string](c *coder, s *T) {
	n := c.length(len(*s))
	if !c.reading {
		c.out = append(c.out, *s...)
		return
	}
	*s, c.in = T(c.in[:n]), c.in[n:]
}

func (c *coder) flag(b *bool) {
	n := 0
	if *b {
		n = 1
	}
	if integer(c, &n); n < 0 || n > 1 {
		c.fail()
	}
	*b = n == 1
}

// atOnce is how many elements are allocated before any of them is read.
const atOnce = 64

// list is a list with what one does for an element. Nil remains nil.
func list[S ~[]E, E any](c *coder, l *S, one func(e *E)) {
	there := *l != nil
	if c.flag(&there); !there {
		return
	}
	n := c.length(len(*l))
	if !c.reading {
		for i := range *l {
			one(&(*l)[i])
		}
		return
	}
	*l = make(S, 0, min(n, atOnce))
	for range n {
		*l = append(*l, *new(E))
		if one(&(*l)[len(*l)-1]); c.err != nil {
			return
		}
	}
}

// time is a time with its zone.
func (c *coder) time(t *time.Time) {
	var data string
	if !c.reading && !t.IsZero() {
		b, err := t.MarshalBinary()
		if err != nil {
			c.err = err
			return
		}
		data = string(b)
	}
	if word(c, &data); c.reading && data != "" && t.UnmarshalBinary([]byte(data)) != nil {
		c.fail()
	}
}
