//go:build ci

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ctxkit/ctxkit/jsonl/must"
)

// TestMain acts as a build of ctxkit where the program is called before, words or figure: words has other words and
// limits than before, figure other figures.
func TestMain(m *testing.M) {
	build := strings.TrimSuffix(filepath.Base(os.Args[0]), ".exe")
	if !slices.Contains(strings.Fields("before words figure"), build) {
		os.Exit(m.Run())
	}
	if os.Args[1] == "policy" {
		fmt.Println(`{"policies": [{"name": "a"}, {"name": "b"}]}`)
		os.Exit(0)
	}
	word, figure, other := "w", 3, slices.Contains(os.Args, "--policy=b")
	if build == "words" {
		word = "other"
	}
	if build == "figure" && other {
		figure = 4
	}
	fmt.Printf(`{"title": %q, "thresholds": {"auto": %q}, "events": [{"reason": %q, "n": %d}], "totals": {"model": 12345678901234567%d}}`, word, word, word, figure, figure)
	if build == "figure" && other && os.Args[1] == "view" {
		os.Exit(1)
	}
	os.Exit(0)
}

func TestComparison(t *testing.T) {
	dir := t.TempDir()
	self := must.Get(os.Executable())(t)
	build := func(name string) string {
		path := filepath.Join(dir, name+".exe")
		if err := os.Link(self, path); err != nil && !os.IsExist(err) {
			t.Skip(err) // the test's program is on another file system
		}
		return path
	}
	must.Do(t, os.WriteFile(filepath.Join(dir, "s.jsonl"), nil, 0o644))
	cache := filepath.Join(t.TempDir(), "cache")
	tests := []struct {
		after  string
		differ int
		want   string
	}{
		{"before", 0, "1 sessions, 2 policies, 2 pairs compared, 0 of 10 outputs differ"},
		{"figure", 5, "[replay --format=json]\n  replay.events.0.n: before 3, after 4\n  replay.totals.model: before 123456789012345673, after 123456789012345674\n"},
		{"figure", 5, "  exit: before <nil>, after exit status 1\n"},
		{"words", 8, "view.title: before \"w\", after \"other\"\n"}, // a view has no words that may differ
	}
	for _, folder := range []string{"", cache, cache} {
		for _, tt := range tests {
			c := comparison{before: build("before"), after: build(tt.after), cache: folder, jobs: 2, every: 1}
			var b strings.Builder
			differ, err := c.run(&b, dir)
			if err != nil || differ != tt.differ || !strings.Contains(b.String(), tt.want) {
				t.Errorf("%s: %d outputs differ, %v, want %d:\n%s", tt.after, differ, err, tt.differ, b.String())
			}
		}
	}
	files := must.Get(os.ReadDir(cache))(t)
	must.Say(t, "10", len(files))
	c := comparison{before: build("before"), after: build("words"), jobs: 1, every: 2}
	var b strings.Builder
	if _, err := c.run(&b, dir); err != nil || !strings.Contains(b.String(), "1 pairs compared") {
		t.Errorf("half of the pairs: %v: %s", err, b.String())
	}
	if _, err := c.run(&b, t.TempDir()); err == nil {
		t.Error("a folder without sessions: no error")
	}
	c.after = filepath.Join(dir, "none")
	if _, err := c.run(&b, dir); err == nil {
		t.Error("a program that is missing: no error")
	}
}
