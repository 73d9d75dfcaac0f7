package cline

import (
	"fmt"

	"github.com/ctxkit/ctxkit/policy/stage/measure"
)

// key names the file of a read, or the lines of it.
func key(r *measure.CallInput) string {
	switch {
	case r.Whole():
		return r.Path
	case r.To == 0:
		return fmt.Sprintf("%s:%d-EOF", r.Path, r.From)
	}
	return fmt.Sprintf("%s:%d-%d", r.Path, max(r.From, 1), r.To)
}
