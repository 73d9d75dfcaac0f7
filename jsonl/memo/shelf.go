package memo

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ctxkit/ctxkit/jsonl"
)

// What a cache holds at most. What was not used for longest is removed first.
const (
	mostItem   = 4 << 20 // bytes of an item of a Shelf
	mostFiles  = 200_000
	mostBytes  = 1 << 30
	mostUnused = 30 * 24 * time.Hour
)

const (
	day       = 24 * time.Hour
	manyItems = 1000 // after this number of new items the cache is trimmed again on the same day
)

// Shelf keeps items of one kind, each in a file of its own: what is known of 10,000 files is not read to learn what is
// known of one. Its methods may be called by several goroutines. A nil Shelf keeps nothing.
type Shelf struct {
	cache *Cache
	kind  string
	now   time.Time

	ready  sync.Once
	fault  atomic.Bool // the folder cannot be written
	placed atomic.Int64
}

// Shelf is where items of a kind are kept. now is the time of their use.
func (s *Cache) Shelf(kind string, now time.Time) *Shelf {
	if s == nil {
		return nil
	}
	return &Shelf{cache: s, kind: kind, now: now}
}

func (h *Shelf) path(name string) string { return h.cache.path(h.kind, name) }

// Get returns the item of a name that was worked out from files in this state; nil where there is none, or it is damaged.
func (h *Shelf) Get(name string, m Stamp) []byte {
	if h == nil {
		return nil
	}
	path := h.path(name)
	f, err := jsonl.OpenFile(path)
	if err != nil {
		return nil
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil || st.Size() > mostItem {
		return nil
	}
	data := make([]byte, st.Size())
	if err := readAt(f, data, 0); err != nil {
		return nil
	}
	body := h.cache.unseal(data, name)
	if len(body) < len(m) || Stamp(body[:len(m)]) != m {
		return nil
	}
	if h.now.Sub(st.ModTime()) > day {
		_ = os.Chtimes(path, h.now, h.now) // not noted, it may be removed sooner
	}
	return body[len(m):]
}

// Put keeps an item, in the place of what has its name. What is too large is not kept.
func (h *Shelf) Put(name string, m Stamp, item []byte) error {
	if h == nil || h.fault.Load() {
		return nil
	}
	data := h.cache.seal(name, append(m[:], item...))
	if len(data) > mostItem {
		return nil
	}
	err := h.cache.write(h.path(name), data, &h.ready)
	if err != nil {
		h.fault.Store(true)
		return err
	}
	h.placed.Add(1)
	return nil
}

// mark is the file whose time of change is that of the last Trim.
func (s *Cache) mark() string { return s.path("trimmed", "") }

// Close trims the cache where much was added to it, or something was and it was not trimmed for a day.
func (h *Shelf) Close() error {
	if h == nil || h.placed.Load() == 0 {
		return nil
	}
	mark := h.cache.mark()
	if st, err := os.Stat(mark); err == nil && h.placed.Load() < manyItems && h.now.Sub(st.ModTime()).Abs() < day {
		return nil
	}
	if err := h.cache.write(mark, nil, &h.ready); err != nil {
		return err
	}
	return errors.Join(os.Chtimes(mark, h.now, h.now), h.cache.Trim(h.now))
}

// Trim removes what was not used for a month, what was used longest ago of more than a cache holds, and what programs
// left there that were ended while they wrote.
func (s *Cache) Trim(now time.Time) error { return s.trim(now, mostFiles, mostBytes) }

func (s *Cache) trim(now time.Time, files int, size int64) error {
	var list []fs.FileInfo
	var bytes int64
	err := s.each(func(info fs.FileInfo) error {
		if info.Name() != filepath.Base(s.mark()) {
			list = append(list, info)
			bytes += info.Size()
		}
		return nil
	})
	slices.SortFunc(list, func(a, b fs.FileInfo) int {
		return cmp.Or(a.ModTime().Compare(b.ModTime()), cmp.Compare(a.Name(), b.Name()))
	})
	for i, info := range list {
		keep := mostUnused
		if filepath.Ext(info.Name()) == part {
			keep = day
		}
		if age := now.Sub(info.ModTime()); age <= keep && len(list)-i <= files && bytes <= size {
			continue
		}
		bytes -= info.Size()
		if e := os.Remove(filepath.Join(s.dir, info.Name())); !errors.Is(e, fs.ErrNotExist) { // another program trims it, too
			err = errors.Join(err, e)
		}
	}
	return err
}

// head is what a file begins with, before the checksum of the rest and the rest. name is whose it is.
func (s *Cache) head(name string) []byte {
	return fmt.Appendf(nil, "%s%s\n%q\n", format, s.build, name)
}

// seal is the content of a file.
func (s *Cache) seal(name string, body []byte) []byte {
	sum := sha256.Sum256(body)
	return bytes.Join([][]byte{s.head(name), sum[:], body}, nil)
}

// unseal is the body of a file; nil where it is damaged, or of another name or build.
func (s *Cache) unseal(data []byte, name string) []byte {
	rest, ok := bytes.CutPrefix(data, s.head(name))
	if !ok || len(rest) < sha256.Size || sha256.Sum256(rest[sha256.Size:]) != [sha256.Size]byte(rest[:sha256.Size]) {
		return nil
	}
	return rest[sha256.Size:]
}

// write replaces a file of the cache's folder. Others see the old one or the new one. made makes the folder once.
func (s *Cache) write(path string, data []byte, made *sync.Once) (err error) {
	made.Do(func() { err = os.MkdirAll(s.dir, 0o700) })
	if err != nil {
		return err
	}
	f, err := os.CreateTemp(s.dir, filepath.Base(path)+".*"+part) // mode 0600
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}
