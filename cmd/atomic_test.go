package cmd

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
)

// A folder and the file it comes with get their names both or not at all.
func TestAtomicFolder(t *testing.T) {
	content := func(t *testing.T, path string) string {
		t.Helper()
		b, err := os.ReadFile(path)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
		return string(b)
	}
	for _, c := range []struct {
		name     string
		old, bad bool // there is a folder already; the file cannot have its name
		want     string
	}{
		{"new", false, false, "new"},
		{"over another", true, false, "new"},
		{"the file fails", false, true, ""},
		{"over another, the file fails", true, true, "old"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			folder, file := filepath.Join(dir, "x"), filepath.Join(dir, "x.jsonl")
			blocked := map[string]bool{folder: c.old, file: c.bad}
			for path, there := range blocked {
				if there {
					if err := os.MkdirAll(filepath.Join(path, "sub"), 0o755); err != nil {
						t.Fatal(err)
					}
					if err := os.WriteFile(filepath.Join(path, "sub", "a"), []byte("old"), 0o644); err != nil {
						t.Fatal(err)
					}
				}
			}
			sys := &system{}
			f, err := sys.createAtomic(file)
			if err != nil {
				t.Fatal(err)
			}
			if f.folder, err = sys.createAtomicFolder(folder); err != nil {
				t.Fatal(err)
			}
			if err := f.folder.write("sub/a", func(w io.Writer) error {
				_, err := io.WriteString(w, "new")
				return err
			}); err != nil {
				t.Fatal(err)
			}
			if err := f.commit(); (err != nil) != c.bad {
				t.Errorf("commit: %v", err)
			}
			if err := f.folder.remove(); err != nil {
				t.Error(err)
			}
			if got := content(t, filepath.Join(folder, "sub", "a")); got != c.want {
				t.Errorf("the folder holds %q, want %q", got, c.want)
			}
			entries, err := os.ReadDir(dir)
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range entries {
				if e.Name() != "x" && e.Name() != "x.jsonl" {
					t.Errorf("%s is left", e.Name())
				}
			}
			if len(sys.unfinished) != 0 {
				t.Errorf("unfinished: %v", sys.unfinished)
			}
		})
	}
}
