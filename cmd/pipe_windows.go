package cmd

import (
	"errors"
	"io"
	"syscall"
)

// isClosedPipe reports whether the reader of the output is gone: `| more`.
func isClosedPipe(err error) bool {
	const (
		brokenPipe = syscall.Errno(109) // ERROR_BROKEN_PIPE
		noData     = syscall.Errno(232) // ERROR_NO_DATA
	)
	return errors.Is(err, brokenPipe) || errors.Is(err, noData) || errors.Is(err, io.ErrClosedPipe)
}
