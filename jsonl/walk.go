package jsonl

import (
	"bytes"

	"github.com/ctxkit/ctxkit/jsonl/scan"
)

// walker decodes blocks into items, for both Reader and Source.Each.
type walker struct {
	dec     decoder
	file    string
	maxLine int

	blk  block
	pos  int // in blk.data, of the next line
	line int // number of the current line

	// The current line.
	inLine  bool
	text    []byte // newline left out
	lineOff int64
	first   int // in text, of the first item
	at      int // in text, of the next item
	part    int
}

func newWalker(name string, opt ReadOptions) *walker {
	return &walker{file: name, maxLine: opt.maxLine()}
}

// begin starts a block. Its lines are numbered from w.line+1.
func (w *walker) begin(b block) {
	w.blk = b
	w.pos = 0
	w.inLine = false
}

// slot is an item together with the memory it is decoded into, again and again: without that a replay is too slow next to
// ccusage (bar in docs/performance.md).
type slot struct {
	rec    Item
	entry  entry
	syntax SyntaxError
}

// next decodes the next item of the block into s, or returns false at its end.
func (w *walker) next(s *slot) bool {
	for {
		if !w.inLine {
			if w.blk.tooLong > 0 {
				w.line++
				w.fault(s, w.blk.off, w.blk.tooLong, 1, w.tooLong())
				w.blk.tooLong = 0
				return true
			}
			if w.pos >= len(w.blk.data) {
				return false
			}
			if w.beginLine(s) {
				return true
			}
		}
		i := scan.Space(w.text, w.at)
		if i >= len(w.text) {
			w.inLine = false
			continue
		}
		w.item(s, i)
		s.rec.Fused = i > w.first
		return true
	}
}

// tooLong is what is wrong with a line that is too long.
func (w *walker) tooLong() string { return over("line", int64(w.maxLine)).Error() }

// beginLine starts the next line of the block. It returns true where the whole line is one item without an object.
func (w *walker) beginLine(s *slot) bool {
	text := w.blk.data[w.pos:]
	w.lineOff = w.blk.off + int64(w.pos)
	w.pos = len(w.blk.data)
	if nl := bytes.IndexByte(text, '\n'); nl >= 0 {
		w.pos -= len(text) - nl - 1
		text = text[:nl]
	}
	w.line++
	w.text = text
	w.at = 0
	w.part = 0
	if len(text) > w.maxLine {
		w.fault(s, w.lineOff, int64(len(text)), 1, w.tooLong())
		return true
	}
	i := scan.Space(text, 0)
	kind := ItemBlank
	if i < len(text) {
		if text[i] != '/' || i+1 >= len(text) || text[i+1] != '/' {
			w.inLine = true
			w.first = i
			w.at = i
			return false
		}
		kind = ItemComment
	}
	s.rec = Item{Kind: kind, Line: w.line, Span: Span{w.lineOff, len(text)}}
	return true
}

// item decodes the object at text[i], or makes the bytes there a syntax error.
func (w *walker) item(s *slot, i int) {
	at := i
	code := scan.NoValue
	if w.text[i] == '{' {
		var end int
		end, code = w.dec.entry(&s.entry, w.text, i)
		if code == scan.OK {
			e := &s.entry.Entry
			e.File = w.file
			e.Line = w.line
			e.Part = w.part
			e.Offset = w.lineOff + int64(i)
			e.Raw = w.text[i:end]
			s.entry.locate(w.lineOff)
			w.at = end
			w.part++
			s.rec = Item{Kind: ItemEntry, Entry: e, Line: w.line, Span: Span{e.Offset, end - i}}
			return
		}
		at = end
	}
	end, msg, col := w.invalid(i, at, code)
	w.at = end
	end = i + len(bytes.TrimRight(w.text[i:end], " \t\r"))
	w.fault(s, w.lineOff+int64(i), int64(end-i), col+1, msg)
}

// invalid returns the end of bytes that are not an object: the next object of the line, or the line's end. It also
// returns what is wrong, and at which index.
func (w *walker) invalid(i, at int, code scan.Fault) (end int, msg string, col int) {
	text := w.text
	from := i + 1
	switch {
	case text[i] == '{':
		msg = code.String()
		col = at
	case text[i] == 0:
		msg = "NUL bytes"
		col = i
	default:
		at, code = scan.Value(text, i, 0)
		msg = code.String()
		col = at
		if code == scan.OK {
			msg = "not an object"
			col = i
			from = at
		}
	}
	// Inside a broken object or array, a value after a colon, a comma or a bracket is a part of it, not an entry.
	nested := text[i] == '{' || text[i] == '['
	// The budget keeps the search linear on hostile lines.
	budget := 4*len(text) + 64<<10
	for budget > 0 {
		n := bytes.IndexByte(text[from:], '{')
		if n < 0 {
			break
		}
		from += n
		if !nested || !isInner(text[i:from]) {
			end, code := scan.Value(text, from, 0)
			budget -= end - from
			if code == scan.OK && !continues(text, end) {
				return from, msg, col
			}
		}
		from++
	}
	return len(text), msg, col
}

// isInner reports whether a value after these bytes would be inside another.
func isInner(before []byte) bool {
	before = bytes.TrimRight(before, " \t\r")
	return bytes.IndexByte([]byte(":,["), before[len(before)-1]) >= 0
}

// continues reports whether a value that ends at text[end] is inside another.
func continues(text []byte, end int) bool {
	end = scan.Space(text, end)
	return end < len(text) && bytes.IndexByte([]byte(",:}]"), text[end]) >= 0
}

func (w *walker) fault(s *slot, off, length int64, col int, msg string) {
	s.syntax = SyntaxError{File: w.file, Line: w.line, Col: col, Offset: off, Len: int(length), Msg: msg}
	s.rec = Item{Kind: ItemError, Err: &s.syntax, Line: w.line, Span: Span{off, int(length)}}
}
