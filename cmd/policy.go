package cmd

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/preset"
	"github.com/ctxkit/ctxkit/report"
)

func newPolicy(sys *system) *cobra.Command {
	cmd := &cobra.Command{
		Use: "policy", Short: "List, show, check and compare policies",
	}
	group(cmd)
	cmd.AddCommand(newPolicyList(sys), newPolicyShow(sys), newPolicyLint(sys), newPolicyDiff(sys), newPolicySchema(sys))
	return cmd
}

func newPolicyList(sys *system) *cobra.Command {
	o := &OutputOptions{}
	return command(&cobra.Command{
		Use: "list", Short: "List the built-in policies with their sources", Args: noArguments,
	}, func() error {
		list, err := listPolicies(sys)
		if err != nil {
			return err
		}
		return o.print(sys, func(w io.Writer, opt report.Layout) error { return report.Policies(w, list, opt) })
	}, o.with(report.ListFormats))
}

func listPolicies(sys *system) ([]report.PolicyInfo, error) {
	var list []report.PolicyInfo
	for _, name := range preset.Names(sys.stages) {
		p, err := preset.Load(name, sys.stages)
		if err != nil {
			return nil, fmt.Errorf("built-in policy %s: %w", name, err)
		}
		info := report.PolicyInfo{
			Name: p.Name, Product: p.Product, Version: p.Version, About: p.About, Source: p.Source, Date: p.Date,
			From: p.Valid.From, Until: p.Valid.Until, Truth: string(p.Truth), Stages: []string{},
		}
		for _, s := range p.Stages {
			info.Stages = append(info.Stages, s.Definition.Name)
		}
		list = append(list, info)
	}
	return list, nil
}

// PolicyShowOptions are the options of `ctxkit policy show`.
type PolicyShowOptions struct {
	PolicyOptions
	OutputOptions
	Resolved bool // with every default; else as it was written
}

func newPolicyShow(sys *system) *cobra.Command {
	o := &PolicyShowOptions{}
	var names []string
	cmd := command(&cobra.Command{
		Use: "show NAME|FILE", Short: "Print a policy as YAML with every default",
		Long: `Print a policy as YAML: resolved, with what it extends merged in and every
default spelled out; or with --resolved=false as it was written, comments
included.`,
		Args: policyArguments(sys, 1, "one policy", &names),
	}, func() error {
		o.Policy = names[0]
		return runPolicyShow(sys, o)
	}, flag(o.change), flag(o.file))
	cmd.Flags().BoolVar(&o.Resolved, "resolved", true, "every default spelled out; false: as it was written")
	return cmd
}

func runPolicyShow(sys *system, o *PolicyShowOptions) error {
	if !o.Resolved && (len(o.Set) > 0 || o.Env || o.unfolded().Policy != o.Policy) {
		return errors.New("flag --resolved=false: settings and the environment change the resolved policy: leave them, or the flag, out")
	}
	p, err := loadPolicy(sys, o.PolicyOptions) // its errors are reported either way
	if err != nil {
		return err
	}
	text := policy.Marshal(p)
	if !o.Resolved {
		if text, _, err = preset.Resolve(sys.stages)(o.Policy); err != nil {
			return err
		}
	}
	return o.printText(sys, text)
}

func newPolicySchema(sys *system) *cobra.Command {
	o := &OutputOptions{}
	return command(&cobra.Command{
		Use: "schema", Short: "Print the JSON Schema of policy files, for editors",
		Example: "  ctxkit policy schema -o policies/policy.schema.json", Args: noArguments,
	}, func() error {
		return o.printText(sys, policy.Schema(sys.stages))
	}, flag(o.file))
}

func (o *OutputOptions) printText(sys *system, text []byte) error {
	return o.print(sys, func(w io.Writer, _ report.Layout) error {
		_, err := w.Write(text)
		return err
	})
}
