// Package must gives tests what they go by, and ends them where there is none.
package must

import (
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

// Glob is the files that match a path, at least so many.
func Glob(t testing.TB, least int, path ...string) []string {
	t.Helper()
	files := Get(filepath.Glob(filepath.Join(path...)))(t)
	if len(files) < least {
		t.Fatalf("%s: %d files", filepath.Join(path...), len(files))
	}
	return files
}
