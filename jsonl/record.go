package jsonl

import "fmt"

// Options are the limits of reading. The zero value means the defaults.
type Options struct {
	// MaxLine is the longest line that is decoded, in bytes without its
	// newline; 0 means 256 MiB. A longer line is one SyntaxError and is passed
	// over without being held in memory.
	MaxLine int
}

// Record is what one line, or one object of a fused line, turned out to be.
// It is valid until the next one is asked for.
type Record struct {
	Kind  RecordKind
	Entry *Entry       // of a RecordEntry, else nil
	Err   *SyntaxError // of a RecordError, else nil
	Line  int          // 1-based
	Span  Span         // the object; the stretch set aside; a comment's or blank line without its newline
}

// Error is the fault with its position: file:line:column.
func (e *SyntaxError) Error() string {
	return fmt.Sprintf("%s:%d:%d: %s", e.File, e.Line, e.Col, e.Msg)
}

// Lines counts what was read. Always
//
//	Read = Entries + Errors + Comments + Blanks
//
// and the records given are Read + Fused + Rubbish.
type Lines struct {
	Read     int // lines
	Entries  int // lines with at least one entry
	Errors   int // lines with a syntax error and no entry
	Comments int // lines that begin with //
	Blanks   int // lines of white space

	Fused   int // entries behind the first of their line
	Rubbish int // syntax errors on lines already counted under Entries or Errors
}

// tally counts records into Lines.
type tally struct {
	Lines
	line    int // the line last counted
	entries int // on it
	errors  int // on it
}

func (t *tally) add(rec *Record) {
	if rec.Line != t.line {
		t.line, t.entries, t.errors = rec.Line, 0, 0
		t.Read++
	}
	switch rec.Kind {
	case RecordComment:
		t.Comments++
	case RecordBlank:
		t.Blanks++
	case RecordEntry:
		switch {
		case t.entries > 0:
			t.Fused++
		case t.errors > 0: // the line was taken for a bad one
			t.Errors--
			t.Rubbish++
			t.Entries++
		default:
			t.Entries++
		}
		t.entries++
	case RecordError:
		if t.entries > 0 || t.errors > 0 {
			t.Rubbish++
		} else {
			t.Errors++
		}
		t.errors++
	}
}
