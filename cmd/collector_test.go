package cmd

import (
	"os"
	"path/filepath"
	"runtime/debug"
	"runtime/metrics"
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

// Large inputs leave memory for the heap, and the collector as it was.
func TestWiden(t *testing.T) {
	if !hugePages(make([]byte, 4<<20)) {
		t.Skip("no huge pages here")
	}
	file := func(name string, size int64) string {
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Truncate(path, size); err != nil {
			t.Fatal(err)
		}
		return path
	}
	const growth = 77
	defer debug.SetGCPercent(debug.SetGCPercent(growth))
	half := file("half", largeInput/2)
	for _, tt := range []struct {
		name  string
		paths []string
		wide  bool
	}{
		{"small", []string{half, "-", "none"}, false},
		{"together", []string{half, file("other", largeInput/2)}, true},
	} {
		forced := func() uint64 {
			runs := []metrics.Sample{{Name: "/gc/cycles/forced:gc-cycles"}}
			metrics.Read(runs)
			return runs[0].Value.Uint64()
		}
		before := forced()
		widen(tt.paths)
		if wide := forced() > before; wide != tt.wide {
			t.Errorf("%s: widened %v", tt.name, wide)
		}
		if got := debug.SetGCPercent(growth); got != growth {
			t.Errorf("%s: the collector is at %d %%", tt.name, got)
		}
	}
}
