//go:build ci

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ctxkit/ctxkit/cmd"
	"github.com/ctxkit/ctxkit/jsonl/must"
)

// TestPages writes the pages twice, to the same bytes, and looks for commands and flags in them.
func TestPages(t *testing.T) {
	one, two := t.TempDir(), t.TempDir()
	for _, dir := range []string{one, two} {
		must.Do(t, run([]string{dir}))
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
			out := must.Get(exec.Command(groff, "-man", "-ww", "-z", "-Tutf8", path).CombinedOutput())(t)
			must.Say(t, "0", len(out))
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
	must.Rows(t, `
.so x      | \&.so x
'br        | \&'br
a\fB       | a\efB
--as       | \-\-as
"a\n.so x" | a .so x
…          | \[u2026]
`, func(in, want string) {
		must.Equal(t, text(in), want, in)
	})
	if page(cmd.Commands()) == "" {
		t.Error("an empty page")
	}
}
