package strict

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Position is a place in a file, 1-based. A [Decoder] sets it in structs that embed it.
type Position struct {
	File   string `json:"file,omitempty"`
	Line   int    `json:"line,omitempty"`
	Column int    `json:"column,omitempty"`
}

// String is FILE:LINE:COL, as much of it as is known.
func (p Position) String() string {
	if p.Line == 0 {
		return p.File
	}
	return fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Column)
}

func (p *Position) setPosition(at Position) { *p = at }

// Error is a mistake in a file, with its place.
type Error struct {
	Position
	Msg  string
	Hint string // what to do
}

// Error is "FILE:LINE:COL: what is wrong: what to do".
func (e *Error) Error() string {
	s := label(e.String()) + e.Msg // String is the position's
	if e.Hint != "" {
		s += ": " + e.Hint
	}
	return s
}

// Errors is everything that is wrong in a file and in the files it refers to.
type Errors []*Error

// Error lists the errors, one a line.
func (es Errors) Error() string {
	lines := make([]string, len(es))
	for i, e := range es {
		lines[i] = e.Error()
	}
	return strings.Join(lines, "\n")
}

// Unwrap gives the errors to [errors.Is] and [errors.As].
func (es Errors) Unwrap() []error {
	list := make([]error, len(es))
	for i, e := range es {
		list[i] = e
	}
	return list
}

// Report adds an error.
func (es *Errors) Report(at Position, msg, hint string) { *es = append(*es, &Error{at, msg, hint}) }

// Add adds an error found at a place. [Errors] keep their own places; key, unless it is "", begins the message of any
// other error.
func (es *Errors) Add(at Position, key string, err error) {
	var list Errors
	own := &Error{}
	switch {
	case errors.As(err, &list):
		*es = append(*es, list...)
	case errors.As(err, &own):
		es.Report(at, label(key)+own.Msg, own.Hint)
	default:
		es.Report(at, label(key)+err.Error(), "")
	}
}

func label(key string) string {
	if key == "" {
		return ""
	}
	return key + ": "
}

// Err is the errors sorted by place, nil for none.
func (es Errors) Err() error {
	if len(es) == 0 {
		return nil
	}
	SortByPlace(es, func(e *Error) Position { return e.Position })
	return es
}

// SortByPlace sorts a list by place. Files keep the order in which the list first names them.
func SortByPlace[T any](list []T, place func(T) Position) {
	rank := map[string]int{}
	for _, x := range list {
		if file := place(x).File; rank[file] == 0 {
			rank[file] = len(rank) + 1
		}
	}
	slices.SortStableFunc(list, func(x, y T) int {
		a := place(x)
		b := place(y)
		return cmp.Or(cmp.Compare(rank[a.File], rank[b.File]), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
}

// Quote shows a piece of the input: quoted, escaped, and cut to 60 characters.
func Quote(s string) string {
	const limit = 60
	if r := []rune(s); len(r) > limit {
		s = string(r[:limit]) + "…"
	}
	return fmt.Sprintf("%q", s)
}
