package cmd

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/preset"
	"github.com/ctxkit/ctxkit/replay"
	"github.com/ctxkit/ctxkit/replay/compare"
	"github.com/ctxkit/ctxkit/replay/trace"
	"github.com/ctxkit/ctxkit/report"
)

// replayOptions are the options of `ctxkit replay`, most of which other commands share.
type replayOptions struct {
	Inputs []string
	policyOptions
	inputOptions
	countOptions
	cacheOptions
	outputOptions
	CompactAt []int
	Strict    bool
	Allow     []string         // with Strict: faults that do not fail
	Regret    bool             `flag:"regret" usage:"count what the policy removed too early (searches every text)"`
	NoRegret  bool             `flag:"no-regret" usage:"leave out the regret, whose search reads every text"`
	ASCII     bool             `flag:"ascii" usage:"draw the chart with ASCII characters"`
	trace     *trace.TextLimit // nil: replays are not traced
	stop      func() error     // ends replays with its error; nil: nothing does
}

// shared are the options of commands that replay inputs under a policy: recorded where none is named.
func (o *replayOptions) shared(sys *system, out *outputOptions) []options {
	o.Policy = preset.Recorded
	return []options{&o.policyOptions, o.trials(sys), &o.inputOptions, &o.countOptions, newPriceOptions(sys), out}
}

const longReplay = `Replay recorded sessions under a policy and show what the model would have seen.

Inputs are session files (.jsonl, also .gz and .zst), - for standard input,
session ids, and folders: a project folder or a whole projects tree.

` + offPolicy

// offPolicy says what a replay is not.
const offPolicy = `A replay is off-policy: the recorded messages are fixed, only what the model
would have been shown changes. It cannot know what the model would have
answered had it seen less.`

func newReplay(sys *system) *cobra.Command {
	o := &replayOptions{}
	cmd := command(&cobra.Command{
		Use: "replay INPUT...", Short: "Replay sessions under a policy: tokens and events by request",
		Long: longReplay, Args: arguments(&o.Inputs),
		Example: `  ctxkit replay session.jsonl --policy opencode
  ctxkit replay session.jsonl -p opencode --set opencode_prune.auto=true
  ctxkit replay ~/.claude/projects -p claude-code --format csv -o requests.csv`,
	}, func() error { return runReplay(sys, o) }, append(o.shared(sys, o.listing(report.ReplayFormats, report.ReplayTables...)), o.by(replay.CacheOwn), own(&o.inputOptions, shardFlag), own(o, "regret", "ascii"))...)
	o.compactAt(cmd)
	o.strict(cmd)
	return cmd
}

func (o *replayOptions) strict(cmd *cobra.Command) {
	f := cmd.Flags()
	f.BoolVar(&o.Strict, "strict", false, "exit 1 where a fault is found: "+strings.Join(compare.FaultNames(), ", "))
	f.StringSliceVar(&o.Allow, "allow", nil, "with --strict: do not fail for the fault `NAME` (repeatable)")
	complete(cmd, "allow", compare.FaultNames())
}

// allowed checks the names of --allow.
func (o *replayOptions) allowed() error {
	for _, name := range o.Allow {
		if err := oneOf("--allow", name, compare.FaultNames()); err != nil {
			return err
		}
		if !o.Strict {
			return fmt.Errorf("flag --allow: it is for --strict: add that, or leave out --allow")
		}
	}
	return nil
}

func (o *replayOptions) compactAt(cmd *cobra.Command) {
	cmd.Flags().IntSliceVar(&o.CompactAt, "compact-at", nil, "simulate a manual compaction before request `N` (repeatable)")
}

// replays is a job that replays its inputs under a policy.
type replays struct {
	*job
	o      *replayOptions
	choose policyChoice
	ran    []*policy.Policy // for each conversation so far
}

// use says what the policy's name meant.
func (r *replays) use() policy.Use { return policy.NewUse(r.o.Policy, r.ran) }

// begin reads the policy, finds the inputs and opens the output. The caller closes it.
func (o *replayOptions) begin(sys *system) (*replays, error) {
	choose, err := choosePolicy(sys, o, o.messages(sys).warn)
	if err != nil {
		return nil, err
	}
	j, err := start(sys, o.Inputs, o.inputOptions, &o.outputOptions)
	return &replays{job: j, o: o, choose: choose}, err
}

// each replays each conversation under the policy and hands the timelines to use, in the order of the inputs.
func (r *replays) each(verb string, use func(l *conversationLoop, tl *replay.Timeline) error) (failed, err error) {
	loop := r.loop(verb)
	loop.billed = true
	return eachUnder(r, loop, func(c agentConversation, pol *policy.Policy) (*replay.Timeline, error) {
		opt := r.o.options()
		tl, err := c.replay(pol, opt)
		if err == nil && tl.CacheFit == nil && len(r.in.list) == 1 { // of many sessions the recorded session's own replay would take as long again
			tl.CacheFit, err = c.rec.CacheFit(opt)
		}
		return tl, err
	}, func(tl *replay.Timeline) error { return use(loop, tl) })
}

// checkReplay checks that the figures of a replay agree with each other.
func checkReplay(tl *replay.Timeline) error {
	if err := tl.CheckValid(); err != nil {
		return fmt.Errorf("the replay contradicts itself: %w: please report it with the session", err)
	}
	return nil
}

// replay replays a conversation under a policy and checks that the figures agree with each other.
func (c *agentConversation) replay(pol *policy.Policy, opt replay.Options) (*replay.Timeline, error) {
	tl, err := c.rec.Replay(pol, opt)
	if err != nil {
		return nil, err
	}
	tl.Agent = c.name()
	if err := checkReplay(tl); err != nil {
		return nil, err
	}
	addHints(tl.Warnings)
	return tl, nil
}

// options are the options of the replay.
func (o *replayOptions) options() replay.Options {
	return replay.Options{
		Cache: replay.CacheMode(o.Cache), Counter: o.Counter, Model: o.Model, Window: int(o.Window), Overhead: policy.Overhead(o.Overhead),
		CompactAt: o.CompactAt, Regret: o.Regret, Trace: o.trace, Stop: o.stop,
	}
}

// pageText is how much text of a session a page is given, bytes: a page compresses it to about a quarter.
const pageText = 16 << 20

// traceOne has the replays of the only session of a page traced.
func (o *replayOptions) traceOne(one bool) {
	if one && o.Format == string(report.FormatHTML) {
		o.trace = &trace.TextLimit{Text: pageText}
		if o.NoText {
			o.trace.Text = 0
		}
	}
}

func runReplay(sys *system, o *replayOptions) error {
	if err := o.allowed(); err != nil {
		return err
	}
	r, err := o.begin(sys)
	if err != nil {
		return err
	}
	return r.out.close(r.print())
}

// print prints the replays of all inputs in their order.
func (r *replays) print() error {
	o := r.o
	opt := o.report(r.sys)
	opt.Several = r.in.several || o.Agent == "all"
	opt.ASCII = o.ASCII
	o.traceOne(len(r.in.list) == 1 && o.Agent != "all")
	printer, err := report.NewReplays(r.out, opt)
	if err != nil {
		return err
	}
	var faults []compare.FaultCount
	failed, err := r.each("replayed", func(l *conversationLoop, tl *replay.Timeline) error {
		faults = append(faults, compare.Faults(tl)...)
		if opt.Format == report.FormatNDJSON || opt.Format == report.FormatCSV {
			l.warn(tl.Warnings...) // these formats have no place for warnings
		}
		return printer.Add(tl)
	})
	if err == nil {
		err = printer.Close()
	}
	switch {
	case err != nil:
		return err
	case failed != nil:
		return failed
	case o.Strict:
		return strictError(faults, o.Allow)
	}
	return nil
}

// strictError is the error of faults that are not allowed.
func strictError(faults []compare.FaultCount, allowed []string) error {
	what := notAllowed(faults, allowed)
	if len(what) == 0 {
		return nil
	}
	return fmt.Errorf("%w: %s: see the warnings and events, allow one with --allow, or leave out --strict", errCheckFailed, strings.Join(what, "; "))
}

// notAllowed sums up the faults that are not allowed, in words.
func notAllowed(faults []compare.FaultCount, allowed []string) (what []string) {
	for _, name := range compare.FaultNames() {
		n := 0
		for _, f := range faults {
			if f.Figure == name {
				n += f.N
			}
		}
		if n > 0 && !slices.Contains(allowed, name) {
			what = append(what, compare.FaultCount{Figure: name, N: n}.String())
		}
	}
	return what
}
