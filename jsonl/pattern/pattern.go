// Package pattern has regular expressions that are compiled where they are first used: compiling all of a program's takes
// a good part of its start, and a run uses few.
package pattern

import (
	"regexp"
	"sync"
)

// New is what compiles a regular expression once, when it is first called. An invalid one panics then: a test compiles
// all that the source names.
func New(expr string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })
}
