// Package memo keeps what was worked out from files, so that an unchanged file need not be read again. What it keeps can
// always be worked out again: it is dropped without a word where it is damaged or of another version, and a program
// without a cache works the same, only slower.
package memo

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/gob"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/ctxkit/ctxkit/jsonl"
)

const (
	format      = "ctxkit memo 1\n" // the first line of a file: its form
	extension   = ".memo"
	part        = ".part"   // of the temporary file that becomes one
	edge        = 1 << 10   // bytes of a file's start and of its end that a Stamp covers
	digestBytes = 16        // of a file's name
	mostTable   = 256 << 20 // largest table that is read, in bytes
)

// Stamp tells the states of files apart: by names, sizes, times of change, and what they begin and end with.
type Stamp [sha256.Size]byte

// StampOf is the stamp of an open file.
func StampOf(f io.ReaderAt, st fs.FileInfo) (Stamp, error) {
	h := sha256.New()
	var head [16]byte
	binary.LittleEndian.PutUint64(head[:8], uint64(st.Size()))
	binary.LittleEndian.PutUint64(head[8:], uint64(st.ModTime().UnixNano()))
	h.Write(head[:])
	size := st.Size()
	buf := make([]byte, min(size, 2*edge))
	var err error
	if size <= 2*edge {
		err = readAt(f, buf, 0)
	} else {
		err = errors.Join(readAt(f, buf[:edge], 0), readAt(f, buf[edge:], size-edge))
	}
	h.Write(buf)
	return Stamp(h.Sum(nil)), err
}

func readAt(f io.ReaderAt, buf []byte, at int64) error {
	if n, err := f.ReadAt(buf, at); n < len(buf) {
		return err
	}
	return nil
}

// StampFiles is the stamp of several regular files.
func StampFiles(paths ...string) (Stamp, error) {
	h := sha256.New()
	for _, path := range paths {
		m, err := StampFile(path)
		if err != nil {
			return m, err
		}
		fmt.Fprintf(h, "%q", path)
		h.Write(m[:])
	}
	return Stamp(h.Sum(nil)), nil
}

// StampFile is the stamp of a regular file.
func StampFile(path string) (m Stamp, err error) {
	f, err := jsonl.OpenFile(path)
	if err != nil {
		return m, err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return m, err
	}
	return StampOf(f, st)
}

// Cache is a folder of files: the tables of a Folder, and the items of a Shelf. A nil Cache keeps nothing.
type Cache struct {
	dir   string
	build string
}

// NewCache is the cache in a folder, which need not exist, of what a program works out. build changes wherever another
// build of the program, or what is built into it, may work out something else.
func NewCache(dir, build string) *Cache { return &Cache{dir, build} }

// path is the file of what has a name, of a kind.
func (s *Cache) path(kind, name string) string {
	sum := sha256.Sum256([]byte(name))
	return filepath.Join(s.dir, kind+"-"+hex.EncodeToString(sum[:digestBytes])+extension)
}

// ours reports whether a file has a name that path gives, or that of a temporary file that becomes one: a folder that
// CTXKIT_CACHE names may hold files of other programs.
func ours(name string) bool {
	own := "[a-z]*-" + strings.Repeat("[0-9a-f]", 2*digestBytes) + extension
	whole, _ := filepath.Match(own, name)
	unfinished, _ := filepath.Match(own+".*"+part, name)
	return whole || unfinished
}

// Folder is what is kept of the files of one folder. Its methods may be called by several goroutines. A nil Folder keeps
// nothing.
type Folder[T any] struct {
	cache  *Cache
	path   string // of its file
	folder string // absolute

	mu      sync.Mutex
	entries map[string]entry[T]
	changed bool
}

type entry[T any] struct {
	Name  string
	Stamp Stamp
	Value T
}

// Open reads the table of this kind of a folder. It is empty where there is none, and where it is damaged or of another
// build.
func Open[T any](s *Cache, kind, folder string) *Folder[T] {
	if s == nil {
		return nil
	}
	folder, err := filepath.Abs(folder)
	if err != nil {
		return nil
	}
	t := &Folder[T]{cache: s, folder: folder, path: s.path(kind, folder)}
	var list []entry[T]
	if body := t.read(); body != nil && gob.NewDecoder(bytes.NewReader(body)).Decode(&list) != nil {
		list = nil
	}
	t.entries = make(map[string]entry[T], len(list))
	for _, e := range list {
		t.entries[e.Name] = e
	}
	return t
}

// read returns the encoded entries, or nil.
func (t *Folder[T]) read() []byte {
	f, err := jsonl.OpenFile(t.path)
	if err != nil {
		return nil
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, mostTable+1))
	if err != nil || len(data) > mostTable {
		return nil
	}
	return t.cache.unseal(data, t.folder)
}

// Within stands between the name of a file and that of a part of it, of which something is kept.
const Within = "#"

// Get returns what is kept of a file, or a part of one, in this state.
func (t *Folder[T]) Get(name string, m Stamp) (v T, ok bool) {
	if t == nil {
		return v, false
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	e, ok := t.entries[name]
	if !ok || e.Stamp != m {
		return v, false
	}
	return e.Value, true
}

// Put keeps what was worked out from a file that was in this state before it was read.
func (t *Folder[T]) Put(name string, m Stamp, v T) {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.entries[name] = entry[T]{name, m, v}
	t.changed = true
}

// Save writes the table where it has changed, without the files that are gone. Others see the old table or the new one; of
// two that are written at once one is lost, and worked out again.
func (t *Folder[T]) Save() error {
	if t == nil {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.changed {
		return nil
	}
	there, err := os.ReadDir(t.folder)
	if err != nil {
		return err
	}
	files := map[string]bool{}
	for _, f := range there {
		files[f.Name()] = true
	}
	var list []entry[T]
	for _, name := range slices.Sorted(maps.Keys(t.entries)) {
		if file, _, _ := strings.Cut(name, Within); files[name] || files[file] {
			list = append(list, t.entries[name])
		}
	}
	var body bytes.Buffer
	if err := gob.NewEncoder(&body).Encode(list); err != nil {
		return err
	}
	if err := t.cache.write(t.path, t.cache.seal(t.folder, body.Bytes()), new(sync.Once)); err != nil {
		return err
	}
	t.changed = false
	return nil
}

// Info is how many files a cache holds, and their size.
type Info struct {
	Files int
	Bytes int64
}

// Info says what the cache holds.
func (s *Cache) Info() (Info, error) {
	var info Info
	err := s.each(func(f fs.FileInfo) error {
		if f.Name() != filepath.Base(s.mark()) {
			info.Files, info.Bytes = info.Files+1, info.Bytes+f.Size()
		}
		return nil
	})
	return info, err
}

// Clear removes what Info counts, and nothing else.
func (s *Cache) Clear() error {
	return s.each(func(f fs.FileInfo) error { return os.Remove(filepath.Join(s.dir, f.Name())) })
}

// each calls do with each file that the package wrote.
func (s *Cache) each(do func(f fs.FileInfo) error) error {
	entries, err := os.ReadDir(s.dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, e := range entries {
		if st, err := e.Info(); err == nil && st.Mode().IsRegular() && ours(e.Name()) {
			if err := do(st); err != nil {
				return err
			}
		}
	}
	return nil
}
