package generator

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/ctxkit/ctxkit/jsonl/must"
)

func TestStale(t *testing.T) {
	dir := t.TempDir()
	g := Generator(func(dir string) (map[string][]byte, error) {
		files := map[string][]byte{}
		for _, name := range []string{"current", "old", "missing"} {
			files[filepath.Join(dir, name)] = []byte(name)
		}
		return files, nil
	})
	for name, text := range map[string]string{"current": "current", "old": "older"} {
		must.Do(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
	}
	stale, err := g.Stale(dir)
	if err != nil || len(stale) != 2 || string(stale[filepath.Join(dir, "old")]) != "old" || string(stale[filepath.Join(dir, "missing")]) != "missing" {
		t.Errorf("stale %v, %v, want old and missing", stale, err)
	}
	failing := Generator(func(string) (map[string][]byte, error) { return nil, errors.New("no source") })
	if _, err := failing.Stale(dir); err == nil {
		t.Error("the generator's error is lost")
	}
}
