package memo

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/ctxkit/ctxkit/jsonl/must"
)

var noon = time.Date(2026, 1, 15, 12, 0, 0, 0, time.UTC)

func TestShelf(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "cache")
	shelf := func(build, kind string) *Shelf { return NewCache(dir, build).Shelf(kind, noon) }
	m, item := Stamp{1}, []byte("what was worked out")
	if got := shelf("1", "rows").Get("a", m); got != nil {
		t.Errorf("an empty cache holds %q", got)
	}
	must.Do(t, shelf("1", "rows").Put("a", m, item))
	if got := shelf("1", "rows").Get("a", m); !bytes.Equal(got, item) {
		t.Errorf("got %q, want %q", got, item)
	}
	for name, got := range map[string][]byte{
		"another state": shelf("1", "rows").Get("a", Stamp{}), "another name": shelf("1", "rows").Get("b", m),
		"another build": shelf("2", "rows").Get("a", m), "another kind": shelf("1", "others").Get("a", m),
	} {
		if got != nil {
			t.Errorf("%s: got %q", name, got)
		}
	}
	must.Do(t, shelf("1", "rows").Put("a", Stamp{2}, nil))
	if got := shelf("1", "rows").Get("a", Stamp{2}); got == nil || len(got) > 0 || shelf("1", "rows").Get("a", m) != nil {
		t.Errorf("an item was not replaced: %q", got)
	}
	if err := shelf("1", "rows").Put("large", m, make([]byte, mostItem)); err != nil || shelf("1", "rows").Get("large", m) != nil {
		t.Errorf("an item that is too large is kept: %v", err)
	}
	var none *Cache
	nothing := none.Shelf("rows", noon)
	if nothing.Put("a", m, item) != nil || nothing.Get("a", m) != nil || nothing.Close() != nil {
		t.Error("a nil cache keeps something")
	}
	blocked := filepath.Join(dir, "file")
	write(t, blocked, "x")
	broken := NewCache(filepath.Join(blocked, "cache"), "1").Shelf("rows", noon)
	if broken.Put("a", m, item) == nil || broken.Put("a", m, item) != nil || broken.Get("a", m) != nil || broken.Close() != nil {
		t.Error("a folder that cannot be made is one error, once")
	}
}

// TestShelfDamaged flips and cuts a file at every byte: nothing of it is used then.
func TestShelfDamaged(t *testing.T) {
	shelf := NewCache(t.TempDir(), "1").Shelf("rows", noon)
	m := Stamp{1}
	must.Do(t, shelf.Put("a", m, []byte("what was worked out")))
	whole := must.Get(os.ReadFile(shelf.path("a")))(t)
	for i := range whole {
		flipped := bytes.Clone(whole)
		flipped[i] ^= 1
		for what, data := range map[string][]byte{"flipped": flipped, "cut": whole[:i]} {
			write(t, shelf.path("a"), string(data))
			if got := shelf.Get("a", m); got != nil {
				t.Errorf("%s at byte %d: got %q", what, i, got)
			}
		}
	}
}

// TestTrim: what other programs have in the folder stays, whatever its age and however like a name of the cache it is called.
func TestTrim(t *testing.T) {
	dir := t.TempDir()
	s := NewCache(dir, "1")
	unfinished := func(name string) string { return s.path("rows", name) + ".1234" + part }
	titles := map[string]string{}
	add := func(title, path string, age time.Duration) {
		titles[filepath.Base(path)] = title
		write(t, path, "0123456789")
		must.Do(t, os.Chtimes(path, noon.Add(-age), noon.Add(-age)))
	}
	add("new", s.path("rows", "new"), time.Hour)
	add("old", s.path("rows", "old"), mostUnused+time.Hour)
	add("unfinished", unfinished("2"), time.Hour)
	add("left", unfinished("1"), 2*day)
	add("mark", s.mark(), 90*day)
	for i := range 5 {
		add(fmt.Sprint(i), s.path("rows", fmt.Sprint(i)), time.Duration(10+i)*day)
	}
	for _, name := range []string{"mine.txt", "notes" + extension, "movie.mkv" + part, "rows-1" + extension, filepath.Base(s.path("rows", "x")) + "~"} {
		add("foreign", filepath.Join(dir, name), 90*day)
	}
	left := func(files int, bytes int64) (names []string) {
		t.Helper()
		must.Do(t, s.trim(noon, files, bytes))
		list := must.Get(os.ReadDir(dir))(t)
		for _, e := range list {
			names = append(names, titles[e.Name()])
		}
		slices.Sort(names)
		return names
	}
	must.Rows(t, `
# files | bytes | want
100 | 1000 | [0 1 2 3 4 foreign foreign foreign foreign foreign mark new unfinished]
6   | 1000 | [0 1 2 3 foreign foreign foreign foreign foreign mark new unfinished]
100 | 40   | [0 1 foreign foreign foreign foreign foreign mark new unfinished]
`, func(files int, bytes int64, want string) {
		must.Equal(t, fmt.Sprint(left(files, bytes)), want, files, bytes)
	})
	must.Do(t, s.Clear())
	must.Equal(t, fmt.Sprint(left(100, 1000)), "[foreign foreign foreign foreign foreign]")
}

// TestShelfClose: a cache that something was added to is trimmed once a day, and an item that is used stays.
func TestShelfClose(t *testing.T) {
	s := NewCache(t.TempDir(), "1")
	m := Stamp{1}
	at := func(now time.Time, names ...string) (kept string) {
		shelf := s.Shelf("rows", now)
		for _, name := range names {
			must.Do(t, shelf.Put(name, m, nil))
			must.Do(t, os.Chtimes(shelf.path(name), now, now))
		}
		must.Do(t, shelf.Close())
		for _, name := range []string{"a", "b", "c", "d"} {
			if _, err := os.Stat(shelf.path(name)); err == nil {
				kept += name
			}
		}
		return kept
	}
	at(noon, "a", "b")
	week := noon.Add(7 * day)
	if s.Shelf("rows", week).Get("a", m) == nil {
		t.Error("an item is lost")
	}
	late := noon.Add(mostUnused + day)
	must.Equal(t, at(late), "ab")
	must.Equal(t, at(late, "c"), "ac")
	later := week.Add(mostUnused + time.Hour)
	if later.Sub(late) < day {
		t.Fatal("too early")
	}
	must.Equal(t, at(later, "d"), "cd")
	info, err := s.Info()
	must.Say(t, "<nil> 2", err, info.Files)
	must.Do(t, s.Clear())
	left := must.Get(os.ReadDir(s.dir))(t)
	must.Say(t, "0", len(left))
}
