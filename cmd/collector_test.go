package cmd

import (
	"math"
	"testing"
)

func TestPercent(t *testing.T) {
	for _, tt := range []struct {
		live uint64
		want int
	}{{0, 1600}, {4 << 20, 1500}, {32 << 20, 100}, {heapFloor - 1, gcGrowth}, {heapFloor, gcGrowth}, {1 << 30, gcGrowth}} {
		if got := percent(tt.live); got != tt.want {
			t.Errorf("%d bytes: %d %%, want %d %%", tt.live, got, tt.want)
		}
	}
}

func TestMost(t *testing.T) {
	const floor = heapFloor
	for _, tt := range []struct {
		live, other uint64
		want        int64 // 0: no limit
	}{
		{0, 1 << 20, 0}, {floor/2 - 1, 1 << 20, 0},
		{floor / 2, 0, floor * 100 / 97},
		{floor / 2, 5 << 20, (floor + 5<<20) * 100 / 97},
		{10 * floor, 5 << 20, (10*floor + 10*floor*gcGrowth/100 + 5<<20) * 100 / 97},
	} {
		if tt.want == 0 {
			tt.want = math.MaxInt64
		}
		if got := most(tt.live, tt.other); got != tt.want {
			t.Errorf("%d bytes live and %d others: %d, want %d", tt.live, tt.other, got, tt.want)
		}
		if goal := max(floor, tt.live+tt.live*gcGrowth/100); most(tt.live, tt.other)*97/100+1 < int64(goal+tt.other) {
			t.Errorf("%d bytes live: the collector would run before the heap has grown to %d", tt.live, goal)
		}
	}
}
