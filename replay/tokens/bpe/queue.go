package bpe

// queue holds pairs in the order of their ranks, then from left to right. Pairs of one rank mostly come in the order in
// which they go; so they are kept as lists in order, runs, and only the runs are in a heap. At worst each pair is a run
// of its own. A piece has at most maxMerged bytes.
type queue struct {
	links []link // by the start of a pair
	runs  []run
	heap  []uint32         // runs in a heap of four branches by their keys; after its end, at live, the free ones
	live  int              // runs in the heap
	open  [openRuns]uint32 // the last run of a rank; another rank's, or none, where two ranks share a place
	steps int              // levels of the heap that were climbed
}

// run is a list of pairs of one rank from left to right. A run without pairs stays in the heap until it is the heap's
// first.
type run struct {
	key        uint64 // rank and start of the first pair, or of one that was the first
	head, tail uint32 // the first pair and the last one; runBit and the run's number where there is none
}

// link is the place of a pair in a run: the pairs before and after it, or runBit and the run's number. prev is none
// where the pair is in no run.
type link struct{ prev, next uint32 }

const (
	runBit   = 1 << 31
	openRuns = 1 << 14
)

// reset makes an empty queue for a piece of n bytes.
func (q *queue) reset(n int) {
	if cap(q.links) < n {
		q.links = make([]link, n)
	}
	q.links = q.links[:n]
	for i := range q.links {
		q.links[i].prev = none
	}
	q.runs = q.runs[:0]
	q.heap = q.heap[:0]
	q.live = 0
	q.steps = 0
}

// first returns the start of the first pair of the queue, or -1.
func (q *queue) first() int {
	for q.live > 0 {
		id := q.heap[0]
		r := &q.runs[id]
		switch {
		case r.head == uint32(r.key):
			return int(r.head)
		case r.head < runBit: // its first pairs are gone
			r.key = key(r.rank(), r.head)
		default:
			r.key = key(none, none)
			q.live--
			q.heap[0], q.heap[q.live] = q.heap[q.live], id
		}
		q.down()
	}
	return -1
}

// add puts in the pair that starts at a place and is in no run, by its rank+1; 0 is no pair.
func (q *queue) add(rank uint32, at int) {
	if rank == 0 {
		return
	}
	rank--
	open := &q.open[rank%openRuns]
	if int(*open) >= len(q.runs) || !q.runs[*open].takes(rank, uint32(at)) {
		*open = q.start(rank, uint32(at))
	}
	r := &q.runs[*open]
	q.links[at] = link{r.tail, *open | runBit}
	if r.tail < runBit {
		q.links[r.tail].next = uint32(at)
	} else {
		r.head = uint32(at)
	}
	r.tail = uint32(at)
}

// remove takes out the pair that starts at a place, if there is one.
func (q *queue) remove(at int) {
	l := q.links[at]
	if l.prev == none {
		return
	}
	q.links[at].prev = none
	if l.prev < runBit {
		q.links[l.prev].next = l.next
	} else {
		q.runs[l.prev-runBit].head = l.next
	}
	if l.next < runBit {
		q.links[l.next].prev = l.prev
	} else {
		q.runs[l.next-runBit].tail = l.prev
	}
}

// start puts a run without pairs into the heap, in the place that its first pair will have.
func (q *queue) start(rank uint32, at uint32) uint32 {
	if q.live == len(q.heap) {
		q.heap = append(q.heap, uint32(len(q.runs)))
		q.runs = append(q.runs, run{})
	}
	id := q.heap[q.live]
	q.runs[id] = run{key(rank, at), id | runBit, id | runBit}
	q.live++
	q.up()
	return id
}

// key orders pairs by rank, then from left to right.
func key(rank, at uint32) uint64 { return uint64(rank)<<32 | uint64(at) }

func (r *run) rank() uint32 { return uint32(r.key >> 32) }

// takes reports whether a pair may be put at the run's end.
func (r *run) takes(rank, at uint32) bool {
	last := r.tail
	if last >= runBit {
		last = uint32(r.key)
	}
	return rank == r.rank() && last < at
}

// down moves the heap's first run to its place.
func (q *queue) down() {
	h := q.heap[:q.live]
	if len(h) == 0 {
		return
	}
	id := h[0]
	i := 0
	k := q.runs[id].key
	for {
		q.steps++
		first := 4*i + 1
		if first >= len(h) {
			break
		}
		low := first
		for j := first + 1; j < min(first+4, len(h)); j++ {
			if q.runs[h[j]].key < q.runs[h[low]].key {
				low = j
			}
		}
		if q.runs[h[low]].key >= k {
			break
		}
		h[i] = h[low]
		i = low
	}
	h[i] = id
}

// up moves the heap's last run to its place.
func (q *queue) up() {
	h := q.heap[:q.live]
	i := len(h) - 1
	id := h[i]
	k := q.runs[id].key
	for i > 0 {
		q.steps++
		up := (i - 1) / 4
		if q.runs[h[up]].key <= k {
			break
		}
		h[i] = h[up]
		i = up
	}
	h[i] = id
}
