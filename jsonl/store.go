package jsonl

import (
	"io"
	"sync"

	"github.com/klauspost/compress/zstd"
)

const (
	storeFrame = 1 << 20 // bytes of content in a frame
	storeCache = 4       // decoded frames that are kept
)

// store keeps a stream that cannot be read twice, in independently compressed frames.
type store struct {
	mu     sync.Mutex
	live   io.Reader // the rest of the content
	stop   func()    // frees the memory of live
	closed bool
	err    error // the error that ended live, io.EOF at its end
	frames [][]byte
	open   []byte        // content after the last frame
	enc    *zstd.Encoder // nil until a frame is full
	dec    *zstd.Decoder // nil until a frame is read again
	cache  [storeCache]decodedFrame
	clock  int
}

type decodedFrame struct {
	n    int // index of the frame, 1-based; 0: none
	used int // clock of the last use
	b    []byte
}

// size is the length of the content so far.
func (s *store) size() int64 { return int64(len(s.frames))*storeFrame + int64(len(s.open)) }

// readAt copies content from off to p and reads more of the stream at its end. Only one goroutine may call it at a
// time; span may run concurrently.
func (s *store) readAt(p []byte, off int64) (int, error) {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return 0, errClosed
	}
	if off < s.size() {
		defer s.mu.Unlock()
		b, err := s.from(off)
		return copy(p, b), err
	}
	err := s.err
	s.mu.Unlock()
	if err != nil {
		return 0, err
	}
	n, err := s.live.Read(p)
	s.mu.Lock()
	defer s.mu.Unlock()
	if fault := s.append(p[:n]); fault != nil {
		err = fault
	}
	s.err = err
	return n, err
}

// append adds to the content.
func (s *store) append(p []byte) (err error) {
	for len(p) > 0 {
		if s.open == nil {
			s.open = make([]byte, 0, storeFrame)
		}
		n := copy(s.open[len(s.open):storeFrame], p)
		s.open = s.open[:len(s.open)+n]
		p = p[n:]
		if len(s.open) == storeFrame {
			if s.enc == nil {
				s.enc, err = zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedFastest),
					zstd.WithWindowSize(storeFrame), zstd.WithEncoderCRC(false), zstd.WithLowerEncoderMem(true))
				if err != nil {
					return err
				}
			}
			s.frames = append(s.frames, s.enc.EncodeAll(s.open, nil))
			s.open = s.open[:0]
		}
	}
	return nil
}

// from returns the content from off to the end of its frame.
func (s *store) from(off int64) ([]byte, error) {
	n := int(off / storeFrame)
	b := s.open
	if n < len(s.frames) {
		var err error
		if b, err = s.decoded(n); err != nil {
			return nil, err
		}
	}
	return b[off%storeFrame:], nil
}

func (s *store) decoded(n int) ([]byte, error) {
	s.clock++
	oldest := &s.cache[0]
	for i := range s.cache {
		c := &s.cache[i]
		if c.n == n+1 {
			c.used = s.clock
			return c.b, nil
		}
		if c.used < oldest.used {
			oldest = c
		}
	}
	var err error
	if s.dec == nil {
		s.dec, err = zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true))
		if err != nil {
			return nil, err
		}
	}
	b, err := s.dec.DecodeAll(s.frames[n], oldest.b[:0])
	if err != nil {
		*oldest = decodedFrame{}
		return nil, err
	}
	*oldest = decodedFrame{n: n + 1, used: s.clock, b: b}
	return b, nil
}

func (s *store) span(span Span) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, errClosed
	}
	if size := s.size(); span.Off > size-int64(span.Len) {
		if s.err != nil {
			return nil, io.ErrUnexpectedEOF
		}
		return nil, ErrNotRead
	}
	b := make([]byte, 0, span.Len)
	for len(b) < span.Len {
		part, err := s.from(span.Off + int64(len(b)))
		if err != nil {
			return nil, err
		}
		b = append(b, part[:min(len(part), span.Len-len(b))]...)
	}
	return b, nil
}

func (s *store) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return
	}
	s.closed = true
	s.stop()
	if s.dec != nil {
		s.dec.Close()
	}
	s.frames = nil
	s.open = nil
	s.cache = [storeCache]decodedFrame{}
}

// storeReader reads a store's content from its beginning.
type storeReader struct {
	store *store
	off   int64
}

func (r *storeReader) Read(p []byte) (int, error) {
	n, err := r.store.readAt(p, r.off)
	r.off += int64(n)
	return n, err
}
