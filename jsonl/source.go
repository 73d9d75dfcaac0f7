package jsonl

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// ErrNotRead is wrapped by ReadSpan for a span of a compressed file or stream that Each has not reached.
var ErrNotRead = errors.New("not read yet")

var errClosed = errors.New("the source is closed")

// OpenFile opens a regular file. It refuses any other before it opens it: a pipe without a writer would wait.
func OpenFile(path string) (*os.File, error) {
	st, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, err
	case st.IsDir():
		return nil, errors.New("is a folder: name a file")
	case !st.Mode().IsRegular():
		return nil, errors.New("is no plain file: name one")
	}
	return os.Open(path)
}

// Source is a session file, not the origin of a conversation (compare.Origin): a stream of decompressed bytes that
// can be read again by offset, until it is closed.
type Source struct {
	name   string
	size   int64
	file   *os.File    // nil for a stream
	limits InputLimits // filled

	// A plain regular file is read again from disk. The store keeps the bytes of any other source in memory,
	// compressed.
	plain bool
	store *store
}

// Open opens a session file. Its first bytes, not its name, decide whether it is read as plain text, gzip or zstd. The
// limits are the defaults.
func Open(path string) (*Source, error) { return InputLimits{}.Open(path) }

// Open opens a session file within the limits: see the function.
func (l InputLimits) Open(path string) (*Source, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	s := &Source{name: path, file: f, limits: l.Filled()}
	if err := s.open(); err != nil {
		f.Close()
		return nil, err
	}
	return s, nil
}

func (s *Source) open() error {
	info, err := s.file.Stat()
	if err != nil {
		return err
	}
	if info.IsDir() {
		return &FileError{Path: s.name, Err: errors.New("is a directory")}
	}
	if info.Mode().IsRegular() {
		s.size = info.Size()
		var magic [4]byte
		n, err := s.file.ReadAt(magic[:], 0)
		if err != nil && !errors.Is(err, io.EOF) {
			return &FileError{Path: s.name, Err: err}
		}
		if s.plain = packing(magic[:n]) == ""; s.plain {
			if s.size > s.limits.Input {
				return &FileError{Path: s.name, Err: over("input", s.limits.Input)}
			}
			return nil
		}
	}
	return s.stream(s.file)
}

// OpenReader opens a session from a stream of plain text, gzip or zstd. The name is for messages only. The bytes read
// are kept in memory, compressed. Closing the Source does not close r. The limits are the defaults.
func OpenReader(name string, r io.Reader) (*Source, error) { return InputLimits{}.OpenReader(name, r) }

// OpenReader opens a stream within the limits: see the function.
func (l InputLimits) OpenReader(name string, r io.Reader) (*Source, error) {
	s := &Source{name: name, limits: l.Filled()}
	if err := s.stream(r); err != nil {
		return nil, err
	}
	return s, nil
}

// stream prepares the source to read r once, from its beginning.
func (s *Source) stream(r io.Reader) error {
	from := &counter{r: r}
	content, packed, free, err := Unpack(from)
	if err != nil {
		return &FileError{Path: s.name, Err: err}
	}
	b := &budget{r: content, limits: s.limits}
	if packed {
		b.packed = from
	}
	s.store = &store{live: b, stop: free}
	return nil
}

// Unpack reads plain text, gzip or zstd: the first bytes decide which. packed reports whether they are compressed,
// free ends reading.
func Unpack(r io.Reader) (content io.Reader, packed bool, free func(), err error) {
	magic := make([]byte, 4)
	n, err := io.ReadFull(r, magic)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, false, nil, err
	}
	r = io.MultiReader(bytes.NewReader(magic[:n]), r)
	free = func() {}
	format := packing(magic[:n])
	switch format {
	case "":
		return r, false, free, nil
	case "gzip":
		content, err = gzip.NewReader(r)
	case "zstd":
		var z *zstd.Decoder
		z, err = zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(128<<20))
		content = z
		if err == nil {
			free = z.Close
		}
	}
	if err != nil {
		return nil, true, nil, explain(format, err)
	}
	return &unpacker{r: content, format: format}, true, free, nil
}

// packing is the format of a compressed file by its first four bytes, or "".
func packing(magic []byte) string {
	switch {
	case len(magic) >= 2 && magic[0] == 0x1F && magic[1] == 0x8B:
		return "gzip"
	case len(magic) == 4 && string(magic) == "\x28\xB5\x2F\xFD",
		len(magic) == 4 && magic[0]&0xF0 == 0x50 && string(magic[1:]) == "\x2A\x4D\x18": // a skippable frame
		return "zstd"
	}
	return ""
}

// unpacker adds the format to the errors of a decompressor.
type unpacker struct {
	r      io.Reader
	format string
}

func (u *unpacker) Read(p []byte) (int, error) {
	n, err := u.r.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		err = explain(u.format, err)
	}
	return n, err
}

func explain(format string, err error) error {
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		return fmt.Errorf("truncated %s: %w", format, io.ErrUnexpectedEOF)
	}
	return fmt.Errorf("%s: %w", format, err)
}

// Name is the name that the source was opened with.
func (s *Source) Name() string { return s.name }

// Size is the size of the file on disk, in bytes, compressed or not; 0 for a stream.
func (s *Source) Size() int64 { return s.size }

// reader reads the decompressed content from its beginning. What a client writes to the file after it was opened is left
// out: else a second reading has lines that the first has not.
func (s *Source) reader() io.Reader {
	if s.plain {
		return io.NewSectionReader(s.file, 0, s.size)
	}
	return &storeReader{store: s.store}
}

// ReadSpan reads bytes of the decompressed content again, as a new slice. It is safe for concurrent use, also while
// Each runs.
func (s *Source) ReadSpan(span Span) ([]byte, error) {
	if span.Len < 0 || span.Off < 0 {
		return nil, &FileError{Path: s.name, Err: fmt.Errorf("negative span: %d bytes at offset %d", span.Len, span.Off)}
	}
	var b []byte
	var err error
	if s.plain {
		b, err = readAt(s.file, span)
	} else {
		b, err = s.store.span(span)
	}
	if err != nil {
		return nil, &FileError{Path: s.name, Err: fmt.Errorf("reading %d bytes at offset %d: %w", span.Len, span.Off, err)}
	}
	return b, nil
}

func readAt(f *os.File, span Span) ([]byte, error) {
	if span.Len > 1<<20 { // check it before allocating
		info, err := f.Stat()
		if err != nil {
			return nil, err
		}
		if span.Off > info.Size()-int64(span.Len) {
			return nil, io.ErrUnexpectedEOF
		}
	}
	b := make([]byte, span.Len)
	n, err := f.ReadAt(b, span.Off)
	if n == len(b) {
		return b, nil
	}
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return nil, err
}

// Close frees the memory of the source and closes the file of Open.
func (s *Source) Close() error {
	if s.store != nil {
		s.store.close()
	}
	if s.file != nil {
		return s.file.Close()
	}
	return nil
}
