package jsonl

import (
	"cmp"
	"io"
	"math"
)

// ReadOptions are the limits of reading. The zero value means the defaults.
type ReadOptions struct {
	// MaxLine is the longest line that is decoded, in bytes without its newline; 0 means the default of InputLimits. A longer line is
	// one SyntaxError and is never held in memory as a whole.
	MaxLine int
	// Block is how much a Reader reads at once, in bytes; 0 means 256 KiB.
	Block int
}

func (o ReadOptions) maxLine() int {
	if o.MaxLine <= 0 {
		return int(InputLimits{}.Filled().Line)
	}
	return min(o.MaxLine, math.MaxInt32)
}

// Reader reads the items of one stream of session lines in order:
//
//	r := jsonl.NewReader(f, "session.jsonl", jsonl.ReadOptions{})
//	for r.Scan() {
//		switch rec := r.Item(); rec.Kind {
//		case jsonl.ItemEntry:
//			use(rec.Entry)
//		case jsonl.ItemError:
//			warn(rec.Err)
//		}
//	}
//	if err := r.Err(); err != nil { … }
//
// It reads plain text only; Open detects compressed files. It uses the calling goroutine and a buffer of one block,
// larger only for a longer line.
type Reader struct {
	cut  *cutter
	walk *walker
	slot slot
	err  error
}

// NewReader returns a Reader of r. The name is for messages only.
func NewReader(r io.Reader, name string, opt ReadOptions) *Reader {
	return &Reader{cut: newCutter(r, opt, cmp.Or(opt.Block, readerBlock)), walk: newWalker(name, opt)}
}

// Scan reads the next item. It returns false at the end of the stream and after a read error, which Err returns.
func (r *Reader) Scan() bool {
	for !r.walk.next(&r.slot) {
		b, ok := r.cut.next(r.walk.blk.fill)
		if !ok {
			r.err = r.cut.failure(r.walk.file, r.walk.line)
			return false
		}
		r.walk.begin(b)
	}
	return true
}

// failure is the error that ended reading, with the line it occurred in.
func (c *cutter) failure(name string, lines int) error {
	if c.err == nil {
		return nil
	}
	return &FileError{Path: name, Line: lines + 1, Err: c.err}
}

// Item returns the item that Scan read, valid until the next Scan.
func (r *Reader) Item() *Item { return &r.slot.rec }

// Err returns the error that ended reading, with the file and the line, or nil at the end of the stream. Lines that
// are not JSON are items, not errors.
func (r *Reader) Err() error { return r.err }
