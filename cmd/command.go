package cmd

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

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
			return fmt.Errorf("%s takes %s: name files, or some of %s", cmd.CommandPath(), what, strings.Join(sys.presets.Known(), ", "))
		}
		*list = args
		return nil
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
	return oneOfThese(ordered[:near], otherwise)
}

// oneOfThese asks whether one of the first three names was meant; without a name it says what to do instead.
func oneOfThese(names []string, otherwise string) string {
	names = names[:min(3, len(names))]
	switch last := len(names) - 1; last {
	case -1:
		return otherwise
	case 0:
		return "did you mean " + names[0] + "?"
	default:
		return "did you mean " + strings.Join(names[:last], ", ") + " or " + names[last] + "?"
	}
}
