// Package cmd is the command line: one file per command, with an options struct that flags fill and a function that
// runs it. It is the only package that prints, that reads arguments, the environment or the clock, and that names
// flags and exit codes.
package cmd

import (
	"errors"
	"io"
	"os"
	"os/signal"
	"syscall"
)

// Exit codes. There are no others, except that an interrupt ends with 130, and the end of the terminal with 129.
const (
	exitDone        = 0   // the command did its work
	exitCheckFailed = 1   // it did, and a check failed
	exitNotDone     = 2   // it could not do its work: usage, unreadable input, bad policy
	exitHungUp      = 129 // the terminal was closed
	exitInterrupted = 130 // Ctrl-C
)

// Main runs the command line and returns the process's exit code.
func Main(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	// A closed pipe is an error, see exitCode, and does not kill the process.
	signal.Ignore(syscall.SIGPIPE)
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	if !signal.Ignored(syscall.SIGHUP) { // nohup
		signal.Notify(signals, syscall.SIGHUP)
	}
	defer signal.Stop(signals)
	sys := newSystem(stdin, stdout, stderr)
	var err error
	done := make(chan struct{})
	go func() {
		err = execute(sys, args)
		close(done)
	}()
	select {
	case <-done:
		if ferr := sys.out.close(); err == nil {
			err = ferr
		}
		return exitCode(stderr, err)
	case first := <-signals:
		close(sys.stop)
		if sys.finishes.Load() && first != syscall.SIGHUP {
			select {
			case <-done:
			case <-signals: // a second one ends it at once
			}
		}
		sys.programs.stop()
		sys.out.close() // whole lines only
		sys.removeUnfinished()
		if first == syscall.SIGHUP {
			return exitHungUp
		}
		return exitInterrupted
	}
}

// errCheckFailed is wrapped by errors of commands that did their work and found that a check failed.
var errCheckFailed = errors.New("a check did not hold")

// exitCode is the one place where errors become messages and exit codes.
func exitCode(stderr io.Writer, err error) int {
	if err == nil || isClosedPipe(err) {
		return exitDone
	}
	var part *partError
	if !errors.As(err, &part) {
		for _, line := range errorLines(err) {
			say(stderr, limitHint(line))
		}
	}
	if errors.Is(err, errCheckFailed) {
		return exitCheckFailed
	}
	return exitNotDone
}
