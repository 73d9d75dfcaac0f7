package cmd

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ctxkit/ctxkit/jsonl/must"
)

// A folder and the file it comes with get their names both or not at all.
func TestAtomicFolder(t *testing.T) {
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
					writeFile(t, filepath.Join(path, "sub", "a"), "old")
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
			if got, _ := os.ReadFile(filepath.Join(folder, "sub", "a")); string(got) != c.want {
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

// TestTogether: of files that belong together an interrupt leaves all or none, and what fails meanwhile no old one next to a new one.
func TestTogether(t *testing.T) {
	for _, tt := range []struct {
		name string
		stop func(sys *system, outs []*output)
		want string
	}{
		{"undisturbed", func(*system, []*output) {}, "a=new b=new c=new "},
		{"an interrupt before", func(sys *system, _ []*output) { sys.removeUnfinished() }, "a=old b=old c=old "},
		{"a full disk at the first", func(_ *system, outs []*output) { outs[0].atomic.file.Close() }, "a=old b=old c=old "}, // what is in memory cannot be written
		{"a full disk at the last", func(_ *system, outs []*output) { outs[2].atomic.file.Close() }, "a=old b=old c=old "},
		{"a folder in the place of the last", func(_ *system, outs []*output) {
			_, _ = os.Remove(outs[2].atomic.place.path), os.Mkdir(outs[2].atomic.place.path, 0o755)
		}, "a=old b=old c= "},
		{"a rename that fails", func(_ *system, outs []*output) { os.Remove(outs[1].atomic.file.Name()) }, "a=new "},
	} {
		dir := t.TempDir()
		sys := &system{}
		var outs []*output
		for _, name := range strings.Fields("a b c") {
			path := filepath.Join(dir, name)
			writeFile(t, path, "old")
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
			text, _ := os.ReadFile(filepath.Join(dir, e.Name()))
			got += e.Name() + "=" + string(text) + " "
		}
		if err != nil || got != tt.want {
			t.Errorf("%s: %s, want %s (%v)", tt.name, got, tt.want, err)
		}
	}
}

// TestOutputOver writes where something is already: a link stays and what it leads to is replaced, and a device or a pipe
// takes what comes.
func TestOutputOver(t *testing.T) {
	for _, tt := range []struct{ over, replaced, said string }{
		{"file", "file", ""}, {"hard", "hard", ""}, {"to-file", "file", ""}, {"to-to-file", "file", ""},
		{"to-nothing", "", "no such file"}, {"to-to-itself", "", "too many links"},
		{"folder", "", "is a folder"}, {"to-folder", "", "is a folder"},
		{os.DevNull, "", ""}, {"pipe", "pipe", ""}, {"/dev/full", "", "no space left on device"},
	} {
		t.Run(tt.over, func(t *testing.T) {
			if _, err := os.Stat(tt.over); filepath.IsAbs(tt.over) && err != nil {
				t.Skip(err)
			}
			t.Chdir(t.TempDir())
			writeFile(t, "file", "old")
			must.Do(t, errors.Join(os.Mkdir("folder", 0o755), os.Link("file", "hard")))
			for _, to := range strings.Fields("file to-file nothing folder to-itself") {
				from := "to-" + to
				if to == "to-itself" {
					to = from
				}
				if err := os.Symlink(to, from); err != nil {
					t.Skip(err)
				}
			}
			if err := makeFIFO("pipe"); err != nil {
				t.Skip(err)
			}
			pipe := must.Get(os.OpenFile("pipe", os.O_RDWR, 0))(t)
			defer pipe.Close()
			out, err := (&outputOptions{File: tt.over}).create(&system{})
			if err == nil {
				_, err = io.WriteString(out, strings.Repeat("new", 2000))
				err = out.close(err)
			}
			if said := fmt.Sprint(err); (err != nil) != (tt.said != "") || strings.Count(said, tt.said) != 1 && err != nil {
				t.Errorf("%v, want %q", err, tt.said)
			}
			for _, name := range []string{"file", "hard"} {
				want := "old"
				if name == tt.replaced {
					want = strings.Repeat("new", 2000)
				}
				if text := must.Get(os.ReadFile(name))(t); string(text) != want {
					t.Errorf("%s holds %.9q", name, text)
				}
			}
			if st := must.Get(os.Lstat("to-file"))(t); st.Mode()&os.ModeSymlink == 0 {
				t.Error("the link is replaced")
			}
			if list := must.Get(os.ReadDir("."))(t); len(list) != 9 {
				t.Errorf("%d files", len(list))
			}
			if tt.over == "pipe" {
				must.Get(io.ReadFull(pipe, make([]byte, 6000)))(t)
			}
		})
	}
}

// TestNoFileAfterInterrupt holds that a command that goes on for a moment after an interrupt begins no file.
func TestNoFileAfterInterrupt(t *testing.T) {
	dir := t.TempDir()
	sys := newSystem(nil, io.Discard, io.Discard)
	sys.removeUnfinished()
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
