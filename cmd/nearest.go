package cmd

import (
	"strings"

	"github.com/ctxkit/ctxkit/policy/strict"
)

// suggestion names up to three of names that are near word, else says what to
// do instead.
func suggestion(word string, names []string, otherwise string) string {
	ordered, near := strict.Nearest(word, names)
	switch ordered = ordered[:min(3, near)]; len(ordered) {
	case 0:
		return otherwise
	case 1:
		return "did you mean " + ordered[0] + "?"
	}
	last := len(ordered) - 1
	return "did you mean " + strings.Join(ordered[:last], ", ") + " or " + ordered[last] + "?"
}
