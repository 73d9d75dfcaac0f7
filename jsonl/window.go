package jsonl

import "slices"

// Window reads spans of sources again, those near each other at once, into a buffer that it uses again: without
// that exact o200k_base is too slow (bar in docs/performance.md). The zero value is ready for use, by one goroutine.
type Window struct {
	source *Source
	off    int64
	buf    []byte
}

// windowSize is how much of a file a window reads at once, in bytes.
const windowSize = 64 << 10

// ReadSpan is [Source.ReadSpan]. The bytes hold until the next call.
func (w *Window) ReadSpan(s *Source, span Span) ([]byte, error) {
	if !s.plain || span.Off < 0 || span.Len < 0 || span.Len > windowSize {
		return s.ReadSpan(span)
	}
	if w.source != s || span.Off < w.off || span.Off+int64(span.Len) > w.off+int64(len(w.buf)) {
		w.buf = slices.Grow(w.buf[:0], windowSize)[:windowSize]
		n, _ := s.file.ReadAt(w.buf, span.Off)
		w.source = s
		w.off = span.Off
		w.buf = w.buf[:n]
		if n < span.Len {
			return s.ReadSpan(span) // it says what is wrong
		}
	}
	from := int(span.Off - w.off)
	return w.buf[from : from+span.Len : from+span.Len], nil
}
