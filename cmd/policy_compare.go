package cmd

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/report"
)

// PolicyLintOptions are what `ctxkit policy lint` is asked for.
type PolicyLintOptions struct {
	OutputOptions
	Policies []string
}

func newPolicyLint(sys *system) *cobra.Command {
	o := &PolicyLintOptions{}
	formats := formatNames(report.PolicyLintFormats)
	cmd := &cobra.Command{
		Use:   "lint NAME|FILE...",
		Short: "Check policies for what is wrong, and for what is allowed but hardly meant",
		Long: `Check policies for what is wrong: unknown keys, impossible values (exit 2); and
for what is allowed but hardly meant: stages that can never fire, orders no
source has, stages that compete, parameters without effect (exit 1).`,
		Example: `  ctxkit policy lint claude-code
  ctxkit policy lint policies/*.yaml --format github`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return fmt.Errorf("%s takes policies: name files, or some of %s", cmd.CommandPath(), strings.Join(policyNames(sys.stages), ", "))
			}
			if err := o.check(formats...); err != nil {
				return err
			}
			o.Policies = args
			return runPolicyLint(sys, o)
		},
	}
	o.flags(cmd, formats...)
	return cmd
}

func runPolicyLint(sys *system, o *PolicyLintOptions) error {
	var list []report.PolicyFinding
	var wrong policy.Errors // in any of them: the others are linted all the same
	linted := 0
	for _, name := range o.Policies {
		p, err := loadPolicy(sys, PolicyOptions{Policy: name})
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
		for _, f := range policy.Lint(p) {
			list = append(list, report.PolicyFinding{
				Policy: p.Name, File: f.File, Line: f.Line, Column: f.Column, Key: f.Key, Rule: f.Rule, Message: f.Msg, Hint: f.Hint,
			})
		}
	}
	if linted == 0 && report.Format(o.Format) != report.FormatGitHub {
		return wrong
	}
	out, err := o.create(sys, nil)
	if err != nil {
		return err
	}
	if err := out.close(report.PolicyFindings(out, list, wrong, report.Layout{Format: report.Format(o.Format), Color: o.useColor(sys), Hints: reportHints()})); err != nil {
		return err
	}
	switch {
	case len(wrong) > 0:
		return wrong
	case len(list) == 1:
		return fmt.Errorf("%w: 1 finding", errCheckFailed)
	case len(list) > 0:
		return fmt.Errorf("%w: %d findings", errCheckFailed, len(list))
	}
	return nil
}

// PolicyDiffOptions are what `ctxkit policy diff` is asked for.
type PolicyDiffOptions struct {
	OutputOptions
	A, B string
}

func newPolicyDiff(sys *system) *cobra.Command {
	o := &PolicyDiffOptions{}
	formats := formatNames(report.ListFormats)
	cmd := &cobra.Command{
		Use:     "diff A B",
		Short:   "Compare two policies key by key, every default spelled out",
		Example: "  ctxkit policy diff claude-code-2.1.19 claude-code-2.1",
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) != 2 {
				return fmt.Errorf("%s takes two policies: name files, or some of %s", cmd.CommandPath(), strings.Join(policyNames(sys.stages), ", "))
			}
			if err := o.check(formats...); err != nil {
				return err
			}
			o.A, o.B = args[0], args[1]
			return runPolicyDiff(sys, o)
		},
	}
	o.flags(cmd, formats...)
	return cmd
}

func runPolicyDiff(sys *system, o *PolicyDiffOptions) error {
	a, err := loadPolicy(sys, PolicyOptions{Policy: o.A})
	if err != nil {
		return err
	}
	b, err := loadPolicy(sys, PolicyOptions{Policy: o.B})
	if err != nil {
		return err
	}
	var list []report.PolicyChange
	for _, c := range policy.Diff(a, b) {
		list = append(list, report.PolicyChange{Key: c.Key, From: c.From, To: c.To})
	}
	out, err := o.create(sys, nil)
	if err != nil {
		return err
	}
	return out.close(report.PolicyChanges(out, a.Name, b.Name, list, report.Layout{Format: report.Format(o.Format), Color: o.useColor(sys), Hints: reportHints()}))
}
