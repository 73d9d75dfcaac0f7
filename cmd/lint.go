package cmd

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/ctxkit/ctxkit/jsonl/lint"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/report"
)

// LintOptions are what `ctxkit lint` is asked for.
type LintOptions struct {
	Inputs []string
	InputOptions
	OutputOptions
	Strict bool
	All    bool
}

const longLint = `Look through session files for what is wrong or odd: lines that do not read,
broken links, calls without results, lost files. Each finding has a stable
code; docs/lint.md says what it means and what it costs a replay.

  error    something of the transcript is lost, or refused (exit 1)
  warning  a replay has to assume something (exit 1 with --strict)
  note     normal for the format, and worth knowing

The files of a session's subagents are looked through with it.`

func newLint(sys *system) *cobra.Command {
	o := &LintOptions{}
	formats := formatNames(report.LintFormats)
	cmd := &cobra.Command{
		Use:   "lint INPUT...",
		Short: "Is the transcript sound? Find what is wrong or odd in session files",
		Long:  longLint,
		RunE: func(_ *cobra.Command, args []string) error {
			o.Inputs = args
			if err := o.OutputOptions.check(formats...); err != nil {
				return err
			}
			o.Agent = "all"
			if err := o.InputOptions.check(); err != nil {
				return err
			}
			return runLint(sys, o)
		},
	}
	o.OutputOptions.flags(cmd, formats...)
	f := cmd.Flags()
	f.IntVar(&o.Jobs, "jobs", 0, "how many sessions are worked on at once (`N`; default: one a processor)")
	f.BoolVar(&o.Strict, "strict", false, "exit 1 for warnings as well")
	f.BoolVar(&o.All, "all", false, "list every place, not only the first ones")
	return cmd
}

func runLint(sys *system, o *LintOptions) error {
	msgs := &messages{w: sys.err, quiet: o.Quiet}
	in, err := resolve(sys, o.Inputs, msgs.warn)
	if err != nil {
		return err
	}
	out, err := o.create(sys, in.list)
	if err != nil {
		return err
	}
	return out.close(lintAll(sys, o, in, out, msgs))
}

// lintAll prints what is found in each input, in their order.
func lintAll(sys *system, o *LintOptions, in inputs, out *output, msgs *messages) error {
	printer, err := report.NewLints(out, report.Layout{Format: report.Format(o.Format), All: o.All, Color: o.useColor(sys), Hints: reportHints()})
	if err != nil {
		return err
	}
	told := newProgress(sys, o.Quiet, "looked through", len(in.list))
	defer told.end()
	perFile := max(1, o.Jobs/len(in.list))
	broken, errors, warnings := 0, 0, 0
	err = inOrder(len(in.list), o.Jobs, func(i int) ([]*lint.Result, error) {
		return in.list[i].lint(sys, perFile, msgs)
	}, func(_ int, results []*lint.Result, err error) error {
		told.step()
		if err != nil {
			broken++
			told.clear()
			msgs.fail(err)
		}
		for _, r := range results {
			errors += r.Count(lint.Error)
			warnings += r.Count(lint.Warning)
			if err := printer.Add(r); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	if err := printer.Close(); err != nil {
		return err
	}
	switch {
	case broken > 0:
		return &partError{failed: broken, of: len(in.list)}
	case errors > 0:
		return fmt.Errorf("%w: %s", errCheckFailed, places("errors", errors))
	case warnings > 0 && o.Strict:
		return fmt.Errorf("%w: %s: leave out --strict if they may stand", errCheckFailed, places("warnings", warnings))
	}
	return nil
}

func places(what string, n int) string {
	if n == 1 {
		return what + " in 1 place"
	}
	return fmt.Sprintf("%s in %d places", what, n)
}

// lint looks through an input and its subagents' files.
func (in input) lint(sys *system, jobs int, msgs *messages) ([]*lint.Result, error) {
	opt := session.LoadOptions{Jobs: jobs}
	if in.path == "-" {
		r, err := lint.Reader("-", sys.in, opt)
		if err != nil {
			return nil, pathError("-", err)
		}
		return []*lint.Result{r}, nil
	}
	r, err := lint.File(in.path, opt)
	if err != nil {
		return nil, pathError(in.path, err)
	}
	list := []*lint.Result{r}
	agents, warnings, err := session.Subagents(in.path)
	if err != nil {
		return list, pathError(in.path, err)
	}
	for _, w := range warnings {
		msgs.warn(w)
	}
	for _, a := range agents {
		r, err := lint.File(a.Path, opt)
		if err != nil {
			return list, pathError(a.Path, err)
		}
		list = append(list, r)
	}
	return list, nil
}
