package cmd

import (
	"errors"
	"fmt"
	"strings"

	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/stage"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// execute runs one command line.
func execute(sys *system, args []string) error {
	root := newRoot(sys)
	root.SetArgs(args)
	root.SetIn(sys.in)
	root.SetOut(sys.out)
	root.SetErr(sys.err)
	return root.Execute()
}

func newRoot(sys *system) *cobra.Command {
	if sys.families == nil {
		sys.families = stage.Families()
	}
	var wrong error // in a family: no command runs
	sys.stages, wrong = policy.NewRegistry(sys.families...)
	root := &cobra.Command{
		Use: "ctxkit", Short: "Replay coding-agent sessions through context-compaction policies",
		SilenceErrors: true, SilenceUsage: true,
		PersistentPreRunE: func(*cobra.Command, []string) error { return wrong },
		Long: `ctxkit replays recorded coding-agent sessions through context-compaction
policies, offline: what would the model have seen?

A replay is off-policy: the recorded messages are given, only what the model
would have been shown changes; it cannot know what the model would have
answered had it seen less.`,
	}
	group(root)
	root.SetFlagErrorFunc(flagError)
	root.SetHelpCommand(newHelp(root))
	root.AddCommand(
		newReplay(sys), newCompare(sys), newCheck(sys), newSweep(sys), newRegret(sys), newBacktest(sys),
		newCalibrate(sys), newAnonymize(sys), newCost(sys), newPrices(sys), newLint(sys), newSessions(sys),
		newPolicy(sys), newSynth(sys), newThresholds(sys), newVersion(sys), newView(sys), newDiff(sys),
	)
	completions(root, sys)
	nameVariables(root, sys)
	return root
}

// group makes cmd a command that only holds others: run by itself it shows its help, given an unknown word it names
// the nearest.
func group(cmd *cobra.Command) {
	cmd.Args = cobra.ArbitraryArgs
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return cmd.Help()
		}
		return unknownCommand(cmd, args[0])
	}
}

func unknownCommand(cmd *cobra.Command, word string) error {
	var names []string
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() {
			names = append(names, c.Name())
		}
	}
	return fmt.Errorf("unknown command %q: %s", word, suggestion(word, names, "run `"+cmd.CommandPath()+" --help` for the list"))
}

func newHelp(root *cobra.Command) *cobra.Command {
	return &cobra.Command{
		Use: "help [COMMAND]", Short: "Show the help of a command",
		RunE: func(cmd *cobra.Command, args []string) error {
			c, rest, err := root.Find(args)
			if err != nil || c == nil {
				return unknownCommand(root, strings.Join(args, " "))
			}
			if len(rest) > 0 {
				return unknownCommand(c, rest[0])
			}
			c.InitDefaultHelpFlag()
			return c.Help()
		},
	}
}

// flagError turns pflag's errors into one clear line each.
func flagError(cmd *cobra.Command, err error) error {
	see := "run `" + cmd.CommandPath() + " --help` for the list"
	var unknown *pflag.NotExistError
	if errors.As(err, &unknown) {
		name := unknown.GetSpecifiedName()
		if unknown.GetSpecifiedShortnames() != "" {
			return fmt.Errorf("unknown flag -%s: %s", name, see)
		}
		var names []string
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			if !f.Hidden {
				names = append(names, "--"+f.Name)
			}
		})
		return fmt.Errorf("unknown flag --%s: %s", name, suggestion("--"+name, names, see))
	}
	var missing *pflag.ValueRequiredError
	if errors.As(err, &missing) {
		return fmt.Errorf("flag --%s needs a value: %s", missing.GetFlag().Name, strings.ReplaceAll(missing.GetFlag().Usage, "`", ""))
	}
	var invalid *pflag.InvalidValueError
	if errors.As(err, &invalid) {
		var twice *givenTwice
		if errors.As(err, &twice) {
			return fmt.Errorf("flag --%s: %w", invalid.GetFlag().Name, twice)
		}
		return fmt.Errorf("flag --%s: %q is not a value for it: %s", invalid.GetFlag().Name, invalid.GetValue(), strings.ReplaceAll(invalid.GetFlag().Usage, "`", ""))
	}
	return err
}
