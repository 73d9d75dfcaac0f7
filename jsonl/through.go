package jsonl

import "io"

// Head returns the first n bytes of the decompressed content. The error is io.EOF where that is all of it, or what
// kept the rest from being read, which Each reports.
func (s *Source) Head(n int) ([]byte, error) {
	head := make([]byte, n)
	got, err := io.ReadFull(s.reader(), head)
	if err == io.ErrUnexpectedEOF { // ReadFull's own; a truncated archive's names its format
		err = io.EOF
	}
	return head[:got], err
}

// WriteTo writes the whole content.
func (s *Source) WriteTo(w io.Writer) (int64, error) { return io.Copy(w, s.reader()) }

// Through is a source of what convert writes of the content, in place of s: closing it closes s. convert runs on a
// goroutine of its own until it returns or the source is closed, and reads the content once.
func (s *Source) Through(convert func(in io.Reader, out io.Writer) error) *Source {
	in := s.reader()
	r, w := io.Pipe()
	done := make(chan struct{})
	go func() {
		defer close(done)
		w.CloseWithError(convert(in, w))
	}()
	through := &Source{name: s.name, size: s.size, file: s.file, limits: s.limits}
	through.store = &store{live: r, stop: func() {
		r.Close()
		<-done
		if s.store != nil {
			s.store.close()
		}
	}}
	return through
}
