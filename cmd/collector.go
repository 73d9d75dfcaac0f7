package cmd

import (
	"math"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
)

// The collector runs once the heap is larger than heapFloor and has grown by gcGrowth since its last run. So most
// sessions are never collected, and a long one needs little more memory than it holds. GOGC and GOMEMLIMIT override it.
const (
	gcGrowth  = 8        // percent
	heapFloor = 64 << 20 // bytes
)

// PaceCollector sets when the garbage collector of this process runs, for as long as it lives, and that a long session's
// free memory goes back to the system before more is taken.
//
// At the start little is live, and to read how much is slow: it is taken as nothing.
func PaceCollector() { paceFor(0, 0) }

// pace sets when the collector runs next, after one of its runs: it is called by a cleanup, which passes a value.
func pace(int) {
	const live, total, released, free, objects = 0, 1, 2, 3, 4
	m := []metrics.Sample{
		live: {Name: "/gc/heap/live:bytes"}, total: {Name: "/memory/classes/total:bytes"}, released: {Name: "/memory/classes/heap/released:bytes"},
		free: {Name: "/memory/classes/heap/free:bytes"}, objects: {Name: "/memory/classes/heap/objects:bytes"},
	}
	metrics.Read(m)
	paceFor(m[live].Value.Uint64(), m[total].Value.Uint64()-m[released].Value.Uint64()-m[free].Value.Uint64()-m[objects].Value.Uint64())
}

// paceFor sets it for so many live bytes, and so many that are no objects of the heap and not free.
func paceFor(live, other uint64) {
	debug.SetGCPercent(percent(live))
	debug.SetMemoryLimit(most(live, other))
	runtime.AddCleanup(new([16]byte), pace, 0)
}

// percent is the growth, of so many live bytes, at which the collector runs.
func percent(live uint64) int {
	const most = 100 * heapFloor / (4 << 20) // the runtime scales its own floor, 4 MiB, by it
	if live >= heapFloor {
		return gcGrowth
	}
	return int(min(max(100*(heapFloor-live)/max(live, 1), gcGrowth), most))
}

// most is how much memory the process may hold, bytes, until the collector has run again. The runtime leaves 3 % of it
// unused.
func most(live, other uint64) int64 {
	if live < heapFloor/2 {
		return math.MaxInt64
	}
	return int64((max(heapFloor, live+live*gcGrowth/100) + other) * 100 / 97)
}
