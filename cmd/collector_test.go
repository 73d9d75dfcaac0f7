package cmd

import (
	"math"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"testing"
	"time"
)

func TestPercent(t *testing.T) {
	for _, tt := range []struct {
		live, runs uint64
		want       int
	}{
		{0, 0, 1500}, {4 << 20, 1, 1400}, {heapFloor / 2, 9, 100}, {heapFloor - 1, 9, gcGrowth}, {heapFloor, manyRuns, gcGrowth}, {2 * heapFloor, 0, 2 * gcGrowth}, {1 << 30, 0, gcRoom},
		{4 << 20, manyRuns + 1, 1400}, {heapFloor - 1, manyRuns + 1, gcRoom}, {1 << 30, manyRuns + 1, gcRoom},
	} {
		if got := (heapSize{live: tt.live, runs: tt.runs}).percent(); got != tt.want {
			t.Errorf("%d bytes after %d runs: %d %%, want %d %%", tt.live, tt.runs, got, tt.want)
		}
	}
}

func TestMemoryLimit(t *testing.T) {
	const floor = heapFloor
	for _, tt := range []struct {
		heap heapSize
		want int64 // 0: no limit
	}{
		{heapSize{0, 1 << 20, 0}, 0}, {heapSize{floor/2 - 1, 1 << 20, 0}, 0},
		{heapSize{floor / 2, 0, 0}, floor * 100 / 97},
		{heapSize{floor / 2, 5 << 20, 0}, (floor + 5<<20) * 100 / 97},
		{heapSize{2 * floor, 5 << 20, manyRuns}, (2*floor + 2*floor*2*gcGrowth/100 + 5<<20) * 100 / 97},
		{heapSize{10 * floor, 5 << 20, manyRuns + 1}, (10*floor + 10*floor*gcRoom/100 + 5<<20) * 100 / 97},
	} {
		if tt.want == 0 {
			tt.want = math.MaxInt64
		}
		if got := tt.heap.limit(); got != tt.want {
			t.Errorf("%+v: %d, want %d", tt.heap, got, tt.want)
		}
		if goal := max(floor, tt.heap.live+tt.heap.live*uint64(tt.heap.percent())/100); tt.heap.limit()/100*97+100 < int64(goal+tt.heap.other) {
			t.Errorf("%+v: the collector would run before the heap has grown to %d", tt.heap, goal)
		}
	}
}

// awaitPace waits, after a run of the collector, until what is set is that of the heap then: on a busy machine the cleanup
// that sets it may be late. It waits a second at most: a cleanup of the run before may be so late that this run had begun, and
// sets the pace of the heap before. known is how often the collector had run, and the result how often it has.
func awaitPace(known uint64) uint64 {
	const live, runs, percent = 0, 1, 2
	m := []metrics.Sample{
		live: {Name: "/gc/heap/live:bytes"}, runs: {Name: "/gc/cycles/total:gc-cycles"}, percent: {Name: "/gc/gogc:percent"},
	}
	of := func(i int) uint64 { return m[i].Value.Uint64() }
	metrics.Read(m)
	for range 1000 {
		if of(runs) == known || of(percent) == uint64(heapSize{live: of(live), runs: of(runs)}.percent()) {
			break
		}
		time.Sleep(time.Millisecond)
		metrics.Read(m)
	}
	return of(runs)
}

// TestPaceCollector fills the heap of another process. The collector is to run again and again, but not all the time,
// and memory that is set from outside is to stay.
func TestPaceCollector(t *testing.T) {
	const env = "CTXKIT_TEST_PACE"
	if os.Getenv(env) == "" {
		for _, limit := range []string{"", "100GiB"} {
			child := exec.Command(os.Args[0], "-test.run=^TestPaceCollector$")
			child.Env = append(os.Environ(), env+"=1", "GOGC=", "GOMEMLIMIT="+limit)
			if out, err := child.CombinedOutput(); err != nil {
				t.Errorf("with the limit %q: %v\n%s", limit, err, out)
			}
		}
		return
	}
	runtime.GC() // a run that has begun already would miss what is set next
	PaceCollector()
	type node struct {
		next *node
		_    [56]byte
	}
	const size = 150 << 20
	var all *node
	runs := awaitPace(1)
	for n := range size / 64 {
		all = &node{next: all}
		if n%(1<<14) == 0 {
			runs = awaitPace(runs)
		}
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	if m.NumGC < 3 || m.NumGC > 60 {
		t.Errorf("the collector ran %d times over %d bytes", m.NumGC, size)
	}
	if held := m.HeapSys - m.HeapReleased; held > size*3/2 {
		t.Errorf("%d bytes are held for %d", held, size)
	}
	own := os.Getenv("GOMEMLIMIT") == ""
	if limit := debug.SetMemoryLimit(-1); own != (limit < 4*size) {
		t.Errorf("the limit is %d bytes", limit)
	}
	runtime.KeepAlive(all)
}
