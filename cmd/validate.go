package cmd

import (
	"cmp"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/preset"
	"github.com/ctxkit/ctxkit/replay"
	"github.com/ctxkit/ctxkit/replay/predict"
	"github.com/ctxkit/ctxkit/report"
)

func newValidate(sys *system) *cobra.Command {
	o := &replayOptions{policyOptions: policyOptions{Policy: session.Product}}
	return command(&cobra.Command{
		Use: "validate INPUT...", Short: "Predict sessions of one window or release from others, and compare",
		Args: arguments(&o.Inputs),
		Long: `Replay sessions that were recorded in other windows, or by other releases of the
client, in the one of --window (default: 200,000 tokens) or under the one of
--policy, and compare the result with the sessions that were recorded in it:
how far replays can be trusted, on your own sessions. With --window, --policy is
what the others are replayed under.

Requests are compared with those whose whole history is as long. Intervals hold
at 90 %, over projects. What is predicted is replayed too: if that replay fits
and the prediction does not, the sessions differ and the simulation is right.
Models have other prices: --model counts and prices all sessions alike.
Subagents have windows of their own and are left out.`,
		Example: `  ctxkit validate ~/.claude/projects --window 200k
  ctxkit validate ~/.claude/projects --window 200k -p claude-code@2.1.145
  ctxkit validate ~/.claude/projects --policy claude-code@2.1.21`,
	}, func() error { return runValidate(sys, o) }, &o.policyOptions, &o.inputOptions, &o.countOptions, newPriceOptions(sys), o.listing(report.ListFormats, report.ValidateTables...))
}

func runValidate(sys *system, o *replayOptions) error {
	if o.Window == 0 && o.bySession(sys) {
		o.Window = replay.DefaultWindow
	}
	recorded, err := sys.presets.Load(preset.Recorded)
	if err != nil {
		return err
	}
	r, err := o.begin(sys)
	if err != nil {
		return err
	}
	var list []predict.SessionTally
	all := 0
	loop := r.loop("replayed")
	loop.skipEmpty, loop.assumed = true, &replay.Options{Model: o.Model} // it is the recorded window that counts
	failed, err := eachUnder(r, loop, func(c agentConversation, pol *policy.Policy) (s predict.SessionTally, err error) {
		client := preset.ClientOf(c.conv)
		mine, err := sys.presets.For(client.Product, client)
		if err != nil {
			return s, err
		}
		asked, err := sys.presets.For(o.unfolded().Policy, client)
		if err != nil {
			return s, err
		}
		if !slices.ContainsFunc(sys.presets.Releases(client.Product), func(r preset.Release) bool { return r.Policy == asked.Policy }) {
			return s, nil
		}
		s.Project = cmp.Or(c.conv.Repository, c.conv.CWD, filepath.Dir(c.conv.Path))
		replayed, err := c.replay(pol, o.options())
		if err != nil {
			return s, err
		}
		was := *o // as it was recorded
		was.Window = 0
		record, err := c.replay(recorded, was.options())
		if err != nil {
			return s, err
		}
		was.Model = ""
		own, err := c.replay(recorded, was.options())
		if err != nil {
			return s, err
		}
		s.Window = own.Window
		switch {
		case o.Window > 0 && own.Window == int(o.Window) || o.Window == 0 && mine.Policy == asked.Policy:
			s.Recorded, s.Replayed = predict.TallyOf(record), predict.TallyOf(replayed)
		case o.Window == 0 || len(c.conv.Boundaries) == 0: // what follows a compaction is not of a larger window
			s.Replayed = predict.TallyOf(replayed)
		}
		return s, nil
	}, func(s predict.SessionTally) error {
		if all++; s.Replayed != nil {
			list = append(list, s)
		}
		return nil
	})
	if o.Window == 0 {
		list = predict.Comparable(list)
	}
	return r.finish(failed, err, all, func() error {
		return report.Validate(r.out, list, int(o.Window), all-len(list), r.use(), o.report(sys))
	})
}
