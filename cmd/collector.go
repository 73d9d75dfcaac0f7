package cmd

import (
	"math"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
)

// The collector runs once the heap is larger than heapFloor and has grown by a part of what was live after its last run. So
// most sessions are never collected, and a long one needs little more memory than it holds. A larger heap, which takes
// longer to collect, may grow by a larger part, and so may that of a process that has collected often.
const (
	heapFloor = 60 << 20 // bytes
	gcGrowth  = 6        // percent, of a heap of heapFloor, and in proportion of a larger one
	gcRoom    = 25       // percent at most, and after manyRuns
	manyRuns  = 24
)

// PaceCollector sets when the garbage collector of this process runs, for as long as it lives, and that a long session's
// free memory goes back to the system before more is taken. A memory limit that is set already (GOMEMLIMIT) stays.
//
// At the start little is live, and to read how much is slow: it is taken as nothing.
func PaceCollector() { paceFor(heapSize{}, debug.SetMemoryLimit(-1) == math.MaxInt64) }

// heapSize is what the heap holds after a run of the collector.
type heapSize struct {
	live  uint64 // bytes
	other uint64 // that the process has beside objects of the heap and free memory, bytes
	runs  uint64 // of the collector so far
}

// pace sets when the collector runs next, after one of its runs: it is called by a cleanup.
func pace(limited bool) {
	const live, runs, total, released, free, objects = 0, 1, 2, 3, 4, 5
	m := []metrics.Sample{
		live: {Name: "/gc/heap/live:bytes"}, runs: {Name: "/gc/cycles/total:gc-cycles"},
		total: {Name: "/memory/classes/total:bytes"}, released: {Name: "/memory/classes/heap/released:bytes"},
		free: {Name: "/memory/classes/heap/free:bytes"}, objects: {Name: "/memory/classes/heap/objects:bytes"},
	}
	metrics.Read(m)
	of := func(i int) uint64 { return m[i].Value.Uint64() }
	paceFor(heapSize{of(live), of(total) - of(released) - of(free) - of(objects), of(runs)}, limited)
}

// paceFor sets it for a heap. A cleanup may be late, and what was set is then that of the heap before: the collector runs
// once more.
func paceFor(h heapSize, limited bool) {
	debug.SetGCPercent(h.percent())
	if limited {
		debug.SetMemoryLimit(h.limit())
	}
	runtime.AddCleanup(new([16]byte), pace, limited)
}

// growth is by how much a heap above the floor may grow, percent.
func (h heapSize) growth() uint64 {
	if h.runs > manyRuns {
		return gcRoom
	}
	return min(max(gcGrowth*h.live/heapFloor, gcGrowth), gcRoom)
}

// percent is the growth at which the collector runs.
func (h heapSize) percent() int {
	const most = 100 * heapFloor / (4 << 20) // the runtime scales its own floor, 4 MiB, by it
	if h.live >= heapFloor {
		return int(h.growth())
	}
	return int(min(max(100*(heapFloor-h.live)/max(h.live, 1), h.growth()), most))
}

// limit is how much memory the process may hold, bytes, until the collector has run again. The runtime leaves 3 % of it
// unused.
func (h heapSize) limit() int64 {
	if h.live < heapFloor/2 {
		return math.MaxInt64
	}
	return int64((max(heapFloor, h.live+h.live*h.growth()/100) + h.other) * 100 / 97)
}
