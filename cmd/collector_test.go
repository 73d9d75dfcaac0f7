package cmd

import "testing"

func TestPercent(t *testing.T) {
	for _, tt := range []struct {
		live uint64
		want int
	}{{0, 1200}, {4 << 20, 1100}, {40 << 20, gcSmall}, {heapFloor, gcSmall}, {heapSmall - 1, gcSmall}, {heapSmall, gcGrowth}, {1 << 30, gcGrowth}} {
		if got := percent(tt.live); got != tt.want {
			t.Errorf("%d bytes: %d %%, want %d %%", tt.live, got, tt.want)
		}
	}
}
