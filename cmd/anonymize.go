package cmd

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/anonymize"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/report"
)

// AnonymizeOptions are what `ctxkit anonymize` is asked for.
type AnonymizeOptions struct {
	Input string
	Seed  string
	Check bool
	OutputOptions
}

const longAnonymize = `Write a session that can be shown to others, for instance committed as a
regression fixture: every word becomes a stand-in of the same length, the same
one wherever it stands; structure, numbers, recorded usage and times stay. With
characters / 4 as the counter a replay comes to the same events and figures.

The files beside the session (subagents, offloaded results, its own summary)
are written beside the output. --check lists what still tells something about
the original.`

func newAnonymize(sys *system) *cobra.Command {
	o := &AnonymizeOptions{}
	formats := formatNames(report.ListFormats)
	cmd := &cobra.Command{
		Use:   "anonymize INPUT -o FILE",
		Short: "Write a session with stand-ins for all words",
		Long:  longAnonymize,
		Example: `  ctxkit anonymize session.jsonl -o testdata/fixture.jsonl
  ctxkit anonymize session.jsonl --check`,
		Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			o.Input = args[0]
			if err := o.OutputOptions.check(formats...); err != nil {
				return err
			}
			return runAnonymize(sys, o)
		},
	}
	o.flags(cmd, formats...)
	f := cmd.Flags()
	f.StringVar(&o.Seed, "seed", "", "choose the stand-ins by `TEXT`, so that several sessions share them; default: by the session itself")
	f.BoolVar(&o.Check, "check", false, "list what could still identify somebody; exit 1 where a word survived")
	return cmd
}

// sessionFolder is a session and what stands beside it.
type sessionFolder struct {
	main   *jsonl.Source
	root   *os.Root // the session's own folder, nil where there is none
	beside []string // names in it, with slashes
}

func (s *sessionFolder) close() {
	s.main.Close()
	if s.root != nil {
		s.root.Close()
	}
}

func runAnonymize(sys *system, o *AnonymizeOptions) error {
	msgs := &messages{w: sys.err, quiet: o.Quiet}
	in, err := resolve(sys, []string{o.Input}, msgs.warn)
	if err != nil {
		return err
	}
	if len(in.list) != 1 {
		return fmt.Errorf("%s: %d sessions: name one", o.Input, len(in.list))
	}
	files, err := openSession(sys, in.list[0].path, msgs)
	if err != nil {
		return pathError(in.list[0].path, err)
	}
	defer files.close()
	a := anonymize.New(o.Seed)
	jobs := runtime.GOMAXPROCS(0)
	if err := files.each(func(_ string, src *jsonl.Source, text []byte) error {
		if src == nil {
			a.NoteText(string(text))
			return nil
		}
		return a.Note(src, jobs)
	}); err != nil {
		return err
	}
	write := func(w io.Writer, src *jsonl.Source, text []byte) error {
		lines := &lineCheck{a: a, w: w}
		if src == nil {
			_, err := io.WriteString(lines, a.Text(string(text)))
			return err
		}
		return a.Write(src, jobs, lines)
	}
	toFile := o.File != "" && o.File != "-"
	if err := files.each(func(name string, src *jsonl.Source, text []byte) error {
		switch {
		case name == "":
			return o.writeMain(sys, in.list, func(w io.Writer) error { return write(w, src, text) })
		case toFile:
			return writeBeside(sys, besideName(o.File, name, a), func(w io.Writer) error { return write(w, src, text) })
		}
		return write(io.Discard, src, text)
	}); err != nil {
		return err
	}
	if len(files.beside) > 0 && !toFile && !o.Check {
		msgs.warn(session.Warning{File: in.list[0].path, Message: fmt.Sprintf("%d files beside the session are not written: name a file with -o", len(files.beside))})
	}
	found := a.Report()
	if o.Check {
		if err := report.Anonymized(sys.out, found, report.Options{Format: report.Format(o.Format), Color: o.useColor(sys)}); err != nil {
			return err
		}
	}
	if n := len(found.Survived); n > 0 {
		s := found.Survived[0]
		return fmt.Errorf("%w: %d words of the original are left, the first on line %d: %q", errCheckFailed, n, s.Line, s.Word)
	}
	return nil
}

// writeMain writes the session itself: to the output, or with --check alone
// nowhere.
func (o *AnonymizeOptions) writeMain(sys *system, in []input, write func(io.Writer) error) error {
	if o.Check && o.File == "" {
		return write(io.Discard)
	}
	out, err := o.create(sys, in)
	if err != nil {
		return err
	}
	return out.close(write(out))
}

// openSession opens a session file, and the folder beside it.
func openSession(sys *system, name string, msgs *messages) (*sessionFolder, error) {
	if name == "-" {
		src, err := jsonl.OpenReader("standard input", sys.in)
		return &sessionFolder{main: src}, err
	}
	src, err := jsonl.Open(name)
	if err != nil {
		return nil, err
	}
	s := &sessionFolder{main: src}
	base, _, ok := strings.Cut(filepath.Base(name), ".jsonl")
	if !ok || base == "" {
		return s, nil
	}
	dir, err := os.OpenRoot(filepath.Dir(name))
	if err != nil {
		return s, nil // the file is open: its folder just cannot be listed
	}
	defer dir.Close()
	if s.root, err = dir.OpenRoot(base); err != nil {
		s.root = nil
		return s, nil
	}
	err = fs.WalkDir(s.root.FS(), ".", func(p string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case e.Type().IsRegular():
			s.beside = append(s.beside, p)
		case !e.IsDir():
			msgs.warn(session.Warning{File: filepath.Join(filepath.Dir(name), base, p), Message: "no plain file: left out"})
		}
		return nil
	})
	slices.Sort(s.beside)
	if err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

// each goes through the files: the session itself, whose name is "", then what
// stands beside it, transcripts as sources and the rest as texts.
func (s *sessionFolder) each(use func(name string, src *jsonl.Source, text []byte) error) error {
	if err := use("", s.main, nil); err != nil {
		return err
	}
	for _, name := range s.beside {
		data, err := s.root.ReadFile(name)
		if err != nil {
			return err
		}
		if path.Ext(name) != ".jsonl" {
			if err := use(name, nil, data); err != nil {
				return err
			}
			continue
		}
		src, err := jsonl.OpenReader(name, bytes.NewReader(data))
		if err != nil {
			return err
		}
		err = use(name, src, nil)
		src.Close()
		if err != nil {
			return err
		}
	}
	return nil
}

// besideName is where a file beside the session goes: the folders keep their
// names, ids in the file's name become what they are in the session.
func besideName(out, name string, a *anonymize.Anonymizer) string {
	stem, _, _ := strings.Cut(filepath.Base(out), ".jsonl")
	dir, file := path.Split(name)
	if file != "summary.md" {
		file = a.Text(file)
	}
	return filepath.Join(filepath.Dir(out), stem, filepath.FromSlash(dir), file)
}

func writeBeside(sys *system, name string, write func(io.Writer) error) error {
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return writeError(name, err)
	}
	out, err := (&OutputOptions{File: name}).create(sys, nil)
	if err != nil {
		return err
	}
	return out.close(write(out))
}

// lineCheck looks through the lines that pass it.
type lineCheck struct {
	a    *anonymize.Anonymizer
	w    io.Writer
	line int
	rest []byte
}

// Write checks the whole lines and hands everything on.
func (l *lineCheck) Write(p []byte) (int, error) {
	l.rest = append(l.rest, p...)
	for {
		i := bytes.IndexByte(l.rest, '\n')
		if i < 0 {
			break
		}
		l.line++
		l.a.Check(string(l.rest[:i]), l.line)
		l.rest = l.rest[i+1:]
	}
	return l.w.Write(p)
}
