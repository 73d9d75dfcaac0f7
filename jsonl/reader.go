package jsonl

import (
	"fmt"
	"io"
)

// Reader gives the records of one stream in order:
//
//	r := jsonl.NewReader(f, "session.jsonl", jsonl.Options{})
//	for r.Scan() {
//		switch r.Kind() {
//		case jsonl.RecordEntry:
//			use(r.Entry())
//		case jsonl.RecordError:
//			warn(r.SyntaxError())
//		}
//	}
//	if err := r.Err(); err != nil { … }
//
// It reads plain text only; Open finds out about compressed files. It uses the
// calling goroutine and a buffer of 256 KiB, larger only while a line is.
type Reader struct {
	cut   *cutter
	walk  *walker
	slot  slot
	tally tally
	err   error
}

// NewReader returns a Reader of r. The name is for messages only.
func NewReader(r io.Reader, name string, opt Options) *Reader {
	return &Reader{cut: newCutter(r, opt, readerBlock), walk: newWalker(name, opt)}
}

// Scan goes to the next record. It returns false at the end of the stream and
// where reading failed, which Err tells apart.
func (r *Reader) Scan() bool {
	for !r.walk.next(&r.slot) {
		b, ok := r.cut.next(r.walk.blk.fill)
		if !ok {
			r.err = r.cut.failure(r.walk.file, r.walk.line)
			return false
		}
		r.walk.begin(b)
	}
	r.tally.add(&r.slot.rec)
	return true
}

// failure is the error that ended reading, with the line it came in.
func (c *cutter) failure(name string, lines int) error {
	if c.err == nil {
		return nil
	}
	return fmt.Errorf("%s:%d: %w", name, lines+1, c.err)
}

// Record returns what Scan stands on, valid until the next Scan.
func (r *Reader) Record() *Record { return &r.slot.rec }

// Kind says what Scan stands on.
func (r *Reader) Kind() RecordKind { return r.slot.rec.Kind }

// Entry returns the entry of a RecordEntry, valid until the next Scan; nil for
// other records.
func (r *Reader) Entry() *Entry { return r.slot.rec.Entry }

// SyntaxError returns the error of a RecordError, valid until the next Scan;
// nil for other records.
func (r *Reader) SyntaxError() *SyntaxError { return r.slot.rec.Err }

// Err returns the error that ended reading, with the file and the line it came
// in; nil at the end of the stream. Lines that are not JSON are no such error.
func (r *Reader) Err() error { return r.err }

// Lines counts the lines read so far.
func (r *Reader) Lines() Lines { return r.tally.Lines }
