package cmd

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
)

// The collector runs once the heap is larger than heapFloor and has grown by gcGrowth since its last run. So most
// sessions are never collected, and a long one needs little more memory than it holds. GOGC overrides both.
const (
	gcGrowth  = 15       // percent
	heapFloor = 64 << 20 // bytes
)

// PaceCollector sets when the garbage collector of this process runs, for as long as it lives.
//
// At the start little is live, and to read how much is slow: it is taken as nothing.
func PaceCollector() { paceFor(0) }

// pace sets when the collector runs next, after one of its runs: it is called by a cleanup, which passes a value.
func pace(int) {
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(live)
	paceFor(live[0].Value.Uint64())
}

// paceFor sets it for so many live bytes.
func paceFor(live uint64) {
	debug.SetGCPercent(percent(live))
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
