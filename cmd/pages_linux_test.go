package cmd

import (
	"os"
	"path/filepath"
	"runtime/debug"
	"runtime/metrics"
	"syscall"
	"testing"
)

// TestWiden: large inputs leave memory for the heap, and the collector as it was.
func TestWiden(t *testing.T) {
	if err := syscall.Madvise(make([]byte, 4<<20), syscall.MADV_HUGEPAGE); err != nil {
		t.Skip("no huge pages here: ", err)
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
		{"below the most", []string{file("most", hugeInput-1)}, true},
		{"the most", []string{half, file("more", hugeInput-largeInput/2)}, false},
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
