package policy

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// String is FILE:LINE:COL, as much of it as is known.
func (p Position) String() string {
	if p.Line == 0 {
		return p.File
	}
	return fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Column)
}

// Error is "FILE:LINE:COL: what is wrong: what to do".
func (e *Error) Error() string {
	s := e.Msg
	if at := e.Position.String(); at != "" {
		s = at + ": " + s
	}
	if e.Hint != "" {
		s += ": " + e.Hint
	}
	return s
}

// Errors is everything that is wrong in a policy, found in one run: the
// file's own errors in the order of the file, then those of what it extends.
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

// sortByPlace orders a list by place; of several files the first named comes
// first.
func sortByPlace[T any](list []T, place func(T) Position) {
	rank := map[string]int{}
	for _, x := range list {
		if file := place(x).File; rank[file] == 0 {
			rank[file] = len(rank) + 1
		}
	}
	slices.SortStableFunc(list, func(x, y T) int {
		a, b := place(x), place(y)
		return cmp.Or(
			cmp.Compare(rank[a.File], rank[b.File]),
			cmp.Compare(a.Line, b.Line),
			cmp.Compare(a.Column, b.Column),
		)
	})
}

// quote shows a piece of the input: quoted, escaped, and no longer than a
// reader needs.
func quote(s string) string {
	const limit = 60
	if r := []rune(s); len(r) > limit {
		s = string(r[:limit]) + "…"
	}
	return fmt.Sprintf("%q", s)
}
