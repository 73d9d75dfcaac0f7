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
	"os"
	"path/filepath"
	"strings"
	"sync"
)

const (
	format    = "ctxkit memo 1\n" // the first line of a table's file: its form
	extension = ".memo"
	part      = ".part"   // of the temporary file that becomes a table
	edge      = 1 << 10   // bytes of a file's start and of its end that a Stamp is of
	mostTable = 256 << 20 // largest table that is read, in bytes
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
		m, err := stampFile(path)
		if err != nil {
			return m, err
		}
		fmt.Fprintf(h, "%q", path)
		h.Write(m[:])
	}
	return Stamp(h.Sum(nil)), nil
}

func stampFile(path string) (m Stamp, err error) {
	st, err := os.Stat(path) // before it is opened: opening a pipe would wait
	if err != nil {
		return m, err
	}
	if !st.Mode().IsRegular() {
		return m, fmt.Errorf("%s: not a regular file", path)
	}
	f, err := os.Open(path)
	if err != nil {
		return m, err
	}
	defer f.Close()
	if st, err = f.Stat(); err != nil {
		return m, err
	}
	return StampOf(f, st)
}

// Cache is a folder of tables. A nil Cache keeps nothing.
type Cache struct {
	dir   string
	build string
}

// NewCache is the cache in a folder, which need not exist, of what a program works out. build changes wherever another
// build of the program, or what is built into it, may work out something else.
func NewCache(dir, build string) *Cache { return &Cache{dir, build} }

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
	name := sha256.Sum256([]byte(folder))
	t := &Folder[T]{cache: s, folder: folder, path: filepath.Join(s.dir, kind+"-"+hex.EncodeToString(name[:16])+extension)}
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

// head is what a table's file begins with, before the checksum of the rest and the rest.
func (t *Folder[T]) head() []byte {
	return fmt.Appendf(nil, "%s%s\n%q\n", format, t.cache.build, t.folder)
}

// read returns the encoded entries, or nil.
func (t *Folder[T]) read() []byte {
	f, err := os.Open(t.path)
	if err != nil {
		return nil
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, mostTable+1))
	if err != nil || len(data) > mostTable {
		return nil
	}
	rest, ok := bytes.CutPrefix(data, t.head())
	if !ok || len(rest) < sha256.Size || sha256.Sum256(rest[sha256.Size:]) != [sha256.Size]byte(rest[:sha256.Size]) {
		return nil
	}
	return rest[sha256.Size:]
}

// Get returns what is kept of a file in this state.
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
	var list []entry[T]
	for _, f := range there {
		if e, ok := t.entries[f.Name()]; ok {
			list = append(list, e)
		}
	}
	var body bytes.Buffer
	if err := gob.NewEncoder(&body).Encode(list); err != nil {
		return err
	}
	if err := os.MkdirAll(t.cache.dir, 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(t.cache.dir, "*"+part) // mode 0600
	if err != nil {
		return err
	}
	sum := sha256.Sum256(body.Bytes())
	_, err = f.Write(bytes.Join([][]byte{t.head(), sum[:], body.Bytes()}, nil))
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), t.path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	t.changed = false
	return nil
}

// Info says what a cache holds.
type Info struct {
	Files int
	Bytes int64
}

// Info counts the tables of all builds, and what else a program left there that was ended while it wrote one.
func (s *Cache) Info() (Info, error) {
	var info Info
	return info, s.each(func(_ string, size int64) error {
		info.Files++
		info.Bytes += size
		return nil
	})
}

// Clear removes what Info counts, and nothing else.
func (s *Cache) Clear() error {
	return s.each(func(path string, _ int64) error { return os.Remove(path) })
}

func (s *Cache) each(do func(path string, size int64) error) error {
	entries, err := os.ReadDir(s.dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, e := range entries {
		if st, err := e.Info(); err == nil && st.Mode().IsRegular() && (strings.HasSuffix(e.Name(), extension) || strings.HasSuffix(e.Name(), part)) {
			if err := do(filepath.Join(s.dir, e.Name()), st.Size()); err != nil {
				return err
			}
		}
	}
	return nil
}
