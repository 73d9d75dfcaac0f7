package cmd

import "testing"

func TestPercent(t *testing.T) {
	for _, tt := range []struct {
		live uint64
		want int
	}{{0, 800}, {4 << 20, 700}, {24 << 20, 33}, {heapFloor, gcSmall}, {heapSmall - 1, gcSmall}, {heapSmall, gcGrowth}, {1 << 30, gcGrowth}} {
		if got := percent(tt.live); got != tt.want {
			t.Errorf("%d bytes: %d %%, want %d %%", tt.live, got, tt.want)
		}
	}
}
