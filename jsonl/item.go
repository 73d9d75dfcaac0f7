package jsonl

import "fmt"

// ReadOptions are the limits of reading. The zero value means the defaults.
type ReadOptions struct {
	// MaxLine is the longest line that is decoded, in bytes without its
	// newline; 0 means 256 MiB. A longer line is one SyntaxError and is never
	// held in memory as a whole.
	MaxLine int
}

// Item is the result of reading one line, or one object of a fused line. It is
// valid until the next one is read.
type Item struct {
	Kind  ItemKind
	Entry *Entry       // of an ItemEntry, else nil
	Err   *SyntaxError // of an ItemError, else nil
	Line  int          // 1-based
	Span  Span         // the object, the rejected bytes, or a comment or blank line without its newline
}

// Error is the message with its position: file:line:column.
func (e *SyntaxError) Error() string {
	return fmt.Sprintf("%s:%d:%d: %s", e.File, e.Line, e.Col, e.Msg)
}
