package cmd

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/preset"
	"github.com/ctxkit/ctxkit/report"
)

func newPolicy(sys *system) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "policy",
		Short: "The catalogue of policies",
	}
	group(cmd)
	cmd.AddCommand(newPolicyList(sys), newPolicyShow(sys), newPolicyLint(sys), newPolicyDiff(sys), newPolicySchema(sys))
	return cmd
}

// PolicyListOptions are what `ctxkit policy list` is asked for.
type PolicyListOptions struct{ OutputOptions }

func newPolicyList(sys *system) *cobra.Command {
	o := &PolicyListOptions{}
	formats := formatNames(report.ListFormats)
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the built-in policies with their sources",
		Args:  noArguments,
		RunE: func(*cobra.Command, []string) error {
			if err := o.check(formats...); err != nil {
				return err
			}
			return runPolicyList(sys, o)
		},
	}
	o.flags(cmd, formats...)
	return cmd
}

func runPolicyList(sys *system, o *PolicyListOptions) error {
	aliases := map[string][]string{}
	for alias, name := range preset.Aliases(sys.stages) {
		aliases[name] = append(aliases[name], alias)
	}
	var list []report.PolicyInfo
	for _, name := range preset.Names(sys.stages) {
		p, err := preset.Load(name, sys.stages)
		if err != nil {
			return fmt.Errorf("built-in policy %s: %w", name, err)
		}
		info := report.PolicyInfo{
			Name: p.Name, Aliases: sorted(append([]string{}, aliases[name]...)), About: p.About, Source: p.Source,
			Date: p.Date, Truth: string(p.Truth), Stages: []string{},
		}
		for _, s := range p.Stages {
			info.Stages = append(info.Stages, s.Definition.Name)
		}
		list = append(list, info)
	}
	out, err := o.create(sys, nil)
	if err != nil {
		return err
	}
	return out.close(report.Policies(out, list, report.Layout{Format: report.Format(o.Format), Color: o.useColor(sys), Hints: reportHints()}))
}

// PolicyShowOptions are what `ctxkit policy show` is asked for.
type PolicyShowOptions struct {
	PolicyOptions
	File     string
	Resolved bool // every default spelled out; else as it was written
}

func newPolicyShow(sys *system) *cobra.Command {
	o := &PolicyShowOptions{}
	cmd := &cobra.Command{
		Use:   "show NAME|FILE",
		Short: "Print a policy as YAML with every default spelled out",
		Long: `Print a policy as YAML: resolved, with what it extends worked in and every
default spelled out; or with --resolved=false as it was written, comments
included.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return fmt.Errorf("%s takes one policy: name one of %s", cmd.CommandPath(), strings.Join(policyNames(sys.stages), ", "))
			}
			o.Policy = args[0]
			if !o.Resolved && (len(o.Set) > 0 || o.Env || o.unfolded().Policy != o.Policy) {
				return errors.New("flag --resolved=false: settings and the environment change the resolved policy: leave them, or the flag, out")
			}
			return runPolicyShow(sys, o)
		},
	}
	f := cmd.Flags()
	f.StringArrayVar(&o.Set, "set", nil, "change a parameter: `STAGE.PARAM=VALUE` (repeatable)")
	f.BoolVar(&o.Env, "env", false, "let the client's environment variables change the policy")
	f.BoolVar(&o.Resolved, "resolved", true, "every default spelled out; false: as it was written")
	f.StringVarP(&o.File, "output", "o", "", "write to `FILE`")
	return cmd
}

func runPolicyShow(sys *system, o *PolicyShowOptions) error {
	p, err := loadPolicy(sys, o.PolicyOptions) // what is wrong is told either way
	if err != nil {
		return err
	}
	text := policy.Marshal(p)
	if !o.Resolved {
		if text, _, err = preset.Resolve(sys.stages)(o.Policy); err != nil {
			return err
		}
	}
	out, err := (&OutputOptions{File: o.File}).create(sys, nil)
	if err != nil {
		return err
	}
	_, err = out.Write(text)
	return out.close(err)
}

func newPolicySchema(sys *system) *cobra.Command {
	o := &OutputOptions{}
	cmd := &cobra.Command{
		Use:     "schema",
		Short:   "Print the JSON Schema of a policy file, for editors",
		Example: "  ctxkit policy schema -o policies/policy.schema.json",
		Args:    noArguments,
		RunE: func(*cobra.Command, []string) error {
			out, err := o.create(sys, nil)
			if err != nil {
				return err
			}
			_, err = out.Write(policy.Schema(sys.stages))
			return out.close(err)
		},
	}
	cmd.Flags().StringVarP(&o.File, "output", "o", "", "write to `FILE`")
	return cmd
}
