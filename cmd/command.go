package cmd

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// options are flags that several commands share.
type options interface {
	flags(cmd *cobra.Command)
	check() error // once the flags are parsed
}

// command completes a command: it gets the flags of shared options, and runs
// where their values pass their checks. Flags of its own are added by the
// caller.
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

// policyArguments takes policies into list: n of them, or one and more where n
// is 0.
func policyArguments(sys *system, n int, what string, list *[]string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 || n > 0 && len(args) != n {
			return fmt.Errorf("%s takes %s: name files, or some of %s", cmd.CommandPath(), what, strings.Join(policyNames(sys.stages), ", "))
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
	for _, v := range values {
		if v == value {
			return nil
		}
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
