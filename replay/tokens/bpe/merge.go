package bpe

import "math"

// maxScan is the longest piece, in bytes, for which scanning is faster than a heap.
const maxScan = 128

// keepBuffer is the most memory that is kept for the next piece, in bytes.
const keepBuffer = 1 << 20

// none is the rank of a pair that is no token; it is larger than all ranks.
const none = math.MaxUint32

// merger merges the parts of one piece as tiktoken does: of all neighbours that together are a token, those of the
// lowest rank, the leftmost of equals, become one, until no such neighbours are left.
type merger struct {
	buf    []byte          // the piece and pad bytes after it
	keys   [maxScan]uint32 // scan: rank and start of the pair that starts here; none
	next   [maxScan]uint8  // scan: end of the part that starts here
	before [maxScan]uint8  // scan: start of the part before the one that starts here

	size  []uint8  // heap: of a part, at its first and its last byte
	ranks []uint32 // heap: of the part that starts here with the next
	queue []uint64 // heap: rank and start of pairs, a heap of four branches
	steps int      // of the last piece
}

// padded copies a piece to the buffer.
func (m *merger) padded(piece []byte) []byte {
	if cap(m.buf) > keepBuffer && len(piece) < keepBuffer/2 {
		m.buf = nil
	}
	m.buf = append(append(m.buf[:0], piece...), make([]byte, pad)...)
	return m.buf
}

// scan returns the tokens of the buffer's first n bytes, 2 <= n <= maxScan.
func (m *merger) scan(v *vocabulary, n int) int {
	keys := m.keys[: (n+3)&^3 : maxScan]
	for i := range keys {
		keys[i] = none
	}
	for i := range n - 1 {
		m.set(i, v.pairs[pair(m.buf[i], m.buf[i+1])])
	}
	for i := range n {
		m.next[i], m.before[i] = uint8(i+1), uint8(i-1)
	}
	m.steps = n
	for parts := n; ; parts-- {
		// Four at once: the processor handles them in parallel.
		a, b, c, d := uint32(none), uint32(none), uint32(none), uint32(none)
		for k := keys; len(k) >= 4; k = k[4:] {
			a, b, c, d = min(a, k[0]), min(b, k[1]), min(c, k[2]), min(d, k[3])
		}
		low := min(a, b, c, d)
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

// heap returns the tokens of the buffer's first n bytes in n log n steps.
func (m *merger) heap(v *vocabulary, n int) int {
	if cap(m.size) < n {
		m.size, m.ranks = make([]uint8, n), make([]uint32, n)
		m.queue = make([]uint64, 0, n)
	}
	m.size, m.ranks, m.queue = m.size[:n], m.ranks[:n], m.queue[:0]
	m.steps = n
	for i := range n {
		m.size[i], m.ranks[i] = 1, none
	}
	for i := range n - 1 {
		if r := v.pairs[pair(m.buf[i], m.buf[i+1])] - 1; r != none {
			m.ranks[i] = r
			m.queue = append(m.queue, key(r, i))
		}
	}
	for i := (len(m.queue) - 2) / 4; i >= 0; i-- {
		m.down(i)
	}
	parts := n
	for len(m.queue) > 0 {
		top := m.queue[0]
		rank, at := uint32(top>>32), int(uint32(top))
		if m.ranks[at] != rank { // the pair is gone
			m.pop()
			continue
		}
		next := at + int(m.size[at])
		end := next + int(m.size[next])
		m.ranks[next] = none
		m.size[at], m.size[end-1] = uint8(end-at), uint8(end-at)
		parts--
		// The pair with the next part takes the place of this one in the heap.
		m.ranks[at] = none
		if end < n {
			m.ranks[at] = v.lookup(m.buf, at, end+int(m.size[end])) - 1
		}
		if m.ranks[at] != none {
			m.queue[0] = key(m.ranks[at], at)
			m.down(0)
		} else {
			m.pop()
		}
		if at > 0 {
			before := at - int(m.size[at-1])
			m.ranks[before] = v.lookup(m.buf, before, end) - 1
			if m.ranks[before] != none {
				m.push(key(m.ranks[before], before))
			}
		}
	}
	if n > keepBuffer {
		m.size, m.ranks, m.queue = nil, nil, nil
	}
	return parts
}

// key orders pairs by rank, then from left to right.
func key(rank uint32, at int) uint64 { return uint64(rank)<<32 | uint64(at) }

func (m *merger) pop() {
	last := len(m.queue) - 1
	m.queue[0] = m.queue[last]
	m.queue = m.queue[:last]
	m.down(0)
}

func (m *merger) down(i int) {
	q := m.queue
	if i >= len(q) {
		return
	}
	k := q[i]
	for {
		m.steps++
		first := 4*i + 1
		if first >= len(q) {
			break
		}
		low := first
		for j := first + 1; j < min(first+4, len(q)); j++ {
			if q[j] < q[low] {
				low = j
			}
		}
		if q[low] >= k {
			break
		}
		q[i], i = q[low], low
	}
	q[i] = k
}

func (m *merger) push(k uint64) {
	m.queue = append(m.queue, k)
	q := m.queue
	i := len(q) - 1
	for i > 0 {
		m.steps++
		up := (i - 1) / 4
		if q[up] <= k {
			break
		}
		q[i], i = q[up], up
	}
	q[i] = k
}
