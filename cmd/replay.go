package cmd

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/preset"
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
	OutputOptions
	CompactAt []int
	Strict    bool
	All       bool
	ASCII     bool
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
	o.PolicyOptions.flags(cmd)
	o.InputOptions.flags(cmd)
	o.CountOptions.flags(cmd)
	o.OutputOptions.flags(cmd, formats...)
	f := cmd.Flags()
	f.IntSliceVar(&o.CompactAt, "compact-at", nil, "have the user ask for a compaction before request `N` (repeatable)")
	f.BoolVar(&o.Strict, "strict", false, "exit 1 where a payload breaks a rule of the API")
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

func runReplay(sys *system, o *ReplayOptions) error {
	if err := oneOf("--tokens", o.Counter, []string{tokens.NameUsage, tokens.NameHeuristic}); err != nil {
		return err
	}
	choose, warnings, err := choosePolicy(sys, o)
	if err != nil {
		return err
	}
	msgs := &messages{w: sys.err, quiet: o.Quiet}
	for _, w := range warnings {
		msgs.warn(w)
	}
	in, err := resolve(sys, o.Inputs, msgs.warn)
	if err != nil {
		return err
	}
	out, err := o.create(sys, in.list)
	if err != nil {
		return err
	}
	err = replayAll(sys, o, choose, in, out, msgs)
	return out.close(err)
}

// policyChoice gives the policy for a session by the version of the client
// that recorded it.
type policyChoice func(version string) (*policy.Policy, error)

// choosePolicy reads the policy once; or, where its name leaves the version to
// the session (claude-code@recorded-version), for each session anew.
func choosePolicy(sys *system, o *ReplayOptions) (policyChoice, []session.Warning, error) {
	if preset.ForVersion(o.Policy, "") != o.Policy {
		return func(version string) (*policy.Policy, error) {
			by := o.PolicyOptions
			if by.Policy = preset.ForVersion(o.Policy, version); version == "" {
				by.Policy = strings.TrimSuffix(by.Policy, "@") // the newest: the session does not say
			}
			p, err := readPolicy(sys, by)
			if err != nil {
				return nil, err
			}
			return p.Policy, nil
		}, nil, nil
	}
	pol, err := readPolicy(sys, o.PolicyOptions)
	if err != nil {
		return nil, nil, err
	}
	pol.checkCompactAt(o.CompactAt)
	return func(string) (*policy.Policy, error) { return pol.Policy, nil }, pol.warnings, nil
}

// replayAll prints the replays of all inputs in their order.
func replayAll(sys *system, o *ReplayOptions, choose policyChoice, in inputs, out *output, msgs *messages) error {
	r, err := report.NewReplays(out, report.Options{
		Format: report.Format(o.Format), Several: in.several || o.Agent == "all",
		All: o.All, Color: o.useColor(sys), ASCII: o.ASCII,
	})
	if err != nil {
		return err
	}
	progress := newProgress(sys, o.Quiet, "replayed", len(in.list))
	defer progress.end()
	violations, failed := 0, 0
	perFile := max(1, o.Jobs/len(in.list))
	work := func(i int) ([]*replay.Timeline, error) {
		return replayInput(sys, o, choose, in.list[i], perFile, msgs)
	}
	err = inOrder(len(in.list), o.Jobs, work, func(_ int, tls []*replay.Timeline, err error) error {
		progress.step()
		if err != nil {
			failed++
			progress.clear()
			msgs.fail(err)
			// What was read before a file broke off is replayed all the same.
		}
		for _, tl := range tls {
			violations += tl.Totals.Violations
			if o.Format == string(report.FormatNDJSON) || o.Format == string(report.FormatCSV) {
				// These forms have no place for warnings.
				progress.clear()
				for _, w := range tl.Warnings {
					msgs.warn(w)
				}
			}
			if err := r.Add(tl); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	if err := r.Close(); err != nil {
		return err
	}
	switch {
	case failed > 0:
		return &partError{failed: failed, of: len(in.list)}
	case violations > 0 && o.Strict:
		return fmt.Errorf("%w: %d messages break a rule of the API: see the warnings, or leave out --strict", errCheckFailed, violations)
	}
	return nil
}

// replayInput reads one input and replays what --agent asks for of it.
func replayInput(sys *system, o *ReplayOptions, choose policyChoice, in input, jobs int, msgs *messages) ([]*replay.Timeline, error) {
	convs, err := in.load(sys.in, o.InputOptions, jobs, msgs.warn)
	if err != nil {
		return nil, err
	}
	defer convs.close()
	var tls []*replay.Timeline
	for _, c := range convs.list {
		pol, err := choose(c.conv.Version)
		if err != nil {
			return nil, pathError(in.path, err)
		}
		tl, err := replayOne(o, pol, c.conv)
		if err != nil {
			return nil, pathError(in.path, err)
		}
		if tl.Agent == "" {
			tl.Agent = c.agent
		}
		tls = append(tls, tl)
	}
	for _, f := range convs.files {
		if f.Stopped != nil {
			return tls, pathError(f.Path, f.Stopped)
		}
	}
	return tls, nil
}

func replayOne(o *ReplayOptions, pol *policy.Policy, conv *session.Conversation) (*replay.Timeline, error) {
	tl, err := replay.Run(conv, pol, replay.Options{
		Counter: o.Counter, Model: o.Model, Window: int(o.Window), Overhead: int(o.Overhead), CompactAt: o.CompactAt,
	})
	if err != nil {
		return nil, err
	}
	if err := tl.CheckValid(); err != nil {
		return nil, fmt.Errorf("the replay contradicts itself: %w: please report it with the session", err)
	}
	return tl, nil
}
