package cmd

import (
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/preset"
	"github.com/ctxkit/ctxkit/policy/strict"
	"github.com/ctxkit/ctxkit/report"
)

func newPolicyLint(sys *system) *cobra.Command {
	o := &outputOptions{}
	var names []string
	return command(&cobra.Command{
		Use: "lint NAME|FILE...", Short: "Check policies for errors and for probable mistakes",
		Long: `Check policies for errors (unknown keys, impossible values: exit 2) and for
settings that are probably mistakes (stages that can never act, orders that no
source has, stages that compete, parameters without effect: exit 1).`,
		Example: `  ctxkit policy lint claude-code
  ctxkit policy lint policies/*.yaml --format github`,
		Args: policyArguments(sys, 0, "policies", &names),
	}, func() error { return runPolicyLint(sys, o, names) }, o.with(report.PolicyLintFormats, report.FindingTables...))
}

func runPolicyLint(sys *system, o *outputOptions, names []string) error {
	var list []report.PolicyFinding
	var wrong policy.Errors // the other policies are checked all the same
	linted := 0
	for _, name := range names {
		p, err := loadPolicy(sys, policyOptions{Policy: name})
		var errs policy.Errors
		switch {
		case errors.As(err, &errs):
			wrong = append(wrong, errs...)
			continue
		case err != nil:
			wrong = append(wrong, &policy.Error{Msg: err.Error()})
			continue
		}
		linted++
		found, err := lintReleases(sys, name, p)
		if err != nil {
			return err
		}
		for _, f := range found {
			list = append(list, report.PolicyFinding{Policy: p.Name, Finding: f})
		}
	}
	if linted == 0 && report.Format(o.Format) != report.FormatGitHub {
		return wrong
	}
	err := o.print(sys, func(w io.Writer, opt report.Layout) error { return report.PolicyFindings(w, list, wrong, opt) })
	switch {
	case err != nil:
		return err
	case len(wrong) > 0:
		return wrong
	case len(list) == 1:
		return fmt.Errorf("%w: 1 finding", errCheckFailed)
	case len(list) > 0:
		return fmt.Errorf("%w: %d findings", errCheckFailed, len(list))
	}
	return nil
}

// lintReleases are the findings in a policy, each once. Those of a policy that extends a product's bare name are found for
// each release, and say for which ones they hold where that is not all.
func lintReleases(sys *system, name string, p *policy.Policy) (found []policy.Finding, err error) {
	product := p.Moving()
	if product == "" {
		return policy.Lint(p), nil
	}
	type span struct {
		policy.Finding
		from, to int // of the releases
	}
	var spans []span
	releases := sys.presets.Releases(product)
	for i, r := range releases {
		of, err := sys.presets.LoadFor(name, preset.Client{Product: product, Version: r.Version})
		if err != nil {
			return nil, err
		}
		for _, f := range policy.Lint(of) {
			j := slices.IndexFunc(spans, func(s span) bool { return s.to >= i-1 && s.Key == f.Key && s.Rule == f.Rule && s.Hint == f.Hint })
			if j < 0 {
				j = len(spans)
				spans = append(spans, span{from: i})
			}
			spans[j].Finding = f
			spans[j].to = i
		}
	}
	for _, s := range spans {
		if s.to-s.from < len(releases)-1 {
			s.Msg += fmt.Sprintf(" (in sessions of %s to %s)", releases[s.from].Policy, releases[s.to].Policy)
			s.Hint += ", or keep it for sessions of other releases"
		}
		found = append(found, s.Finding)
	}
	strict.SortByPlace(found, func(f policy.Finding) policy.Position { return f.Position })
	return found, nil
}

func newPolicyDiff(sys *system) *cobra.Command {
	o := &outputOptions{}
	var names []string
	return command(&cobra.Command{
		Use: "diff A B", Short: "Compare two policies key by key, with every default",
		Example: "  ctxkit policy diff claude-code-2.1.19 claude-code-2.1",
		Args:    policyArguments(sys, 2, "two policies", &names),
	}, func() error {
		a, err := loadPolicy(sys, policyOptions{Policy: names[0]})
		if err != nil {
			return err
		}
		b, err := loadPolicy(sys, policyOptions{Policy: names[1]})
		if err != nil {
			return err
		}
		return o.print(sys, func(w io.Writer, opt report.Layout) error {
			return report.PolicyChanges(w, a.Name, b.Name, policy.Diff(a, b), opt)
		})
	}, o.with(report.ListFormats, report.ChangeTables...))
}
