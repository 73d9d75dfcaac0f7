package cmd

import (
	"fmt"
	"regexp"
	"runtime"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ctxkit/ctxkit/replay/tokens"
)

// PolicyOptions choose a policy and change it.
type PolicyOptions struct {
	Policy string   // a built-in name or a file
	Set    []string // stage.param=value
	Env    bool     // read the client's environment variables into the policy
	Snip   []string // ID[,ID]@REQUEST: snips to try
}

func (o *PolicyOptions) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVarP(&o.Policy, "policy", "p", "", "`NAME` of a built-in policy, or a policy file")
	f.StringArrayVar(&o.Set, "set", nil, "change a parameter: `STAGE.PARAM=VALUE` (repeatable)")
	f.BoolVar(&o.Env, "env", false, "let the client's environment variables change the policy (CLAUDE_AUTOCOMPACT_PCT_OVERRIDE, DISABLE_COMPACT …)")
}

// replayFlags are flags and those that change what a replay comes upon.
func (o *PolicyOptions) replayFlags(cmd *cobra.Command) {
	o.flags(cmd)
	o.snipFlag(cmd)
}

func (o *PolicyOptions) snipFlag(cmd *cobra.Command) {
	cmd.Flags().StringArrayVar(&o.Snip, "snip", nil, "have turns gone from a request on: `ID[,ID]@REQUEST`, ids as in the prompts' tags, or uuids (repeatable)")
}

// setting is how a policy's own settings stand behind its name.
var setting = regexp.MustCompile(`,([a-z_]+\.[a-z0-9_]+=)`)

// unfolded takes the settings off the policy's name: NAME,STAGE.PARAM=VALUE,….
// A value may hold commas. Those of --set come after them.
func (o PolicyOptions) unfolded() PolicyOptions {
	at := setting.FindAllStringSubmatchIndex(o.Policy, -1)
	if len(at) == 0 {
		return o
	}
	text, set := o.Policy, []string{}
	o.Policy = text[:at[0][0]]
	for i, m := range at {
		end := len(text)
		if i+1 < len(at) {
			end = at[i+1][0]
		}
		set = append(set, text[m[2]:end])
	}
	o.Set = append(set, o.Set...)
	return o
}

// InputOptions choose conversations.
type InputOptions struct {
	Agent string // main, all, or an agent's id
	Leaf  string // uuid of the leaf whose branch is the conversation
	Jobs  int
}

func (o *InputOptions) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&o.Agent, "agent", "main", "whose conversation: main, all, or the `ID` of a subagent")
	f.StringVar(&o.Leaf, "leaf", "", "take the branch that ends in the line with this `UUID`; default: the live one")
	f.IntVar(&o.Jobs, "jobs", 0, "how many sessions are worked on at once (`N`; default: one a processor)")
}

func (o *InputOptions) check() error {
	if o.Jobs < 0 || o.Jobs > 1024 {
		return fmt.Errorf("flag --jobs: %d: want 1 to 1024, or 0 for one a processor", o.Jobs)
	}
	if o.Jobs == 0 {
		o.Jobs = runtime.GOMAXPROCS(0)
	}
	if o.Agent == "" {
		return fmt.Errorf("flag --agent: empty: want main, all, or a subagent's id")
	}
	return nil
}

// CountOptions say how tokens are counted.
type CountOptions struct {
	Model    string
	Window   Tokens
	Counter  string
	Overhead Tokens
}

func (o *CountOptions) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&o.Model, "model", "", "take another model than the recorded one (`NAME`)")
	f.Var(&o.Window, "window", "context window in tokens (`N`, 200k, 1M); default: by client version and model")
	f.StringVar(&o.Counter, "tokens", "usage", "token counter: usage (calibrated to what the API reported), heuristic, o200k_base or cl100k_base (`NAME`)")
	complete(cmd, "tokens", tokens.Names())
	f.Var(&o.Overhead, "overhead", "system prompt and tools in tokens: `N` or auto (from the first request's usage)")
}

// complete has the shell offer the values of a flag.
func complete(cmd *cobra.Command, flag string, values []string) {
	if err := cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp)); err != nil {
		panic(err) // the flag is not the command's, or has values already
	}
}

// OutputOptions say how and where results are written.
type OutputOptions struct {
	Format string
	File   string
	Color  string
	Quiet  bool
}

func (o *OutputOptions) flags(cmd *cobra.Command, formats ...string) {
	f := cmd.Flags()
	f.StringVarP(&o.Format, "format", "f", formats[0], "`FORM` of the output: "+strings.Join(formats, ", "))
	f.StringVarP(&o.File, "output", "o", "", "write to `FILE`, which is replaced once the output is whole")
	f.StringVar(&o.Color, "color", "auto", "colours in tables: auto, always or never (`WHEN`)")
	f.BoolVarP(&o.Quiet, "quiet", "q", false, "no warnings and no progress on standard error")
}

func (o *OutputOptions) check(formats ...string) error {
	if err := oneOf("--format", o.Format, formats); err != nil {
		return err
	}
	return oneOf("--color", o.Color, []string{"auto", "always", "never"})
}

func oneOf(flag, value string, values []string) error {
	for _, v := range values {
		if v == value {
			return nil
		}
	}
	return fmt.Errorf("flag %s: unknown value %q: %s", flag, value, suggestion(value, values, "use one of "+strings.Join(values, ", ")))
}

// useColor decides whether tables are coloured.
func (o *OutputOptions) useColor(sys *system) bool {
	switch o.Color {
	case "always":
		return true
	case "never":
		return false
	}
	return sys.terminal && (o.File == "" || o.File == "-") && sys.env("NO_COLOR") == "" && sys.env("TERM") != "dumb"
}

// Tokens is a number of tokens on the command line: 200000, 200k, 1M, or
// auto, which is 0.
type Tokens int

// String is the flag's value.
func (t *Tokens) String() string {
	if *t == 0 {
		return "auto"
	}
	return strconv.Itoa(int(*t))
}

// Type names the kind of value in help texts.
func (t *Tokens) Type() string { return "tokens" }

// Set reads the flag's value.
func (t *Tokens) Set(s string) error {
	if s == "auto" {
		*t = 0
		return nil
	}
	n, err := parseCount(s, 1000)
	if err != nil || n == 0 || n > 1_000_000_000 {
		return fmt.Errorf("want a number of tokens such as 200000, 200k or 1M, or auto")
	}
	*t = Tokens(n)
	return nil
}

// parseCount reads a whole number with an optional k, M or G behind it.
func parseCount(s string, kilo int) (int, error) {
	unit := 1
	if s != "" {
		switch s[len(s)-1] {
		case 'k', 'K':
			unit = kilo
		case 'm', 'M':
			unit = kilo * kilo
		case 'g', 'G':
			unit = kilo * kilo * kilo
		}
	}
	if unit > 1 {
		s = s[:len(s)-1]
	}
	n, err := strconv.Atoi(s)
	if err != nil || n < 0 || n > 1<<40/unit {
		return 0, fmt.Errorf("%q is not a count", s)
	}
	return n * unit, nil
}
