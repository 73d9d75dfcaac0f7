package cmd

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/preset"
	"github.com/ctxkit/ctxkit/policy/strict"
)

// options are flags that several commands share.
type options interface {
	flags(cmd *cobra.Command)
	check() error // once the flags are parsed
}

// command completes a command: it gets the flags of shared options, and runs where their values pass their checks.
// The caller adds its flags.
func command(cmd *cobra.Command, run func() error, shared ...options) *cobra.Command {
	for _, o := range shared {
		o.flags(cmd)
	}
	cmd.RunE = func(*cobra.Command, []string) error {
		for _, o := range shared {
			if err := o.check(); err != nil {
				return err
			}
		}
		return run()
	}
	return cmd
}

// flag is a flag on its own among shared options. Its value needs no check.
type flag func(f *pflag.FlagSet)

func (add flag) flags(cmd *cobra.Command) { add(cmd.Flags()) }
func (add flag) check() error             { return nil }

// arguments takes any number of arguments into list.
func arguments(list *[]string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		*list = args
		return nil
	}
}

func noArguments(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return fmt.Errorf("%s takes no argument: leave out %q", cmd.CommandPath(), args[0])
	}
	return nil
}

// policyArguments takes policies into list: n of them, or one and more where n is 0.
func policyArguments(sys *system, n int, what string, list *[]string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 || n > 0 && len(args) != n {
			return fmt.Errorf("%s takes %s: name files, or some of %s", cmd.CommandPath(), what, strings.Join(preset.Known(sys.stages), ", "))
		}
		*list = args
		return nil
	}
}

// complete has the shell offer the values of a flag.
func complete(cmd *cobra.Command, flag string, values []string) {
	if err := cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp)); err != nil {
		panic(err) // the flag is not the command's, or has values already
	}
}

func oneOf(flag, value string, values []string) error {
	if slices.Contains(values, value) {
		return nil
	}
	return fmt.Errorf("flag %s: unknown value %q: %s", flag, value, suggestion(value, values, "use one of "+strings.Join(values, ", ")))
}

// asNames are the names of formats or other named values.
func asNames[T ~string](values []T) []string {
	names := make([]string, len(values))
	for i, v := range values {
		names[i] = string(v)
	}
	return names
}

// suggestion names up to three of names that are near word, else says what to do instead.
func suggestion(word string, names []string, otherwise string) string {
	ordered, near := strict.Nearest(word, names)
	switch ordered = ordered[:min(3, near)]; len(ordered) {
	case 0:
		return otherwise
	case 1:
		return "did you mean " + ordered[0] + "?"
	}
	last := len(ordered) - 1
	return "did you mean " + strings.Join(ordered[:last], ", ") + " or " + ordered[last] + "?"
}

// completions offers the names of policies and of their parameters for the flags of a command and its subcommands
// that take them. The lists are made when a shell completes a word: they cost more than a start.
func completions(cmd *cobra.Command, sys *system) {
	policies := func(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
		return preset.Known(sys.stages), cobra.ShellCompDirectiveDefault // files, too
	}
	keys := func(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
		return parameterKeys(sys.stages), cobra.ShellCompDirectiveNoSpace | cobra.ShellCompDirectiveNoFileComp
	}
	for flag, f := range map[string]cobra.CompletionFunc{"policy": policies, "against": policies, "set": keys, "vary": keys} {
		if cmd.Flags().Lookup(flag) != nil {
			_ = cmd.RegisterFlagCompletionFunc(flag, f) // fails where the command has its own
		}
	}
	for _, c := range cmd.Commands() {
		completions(c, sys)
	}
}

// parameterKeys lists KEY=, each with its description, for every parameter a policy may have.
func parameterKeys(reg policy.Registry) []cobra.Completion {
	var keys []cobra.Completion
	add := func(owner string, params []policy.Param) {
		for _, p := range params {
			keys = append(keys, cobra.CompletionWithDesc(owner+"."+p.Name+"=", p.Doc))
		}
	}
	add("window", policy.WindowParameters())
	for _, f := range reg.Families() {
		add("window", f.Shared().Parameters())
	}
	add("cache", policy.CachingParameters())
	for _, d := range reg.Definitions() {
		add(d.Name, d.Parameters())
	}
	return keys
}
