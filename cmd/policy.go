package cmd

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/report"
)

func newPolicy(sys *system) *cobra.Command {
	cmd := &cobra.Command{
		Use: "policy", Short: "List, show, check and compare policies",
	}
	group(cmd)
	cmd.AddCommand(newPolicyList(sys), newPolicyShow(sys), newPolicyLint(sys), newPolicyTest(sys), newPolicyDiff(sys), newPolicyNew(sys), newPolicySchema(sys))
	return cmd
}

func newPolicyList(sys *system) *cobra.Command {
	o := &outputOptions{}
	return command(&cobra.Command{
		Use: "list", Short: "List the built-in policies and what stands behind them", Args: noArguments,
		Long: `List the built-in policies, one a line: what stands behind each, how well it
predicts recorded compactions, and what it does. A product's bare name stands
for its releases; --all lists these, each with its first day as current,
further policies of products, and unconfirmed ones.`,
	}, func() error {
		list, err := listPolicies(sys)
		if err != nil {
			return err
		}
		return show(sys, o, report.Policies, list)
	}, o.listing(report.ListFormats, report.PolicyTables...))
}

// listPolicies lists the built-in policies by name; the releases of a product in their order, at its name.
func listPolicies(sys *system) ([]report.PolicyInfo, error) {
	var list []report.PolicyInfo
	for _, name := range sys.presets.Names() {
		p, err := sys.presets.Load(name)
		if err != nil {
			return nil, fmt.Errorf("built-in policy %s: %w", name, err)
		}
		info := report.PolicyInfo{
			Name: p.Name, Product: p.Product, Version: p.Version, About: p.About, Source: p.Source, Date: p.Date,
			From: p.Valid.From, Until: p.Valid.Until, Truth: p.Truth, Score: p.Score, Stages: []string{},
		}
		for _, s := range p.Stages {
			info.Stages = append(info.Stages, s.Definition.Name)
		}
		list = append(list, info)
	}
	for name, a := range sys.presets.Aliases() {
		i := slices.IndexFunc(list, func(info report.PolicyInfo) bool { return info.Name == a.Policy })
		info := list[i]
		info.Name = name
		info.Product = a.Product
		info.Version = a.Version
		info.From = a.Valid.From
		info.Until = a.Valid.Until
		info.About = sameAs(a)
		list = append(list, info)
	}
	slices.SortStableFunc(list, func(a, b report.PolicyInfo) int {
		order := cmp.Compare(cmp.Or(a.Product, a.Name), cmp.Or(b.Product, b.Name))
		return cmp.Or(order, session.CompareVersions(a.Version, b.Version))
	})
	return list, nil
}

// sameAs says which policy an alias is.
func sameAs(a policy.Alias) string { return report.SameAs + a.Policy }

// policyShowOptions are the options of `ctxkit policy show`.
type policyShowOptions struct {
	policyOptions
	outputOptions
	Resolved bool `flag:"resolved" usage:"every default spelled out; false: as it was written"`
}

func newPolicyShow(sys *system) *cobra.Command {
	o := &policyShowOptions{Resolved: true}
	var names []string
	return command(&cobra.Command{
		Use: "show NAME|FILE", Short: "Print a policy as YAML with every default",
		Long: `Print a policy as YAML: resolved, with what it extends merged in and every
default spelled out; or with --resolved=false as it was written, comments
included. The first lines are comments: its source, when it was current, what
stands behind it and how well it predicts recorded compactions.`,
		Args: policyArguments(sys, 1, "one policy", &names),
	}, func() error {
		o.Policy = names[0]
		return runPolicyShow(sys, o)
	}, own(&o.policyOptions), own(&o.outputOptions, "output"), own(o))
}

func runPolicyShow(sys *system, o *policyShowOptions) error {
	if !o.Resolved && (len(o.Set) > 0 || o.Env || o.unfolded().Policy != o.Policy) {
		return errors.New("flag --resolved=false: settings and the environment change the resolved policy: leave them, or the flag, out")
	}
	p, err := loadPolicy(sys, o.policyOptions) // its errors are reported either way
	if err != nil {
		return err
	}
	text := append([]byte(comments(sys, o.unfolded().Policy, p)), policy.Marshal(p)...)
	if !o.Resolved {
		if text, _, err = sys.presets.Resolve(o.Policy); err != nil {
			return err
		}
	}
	return o.printText(sys, text)
}

// comments are lines of YAML that say what stands behind a policy, which was found by a name.
func comments(sys *system, name string, p *policy.Policy) string {
	var b strings.Builder
	add := func(title, text string) {
		if text = report.Clean(text); text != "" {
			fmt.Fprintf(&b, "# %s: %s\n", title, text)
		}
	}
	source := p.Source
	if p.Date != "" {
		source += " (" + p.Date + ")"
	}
	add("source", source)
	if v := p.Valid; p.Product != "" && v.From != "" {
		add("current", "from "+v.From+" to "+cmp.Or(v.Until, "today"))
	}
	add("version", p.Newer)
	add("truth", report.TruthText(p.Truth, p.Score))
	add("score", report.ScoreText(p.Score))
	add("differs from the client", p.Differs)
	for _, s := range p.Stages {
		text := string(s.Definition.Truth)
		if differs := s.Definition.Differs; differs != "" {
			text += "; differs from the client: " + differs
		}
		add(s.Definition.Name, text)
	}
	if a, ok := sys.presets.Aliases()[name]; ok {
		add(name, sameAs(a))
	}
	if sys.presets.BySession(name) {
		var releases []string
		product, _, _ := strings.Cut(name, "@")
		for _, r := range sys.presets.Releases(product) {
			releases = append(releases, fmt.Sprintf("%s from %s", r.Policy, r.Valid.From))
		}
		add(name, "the release of each session's time; here the newest of "+strings.Join(releases, ", "))
	}
	return b.String()
}

func newPolicySchema(sys *system) *cobra.Command {
	o := &outputOptions{}
	return command(&cobra.Command{
		Use: "schema", Short: "Print the JSON Schema of policy files, for editors",
		Example: "  ctxkit policy schema -o policies/policy.schema.json", Args: noArguments,
	}, func() error {
		return o.printText(sys, policy.Schema(sys.stages))
	}, own(o, "output"))
}

func (o *outputOptions) printText(sys *system, text []byte) error {
	return o.print(sys, func(w io.Writer, _ report.Layout) error {
		_, err := w.Write(text)
		return err
	})
}
