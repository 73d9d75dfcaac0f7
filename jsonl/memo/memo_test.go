package memo

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/ctxkit/ctxkit/jsonl/must"
)

type value struct {
	Name string
	At   time.Time
	List []string
}

func write(t *testing.T, path, text string) {
	t.Helper()
	must.Do(t, os.WriteFile(path, []byte(text), 0o600))
}

func stamp(t *testing.T, paths ...string) Stamp {
	t.Helper()
	m := must.Get(StampFiles(paths...))(t)
	return m
}

func TestStamp(t *testing.T) {
	at := time.Date(2026, 1, 15, 9, 0, 0, 0, time.UTC)
	path := filepath.Join(t.TempDir(), "a")
	state := func(text string, at time.Time) Stamp {
		write(t, path, text)
		must.Do(t, os.Chtimes(path, at, at))
		return stamp(t, path)
	}
	long := bytes.Repeat([]byte("x"), 5*edge)
	changed := func(i int) string {
		b := bytes.Clone(long)
		b[i] = 'y'
		return string(b)
	}
	first := state(string(long), at)
	must.Equal(t, state(string(long), at), first, "the same file has two stamps")
	for name, m := range map[string]Stamp{
		"longer":       state(string(long)+"x", at),
		"later":        state(string(long), at.Add(time.Nanosecond)),
		"other start":  state(changed(0), at),
		"other start ": state(changed(edge-1), at),
		"other end":    state(changed(len(long)-1), at),
		"other end ":   state(changed(len(long)-edge), at),
		"empty":        state("", at),
		"short":        state("xx", at),
	} {
		if m == first {
			t.Errorf("%s: the stamp is the same", name)
		}
	}
	if _, err := StampFiles(filepath.Dir(path)); err == nil {
		t.Error("a folder has a stamp")
	}
	if _, err := StampFiles(path, path+"x"); err == nil {
		t.Error("a file that is not there has a stamp")
	}
}

func TestTable(t *testing.T) {
	dir, folder := filepath.Join(t.TempDir(), "cache"), t.TempDir()
	write(t, filepath.Join(folder, "a"), "a")
	m := stamp(t, filepath.Join(folder, "a"))
	open := func(build string) *Folder[value] { return Open[value](NewCache(dir, build), "values", folder) }
	want := value{"a", time.Date(2026, 1, 15, 9, 0, 0, 1, time.FixedZone("", 3600)), []string{"x"}}
	tab := open("1")
	tab.Put("a", m, want)
	tab.Put("gone", m, want)
	must.Do(t, tab.Save())
	got, ok := open("1").Get("a", m)
	if !ok || got.Name != want.Name || !got.At.Equal(want.At) || len(got.List) != 1 {
		t.Errorf("got %v, %v; want %v", got, ok, want)
	}
	if _, ok := open("1").Get("a", Stamp{}); ok {
		t.Error("a changed file is taken for an unchanged one")
	}
	if _, ok := open("1").Get("gone", m); ok {
		t.Error("a file that is gone is kept")
	}
	if _, ok := open("2").Get("a", m); ok {
		t.Error("what another build kept is used")
	}
	if _, ok := Open[value](NewCache(dir, "1"), "others", folder).Get("a", m); ok {
		t.Error("a value of another kind is used")
	}
	if st, err := os.Stat(tab.path); err != nil || st.Mode().Perm()&0o077 != 0 && os.PathSeparator == '/' {
		t.Errorf("others may read the table: %v, %v", st.Mode(), err)
	}

	var none *Cache
	nothing := Open[value](none, "values", folder)
	nothing.Put("a", m, want)
	if _, ok := nothing.Get("a", m); ok || nothing.Save() != nil {
		t.Error("a nil cache keeps something")
	}
}

// TestDamaged flips and cuts a table at every byte: nothing of it is used then, and the next table is whole again.
func TestDamaged(t *testing.T) {
	dir, folder := t.TempDir(), t.TempDir()
	write(t, filepath.Join(folder, "a"), "a")
	m := stamp(t, filepath.Join(folder, "a"))
	tab := Open[value](NewCache(dir, "1"), "values", folder)
	tab.Put("a", m, value{Name: "a"})
	must.Do(t, tab.Save())
	whole := must.Get(os.ReadFile(tab.path))(t)
	for i := range whole {
		flipped := bytes.Clone(whole)
		flipped[i] ^= 1
		for what, data := range map[string][]byte{"flipped": flipped, "cut": whole[:i]} {
			write(t, tab.path, string(data))
			if _, ok := Open[value](NewCache(dir, "1"), "values", folder).Get("a", m); ok {
				t.Errorf("%s at byte %d: it is used", what, i)
			}
		}
	}
	tab.Put("a", m, value{Name: "a"})
	must.Do(t, tab.Save())
	if _, ok := Open[value](NewCache(dir, "1"), "values", folder).Get("a", m); !ok {
		t.Error("a damaged table is not replaced")
	}
}

// TestTwoAtOnce has several programs write and read the table of one folder.
func TestTwoAtOnce(t *testing.T) {
	dir, folder := t.TempDir(), t.TempDir()
	for i := range 8 {
		write(t, filepath.Join(folder, fmt.Sprint(i)), "a")
	}
	var running sync.WaitGroup
	for i := range 8 {
		running.Go(func() {
			name := fmt.Sprint(i)
			m, err := StampFiles(filepath.Join(folder, name))
			if err != nil {
				t.Error(err)
			}
			for range 20 {
				tab := Open[value](NewCache(dir, "1"), "values", folder)
				for k := range 8 {
					if v, ok := tab.Get(fmt.Sprint(k), m); ok && v.Name != fmt.Sprint(k) {
						t.Errorf("%d has what belongs to %s", k, v.Name)
					}
				}
				tab.Put(name, m, value{Name: name})
				if err := tab.Save(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	running.Wait()
	info, err := NewCache(dir, "").Info()
	must.Say(t, "<nil> 1", err, info.Files)
}

func TestClear(t *testing.T) {
	dir, folder := t.TempDir(), t.TempDir()
	write(t, filepath.Join(folder, "a"), "a")
	tab := Open[value](NewCache(dir, "1"), "values", folder)
	tab.Put("a", Stamp{}, value{})
	must.Do(t, tab.Save())
	write(t, NewCache(dir, "1").path("values", "left")+".1"+part, "x")
	write(t, filepath.Join(dir, "mine.txt"), "x")
	s := NewCache(dir, "2")
	if info, err := s.Info(); err != nil || info.Files != 2 {
		t.Errorf("%+v, %v: want 2 files", info, err)
	}
	must.Do(t, s.Clear())
	if left, _ := os.ReadDir(dir); len(left) != 1 || left[0].Name() != "mine.txt" {
		t.Errorf("left: %v, want mine.txt", left)
	}
	if info, err := NewCache(filepath.Join(dir, "none"), "").Info(); err != nil || info.Files != 0 {
		t.Errorf("%+v, %v: want nothing in a folder that is not there", info, err)
	}
}
