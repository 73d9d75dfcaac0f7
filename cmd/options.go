package cmd

import (
	"cmp"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"
	_ "time/tzdata" // Windows has no time zones of its own

	"github.com/spf13/cobra"

	"github.com/ctxkit/ctxkit/jsonl/pattern"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/strict"
	"github.com/ctxkit/ctxkit/replay"
	"github.com/ctxkit/ctxkit/replay/tokens"
	"github.com/ctxkit/ctxkit/report"
)

// policyOptions choose a policy and change it.
type policyOptions struct {
	Policy string   // a built-in name or a file
	Set    []string `flag:"set" usage:"change a parameter: <STAGE.PARAM=VALUE> (repeatable)"`
	Env    bool     `flag:"env" usage:"apply the client's environment variables to the policy"`
	Tries  []policy.Try

	tried *bool // set where a trial is possible; nil: a trial without its stage is an error
}

func (o *policyOptions) flags(cmd *cobra.Command) {
	cmd.Flags().VarP(&once{text: &o.Policy}, "policy", "p", "`NAME` of a built-in policy, or a policy file")
	declare(cmd, o)
}

func (o *policyOptions) check() error { return nil }

const envFlag = "env"

// nameVariables lists in the help of --env, wherever a command has it, the environment variables of all products.
func nameVariables(cmd *cobra.Command, sys *system) {
	var names []string
	for _, f := range sys.families {
		names = append(names, f.Variables...)
	}
	if f := cmd.Flags().Lookup(envFlag); f != nil && len(names) > 0 {
		f.Usage += ": " + strings.Join(sorted(names), ", ")
	}
	for _, c := range cmd.Commands() {
		nameVariables(c, sys)
	}
}

// setting is the beginning of a setting behind a policy's name.
var setting = pattern.New(`,((?:[a-z_]+\.[a-z0-9_]+|threshold)=)`)

// unfolded takes the settings off the policy's name: NAME,STAGE.PARAM=VALUE,…. A value may hold commas. Those of
// --set come after them.
func (o policyOptions) unfolded() policyOptions {
	at := setting().FindAllStringSubmatchIndex(o.Policy, -1)
	if len(at) == 0 {
		return o
	}
	text := o.Policy
	set := []string{}
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

// inputOptions choose conversations.
type inputOptions struct {
	Agent string `flag:"agent" usage:"whose conversation: main, all, or the <ID> of a subagent" default:"main" values:"main,all"`
	Leaf  string `flag:"leaf" usage:"take the branch that ends in the line with this <UUID>; default: the live one"`
	Jobs  int    `flag:"jobs" usage:"number of sessions to work on at once (<N>; default: one per processor)"`
	Shard shard  `flag:"shard" usage:"work on one part of the inputs: the <I/N>-th, such as 1/4; all N have each input once"`
}

func (o *inputOptions) flags(cmd *cobra.Command) { declare(cmd, o, "agent", "leaf", "jobs") }

func (o *inputOptions) check() error {
	if o.Jobs < 0 || o.Jobs > 1024 {
		return fmt.Errorf("flag --jobs: %d: want 1 to 1024, or 0 for one per processor", o.Jobs)
	}
	if o.Jobs == 0 {
		o.Jobs = runtime.GOMAXPROCS(0)
	}
	if o.Agent == "" {
		return fmt.Errorf("flag --agent: empty: want main, all, or a subagent's id")
	}
	return nil
}

// countOptions say how tokens are counted.
type countOptions struct {
	Model    string       `flag:"model" usage:"assume another model than the recorded one (<NAME>): its window, prices and tokenizer"`
	Window   tokenCount   `flag:"window" usage:"context window in tokens (<N>, 200k, 1M); default: by client version and model"`
	Counter  string       `flag:"tokens" usage:"token counter: usage (calibrated to what the API reported), heuristic, o200k_base or cl100k_base (<NAME>)" default:"usage"`
	Overhead overheadFlag `flag:"overhead" usage:"system prompt and tools in tokens: <N> or auto (from the first request's usage)"`
}

func (o *countOptions) flags(cmd *cobra.Command) {
	declare(cmd, o)
	complete(cmd, "tokens", tokens.Names())
}

// leastWindow is the smallest context window that --window takes, tokens. Less is a number without its unit.
const leastWindow = 1000

func (o *countOptions) check() error {
	if o.Window > 0 && o.Window < leastWindow {
		return fmt.Errorf("flag --window: %d tokens: want %d or more, such as 200000, 200k or 1M, or auto", o.Window, leastWindow)
	}
	return oneOf("--tokens", o.Counter, tokens.Names())
}

// cacheOptions say whose prompt cache is simulated.
type cacheOptions struct {
	// Cache is a replay.CacheMode.
	Cache string `flag:"cache" usage:"whose prompt cache costs are by (<WHOSE>): equal (the session's own client and provider, for every policy), own (that of the policy's product) or none"`
}

var cacheModes = asNames([]replay.CacheMode{replay.CacheEqual, replay.CacheOwn, replay.CacheNone})

// by are the options of a command with this default.
func (o *cacheOptions) by(mode replay.CacheMode) *cacheOptions {
	o.Cache = string(mode)
	return o
}

func (o *cacheOptions) flags(cmd *cobra.Command) {
	declare(cmd, o)
	complete(cmd, "cache", cacheModes)
}

func (o *cacheOptions) check() error { return oneOf("--cache", o.Cache, cacheModes) }

// outputOptions say how and where results are written.
type outputOptions struct {
	Format string
	File   string   `flag:"output,o" usage:"write to <FILE>"`
	Color  string   `flag:"color" usage:"colours in tables: auto, always or never (<WHEN>)" default:"auto" values:"auto,always,never"`
	Zone   zoneFlag `flag:"timezone" usage:"time zone of the times in tables and pages: UTC, local, or a name such as Europe/Berlin (<ZONE>)" values:"UTC,local"`
	Pager  bool     `flag:"pager" usage:"on a terminal, show the result with $PAGER, or less"`
	By     string   `flag:"by" usage:"sums by <PERIOD>, in the time zone: day, week or month" values:"day,week,month"`
	Quiet  bool     `flag:"quiet,q" usage:"no warnings and no progress on standard error"`
	All    bool     `flag:"all" usage:"show every row of tables"`
	NoText bool     `flag:"no-text" usage:"html, svg: leave out every word of the transcript, to pass the file on"`

	Verbose bool `flag:"verbose" usage:"every warning, not only how many of each kind; of several sessions each by itself"` // of several results the page of each

	formats []string // that --format takes; the first is the default
	hides   bool     // tables leave rows out: there is --all
	words   bool     // pages have words of the transcript in any case: there is no --no-text
	tables  []report.TableHead
	now     time.Time // that ages are counted from
}

// with are the options of a command with these formats, and of the tables that it prints.
func (o *outputOptions) with(formats []report.Format, tables ...report.TableHead) *outputOptions {
	o.formats = asNames(formats)
	o.tables = tables
	return o
}

// listing are the options of a command whose tables leave rows out.
func (o *outputOptions) listing(formats []report.Format, tables ...report.TableHead) *outputOptions {
	o.hides = true
	return o.with(formats, tables...)
}

// worded are the options of a command whose pages have words of the transcript in any case.
func (o *outputOptions) worded() *outputOptions {
	o.words = true
	return o
}

func (o *outputOptions) flags(cmd *cobra.Command) {
	explainColumns(cmd, o.tables)
	f := cmd.Flags()
	f.StringVarP(&o.Format, "format", "f", o.formats[0], "output `FORMAT`: "+strings.Join(o.formats, ", "))
	complete(cmd, "format", o.formats)
	declare(cmd, o, "output", "color", "timezone", "pager", "quiet", "verbose")
	f.Lookup("output").Usage += ", which is replaced once the output is complete"
	if slices.Contains(o.formats, string(report.FormatHTML)) && !o.words {
		declare(cmd, o, "no-text")
	}
	if o.hides {
		declare(cmd, o, "all")
	}
}

// rows reports whether the output is what ctxkit merge reads.
func (o *outputOptions) rows() bool { return o.Format == string(report.FormatRows) }

func (o *outputOptions) check() error {
	if reading := []string{string(report.FormatTable), string(report.FormatText)}; slices.Contains(reading, o.Format) && slices.Contains(reading, o.formats[0]) {
		o.Format = o.formats[0] // the format for reading has either name
	}
	if err := oneOf("--format", o.Format, o.formats); err != nil {
		return err
	}
	if o.NoText && o.Format != string(report.FormatHTML) && o.Format != string(report.FormatSVG) {
		return fmt.Errorf("flag --no-text: it is for pages and pictures: add --format html or svg, or use `ctxkit anonymize`")
	}
	if o.By != "" {
		if err := oneOf("--by", o.By, asNames(report.Periods)); err != nil {
			return err
		}
	}
	return oneOf("--color", o.Color, colorModes)
}

// useColor decides whether tables are coloured.
func (o *outputOptions) useColor(sys *system) bool {
	switch o.Color {
	case "always":
		return true
	case "never":
		return false
	}
	forced := sys.env("FORCE_COLOR")
	return (sys.terminal && sys.env("TERM") != "dumb" || forced != "" && forced != "0") && (o.File == "" || o.File == "-") && sys.env("NO_COLOR") == ""
}

// The narrowest and the widest lines that reports are laid out for, in columns.
const narrowest, widest = 60, 240

// width is the width of a line: the terminal's where the report goes there, else $COLUMNS; 0 where both are unknown.
func (o *outputOptions) width(sys *system) int {
	n := 0
	if o.File == "" || o.File == "-" {
		n = sys.columns
	}
	if n <= 0 {
		n, _ = strconv.Atoi(sys.env("COLUMNS"))
	}
	if n <= 0 {
		return 0
	}
	return min(max(n, narrowest), widest)
}

var colorModes = []string{"auto", "always", "never"}

// report is the layout of the report.
func (o *outputOptions) report(sys *system) report.Layout {
	return report.Layout{Format: report.Format(o.Format), All: o.All, NoText: o.NoText, Verbose: o.Verbose, Color: o.useColor(sys), Width: o.width(sys), Now: o.now, Zone: o.Zone.Location, By: report.Period(o.By), Hints: reportHints()}
}

// tokenCount is a number of tokens on the command line: 200000, 200k, 1M, or auto, which is 0.
type tokenCount int

// String is the flag's value.
func (t *tokenCount) String() string {
	if *t == 0 {
		return "auto"
	}
	return strconv.Itoa(int(*t))
}

// Type names the kind of value in help texts.
func (t *tokenCount) Type() string { return "tokens" }

// Set reads the flag's value.
func (t *tokenCount) Set(s string) error {
	if s == "auto" {
		*t = 0
		return nil
	}
	n, ok := strict.ParseCount(s)
	if !ok || n <= 0 || n > strict.MaxNumber {
		return fmt.Errorf("want a number of tokens such as 200000, 200k or 1M, or auto")
	}
	*t = tokenCount(n)
	return nil
}

// overheadFlag is the size of system prompt and tools on the command line: a number of tokens, 0 included, or auto.
type overheadFlag policy.Overhead

// String is the flag's value.
func (o *overheadFlag) String() string { return fmt.Sprint((*policy.Overhead)(o).EncodeParam()) }

// Type names the kind of value in help texts.
func (o *overheadFlag) Type() string { return "tokens" }

// Set reads the flag's value.
func (o *overheadFlag) Set(s string) error {
	*o = overheadFlag{}
	if s == "auto" {
		return nil
	}
	n, ok := strict.ParseCount(s)
	if !ok || n < 0 || n > strict.MaxNumber {
		return fmt.Errorf("want a number of tokens such as 0, 18800 or 20k, or auto")
	}
	*o = overheadFlag{n, true}
	return nil
}

// zoneFlag is a time zone on the command line; nil: UTC.
type zoneFlag struct{ *time.Location }

// String is the flag's value.
func (z *zoneFlag) String() string { return cmp.Or(z.Location, time.UTC).String() }

// Type names the kind of value in help texts.
func (z *zoneFlag) Type() string { return "zone" }

// Set reads the flag's value.
func (z *zoneFlag) Set(s string) (err error) {
	if s == "local" {
		s = time.Local.String()
	}
	if z.Location, err = time.LoadLocation(s); err != nil || s == "" {
		return errors.New("want UTC, local, or a name such as Europe/Berlin")
	}
	return nil
}

// once is the value of a flag of which a second one would replace the first unseen.
type once struct {
	text  *string
	given bool
	again bool // the command line is being completed: cobra reads it more than once
}

// String is the flag's value.
func (o *once) String() string {
	if o.text == nil {
		return ""
	}
	return *o.text
}

// Type names the kind of value in help texts.
func (o *once) Type() string { return "string" }

// Set reads the flag's value.
func (o *once) Set(s string) error {
	if o.given && !o.again {
		return &givenTwice{*o.text, s}
	}
	*o.text, o.given = s, true
	return nil
}

// givenTwice is the error of a flag that this command takes once.
type givenTwice struct{ first, second string }

func (e *givenTwice) Error() string {
	return fmt.Sprintf("given twice, %q and %q: leave one out", e.first, e.second)
}
