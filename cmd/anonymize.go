package cmd

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"runtime"
	"time"

	"github.com/spf13/cobra"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/anonymize"
	"github.com/ctxkit/ctxkit/jsonl/foreign"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/replay/tokens"
	"github.com/ctxkit/ctxkit/report"
)

// anonymizeOptions are the options of `ctxkit anonymize`.
type anonymizeOptions struct {
	Inputs []string
	Seed   string `flag:"seed" usage:"choose the substitutes by <TEXT>, a secret: names are the same in all sessions with it; default: by the session itself"`
	Check  bool   `flag:"check" usage:"list what could still identify somebody; exit 1 where a word survived"`
	Shift  time.Duration
	outputOptions
}

func newAnonymize(sys *system) *cobra.Command {
	o := &anonymizeOptions{}
	cmd := command(&cobra.Command{
		Use: "anonymize INPUT -o FILE", Short: "Write a session with every word replaced",
		Example: `  ctxkit anonymize session.jsonl -o testdata/fixture.jsonl
  ctxkit anonymize session.jsonl --check`,
		Args: arguments(&o.Inputs),
		Long: `Write a session that can be shown to others, for instance to commit it as a
regression fixture, in the form it has: any agent's. Words, names and numbers
are replaced; structure, models, recorded usage, times (--shift-times moves
them) and the lengths of texts stay. A word of a text has another substitute
wherever it occurs; ids, paths and lines that are repeated have the same. A
replay gives the same events and, by the counters usage and heuristic, the same
figures; by others they differ little. docs/anonymize.md says what is hidden
from whom, and what is not.

The files of the session's folder (subagents, offloaded results, summary) and
transcripts of subagents next to it are written to the folder of the output.
--check lists what may still identify the original.`,
	}, func() error {
		if len(o.Inputs) == 1 && o.Check && o.File == "-" {
			return errors.New("--check and -o - both go to standard output: name a file with -o")
		}
		return runAnonymize(sys, o)
	}, o.with(report.ListFormats, report.AnonymizeTables...), own(o))
	cmd.Flags().DurationVar(&o.Shift, "shift-times", 0, "move all times by `DURATION`, such as -1000h17m: exact times can reveal the commits of a session, and their author")
	return cmd
}

func runAnonymize(sys *system, o *anonymizeOptions) error {
	msgs := o.messages(sys)
	path, err := resolveOne(sys, o.Inputs, msgs)
	if err != nil {
		return err
	}
	files, err := openSession(sys, path, msgs)
	if err != nil {
		return pathError(path, err)
	}
	defer files.close()
	form, err := session.Recognise(files.main)
	if err != nil {
		return pathError(path, err)
	}
	var folder string
	var names []string // of the files of a tree
	if form != nil && form.Files != nil && path != "-" {
		folder, names = form.Files(path)
	}
	if form != nil && len(names) == 0 {
		if err := session.Unread(form, files.main); err != nil {
			return pathError(path, err)
		}
	}
	a, err := newAnonymizer(form, o.Seed)
	if err != nil {
		return err
	}
	a.ShiftTimes(o.Shift)
	if len(names) > 0 {
		return runAnonymizeTree(sys, o, a, folder, names)
	}
	target, err := files.target(sys, o.File)
	if err != nil {
		return err
	}
	if o.Check {
		a.Try()
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
		msgs.warn(session.Warning{File: path, Message: fmt.Sprintf("%d files next to the session are not written: name a file with -o", len(files.beside))})
	}
	return o.disclose(sys, a)
}

// disclose says what is left, and fails where that is a word of the original.
func (o *anonymizeOptions) disclose(sys *system, a *anonymize.Anonymizer) error {
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
func newAnonymizer(form *foreign.Form, seed string) (*anonymize.Anonymizer, error) {
	var counters []func([]byte) int
	for _, name := range []string{tokens.NameO200K, tokens.NameCL100K} {
		encoder, err := tokens.NewEncoder(name)
		if err != nil {
			return nil, err
		}
		counters = append(counters, encoder.CountBytes)
	}
	return anonymize.New(form, seed, counters...), nil
}

// write writes the files of the session's folder, then the session: both are renamed together. What is written
// nowhere is checked all the same.
func (o *anonymizeOptions) write(sys *system, files *sessionFolder, target *sessionTarget, a *anonymize.Anonymizer) error {
	var folder *atomicFolder
	if target.folder != "" {
		var err error
		if folder, err = sys.createAtomicFolder(target.folder); err != nil {
			return err
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
	out, err := o.create(sys)
	if err != nil {
		return err
	}
	if out.atomic != nil {
		out.atomic.folder = folder
	}
	return out.close(a.Write(files.main, "", jobs, out))
}
