package cmd

import (
	"cmp"
	"fmt"
	"reflect"
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
type flag func(cmd *cobra.Command)

func (add flag) flags(cmd *cobra.Command) { add(cmd) }
func (add flag) check() error             { return nil }

// own are the flags that the fields of o declare, or those of these names.
func own(o any, names ...string) flag {
	return func(cmd *cobra.Command) { declare(cmd, o, names...) }
}

// declare adds the flags that the fields of o declare, or those of these names. The tag flag of a field is the name, with a
// letter after a comma; usage says what the flag does, with the name of its value in <>; values are those that a shell
// offers. The default is what the field holds, or what its tag default says.
func declare(cmd *cobra.Command, o any, names ...string) {
	for f, v := range reflect.ValueOf(o).Elem().Fields() {
		name, letter, _ := strings.Cut(f.Tag.Get("flag"), ",")
		if name == "" || len(names) > 0 && !slices.Contains(names, name) {
			continue
		}
		flags := cmd.Flags()
		usage := strings.NewReplacer("<", "`", ">", "`").Replace(f.Tag.Get("usage"))
		switch p := v.Addr().Interface().(type) {
		case pflag.Value:
			flags.VarP(p, name, letter, usage)
		case *string:
			flags.StringVarP(p, name, letter, cmp.Or(*p, f.Tag.Get("default")), usage)
		case *bool:
			flags.BoolVarP(p, name, letter, *p, usage)
		case *int:
			flags.IntVarP(p, name, letter, *p, usage)
		case *[]string:
			flags.StringArrayVarP(p, name, letter, nil, usage)
		}
		if values := f.Tag.Get("values"); values != "" {
			complete(cmd, name, strings.Split(values, ","))
		}
	}
}

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
