//go:build ci

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ctxkit/ctxkit/cmd"
)

// TestPages writes the pages twice, to the same bytes, and looks for commands and flags in them.
func TestPages(t *testing.T) {
	one, two := t.TempDir(), t.TempDir()
	for _, dir := range []string{one, two} {
		if err := run([]string{dir}); err != nil {
			t.Fatal(err)
		}
	}
	paths, err := filepath.Glob(filepath.Join(one, "*.1"))
	if err != nil || len(paths) < 20 {
		t.Fatalf("%d pages, error %v", len(paths), err)
	}
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		again, err := os.ReadFile(filepath.Join(two, filepath.Base(path)))
		if err != nil || string(again) != string(data) {
			t.Errorf("%s: other bytes the second time: %v", filepath.Base(path), err)
		}
		if groff, err := exec.LookPath("groff"); err == nil {
			if out, err := exec.Command(groff, "-man", "-ww", "-z", "-Tutf8", path).CombinedOutput(); err != nil || len(out) > 0 {
				t.Errorf("%s: groff: %v: %s", filepath.Base(path), err, out)
			}
		}
	}
	for file, want := range map[string]string{
		"ctxkit.1":             `ctxkit\-replay(1)`,
		"ctxkit-replay.1":      `.B \-p, \-\-policy NAME`,
		"ctxkit-policy-list.1": `ctxkit\-policy(1)`,
	} {
		if data, err := os.ReadFile(filepath.Join(one, file)); err != nil || !strings.Contains(string(data), want) {
			t.Errorf("%s: no %q in it: %v", file, want, err)
		}
	}
}

func TestRun(t *testing.T) {
	for _, args := range [][]string{nil, {"a", "b"}, {filepath.Join(t.TempDir(), "none")}} {
		if run(args) == nil {
			t.Errorf("no error with %q", args)
		}
	}
}

func TestText(t *testing.T) {
	for in, want := range map[string]string{".so x": `\&.so x`, "'br": `\&'br`, `a\fB`: `a\efB`, "--as": `\-\-as`, "a\n.so x": "a .so x", "…": `\[u2026]`} {
		if got := text(in); got != want {
			t.Errorf("text(%q) = %q, want %q", in, got, want)
		}
	}
	if page(cmd.Commands()) == "" {
		t.Error("an empty page")
	}
}
