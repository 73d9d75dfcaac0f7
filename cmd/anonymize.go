package cmd

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/anonymize"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/replay/tokens"
	"github.com/ctxkit/ctxkit/report"
)

// AnonymizeOptions are the options of `ctxkit anonymize`.
type AnonymizeOptions struct {
	Inputs []string
	Seed   string
	Check  bool
	OutputOptions
}

const longAnonymize = `Write a session that can be shown to others, for instance to commit it as a
regression fixture: every word is replaced by another of the same length, always
by the same one; structure, numbers, recorded usage and times stay. A replay
gives the same events and, with characters / 4 as the counter, the same figures;
by other counters they differ little, since the substitute has about as many
tokens as the word.

The files of the session's folder (subagents, offloaded results, its own summary)
are written to the folder of the output. --check lists what may still identify
the original.`

func newAnonymize(sys *system) *cobra.Command {
	o := &AnonymizeOptions{}
	cmd := command(&cobra.Command{
		Use: "anonymize INPUT -o FILE", Short: "Write a session with every word replaced", Long: longAnonymize,
		Example: `  ctxkit anonymize session.jsonl -o testdata/fixture.jsonl
  ctxkit anonymize session.jsonl --check`,
		Args: arguments(&o.Inputs),
	}, func() error {
		switch {
		case len(o.Inputs) == 0:
			return errors.New("no input: name a session file, a session id, or - for standard input")
		case len(o.Inputs) > 1:
			return fmt.Errorf("%d inputs: name one session", len(o.Inputs))
		case o.Check && o.File == "-":
			return errors.New("--check and -o - both go to standard output: name a file with -o")
		}
		return runAnonymize(sys, o)
	}, o.with(report.ListFormats))
	f := cmd.Flags()
	f.StringVar(&o.Seed, "seed", "", "choose the replacements by `TEXT`, so that several sessions share them; default: by the session itself")
	f.BoolVar(&o.Check, "check", false, "list what could still identify somebody; exit 1 where a word survived")
	return cmd
}

func runAnonymize(sys *system, o *AnonymizeOptions) error {
	msgs := o.messages(sys)
	in, err := resolve(sys, o.Inputs, msgs.warn)
	if err != nil {
		return err
	}
	if len(in.list) != 1 {
		return fmt.Errorf("%s: %d sessions: name one", o.Inputs[0], len(in.list))
	}
	path := in.list[0].path
	files, err := openSession(sys, path, msgs)
	if err != nil {
		return pathError(path, err)
	}
	defer files.close()
	target, err := files.target(o.File)
	if err != nil {
		return err
	}
	a, err := newAnonymizer(o.Seed)
	if err != nil {
		return err
	}
	if err := files.note(a); err != nil {
		return err
	}
	if err := target.name(files.beside, a); err != nil {
		return err
	}
	if err := o.write(sys, files, target, a); err != nil {
		return err
	}
	if len(files.beside) > 0 && target.folder == "" && (!o.Check || o.File != "") {
		msgs.warn(session.Warning{File: path, Message: fmt.Sprintf("%d files beside the session are not written: name a file with -o", len(files.beside))})
	}
	found := a.Disclosure()
	if o.Check {
		if err := report.Anonymized(sys.out, found, o.report(sys)); err != nil {
			return err
		}
	}
	if n := len(found.Survived); n > 0 {
		s := found.Survived[0]
		return fmt.Errorf("%w: %d words of the original are left, the first in %s: %q", errCheckFailed, n, s.Location, s.Word)
	}
	return nil
}

// newAnonymizer is an Anonymizer whose replacements fit the encodings that
// tokens are counted in.
func newAnonymizer(seed string) (*anonymize.Anonymizer, error) {
	var counters []func(string) int
	for _, name := range []string{tokens.NameO200K, tokens.NameCL100K} {
		encoder, err := tokens.NewEncoder(name)
		if err != nil {
			return nil, err
		}
		counters = append(counters, encoder.Count)
	}
	return anonymize.New(seed, counters...), nil
}

// write writes the files of the session's folder, then the session: both are
// renamed together. What is written nowhere is checked all the same.
func (o *AnonymizeOptions) write(sys *system, files *sessionFolder, target *sessionTarget, a *anonymize.Anonymizer) error {
	var folder *atomicFolder
	if target.folder != "" {
		var err error
		if folder, err = sys.createAtomicFolder(target.folder); err != nil {
			return writeError(target.folder, err)
		}
		defer func() { _ = folder.remove() }()
	}
	for _, name := range files.beside {
		if err := files.read(name, func(src *jsonl.Source, text []byte) error {
			write := func(w io.Writer) error { return writeChecked(w, a, target.names[name], src, text) }
			if folder == nil {
				return write(io.Discard)
			}
			if err := folder.write(target.names[name], write); err != nil {
				return writeError(filepath.Join(target.folder, target.names[name]), err)
			}
			return nil
		}); err != nil {
			return err
		}
	}
	if o.Check && o.File == "" {
		return writeChecked(io.Discard, a, "", files.main, nil)
	}
	out, err := o.create(sys, nil) // target has refused what is read
	if err != nil {
		return err
	}
	if out.atomic != nil {
		out.atomic.folder = folder
	}
	return out.close(writeChecked(out, a, "", files.main, nil))
}

// writeChecked writes a transcript, or a text where src is nil, and checks what
// it writes.
func writeChecked(w io.Writer, a *anonymize.Anonymizer, file string, src *jsonl.Source, text []byte) error {
	lines := &lineCheck{a: a, w: w, at: anonymize.Location{File: file}}
	if src == nil {
		if _, err := io.WriteString(lines, a.Text(string(text))); err != nil {
			return err
		}
	} else if err := a.Write(src, runtime.GOMAXPROCS(0), lines); err != nil {
		return err
	}
	lines.end()
	return nil
}

// lineCheck checks the lines that are written to it and hands them on.
type lineCheck struct {
	a    *anonymize.Anonymizer
	w    io.Writer
	at   anonymize.Location // of the line before
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
		l.at.Line++
		l.a.Check(string(l.rest[:i]), l.at)
		l.rest = l.rest[i+1:]
	}
	return l.w.Write(p)
}

// end checks a last line without a line end.
func (l *lineCheck) end() {
	if len(l.rest) > 0 {
		l.at.Line++
		l.a.Check(string(l.rest), l.at)
		l.rest = nil
	}
}
