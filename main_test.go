package main

import "testing"

func TestPercent(t *testing.T) {
	for _, tt := range []struct {
		live uint64
		want int
	}{{0, 1200}, {4 << 20, 1100}, {40 << 20, growthSmall}, {heapFloor, growthSmall}, {heapSmall - 1, growthSmall}, {heapSmall, growth}, {1 << 30, growth}} {
		if got := percent(tt.live); got != tt.want {
			t.Errorf("%d bytes: %d %%, want %d %%", tt.live, got, tt.want)
		}
	}
}
