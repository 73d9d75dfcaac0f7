package database

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"

	"github.com/ncruces/go-sqlite3"
)

// Magic begins every SQLite database, WALMagic the log of changes next to one in all but its last bit.
const (
	Magic    = "SQLite format 3\x00"
	WALMagic = "\x37\x7F\x06\x82"
)

// Suffixes are those of the files that a database may have next to it.
func Suffixes() []string { return []string{"-wal", "-shm", "-journal"} }

// Sizes in a database and its log, in bytes (https://sqlite.org/fileformat2.html).
const (
	headerSize   = 100
	walHeader    = 32
	frameHeader  = 24
	journalMagic = "\xD9\xD5\x05\xF9\x20\xA1\x63\xD7"
)

// snapshot is the content of a database at one moment: the pages of its file, and those that its write-ahead log has in
// the place of them. SQLite would need a lock, and a file for shared memory, to read the two together.
type snapshot struct {
	file, wal *os.File // wal: nil for none
	header    [headerSize]byte
	pageSize  int64
	size      int64            // bytes of all pages; may be more than the file has, of one that is cut
	pages     map[uint32]int64 // pages of the log: where they are in it
	missing   int64            // bytes that the file lacks at its end

	changed time.Time // of the file, when it was opened
	length  int64     // of the file then
	salt    []byte    // of the log then
}

// openSnapshot opens a database. What is wrong with it is an error that says what to do.
func openSnapshot(path string) (s *snapshot, err error) {
	s = &snapshot{}
	defer func() {
		if err != nil {
			s.close()
		}
	}()
	if s.file, err = os.Open(path); err != nil {
		return s, err
	}
	if s.wal, err = openWAL(path); err != nil {
		return s, err
	}
	st, err := s.file.Stat()
	if err != nil {
		return s, err
	}
	s.changed, s.length = st.ModTime(), st.Size()
	if hot, err := unfinished(path); err != nil || hot {
		return s, cmp.Or(err, errors.New("a change of it is not finished, and its -journal is needed: close its agent, or start and close it, and try again"))
	}
	if _, err = s.file.ReadAt(s.header[:], 0); errors.Is(err, io.EOF) && s.wal != nil {
		return s, errors.New("the database is not there, only changes to it in its -wal: copy both files together")
	} else if err != nil && !errors.Is(err, io.EOF) {
		return s, err
	}
	if !bytes.HasPrefix(s.header[:], []byte(Magic)) {
		return s, errors.New("it is no SQLite database, or its beginning is lost: take a copy of the whole file")
	}
	if s.pageSize = int64(binary.BigEndian.Uint16(s.header[16:])); s.pageSize == 1 {
		s.pageSize = 1 << 16
	}
	if s.pageSize < 512 || s.pageSize&(s.pageSize-1) != 0 {
		return s, fmt.Errorf("its pages have %d bytes, which no SQLite database has: take a copy of the whole file", s.pageSize)
	}
	s.size = s.pageSize * int64(binary.BigEndian.Uint32(s.header[28:]))
	if s.size == 0 || !bytes.Equal(s.header[24:28], s.header[92:96]) { // an old writer: the length of the file counts
		s.size = s.length
	}
	if s.wal != nil {
		if err = s.readWAL(); err != nil {
			return s, err
		}
	}
	if _, ok := s.pages[uint32(s.size/s.pageSize)]; !ok {
		s.missing = max(s.size-s.length, 0)
	}
	return s, nil
}

// openWAL opens the write-ahead log next to a database; nil: there is none.
func openWAL(path string) (*os.File, error) {
	st, err := os.Stat(path + "-wal")
	if errors.Is(err, fs.ErrNotExist) || err == nil && (!st.Mode().IsRegular() || st.Size() < walHeader) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return os.Open(path + "-wal")
}

// unfinished reports whether a rollback journal holds what a change has overwritten that did not come to its end.
func unfinished(path string) (bool, error) {
	st, err := os.Stat(path + "-journal")
	if err != nil || !st.Mode().IsRegular() {
		return false, nil
	}
	f, err := os.Open(path + "-journal")
	if err != nil {
		return false, err
	}
	defer f.Close()
	head := make([]byte, len(journalMagic))
	_, _ = io.ReadFull(f, head) // one that is shorter is none
	return string(head) == journalMagic, nil
}

// readWAL finds the pages of the log, up to the last change that is whole.
func (s *snapshot) readWAL() error {
	head := make([]byte, walHeader)
	if _, err := s.wal.ReadAt(head, 0); err != nil {
		return err
	}
	magic := binary.BigEndian.Uint32(head)
	sum := checksum{order: binary.LittleEndian}
	if magic&1 == 1 {
		sum.order = binary.BigEndian
	}
	s.salt = head[16:24]
	if sum.add(head[:24]); magic&^1 != binary.BigEndian.Uint32([]byte(WALMagic)) || !sum.is(head[24:]) {
		return nil // it holds nothing yet
	}
	if size := int64(binary.BigEndian.Uint32(head[8:])); size != s.pageSize {
		return fmt.Errorf("its -wal has pages of %d bytes, the database of %d: it is another database's: copy both files together", size, s.pageSize)
	}
	s.pages = map[uint32]int64{}
	frame := make([]byte, frameHeader+s.pageSize)
	open := map[uint32]int64{} // of the change that is read
	for at := int64(walHeader); ; at += int64(len(frame)) {
		if _, err := s.wal.ReadAt(frame, at); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		sum.add(frame[:8])
		if sum.add(frame[frameHeader:]); !bytes.Equal(frame[8:16], s.salt) || !sum.is(frame[16:24]) {
			return nil // of an earlier round, or not yet whole
		}
		open[binary.BigEndian.Uint32(frame)] = at + frameHeader
		if pages := binary.BigEndian.Uint32(frame[4:]); pages > 0 { // the change ends
			s.size = s.pageSize * int64(pages)
			for page, at := range open {
				s.pages[page] = at
			}
			clear(open)
		}
	}
}

// checksum is the running one of a log.
type checksum struct {
	order binary.ByteOrder
	a, b  uint32
}

func (c *checksum) add(p []byte) {
	for ; len(p) >= 8; p = p[8:] {
		c.a += c.order.Uint32(p) + c.b
		c.b += c.order.Uint32(p[4:]) + c.a
	}
}

func (c *checksum) is(p []byte) bool {
	return c.a == binary.BigEndian.Uint32(p) && c.b == binary.BigEndian.Uint32(p[4:])
}

// still reports whether the file has not changed since it was opened: a checkpoint moves pages of the log into it, and
// what was read before and after may not fit.
func (s *snapshot) still() bool {
	st, err := s.file.Stat()
	if err != nil || !st.ModTime().Equal(s.changed) || st.Size() != s.length {
		return false
	}
	if s.wal == nil || s.salt == nil {
		return true
	}
	now := make([]byte, len(s.salt))
	_, err = s.wal.ReadAt(now, 16)
	return err == nil && bytes.Equal(now, s.salt)
}

func (s *snapshot) close() {
	if s.file != nil {
		s.file.Close()
	}
	if s.wal != nil {
		s.wal.Close()
	}
}

// Size is the number of bytes of all pages.
func (s *snapshot) Size() (int64, error) { return s.size, nil }

// ReadAt reads bytes of the pages. They say that the database has no log: its pages are among them.
func (s *snapshot) ReadAt(p []byte, off int64) (n int, err error) {
	for n < len(p) && err == nil {
		at := off + int64(n)
		within := at % s.pageSize
		part := p[n:min(len(p), n+int(s.pageSize-within))]
		var k int
		if from, ok := s.pages[uint32(at/s.pageSize)+1]; ok {
			k, err = s.wal.ReadAt(part, from+within)
		} else {
			k, err = s.file.ReadAt(part, at)
		}
		if errors.Is(err, io.EOF) && at+int64(k) < s.size {
			err = sqlite3.IOERR_READ // SQLite would take what is cut for zeros
		}
		for i := max(at, 18); i < min(at+int64(k), 20); i++ {
			part[i-at] = 1
		}
		n += k
	}
	return n, err
}
