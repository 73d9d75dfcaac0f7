package cmd

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/report"
)

// output is where a command's result goes: standard output, or a file that is renamed once it is complete.
type output struct {
	io.Writer
	atomic *atomicFile
	end    func() error // of a device or a pipe named with -o, and of a pager
	said   io.Writer    // gets the name of the file once it is there; nil: no one is watching
}

// create opens the output. It refuses a file that the command reads, or writes already.
func (o *outputOptions) create(sys *system) (*output, error) {
	if o.File == "" && o.Format == string(report.FormatHTML) && sys.terminal {
		return nil, errors.New("flag --format: a page is not for a terminal: add -o page.html")
	}
	if o.File == "" || o.File == "-" {
		if o.Pager && sys.terminal {
			return sys.pager(), nil
		}
		return &output{Writer: sys.out}, nil
	}
	path := o.File
	if why := sys.files.taken(path); why != "" {
		return nil, refusedFile(path, why)
	}
	if st, err := os.Stat(path); err == nil {
		if st.IsDir() {
			return nil, fmt.Errorf("%s: is a folder: name a file for the output", path)
		}
		if !st.Mode().IsRegular() {
			f, err := os.OpenFile(path, os.O_WRONLY, 0)
			if err != nil {
				return nil, writeError(path, err)
			}
			w := bufio.NewWriter(f)
			return &output{Writer: w, end: func() error { return cmp.Or(w.Flush(), f.Close()) }}, nil
		}
	}
	if _, err := os.Lstat(path); err == nil { // what is replaced is what a link leads to, not the link
		if path, err = filepath.EvalSymlinks(path); err != nil {
			return nil, writeError(o.File, err)
		}
	}
	if form := strings.TrimPrefix(filepath.Ext(path), "."); slices.Contains(o.formats, form) && o.Format == o.formats[0] && form != o.Format && !o.Quiet {
		say(sys.err, path+": is written as "+o.Format+": for "+form+" add --format "+form)
	}
	f, err := sys.createAtomic(path)
	if err != nil {
		return nil, err
	}
	out := &output{Writer: f, atomic: f}
	if sys.watched && !o.Quiet {
		out.said = sys.err
	}
	return out, nil
}

// print writes a report, for a command without inputs.
func (o *outputOptions) print(sys *system, write func(w io.Writer, opt report.Layout) error) error {
	out, err := o.create(sys)
	if err != nil {
		return err
	}
	return out.close(write(out, o.report(sys)))
}

// show writes a report of something, for a command without inputs.
func show[T any](sys *system, o *outputOptions, print func(w io.Writer, of T, opt report.Layout) error, of T) error {
	return o.print(sys, func(w io.Writer, opt report.Layout) error { return print(w, of, opt) })
}

// close ends the output. A file is renamed where there is a result, if only of some inputs or with a failed check,
// and removed otherwise.
func (o *output) close(err error) error { return closeAll([]*output{o}, err) }

// closeAll ends outputs that belong together: see close. Their files are renamed once all are complete.
func closeAll(outs []*output, err error) error {
	var files []*atomicFile
	for _, o := range outs {
		if o.end != nil {
			if failed := o.end(); !errors.Is(err, failed) { // what could not be written cannot be flushed either
				err = errors.Join(err, failed)
			}
		}
		if o.atomic != nil {
			files = append(files, o.atomic)
		}
	}
	if len(files) == 0 {
		return err
	}
	if !done(err) {
		for _, f := range files {
			f.discard()
		}
		return err
	}
	if err := commit(files...); err != nil {
		return err
	}
	for _, o := range outs {
		if o.said != nil {
			beside := ""
			if f := o.atomic.folder; f != nil {
				beside = ", and the files next to it in " + f.path
			}
			(&messages{w: o.said}).print(o.atomic.place.path + " is written" + beside)
		}
	}
	return err
}

// done reports whether there is a result despite err.
func done(err error) bool {
	var part *partError
	return err == nil || errors.Is(err, errCheckFailed) || errors.As(err, &part) && part.usable
}

func writeError(path string, err error) error {
	return fmt.Errorf("%s: cannot be written: %w", path, bare(err))
}

// messages writes warnings and errors to standard error, one a line.
type messages struct {
	mu    sync.Mutex
	w     io.Writer
	quiet bool      // no warnings
	kinds *warnings // counts warnings instead, for the end; nil: they are written at once

	kept *[]session.Warning // gets the warnings as well; nil: nothing does
}

func (o *outputOptions) messages(sys *system) *messages {
	m := &messages{w: sys.err, quiet: o.Quiet}
	if !o.Verbose {
		m.kinds = &sys.warnings
	}
	return m
}

func (m *messages) warn(list ...session.Warning) {
	if m.kept != nil {
		*m.kept = append(*m.kept, list...)
	}
	switch {
	case m.quiet:
	case m.kinds != nil:
		m.kinds.add(list...)
	default:
		for _, w := range list {
			m.print(warningLine(w))
		}
	}
}

// warnings are those of a command, counted by kind.
type warnings struct {
	mu    sync.Mutex
	kinds report.WarningKinds
}

func (w *warnings) add(list ...session.Warning) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.kinds.Add(list...)
}

// printWarnings writes the warnings of a command by kind, below its result.
func (s *system) printWarnings() {
	s.warnings.mu.Lock()
	defer s.warnings.mu.Unlock()
	lines, hidden := s.warnings.kinds.Lines(warningLine)
	if len(lines) == 0 {
		return
	}
	s.out.flush()
	for _, line := range lines {
		say(s.err, limitHint(report.Clean(line)))
	}
	if hidden > 0 {
		say(s.err, "--verbose shows every warning")
	}
}

// unread warns of a file that is left out of a list.
func (m *messages) unread(err error) { m.warn(session.Warning{Message: err.Error()}) }

func (m *messages) fail(err error) { m.print(err.Error()) }

func (m *messages) print(text string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	say(m.w, limitHint(report.Clean(text)))
}

// say writes a message to standard error: one line, which a terminal has broken between words.
func say(w io.Writer, text string) {
	for _, line := range brokenLines("ctxkit: "+text, columns(w)) {
		fmt.Fprintln(w, line)
	}
}

// brokenLines divides a text between words, into lines of at most n columns; 0: anywhere. No word is broken: a path is
// copied in one piece. Lines after the first are indented.
func brokenLines(text string, n int) (lines []string) {
	const indent = "  "
	if n <= 0 || report.Width(text) <= n {
		return []string{text}
	}
	line := ""
	for i, word := range strings.Split(text, " ") {
		switch {
		case i == 0:
			line = word
		case report.Width(line+" "+word) <= n:
			line += " " + word
		default:
			lines = append(lines, line)
			line = indent + word
		}
	}
	return append(lines, line)
}

func warningLine(w session.Warning) string {
	if w.File == "" {
		return w.Message
	}
	return (&jsonl.FileError{Path: w.File, Line: w.Line, Err: errors.New(w.Message)}).Error()
}

func sorted(s []string) []string {
	slices.Sort(s)
	return s
}
