//go:build !windows

package cmd

import (
	"errors"
	"io"
	"syscall"
)

// isClosedPipe reports whether the reader of the output is gone: `| head -1`.
func isClosedPipe(err error) bool {
	return errors.Is(err, syscall.EPIPE) || errors.Is(err, io.ErrClosedPipe)
}
