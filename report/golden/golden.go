// Package golden compares output with files that hold what is wanted. Tests of the whole repository use it, so that
// one flag rewrites every such file:
//
//	go test ./cmd ./report -update
package golden

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ctxkit/ctxkit/jsonl/must"
)

var update = flag.Bool("update", false, "rewrite the files that hold wanted output")

// Update reports whether -update was given.
func Update() bool { return *update }

// Check compares got with the file at path, and with -update writes it.
func Check(t *testing.T, path string, got []byte) {
	t.Helper()
	want, err := os.ReadFile(path)
	switch {
	case err == nil && bytes.Equal(got, want):
	case *update:
		must.Do(t, os.MkdirAll(filepath.Dir(path), 0o755))
		must.Do(t, os.WriteFile(path, got, 0o644))
		t.Logf("wrote %s", path)
	default:
		t.Errorf("%s differs (-want +got), rewrite it with -update if that is meant:\n%s", path, cmp.Diff(string(want), string(got)))
	}
}
