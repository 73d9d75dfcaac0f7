package cmd

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/ctxkit/ctxkit/jsonl/lint"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/report"
)

// lintOptions are the options of `ctxkit lint`.
type lintOptions struct {
	Inputs []string
	inputOptions
	outputOptions
	Strict bool `flag:"strict" usage:"exit 1 for warnings as well"`
}

func newLint(sys *system) *cobra.Command {
	o := &lintOptions{inputOptions: inputOptions{Agent: "all"}}
	return command(&cobra.Command{
		Use: "lint INPUT...", Short: "Check session files for malformed lines, lost links and parts",
		Args: arguments(&o.Inputs),
		Long: `Check session files for errors and oddities: malformed lines, broken links,
calls without results, missing files. Each finding has a stable code;
docs/lint.md says what it means and how it affects a replay.

  error    part of the transcript is lost or unusable (exit 1)
  warning  a replay has to make an assumption (exit 1 with --strict)
  note     normal for the format, and worth knowing

The files of a session's subagents are checked with it.`,
	}, func() error {
		if err := o.inputOptions.check(); err != nil {
			return err
		}
		j, err := start(sys, o.Inputs, o.inputOptions, &o.outputOptions)
		if err != nil {
			return err
		}
		return j.out.close(lintAll(j, o))
	}, o.listing(report.LintFormats, report.LintTables...), own(&o.inputOptions, "jobs"), own(o))
}

// lintAll prints the findings of each input, in the order of the inputs.
func lintAll(j *job, o *lintOptions) error {
	printer, err := report.NewLints(j.out, o.report(j.sys))
	if err != nil {
		return err
	}
	errors := 0
	warnings := 0
	failed, err := eachInput(j.loop("checked"), func(i int) ([]*lint.Problems, error) {
		path := j.in.list[i]
		if err := j.in.broken[path]; err != nil {
			return nil, err
		}
		return lintInput(j, path)
	}, func(r *lint.Problems) error {
		errors += r.Count(lint.Error)
		warnings += r.Count(lint.Warning)
		return printer.Add(r)
	})
	if err == nil {
		err = printer.Close()
	}
	switch {
	case err != nil:
		return err
	case failed != nil:
		return failed
	case errors > 0:
		return fmt.Errorf("%w: %s", errCheckFailed, places("errors", errors))
	case warnings > 0 && o.Strict:
		return fmt.Errorf("%w: %s: mend them, or leave out --strict", errCheckFailed, places("warnings", warnings))
	}
	return nil
}

// lintInput checks an input and its subagents' files.
func lintInput(j *job, path string) (list []*lint.Problems, err error) {
	opt := session.LoadOptions{Jobs: j.perInput(), Limits: j.sys.limits}
	if path == "-" {
		r, err := lint.Reader("-", j.sys.in, opt)
		if err != nil {
			return nil, pathError("-", err)
		}
		return []*lint.Problems{r}, nil
	}
	agents, warnings, failed := j.sys.subagents(path)
	j.msgs.warn(warnings...)
	for _, a := range append([]session.Subagent{{Path: path}}, agents...) {
		r, err := lint.File(a.Path, opt)
		if err != nil {
			return list, pathError(a.Path, err)
		}
		list = append(list, r)
	}
	if failed != nil {
		return list, pathError(path, failed)
	}
	return list, nil
}

func places(what string, n int) string {
	if n == 1 {
		return what + " in 1 place"
	}
	return fmt.Sprintf("%s in %d places", what, n)
}
