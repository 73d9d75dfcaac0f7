package bpe

import (
	"math"
	"slices"
)

// maxScan is the longest piece, in bytes, for which scanning is faster than a queue.
const maxScan = 128

// maxMerged is the most bytes that are merged at once: the queue's numbers of pairs have 31 bits.
const maxMerged = 1 << 30

// none is the rank of a pair that is no token; it is larger than all ranks.
const none = math.MaxUint32

// merger merges the parts of one piece as tiktoken does: of all neighbours that together are a token, those of the
// lowest rank, the leftmost of equals, become one, until no such neighbours are left.
type merger struct {
	buf    []byte          // the piece and pad bytes after it
	keys   [maxScan]uint32 // scan: rank and start of the pair that starts here; none
	next   [maxScan]uint8  // scan: end of the part that starts here
	before [maxScan]uint8  // scan: start of the part before the one that starts here

	size  []uint8 // queue: of a part, at its first and its last byte
	queue queue
	steps int // of the last piece
}

// padded copies a piece to the buffer.
func (m *merger) padded(piece []byte) []byte {
	n := len(piece) + pad
	if cap(m.buf) < n {
		m.buf = make([]byte, max(n, 2*maxScan))
	}
	m.buf = m.buf[:n]
	copy(m.buf, piece)
	return m.buf
}

// scan returns the tokens of the buffer's first n bytes, 2 <= n <= maxScan.
func (m *merger) scan(v *vocabulary, n int) int {
	keys := m.keys[:n]
	keys[n-1] = none
	for i := range n - 1 {
		m.set(i, v.pairs[pair(m.buf[i], m.buf[i+1])])
	}
	for i := range n {
		m.next[i], m.before[i] = uint8(i+1), uint8(i-1)
	}
	m.steps = n
	for parts := n; ; parts-- {
		low := slices.Min(keys)
		m.steps += n
		if low == none {
			return parts
		}
		at := int(low % maxScan)
		next := int(m.next[at])
		end := int(m.next[next])
		keys[next] = none
		m.next[at] = uint8(end)
		if end < n {
			m.before[end] = uint8(at)
			m.set(at, v.lookup(m.buf, at, int(m.next[end])))
		} else {
			keys[at] = none
		}
		if at > 0 {
			before := int(m.before[at])
			m.set(before, v.lookup(m.buf, before, end))
		}
	}
}

// set notes the rank+1 of the pair that starts at i, or 0.
func (m *merger) set(i int, rank uint32) {
	m.keys[i] = none
	if rank != 0 {
		m.keys[i] = rank*maxScan + uint32(i)
	}
}

// queued returns the tokens of the buffer's first n bytes in n log n steps at most, and in about n where few ranks
// occur.
func (m *merger) queued(v *vocabulary, n int) int {
	if cap(m.size) < n {
		m.size = make([]uint8, n)
	}
	m.size = m.size[:n]
	q := &m.queue
	q.reset(n)
	for i := range n {
		m.size[i] = 1
	}
	for i := range n - 1 {
		q.add(v.pairs[pair(m.buf[i], m.buf[i+1])], i)
	}
	parts := n
	for at := q.first(); at >= 0; at = q.first() {
		next := at + int(m.size[at])
		end := next + int(m.size[next])
		q.remove(at)
		q.remove(next)
		m.size[at], m.size[end-1] = uint8(end-at), uint8(end-at)
		parts--
		if at > 0 {
			before := at - int(m.size[at-1])
			q.remove(before)
			q.add(v.lookup(m.buf, before, end), before)
		}
		if end < n {
			q.add(v.lookup(m.buf, at, end+int(m.size[end])), at)
		}
	}
	m.steps = n + q.steps
	return parts
}
