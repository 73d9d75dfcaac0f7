package cmd

import (
	"math"
	"testing"
)

func TestPercent(t *testing.T) {
	for _, tt := range []struct {
		live, runs uint64
		want       int
	}{
		{0, 0, 1600}, {4 << 20, 1, 1500}, {32 << 20, 9, 100}, {heapFloor - 1, 9, gcGrowth}, {heapFloor, manyRuns, gcGrowth}, {1 << 30, 0, gcGrowth},
		{4 << 20, manyRuns + 1, 1500}, {heapFloor - 1, manyRuns + 1, gcRoom}, {1 << 30, manyRuns + 1, gcRoom},
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
		{heapSize{10 * floor, 5 << 20, manyRuns}, (10*floor + 10*floor*gcGrowth/100 + 5<<20) * 100 / 97},
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
