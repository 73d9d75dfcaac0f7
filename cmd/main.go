// Package cmd is the command line: one file per command, with an options struct that flags fill and a function that
// runs it. It is the only package that prints, that reads arguments, the environment or the clock, and that names
// flags and exit codes.
package cmd

import (
	"context"
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
	r := begin(args, stdin, stdout, stderr)
	select {
	case <-r.done:
		return r.end()
	case first := <-signals:
		close(r.sys.stop)
		if r.sys.finishes.Load() && first != syscall.SIGHUP {
			select {
			case <-r.done:
			case <-signals: // a second one ends it at once
			}
		}
		r.leave()
		if first == syscall.SIGHUP {
			return exitHungUp
		}
		return exitInterrupted
	}
}

// Run runs a command line for another program, whose signals it leaves alone, and returns what Main would. Once ctx is
// done it returns as after an interrupt: nothing more is written to stdout, and the command ends after the session that it
// is working on. What it then says still goes to stderr, which has to allow that.
func Run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	r := begin(args, stdin, stdout, stderr)
	select {
	case <-r.done:
		return r.end()
	case <-ctx.Done():
		close(r.sys.stop)
		r.leave()
		return exitInterrupted
	}
}

// running is a command line at work.
type running struct {
	sys  *system
	err  error         // once it is done
	done chan struct{} // closed then
}

func begin(args []string, stdin io.Reader, stdout, stderr io.Writer) *running {
	r := &running{sys: newSystem(stdin, stdout, stderr), done: make(chan struct{})}
	go func() {
		r.err = execute(r.sys, args)
		close(r.done)
	}()
	return r
}

// end is the exit code of a command line that is done.
func (r *running) end() int {
	if err := r.sys.out.close(); done(r.err) && err != nil && !isClosedPipe(err) {
		r.err = err // also where a check failed: no message has reported it
	}
	return exitCode(r.sys.err, r.err)
}

// leave ends the output of a command line that is not done, and removes what it has not finished.
func (r *running) leave() {
	r.sys.programs.stop()
	r.sys.out.close() // whole lines only
	r.sys.removeUnfinished()
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
