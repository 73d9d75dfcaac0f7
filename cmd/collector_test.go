package cmd

import "testing"

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
