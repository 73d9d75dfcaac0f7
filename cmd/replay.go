package cmd

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ctxkit/ctxkit/replay"
	"github.com/ctxkit/ctxkit/replay/tokens"
	"github.com/ctxkit/ctxkit/report"
)

// ReplayOptions are what `ctxkit replay` is asked for.
type ReplayOptions struct {
	Inputs []string
	PolicyOptions
	InputOptions
	CountOptions
	PriceOptions
	OutputOptions
	CompactAt []int
	Strict    bool
	Regret    bool
	All       bool
	ASCII     bool

	encoders *tokens.Encoders // of all sessions
}

const longReplay = `Replay recorded sessions under a policy: what would the model have seen?

Inputs are session files (.jsonl, also .gz and .zst), - for standard input,
session ids, and folders: a project folder or a whole projects tree.

A replay is off-policy: the recorded messages are given, only what the model
would have been shown changes; it cannot know what the model would have
answered had it seen less.`

const exampleReplay = `  ctxkit replay session.jsonl --policy opencode
  ctxkit replay session.jsonl --policy opencode --set opencode_prune.protect=20000
  ctxkit replay ~/.claude/projects --policy claude-code --format csv -o requests.csv`

func newReplay(sys *system) *cobra.Command {
	o := &ReplayOptions{}
	formats := formatNames(report.ReplayFormats)
	cmd := &cobra.Command{
		Use:     "replay INPUT...",
		Short:   "Replay sessions under a policy: what would the model have seen?",
		Long:    longReplay,
		Example: exampleReplay,
		RunE: func(_ *cobra.Command, args []string) error {
			o.Inputs = args
			if err := o.OutputOptions.check(formats...); err != nil {
				return err
			}
			if err := o.InputOptions.check(); err != nil {
				return err
			}
			return runReplay(sys, o)
		},
	}
	o.PolicyOptions.replayFlags(cmd)
	o.InputOptions.flags(cmd)
	o.CountOptions.flags(cmd)
	o.PriceOptions.flags(cmd)
	o.OutputOptions.flags(cmd, formats...)
	f := cmd.Flags()
	f.IntSliceVar(&o.CompactAt, "compact-at", nil, "have the user ask for a compaction before request `N` (repeatable)")
	f.BoolVar(&o.Strict, "strict", false, "exit 1 where the policy breaks a rule of the API, or edits before thinking that a model preserves")
	f.BoolVar(&o.Regret, "regret", false, "count what the policy threw away too early (reads every text)")
	f.BoolVar(&o.All, "all", false, "leave nothing out of tables")
	f.BoolVar(&o.ASCII, "ascii", false, "draw the chart with ASCII characters")
	return cmd
}

func formatNames(formats []report.Format) []string {
	names := make([]string, len(formats))
	for i, f := range formats {
		names[i] = string(f)
	}
	return names
}

// replaying is a command under way that replays its inputs.
type replaying struct {
	sys    *system
	o      *ReplayOptions
	choose policyChoice
	in     inputs
	out    *output
	msgs   *messages
}

// begin reads the policy, finds the inputs and opens the output. The caller
// closes it.
func (o *ReplayOptions) begin(sys *system) (*replaying, error) {
	if err := o.checkCounter(); err != nil {
		return nil, err
	}
	if err := o.PriceOptions.read(); err != nil {
		return nil, err
	}
	choose, warnings, err := choosePolicy(sys, o)
	if err != nil {
		return nil, err
	}
	msgs := &messages{w: sys.err, quiet: o.Quiet}
	for _, w := range warnings {
		msgs.warn(w)
	}
	r, err := o.start(sys, msgs)
	if err != nil {
		return nil, err
	}
	r.choose = choose
	return r, nil
}

// start finds the inputs and opens the output.
func (o *ReplayOptions) start(sys *system, msgs *messages) (*replaying, error) {
	if err := o.checkCounter(); err != nil {
		return nil, err
	}
	r := &replaying{sys: sys, o: o, msgs: msgs}
	var err error
	if r.in, err = resolve(sys, o.Inputs, r.msgs.warn); err != nil {
		return nil, err
	}
	o.encoders = &tokens.Encoders{Jobs: max(1, o.Jobs/len(r.in.list))}
	r.out, err = o.create(sys, r.in.list)
	return r, err
}

func (r *replaying) loop(verb string) *conversationLoop {
	return &conversationLoop{sys: r.sys, in: r.in, opt: r.o.InputOptions, verb: verb, msgs: r.msgs}
}

func runReplay(sys *system, o *ReplayOptions) error {
	r, err := o.begin(sys)
	if err != nil {
		return err
	}
	return r.out.close(r.replayAll())
}

// replayAll prints the replays of all inputs in their order.
func (r *replaying) replayAll() error {
	o := r.o
	printer, err := report.NewReplays(r.out, report.Layout{
		Format: report.Format(o.Format), Several: r.in.several || o.Agent == "all",
		All: o.All, Color: o.useColor(r.sys), Hints: reportHints(), ASCII: o.ASCII,
	})
	if err != nil {
		return err
	}
	loop := r.loop("replayed")
	violations, preserved := 0, 0
	failed, err := eachConversation(loop, func(c agentConversation) (*replay.Timeline, error) {
		return replayOne(o, r.choose, c)
	}, func(tl *replay.Timeline) error {
		violations += tl.Totals.Violations
		preserved += tl.Totals.Preserved
		if o.Format == string(report.FormatNDJSON) || o.Format == string(report.FormatCSV) {
			// These forms have no place for warnings.
			for _, w := range tl.Warnings {
				loop.tell(func(m *messages) { m.warn(w) })
			}
		}
		return printer.Add(tl)
	})
	if err != nil {
		return err
	}
	if err := printer.Close(); err != nil {
		return err
	}
	switch {
	case failed != nil:
		return failed
	case o.Strict:
		return strictError(violations, preserved)
	}
	return nil
}

// strictError says what does not hold of what a policy had sent. Edits before
// preserved thinking are among it: accounts that are new enough get an error
// for the request, the others lose the thinking.
func strictError(violations, preserved int) error {
	var what []string
	if violations > 0 {
		what = append(what, places("breaks of a rule of the API", violations))
	}
	if preserved > 0 {
		what = append(what, places("edits before thinking that the model preserves", preserved))
	}
	if len(what) == 0 {
		return nil
	}
	return fmt.Errorf("%w: %s: see the warnings, or leave out --strict", errCheckFailed, strings.Join(what, ", "))
}

func replayOne(o *ReplayOptions, choose policyChoice, c agentConversation) (*replay.Timeline, error) {
	pol, err := choose(c.conv.Version)
	if err != nil {
		return nil, err
	}
	tl, err := replay.Run(c.conv, pol, o.options())
	if err != nil {
		return nil, err
	}
	return checkedReplay(tl, c)
}

// checkedReplay names the replay's conversation and holds its figures against
// each other.
func checkedReplay(tl *replay.Timeline, c agentConversation) (*replay.Timeline, error) {
	if tl.Agent == "" {
		tl.Agent = c.agent
	}
	if err := tl.CheckValid(); err != nil {
		return nil, fmt.Errorf("the replay contradicts itself: %w: please report it with the session", err)
	}
	for i, w := range tl.Warnings {
		tl.Warnings[i] = withHint(w)
	}
	return tl, nil
}
