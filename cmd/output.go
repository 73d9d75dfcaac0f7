package cmd

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sort"
	"strconv"
	"sync"

	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/report"
)

// output is where a command's result goes: standard output, or a file that
// gets its name once it is whole.
type output struct {
	io.Writer
	buf    *bufio.Writer
	beside *besideFile
	plain  *os.File // a device or a pipe named with -o
}

// create opens the output. Inputs are named so that none is written over.
func (o *OutputOptions) create(sys *system, in []input) (*output, error) {
	if o.File == "" || o.File == "-" {
		return &output{Writer: sys.out}, nil
	}
	path := o.File
	if st, err := os.Stat(path); err == nil {
		if st.IsDir() {
			return nil, fmt.Errorf("%s: is a folder: name a file for the output", path)
		}
		for _, i := range in {
			if other, err := os.Stat(i.path); i.path != "-" && err == nil && os.SameFile(st, other) {
				return nil, fmt.Errorf("%s: is an input as well: name another file for the output", path)
			}
		}
		if !st.Mode().IsRegular() {
			f, err := os.OpenFile(path, os.O_WRONLY, 0)
			if err != nil {
				return nil, writeError(path, err)
			}
			w := bufio.NewWriter(f)
			return &output{Writer: w, buf: w, plain: f}, nil
		}
		if real, err := filepath.EvalSymlinks(path); err == nil {
			path = real
		}
	}
	f, err := sys.createBeside(path)
	if err != nil {
		return nil, writeError(o.File, err)
	}
	w := bufio.NewWriterSize(f, 64<<10)
	return &output{Writer: w, buf: w, beside: f}, nil
}

// close ends the output. A file gets its name where the work was done, if
// only in part or with a check that did not hold, and is gone otherwise.
func (o *output) close(err error) error {
	switch {
	case o.beside != nil && !done(err):
		o.beside.discard()
		return err
	case o.beside != nil:
		if err := o.buf.Flush(); err != nil {
			o.beside.discard()
			return writeError(o.beside.path, err)
		}
		if err := o.beside.commit(); err != nil {
			return writeError(o.beside.path, err)
		}
		return err
	case o.plain != nil:
		return errors.Join(err, o.buf.Flush(), o.plain.Close())
	}
	return err
}

// done reports whether there is a result in spite of err.
func done(err error) bool {
	var part *partError
	return err == nil || errors.Is(err, errCheckFailed) || errors.As(err, &part) && part.failed < part.of
}

func writeError(path string, err error) error {
	return fmt.Errorf("%s: cannot be written: %w", path, bare(err))
}

// messages writes warnings and errors to standard error, one a line.
type messages struct {
	mu    sync.Mutex
	w     io.Writer
	quiet bool // no warnings
}

func (m *messages) warn(w session.Warning) {
	if !m.quiet {
		m.print(warningLine(w))
	}
}

func (m *messages) fail(err error) { m.print(err.Error()) }

func (m *messages) print(text string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	fmt.Fprintf(m.w, "ctxkit: %s\n", report.Clean(text))
}

func warningLine(w session.Warning) string {
	switch {
	case w.File != "" && w.Line > 0:
		return w.File + ":" + strconv.Itoa(w.Line) + ": " + w.Message
	case w.File != "":
		return w.File + ": " + w.Message
	}
	return w.Message
}

func sorted(s []string) []string {
	sort.Strings(s)
	return s
}
