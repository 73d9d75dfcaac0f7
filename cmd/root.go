package cmd

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/preset"
	"github.com/ctxkit/ctxkit/policy/stage"
	"github.com/ctxkit/ctxkit/report"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// execute runs one command line.
func execute(sys *system, args []string) error {
	root := newRoot(sys, args...)
	root.SetIn(sys.in)
	root.SetOut(sys.out) // before cobra's command completion is there: it keeps the output of then
	root.SetErr(sys.err)
	if sys.completing {
		readAgain(root)
		if last := len(args) - 1; last > 0 {
			word := args[last]
			args = dashed(sys, args[:last])
			if strings.HasPrefix(word, "-") && len(projectNames(sys, word)) > 0 {
				args = append(args, "--") // a project's folder begins with a dash
			}
			args = append(args, word)
		}
	} else {
		args = dashed(sys, args)
		if inputFirst(sys, root, args) {
			args = append([]string{"replay"}, args...)
		}
	}
	root.SetArgs(args)
	defer sys.printWarnings()
	return root.Execute()
}

// Commands is the tree of all commands, for programs that describe them. Its commands are not for running: they have no
// input and no output.
func Commands() *cobra.Command { return newRoot(&system{}) }

// inputFirst reports whether a command line begins with an input where a command is expected. Such a line is one of
// replay, and reports it.
func inputFirst(sys *system, root *cobra.Command, args []string) bool {
	if len(args) == 0 || args[0] != "-" && strings.HasPrefix(args[0], "-") {
		return false
	}
	root.InitDefaultCompletionCmd(args...)
	root.InitDefaultHelpCmd()
	if c, _, err := root.Find(args[:1]); err != nil || c != root || !isInput(sys, args[0]) {
		return false
	}
	cmd, _, err := root.Find([]string{"replay"})
	if err != nil {
		return false
	}
	cmd.PreRun = func(*cobra.Command, []string) {
		if quiet, err := cmd.Flags().GetBool("quiet"); err == nil && !quiet {
			words := append([]string{cmd.Root().Name(), cmd.Name()}, args...)
			fmt.Fprintln(sys.err, "ctxkit: no command is named, so this is: "+report.Clean(shellLine(words))) // in one line, to be copied
		}
	}
	return true
}

// ownPolicy names the policy of the client that recorded the sessions: recorded where none is known. Standard input, and
// sessions of several clients, pass as Claude Code's.
func ownPolicy(sys *system, args []string) string {
	if product := oneClient(sys, args); len(sys.presets.Releases(product)) > 0 {
		return product
	}
	return preset.Recorded
}

// oneClient is the product that recorded the sessions, Claude Code where there are several, or none is known.
func oneClient(sys *system, args []string) string {
	if products := clients(sys, args); len(products) == 1 {
		return products[0]
	}
	return session.Product
}

// clients are the products that recorded the sessions, sorted; none where the inputs cannot be found: the command says
// what is wrong.
func clients(sys *system, args []string) (products []string) {
	in, err := resolve(sys, args, func(...session.Warning) {})
	if err != nil {
		return nil
	}
	for _, i := range describe(sys, in.list) {
		products = append(products, cmp.Or(i.Product, session.Product))
	}
	slices.Sort(products)
	return slices.Compact(products)
}

// clientName is the name of a product that records sessions, for people.
func clientName(product string) string {
	for _, f := range session.Forms() {
		if f.Name == product {
			return f.Client
		}
	}
	if product == session.Product {
		return "Claude Code"
	}
	return product
}

// leastID is how much of a session's id names it where a command is expected, characters.
const leastID = 4

// isInput reports whether a word names an input, or has the form of a file's name.
func isInput(sys *system, word string) bool {
	if _, file := session.SessionID(filepath.Base(word)); file || word == "-" || strings.ContainsAny(word, `/\`) {
		return true
	}
	if _, err := os.Stat(word); err == nil {
		return true
	}
	if _, recent, _ := ago(word); !recent && len(word) < leastID {
		return false // rather a command's name with an error in it
	}
	_, err := choose(sys, word, func(...session.Warning) {})
	return err == nil || errors.As(err, new(ambiguous))
}

// register registers the stages and policies of the families. After an error, in one of them, no command runs.
func (s *system) register() (err error) {
	if s.families == nil {
		s.families = stage.Families()
	}
	s.stages, err = policy.NewRegistry(s.families...)
	s.presets = preset.New(s.stages)
	return err
}

// subcommands maps the name of each command to what makes it.
var subcommands = map[string]func(*system) *cobra.Command{
	"replay": newReplay, "compare": newCompare, "merge": newMerge, "check": newCheck, "sweep": newSweep, "regret": newRegret,
	"backtest": newBacktest, "anonymize": newAnonymize, "cost": newCost, "prices": newPrices,
	"lint": newLint, "sessions": newSessions, "stats": newStats, "why": newWhy, "resume": newResume, "policy": newPolicy,
	"cache": newCache, "demo": newDemo, statusline: newStatusline, "synth": newSynth, "thresholds": newThresholds,
	"version": newVersion, "view": newView, "diff": newDiff, "convert": newConvert, "export": newExport, "validate": newValidate, "config": newConfig, "explore": newExplore,
}

// newRoot makes the tree of all commands. For a command line that begins with one's name it makes only that: the others
// cost a third of a start.
func newRoot(sys *system, args ...string) *cobra.Command {
	wrong := sys.register()
	sys.presets.OnRead = func(path string) { sys.files.reads(rolePolicy, path) }
	root := &cobra.Command{
		Use: "ctxkit", Short: "Replay coding-agent sessions through context-compaction policies",
		SilenceErrors: true, SilenceUsage: true,
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error {
			if wrong != nil {
				return wrong
			}
			return applyDefaults(sys, cmd)
		},
		Long: `ctxkit replays recorded coding-agent sessions through context-compaction
policies, offline: what would the model have seen?

A replay is off-policy: the recorded messages are given, only what the model
would have been shown changes; it cannot know what the model would have
answered had it seen less.

Alone on a terminal, ctxkit shows the sessions that were used last and what can
be asked of them. ctxkit demo replays one that is built in.`,
	}
	group(root)
	root.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return runFirst(sys, cmd)
		}
		return unknownCommand(cmd, args[0])
	}
	root.PersistentFlags().BoolP("quiet", "q", false, "no warnings and no progress on standard error") // commands with warnings have their own
	root.PersistentFlags().BoolVar(&sys.uncached, noCache, false, "read every session file, and keep nothing of it for the next time")
	root.PersistentFlags().BoolVar(&sys.programs.allowed, allowPrograms, false, "let the program stage of a policy start its program (docs/programs.md)")
	root.PersistentFlags().Var(&limitFlag{&sys.limits}, limitName, limitUsage())
	root.Version = buildVersion() // adds --version
	root.SetVersionTemplate(versionLine())
	root.SetFlagErrorFunc(flagError)
	root.SetHelpCommand(newHelp(root, sys))
	layHelp(root, sys)
	sys.completing = completing(args)
	names := slices.Sorted(maps.Keys(subcommands))
	if len(args) > 0 && subcommands[args[0]] != nil {
		names = args[:1]
	}
	for _, name := range names {
		root.AddCommand(subcommands[name](sys))
	}
	if sys.completing {
		completions(root, sys)
	}
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
	var names, meant []string
	for _, c := range cmd.Commands() {
		if !c.IsAvailableCommand() {
			continue
		}
		names = append(names, c.Name())
		if slices.Contains(c.SuggestFor, word) {
			meant = append(meant, c.Name())
		}
		for _, sub := range c.Commands() {
			if sub.Name() == word {
				meant = append(meant, c.Name()+" "+word)
			}
		}
	}
	if len(meant) > 0 {
		return fmt.Errorf("unknown command %q: %s", word, oneOfThese(meant, ""))
	}
	return fmt.Errorf("unknown command %q: %s", word, suggestion(word, names, "run `"+cmd.CommandPath()+" --help` for the list"))
}

// columnsTopic is the word for which help explains the columns of all tables.
const columnsTopic = "columns"

// explainColumns adds to the help of a command what the columns of its tables say.
func explainColumns(cmd *cobra.Command, tables []report.TableHead) {
	if len(tables) > 0 {
		cmd.Annotations = map[string]string{columnsTopic: report.ColumnsText(tables)}
	}
}

// helpWidth is the width of the flags in help, columns.
const helpWidth = 80

// layHelp has help wrap flags, end with the columns, and fit the terminal.
func layHelp(root *cobra.Command, sys *system) {
	root.SetUsageTemplate(strings.ReplaceAll(root.UsageTemplate(), ".FlagUsages", fmt.Sprintf(".FlagUsagesWrapped %d", helpWidth)))
	help := root.HelpFunc()
	root.SetHelpFunc(func(cmd *cobra.Command, args []string) {
		var text bytes.Buffer
		out := cmd.OutOrStdout()
		cmd.SetOut(&text)
		help(cmd, args)
		cmd.SetOut(out)
		if columns := cmd.Annotations[columnsTopic]; columns != "" {
			fmt.Fprintf(&text, "\nColumns:\n%s\n", columns)
		}
		if err := narrowed(out, text.String(), (&outputOptions{}).width(sys)); err != nil {
			cmd.PrintErrln(err)
		}
	})
}

// printColumns prints what the columns of the tables of all commands say.
func printColumns(cmd *cobra.Command, w io.Writer) {
	if text := cmd.Annotations[columnsTopic]; text != "" {
		fmt.Fprintf(w, "%s\n\n%s\n\n", strings.ToUpper(cmd.CommandPath()), text)
	}
	for _, c := range cmd.Commands() {
		printColumns(c, w)
	}
}

func newHelp(root *cobra.Command, sys *system) *cobra.Command {
	return &cobra.Command{
		Use: "help [COMMAND | " + columnsTopic + " | TERM]", Short: "Show the help of a command, or explain a term or a column",
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 && args[0] == columnsTopic {
				var text bytes.Buffer
				printColumns(root, &text)
				return narrowed(cmd.OutOrStdout(), text.String(), (&outputOptions{}).width(sys))
			}
			c, rest, err := root.Find(args)
			term := strings.Join(args, " ")
			list, names := explanations(root, term)
			if len(list) > 0 && (c == root || len(rest) > 0) && len(args) > 0 {
				return narrowed(cmd.OutOrStdout(), report.Explained(list), (&outputOptions{}).width(sys))
			}
			if err != nil || c == root && len(rest) > 0 {
				for _, c := range root.Commands() {
					names = append(names, c.Name())
				}
				return fmt.Errorf("unknown command or term %q: %s", term, suggestion(term, slices.Compact(sorted(names)), "`ctxkit --help` lists the commands, docs/glossary.md the terms"))
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
			hint := ""
			if cmd.Flags().Lookup("against") != nil && invalid.GetFlag().Name == "policy" {
				hint = ", or give it as --against"
			}
			return fmt.Errorf("flag --%s: %w%s", invalid.GetFlag().Name, twice, hint)
		}
		if cause := errors.Unwrap(invalid); cause != nil && strings.HasPrefix(cause.Error(), "want ") {
			return fmt.Errorf("flag --%s: %q is not a value for it: %w", invalid.GetFlag().Name, invalid.GetValue(), cause)
		}
		return fmt.Errorf("flag --%s: %q is not a value for it: %s", invalid.GetFlag().Name, invalid.GetValue(), strings.ReplaceAll(invalid.GetFlag().Usage, "`", ""))
	}
	return err
}
