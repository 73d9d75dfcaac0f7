package jsonl

import (
	"bytes"
	"io"
)

// Sizes of blocks, in bytes.
const (
	readerBlock  = 256 << 10 // with one goroutine: small enough for its cache
	workerBlock  = 512 << 10 // with several goroutines
	keepCapacity = 8 << 20   // a larger buffer, grown for a long line, is not reused
)

const byteOrderMark = "\xEF\xBB\xBF"

// block is a part of the file that ends with a line, or with the file. A block without data is one line longer than
// ReadOptions.MaxLine.
type block struct {
	data    []byte
	off     int64
	tooLong int64  // bytes of that line without its newline; 0: a block with data
	fill    []byte // the memory of data
}

// cutter cuts a stream into blocks.
type cutter struct {
	r       io.Reader
	size    int   // of a block, about
	maxLine int   // bytes, newline left out
	whole   bool  // whether next fills a block before it returns it
	off     int64 // in the stream, of rest[0]
	rest    []byte
	begun   bool
	eof     bool
	err     error // of r, other than io.EOF
}

func newCutter(r io.Reader, opt ReadOptions, size int) *cutter {
	return &cutter{r: r, size: size, maxLine: opt.maxLine()}
}

// next reads the next block into mem, or into new memory where mem is too small or too large; block.fill is the
// memory used. The rest of the last block must still be valid; it may be a part of mem.
func (c *cutter) next(mem []byte) (block, bool) {
	if len(mem) < c.size || len(mem) > keepCapacity || len(mem) <= len(c.rest) {
		mem = make([]byte, c.size+len(c.rest))
	}
	n := copy(mem, c.rest)
	c.rest = nil
	if !c.begun {
		c.begun = true
		for n < len(byteOrderMark) && !c.eof {
			n += c.read(mem[n:])
		}
		if bytes.HasPrefix(mem[:n], []byte(byteOrderMark)) {
			c.off = int64(len(byteOrderMark))
			n = copy(mem, mem[c.off:n])
		}
	}
	searched := 0 // mem[:searched] holds no newline
	for {
		nl := bytes.LastIndexByte(mem[searched:n], '\n')
		switch {
		case nl >= 0 && (!c.whole || c.eof || n == len(mem)):
			return c.cut(mem, searched+nl+1, n), true
		case nl >= 0: // wait for more
		case n > c.maxLine:
			return c.skipLine(mem, n), true
		case c.eof && n == 0:
			return block{}, false
		case c.eof:
			return c.cut(mem, n, n), true
		default:
			searched = n
			if n == len(mem) {
				// One byte over maxLine shows that the line is too long.
				larger := make([]byte, min(2*n, c.maxLine+1))
				copy(larger, mem)
				mem = larger
			}
		}
		n += c.read(mem[n:])
	}
}

// cut makes a block of mem[:end]; mem[end:n] is the rest.
func (c *cutter) cut(mem []byte, end, n int) block {
	b := block{data: mem[:end], off: c.off, fill: mem}
	c.off += int64(end)
	c.rest = mem[end:n]
	return b
}

// read is one Read. It sets eof at the end and on an error.
func (c *cutter) read(p []byte) int {
	for range 100 {
		n, err := c.r.Read(p)
		if err != nil {
			c.eof = true
			if err != io.EOF {
				c.err = err
			}
		}
		if n > 0 || err != nil {
			return n
		}
	}
	c.eof = true
	c.err = io.ErrNoProgress
	return 0
}

// skipLine reads to the end of the line that begins in mem.
func (c *cutter) skipLine(mem []byte, n int) block {
	b := block{off: c.off, tooLong: int64(n), fill: mem}
	for !c.eof {
		n = c.read(mem)
		if nl := bytes.IndexByte(mem[:n], '\n'); nl >= 0 {
			b.tooLong += int64(nl)
			c.off += b.tooLong + 1
			c.rest = mem[nl+1 : n]
			return b
		}
		b.tooLong += int64(n)
	}
	c.off += b.tooLong
	return b
}
