// Package must gives tests what they need, and ends them where it is missing.
package must

import (
	"os"
	"path/filepath"
	"testing"
)

// Get is the value of a call that may not fail: must.Get(os.ReadFile(path))(t).
func Get[T any](v T, err error) func(t testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		Do(t, err)
		return v
	}
}

// Do ends a test at an error that it is not about.
func Do(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Glob is the files that match a path. A test ends where there are fewer than the least number.
func Glob(t testing.TB, least int, path ...string) []string {
	t.Helper()
	files := Get(filepath.Glob(filepath.Join(path...)))(t)
	if len(files) < least {
		t.Fatalf("%s: %d files", filepath.Join(path...), len(files))
	}
	return files
}

// CI reports whether tests that take long run, and samples are as large as in .ci/run, which sets CTXKIT_CI.
func CI() bool { return os.Getenv("CTXKIT_CI") != "" || os.Getenv("CTXKIT_LONG") != "" }

// BeCI skips a test that takes long unless CI holds.
func BeCI(t testing.TB) {
	t.Helper()
	if !CI() {
		t.Skip("it takes long, and CTXKIT_CI is not set")
	}
}
