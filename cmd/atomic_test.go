package cmd

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/ctxkit/ctxkit/jsonl/must"
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
					must.Do(t, os.MkdirAll(filepath.Join(path, "sub"), 0o755))
					must.Do(t, os.WriteFile(filepath.Join(path, "sub", "a"), []byte("old"), 0o644))
				}
			}
			sys := &system{}
			f := must.Get(sys.createAtomic(file))(t)
			f.folder = must.Get(sys.createAtomicFolder(folder))(t)
			must.Do(t, f.folder.write("sub/a", func(w io.Writer) error {
				_, err := io.WriteString(w, "new")
				return err
			}))
			if err := commit(f); (err != nil) != c.bad {
				t.Errorf("commit: %v", err)
			}
			if err := f.folder.remove(); err != nil {
				t.Error(err)
			}
			if got := content(t, filepath.Join(folder, "sub", "a")); got != c.want {
				t.Errorf("the folder holds %q, want %q", got, c.want)
			}
			entries := must.Get(os.ReadDir(dir))(t)
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

// TestCloseAll: of outputs that belong together none is replaced where one of them cannot be written to its end.
func TestCloseAll(t *testing.T) {
	for _, full := range []int{-1, 0, 1, 2} {
		dir := t.TempDir()
		sys := &system{}
		var outs []*output
		for _, name := range []string{"a", "b", "c"} {
			path := filepath.Join(dir, name)
			must.Do(t, os.WriteFile(path, []byte("old"), 0o644))
			out := must.Get((&outputOptions{File: path}).create(sys))(t)
			must.Get(io.WriteString(out, "new"))(t)
			if len(outs) == full {
				out.atomic.file.Close() // as on a full disk, what is still in memory cannot be written
			}
			outs = append(outs, out)
		}
		want := "old"
		if full < 0 {
			want = "new"
		}
		if err := closeAll(outs, nil); (err != nil) != (full >= 0) {
			t.Errorf("output %d fails: %v", full, err)
		}
		entries, err := os.ReadDir(dir)
		if err != nil || len(entries) != len(outs) {
			t.Errorf("output %d fails: %d files are left: %v", full, len(entries), err)
		}
		for _, e := range entries {
			if data, err := os.ReadFile(filepath.Join(dir, e.Name())); err != nil || string(data) != want {
				t.Errorf("output %d fails: %s holds %q, want %q: %v", full, e.Name(), data, want, err)
			}
		}
	}
}

// TestTogether: of files that belong together an interrupt leaves all or none, and the first one is the last to be replaced.
func TestTogether(t *testing.T) {
	for _, tt := range []struct {
		name string
		stop func(sys *system, outs []*output)
		want string
	}{
		{"undisturbed", func(*system, []*output) {}, "a=new b=new c=new "},
		{"an interrupt before", func(sys *system, _ []*output) { sys.removeUnfinished() }, "a=old b=old c=old "},
		{"a rename that fails", func(_ *system, outs []*output) { os.Remove(outs[1].atomic.file.Name()) }, "b=old c=new "},
	} {
		dir := t.TempDir()
		sys := &system{}
		var outs []*output
		for _, name := range []string{"a", "b", "c"} {
			path := filepath.Join(dir, name)
			must.Do(t, os.WriteFile(path, []byte("old"), 0o644))
			out := must.Get((&outputOptions{File: path}).create(sys))(t)
			must.Get(io.WriteString(out, "new"))(t)
			outs = append(outs, out)
		}
		tt.stop(sys, outs)
		if err := closeAll(outs, nil); (err == nil) != (tt.name == "undisturbed") {
			t.Errorf("%s: %v", tt.name, err)
		}
		got := ""
		entries, err := os.ReadDir(dir)
		for _, e := range entries {
			var text []byte
			text, err = os.ReadFile(filepath.Join(dir, e.Name()))
			got += e.Name() + "=" + string(text) + " "
		}
		if err != nil || got != tt.want {
			t.Errorf("%s: %s, want %s (%v)", tt.name, got, tt.want, err)
		}
	}
}

// TestNoFileAfterInterrupt holds that a command that goes on for a moment after an interrupt begins no file.
func TestNoFileAfterInterrupt(t *testing.T) {
	dir := t.TempDir()
	sys := newSystem(nil, io.Discard, io.Discard)
	f := must.Get(sys.createAtomic(filepath.Join(dir, "begun")))(t)
	sys.removeUnfinished()
	if err := commit(f); err == nil {
		t.Error("a file that was removed is complete")
	}
	if _, err := sys.createAtomic(filepath.Join(dir, "file")); !errors.Is(err, errInterrupted) {
		t.Errorf("a file is begun: %v", err)
	}
	if _, err := sys.createAtomicFolder(filepath.Join(dir, "folder")); !errors.Is(err, errInterrupted) {
		t.Errorf("a folder is begun: %v", err)
	}
	if list, err := os.ReadDir(dir); err != nil || len(list) > 0 {
		t.Errorf("left: %v, %v", list, err)
	}
}
