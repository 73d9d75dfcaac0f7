package cmd

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/term"
)

// system is everything outside the process that a command may touch. Tests
// fill it with their own.
type system struct {
	in       io.Reader
	out      *lineWriter
	err      io.Writer
	env      func(string) string
	home     func() (string, error)
	now      func() time.Time
	terminal bool // standard output is a terminal

	mu         sync.Mutex
	unfinished []string // files being written beside their final names

	stop     chan struct{} // closed by an interrupt
	finishes atomic.Bool   // an interrupt lets the command print what it has
}

// finishInterrupted has an interrupt wait for the command to print what is
// finished: it asks interrupted now and then.
func (s *system) finishInterrupted() { s.finishes.Store(true) }

// interrupted reports whether the command should come to an end.
func (s *system) interrupted() bool {
	select {
	case <-s.stop:
		return true
	default:
		return false
	}
}

func newSystem(stdin io.Reader, stdout, stderr io.Writer) *system {
	return &system{
		in: stdin, out: &lineWriter{w: stdout}, err: stderr, stop: make(chan struct{}),
		env: os.Getenv, home: os.UserHomeDir, now: time.Now,
		terminal: isTerminal(stdout),
	}
}

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// lineWriter buffers and hands on whole lines only, so that an interrupt
// leaves no half line behind. Closed, it refuses further writes.
type lineWriter struct {
	mu     sync.Mutex
	w      io.Writer
	buf    []byte
	err    error
	closed bool
}

const lineBuffer = 32 << 10

var errInterrupted = errors.New("interrupted")

func (l *lineWriter) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed && l.err == nil {
		return 0, errInterrupted
	}
	if l.err != nil {
		return 0, l.err
	}
	l.buf = append(l.buf, p...)
	if len(l.buf) >= lineBuffer {
		l.flushLines()
	}
	return len(p), l.err
}

func (l *lineWriter) flushLines() {
	end := bytes.LastIndexByte(l.buf, '\n') + 1
	if end == 0 || l.err != nil {
		return
	}
	_, l.err = l.w.Write(l.buf[:end])
	l.buf = append(l.buf[:0], l.buf[end:]...)
}

// close flushes the whole lines and drops what is left of a broken one.
func (l *lineWriter) close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.flushLines()
	l.closed = true
	return l.err
}

// createBeside opens a file beside path, to be renamed to path once it is
// whole.
func (s *system) createBeside(path string) (*besideFile, error) {
	// Under the lock: a file that is there is known, so an interrupt removes it.
	s.mu.Lock()
	defer s.mu.Unlock()
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*.part")
	if err != nil {
		return nil, err
	}
	s.unfinished = append(s.unfinished, f.Name())
	return &besideFile{File: f, sys: s, path: path}, nil
}

func (s *system) forget(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, n := range s.unfinished {
		if n == name {
			s.unfinished = append(s.unfinished[:i], s.unfinished[i+1:]...)
			return
		}
	}
}

func (s *system) removeUnfinished() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, n := range s.unfinished {
		os.Remove(n)
	}
	s.unfinished = nil
}

// besideFile is an output file under a temporary name.
type besideFile struct {
	*os.File
	sys  *system
	path string
}

// commit gives the file its name. The mode is that of a new file, or of the
// file it replaces.
func (f *besideFile) commit() error {
	mode := os.FileMode(0o644)
	if old, err := os.Stat(f.path); err == nil {
		mode = old.Mode().Perm()
	}
	defer f.sys.forget(f.Name())
	err := errors.Join(f.Chmod(mode), f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), f.path)
	}
	if err != nil {
		os.Remove(f.Name())
	}
	return err
}

// discard removes the unfinished file.
func (f *besideFile) discard() {
	f.Close()
	os.Remove(f.Name())
	f.sys.forget(f.Name())
}
