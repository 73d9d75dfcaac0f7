package cmd

import (
	"bytes"
	"errors"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/preset"
	"github.com/ctxkit/ctxkit/replay/price"
	"golang.org/x/term"
)

// system is everything outside the process that a command may touch. Tests fill it with their own.
type system struct {
	in         io.Reader
	out        *lineWriter
	err        io.Writer
	env        func(string) string
	home       func() (string, error)
	uncached   bool              // nothing is kept of what is worked out
	limits     jsonl.InputLimits // of each input
	now        func() time.Time
	terminal   bool            // standard output is a terminal
	columns    int             // its width; 0: unknown, or no terminal
	watched    bool            // standard error is a terminal
	families   []policy.Family // with their stages and policies; nil: all that are built in
	stages     policy.Registry // of the families, set by newRoot
	presets    *preset.Library // of the stages, set by newRoot
	completing bool            // a shell asks what completes a word; set by newRoot

	table     *price.Table // of models and prices, once its options are checked; nil: the embedded one
	tableText []byte       // all that it has of files and flags

	files    files    // that are read and written
	programs programs // that policies name
	warnings warnings // of the command

	mu         sync.Mutex
	unfinished []string                     // temporary files and folders
	left       bool                         // after an interrupt: no file is begun
	discovered map[string]*discovered       // by folder
	infos      map[string]*session.FileInfo // of the files in them, by path
	listed     func(*session.FileInfo)      // is the Read of each listing of a folder

	stop     chan struct{} // closed by an interrupt
	finishes atomic.Bool   // after an interrupt the command prints what is finished: see interrupted
}

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
	sys := &system{
		in: stdin, out: &lineWriter{w: stdout}, err: stderr, stop: make(chan struct{}), programs: programs{err: stderr, running: map[*process]bool{}},
		env: os.Getenv, home: os.UserHomeDir, now: time.Now,
		terminal: isTerminal(stdout), watched: isTerminal(stderr), columns: columns(stdout),
	}
	sys.programs.files = &sys.files
	sys.files.writesStream(stdout)
	sys.files.writesStream(stderr)
	return sys
}

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// columns is the width of a terminal; 0 where w is none.
func columns(w io.Writer) int {
	f, ok := w.(*os.File)
	if !ok {
		return 0
	}
	width, _, err := term.GetSize(int(f.Fd()))
	if err != nil {
		return 0
	}
	return width
}

// lineWriter buffers and writes whole lines only, so that an interrupt leaves no half line. Closed, it refuses
// writes.
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
	if len(l.buf) >= lineBuffer && bytes.IndexByte(p, '\n') >= 0 { // a long line is not searched again with each part
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

// flush writes the whole lines.
func (l *lineWriter) flush() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.flushLines()
}

// close writes the whole lines and drops the rest.
func (l *lineWriter) close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.flushLines()
	l.closed = true
	return l.err
}
