package cmd

import (
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ctxkit/ctxkit/replay/check"
	"github.com/ctxkit/ctxkit/report"
)

// checkOptions are the options of `ctxkit check`.
type checkOptions struct {
	outputOptions
	inputOptions // --jobs alone
	prices       *priceOptions
	File         string
	Also         []string `flag:"also" usage:"write the result in another format as well: <FORMAT=FILE> (repeatable)"`
	Update       bool     `flag:"update" usage:"write the figures of this run as the new baseline"`
	Force        bool     `flag:"force" usage:"with --update: also where CI is set in the environment; with --init: write over ctxkit.yaml"`
	Init         bool     `flag:"init" usage:"write a first ctxkit.yaml for the sessions of the inputs"`
	Policy       string   `flag:"policy,p" usage:"with --init: the <POLICY> to check"`
}

const (
	maxBaseline  = 256 << 20 // bytes; more than any baseline has
	maxCheckFile = 1 << 20
)

func newCheck(sys *system) *cobra.Command {
	o := &checkOptions{File: check.DefaultFile, prices: newPriceOptions(sys)}
	var inputs []string // with Init
	cmd := command(&cobra.Command{
		Use: "check [FILE]", Short: "Check replays against limits and a baseline",
		Args: func(cmd *cobra.Command, args []string) error {
			if inputs = args; o.Init {
				return nil
			}
			if len(args) > 1 {
				return fmt.Errorf("%s takes one file: leave out %q", cmd.CommandPath(), args[1])
			}
			if len(args) == 1 {
				o.File = args[0]
			}
			return nil
		},
		Long: `Replay sessions under policies as a file says, and judge the figures by the
limits in the file and by a baseline of earlier figures. A case is judged by the
sum over its sessions: what they cost, and what it would cost to fetch again
what was removed and needed later. Worse fails, better is reported and asks for
--update; the first differing event of each session is named. A change of a
policy that no session shows is named and passes, as does what another version
of ctxkit changed by itself. FILE is ctxkit.yaml in the working folder unless
another is named; docs/check.md describes it.

--init writes a first ctxkit.yaml for a policy: of the sessions of the inputs
the smallest in which its stages act.

Exit status: 0 everything passes; 1 something fails, or the baseline has other
cases or sessions; 2 the check could not be done.`,
		Example: `  ctxkit check
  ctxkit check ci/ctxkit.yaml --format github --also junit=check.xml
  ctxkit check --init sessions --policy opencode
  ctxkit check --update`,
	}, func() error {
		if o.Init {
			return runCheckInit(sys, o, inputs)
		}
		if o.Policy != "" {
			return fmt.Errorf("flag --policy: it is for --init: name the policy in %s", o.File)
		}
		return runCheck(sys, o)
	}, o.listing(report.CheckFormats, report.CheckTables...), own(&o.inputOptions, "jobs"), own(o.prices), own(o))
	completeKeys(cmd, "also", o.formats)
	return cmd
}

// also is another format of the result.
type also struct{ format, file string }

func (o *checkOptions) forms() ([]also, error) {
	var list []also
	for _, s := range o.Also {
		format, file, ok := strings.Cut(s, "=")
		if !ok || file == "" {
			return nil, fmt.Errorf("flag --also: %q names no file: write FORMAT=FILE, such as junit=check.xml", s)
		}
		if err := oneOf("--also", format, o.formats); err != nil {
			return nil, err
		}
		list = append(list, also{format, file})
	}
	return list, nil
}

// checking is a check under way.
type checking struct {
	sys     *system
	o       *checkOptions
	config  *check.Config
	dir     string // of the configuration
	replays replayOptions
	chosen  []policyChoice      // by case
	checked map[string]*checked // the inputs, by path
	in      inputs
}

// checked is an input of a check.
type checked struct {
	name  string                 // in reports
	cases []int                  // that replay it
	hash  func() (string, error) // of its content
}

func runCheck(sys *system, o *checkOptions) error {
	sys.uncached = true // a verdict depends on the files alone
	forms, err := o.forms()
	if err != nil {
		return err
	}
	if o.Update && !o.Force && inCI(sys.env) {
		return fmt.Errorf("flag --update: CI is set in the environment, and a person has to agree to a baseline: run it on your own machine and commit the file, or add --force")
	}
	c, err := newChecking(sys, o)
	if err != nil {
		return err
	}
	old, err := c.baseline()
	if err != nil {
		return err
	}
	forms = append([]also{{o.Format, o.outputOptions.File}}, forms...)
	outs, err := c.create(forms)
	if err != nil {
		return err
	}
	r, err := c.run(old)
	for i, f := range forms {
		if err == nil {
			err = c.print(outs[i], f.format, r)
		}
	}
	if err == nil {
		err = c.verdict(r)
	}
	return closeAll(outs, err)
}

// create opens the outputs of a check, all or none.
func (c *checking) create(forms []also) (outs []*output, err error) {
	for i, f := range forms {
		one := c.o.outputOptions
		one.File = f.file
		out, err := one.create(c.sys)
		if err != nil {
			if i > 0 {
				err = fmt.Errorf("flag --also: %w", err)
			}
			return nil, closeAll(outs, err)
		}
		outs = append(outs, out)
	}
	return outs, nil
}

// inCI reports whether a CI system runs this process: all of them set CI.
func inCI(env func(string) string) bool {
	switch strings.ToLower(strings.TrimSpace(env("CI"))) {
	case "", "0", "false", "no", "off":
		return false
	}
	return true
}

// write writes the baseline.
func (c *checking) write(b *check.Baseline) error {
	o := outputOptions{File: c.path(c.config.Baseline)}
	c.sys.files.release(roleBaseline, o.File)
	return o.print(c.sys, func(w io.Writer, _ report.Layout) error { return b.Write(w) })
}

// print writes the result in one format.
func (c *checking) print(w io.Writer, format string, r *check.Report) error {
	opt := report.CheckLayout{Layout: c.o.report(c.sys), Root: c.root(), Suite: "ctxkit check " + r.File}
	opt.Format = report.Format(format)
	return report.Check(w, r, opt)
}

// root makes a file's name relative to the checkout, as annotations need it.
func (c *checking) root() func(string) string {
	workspace := c.sys.env("GITHUB_WORKSPACE")
	return func(name string) string {
		if workspace != "" {
			if abs, err := filepath.Abs(name); err == nil {
				if rel, err := filepath.Rel(workspace, abs); err == nil && filepath.IsLocal(rel) {
					return filepath.ToSlash(rel)
				}
			}
		}
		return filepath.ToSlash(name)
	}
}

// verdict is the error of a check that fails.
func (c *checking) verdict(r *check.Report) error {
	broken := r.Counts.Broken
	switch {
	case r.Updated && broken > 0:
		return fmt.Errorf("%w: the baseline is written, but %d of %d replays are outside the limits of %s", errCheckFailed, broken, r.Counts.Replays, c.config.File)
	case r.Updated || r.Passed:
		return nil
	case r.Counts.FailedCases == 0:
		return fmt.Errorf("%w: the baseline has other cases or sessions: look at them, then run `%s`", errCheckFailed, updateCommand(c.config.File))
	}
	return fmt.Errorf("%w: %d of %d cases", errCheckFailed, r.Counts.FailedCases, len(r.Cases))
}
