package cmd

import (
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

func newAnonymize(sys *system) *cobra.Command {
	o := &AnonymizeOptions{}
	cmd := command(&cobra.Command{
		Use: "anonymize INPUT -o FILE", Short: "Write a session with every word replaced",
		Example: `  ctxkit anonymize session.jsonl -o testdata/fixture.jsonl
  ctxkit anonymize session.jsonl --check`,
		Args: arguments(&o.Inputs),
		Long: `Write a session that can be shown to others, for instance to commit it as a
regression fixture: every word is replaced by another of the same length, always
by the same one; structure, numbers, recorded usage and times stay. A replay
gives the same events and, with characters / 4 as the counter, the same figures;
by other counters they differ little, since the substitute has about as many
tokens as the word.

The files of the session's folder (subagents, offloaded results, summary) are
written to the folder of the output. --check lists what may still identify
the original.`,
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
	}, o.with(report.ListFormats, report.AnonymizeTables...))
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
	path := in.list[0]
	files, err := openSession(sys, path, msgs)
	if err != nil {
		return pathError(path, err)
	}
	defer files.close()
	if form, err := session.Recognise(files.main); err != nil {
		return pathError(path, err)
	} else if form != nil {
		return fmt.Errorf("%s: a session of %s: write it with `ctxkit convert` first", path, form.Client)
	}
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

// newAnonymizer is an Anonymizer whose replacements fit the encodings that tokens are counted in.
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

// write writes the files of the session's folder, then the session: both are renamed together. What is written
// nowhere is checked all the same.
func (o *AnonymizeOptions) write(sys *system, files *sessionFolder, target *sessionTarget, a *anonymize.Anonymizer) error {
	var folder *atomicFolder
	if target.folder != "" {
		var err error
		if folder, err = sys.createAtomicFolder(target.folder); err != nil {
			return writeError(target.folder, err)
		}
		defer func() { _ = folder.remove() }()
	}
	jobs := runtime.GOMAXPROCS(0)
	for _, name := range files.beside {
		to := target.names[name]
		if err := files.read(name, func(src *jsonl.Source, text string) error {
			write := func(w io.Writer) error {
				if src == nil {
					return a.WriteText(text, to, w)
				}
				return a.Write(src, to, jobs, w)
			}
			if folder == nil {
				return write(io.Discard)
			}
			if err := folder.write(to, write); err != nil {
				return writeError(filepath.Join(target.folder, to), err)
			}
			return nil
		}); err != nil {
			return err
		}
	}
	if o.Check && o.File == "" {
		return a.Write(files.main, "", jobs, io.Discard)
	}
	out, err := o.create(sys, nil) // target has refused what is read
	if err != nil {
		return err
	}
	if out.atomic != nil {
		out.atomic.folder = folder
	}
	return out.close(a.Write(files.main, "", jobs, out))
}
