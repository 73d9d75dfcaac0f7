package jsonl

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/ctxkit/ctxkit/jsonl/must"
)

// TestWindow holds spans that are read through a window against those that are read each by itself: across its size, at the
// end of the file, behind it, in another file, and after the file was cut.
func TestWindow(t *testing.T) {
	var sources []*Source
	var paths []string
	for i, n := range []int{3 * windowSize, windowSize / 2} {
		text := make([]byte, n)
		for k := range text {
			text[k] = byte(k*7 + k>>8 + i)
		}
		path := filepath.Join(t.TempDir(), "s.jsonl")
		must.Do(t, os.WriteFile(path, text, 0o600))
		src := must.Get(Open(path))(t)
		defer src.Close()
		sources, paths = append(sources, src), append(paths, path)
	}
	var w Window
	check := func(source int, off int64, n int) {
		t.Helper()
		want, errWant := sources[source].ReadSpan(Span{off, n})
		got, err := w.ReadSpan(sources[source], Span{off, n})
		if !bytes.Equal(got, want) || (err == nil) != (errWant == nil) {
			t.Errorf("source %d, %d bytes at %d: %d bytes, %v; want %d, %v", source, n, off, len(got), err, len(want), errWant)
		}
	}
	all := func() {
		for _, off := range []int64{0, 1, windowSize - 1, windowSize, windowSize + 5, 100, 2*windowSize + 100, 3*windowSize - 10, 3 * windowSize, -1} {
			for _, n := range []int{0, 1, 9, windowSize - 1, windowSize, windowSize + 1, -1} {
				check(0, off, n)
				check(1, off/6, n/3)
			}
		}
	}
	all()
	must.Do(t, os.Truncate(paths[0], windowSize+3))
	w = Window{}
	all()
}
