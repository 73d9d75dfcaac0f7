package memo

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"
)

var noon = time.Date(2026, 1, 15, 12, 0, 0, 0, time.UTC)

func TestShelf(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "cache")
	shelf := func(build, kind string) *Shelf { return NewCache(dir, build).Shelf(kind, noon) }
	m, item := Stamp{1}, []byte("what was worked out")
	if got := shelf("1", "rows").Get("a", m); got != nil {
		t.Errorf("an empty cache holds %q", got)
	}
	if err := shelf("1", "rows").Put("a", m, item); err != nil {
		t.Fatal(err)
	}
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
	if err := shelf("1", "rows").Put("a", Stamp{2}, nil); err != nil {
		t.Fatal(err)
	}
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
	if err := shelf.Put("a", m, []byte("what was worked out")); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(shelf.path("a"))
	if err != nil {
		t.Fatal(err)
	}
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

func TestTrim(t *testing.T) {
	dir := t.TempDir()
	age := map[string]time.Duration{
		"rows-new" + extension: time.Hour, "rows-old" + extension: mostUnused + time.Hour, "2" + part: time.Hour, "1" + part: 2 * day,
		"mine.txt": 90 * day, trimmed: 90 * day,
	}
	for i := range 5 {
		age[fmt.Sprint("rows-", i, extension)] = time.Duration(10+i) * day
	}
	for name, d := range age {
		path := filepath.Join(dir, name)
		write(t, path, "0123456789")
		if err := os.Chtimes(path, noon.Add(-d), noon.Add(-d)); err != nil {
			t.Fatal(err)
		}
	}
	s := NewCache(dir, "1")
	left := func(files int, bytes int64) (names []string) {
		t.Helper()
		if err := s.trim(noon, files, bytes); err != nil {
			t.Fatal(err)
		}
		list, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range list {
			names = append(names, e.Name())
		}
		return names
	}
	for _, tt := range []struct {
		files int
		bytes int64
		want  string
	}{
		{100, 1000, "[2.part mine.txt rows-0.memo rows-1.memo rows-2.memo rows-3.memo rows-4.memo rows-new.memo trimmed.memo]"},
		{6, 1000, "[2.part mine.txt rows-0.memo rows-1.memo rows-2.memo rows-3.memo rows-new.memo trimmed.memo]"},
		{100, 40, "[2.part mine.txt rows-0.memo rows-1.memo rows-new.memo trimmed.memo]"},
	} {
		if got := fmt.Sprint(left(tt.files, tt.bytes)); got != tt.want {
			t.Errorf("at most %d files, %d bytes: left %s, want %s", tt.files, tt.bytes, got, tt.want)
		}
	}
}

// TestShelfClose: a cache that something was added to is trimmed once a day, and an item that is used stays.
func TestShelfClose(t *testing.T) {
	s := NewCache(t.TempDir(), "1")
	m := Stamp{1}
	at := func(now time.Time, names ...string) (kept string) {
		shelf := s.Shelf("rows", now)
		for _, name := range names {
			if err := shelf.Put(name, m, nil); err != nil {
				t.Fatal(err)
			}
			if err := os.Chtimes(shelf.path(name), now, now); err != nil {
				t.Fatal(err)
			}
		}
		if err := shelf.Close(); err != nil {
			t.Fatal(err)
		}
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
	if kept := at(late); kept != "ab" {
		t.Errorf("nothing was added: %s, want ab", kept)
	}
	if kept := at(late, "c"); kept != "ac" {
		t.Errorf("a month after b was used: %s, want ac", kept)
	}
	later := week.Add(mostUnused + time.Hour)
	if later.Sub(late) < day {
		t.Fatal("too early")
	}
	if kept := at(later, "d"); kept != "cd" {
		t.Errorf("a month after a was used: %s, want cd", kept)
	}
	info, err := s.Info()
	if err != nil || info.Files != 2 || len(info.Kinds) != 1 || info.Kinds[0].Name != "rows" || info.Kinds[0].Files != 2 {
		t.Errorf("%+v, %v: want 2 rows", info, err)
	}
	if err := s.Clear(); err != nil {
		t.Fatal(err)
	}
	if left, err := os.ReadDir(s.dir); err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}
