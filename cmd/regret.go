package cmd

import (
	"github.com/spf13/cobra"

	"github.com/ctxkit/ctxkit/replay"
	"github.com/ctxkit/ctxkit/report"
)

const longRegret = `List what a policy threw away too early: for each block that was gone when
the recorded conversation used it, what took it away, when, and by what it
shows that it was needed.

Beside the misses stands the least any choice of blocks could have had under
the same budget of tokens: what a policy that knew the future would miss.`

const exampleRegret = `  ctxkit regret session.jsonl --policy opencode
  ctxkit regret ~/.claude/projects --policy claude-code --format csv -o misses.csv`

func newRegret(sys *system) *cobra.Command {
	o := &ReplayOptions{Regret: true}
	formats := formatNames(report.ListFormats)
	cmd := &cobra.Command{
		Use:     "regret INPUT...",
		Short:   "What did a policy throw away too early?",
		Long:    longRegret,
		Example: exampleRegret,
		RunE: func(_ *cobra.Command, args []string) error {
			o.Inputs = args
			if err := o.OutputOptions.check(formats...); err != nil {
				return err
			}
			if err := o.InputOptions.check(); err != nil {
				return err
			}
			return runRegret(sys, o)
		},
	}
	o.PolicyOptions.replayFlags(cmd)
	o.InputOptions.flags(cmd)
	o.CountOptions.flags(cmd)
	o.OutputOptions.flags(cmd, formats...)
	cmd.Flags().BoolVar(&o.All, "all", false, "leave nothing out of tables")
	return cmd
}

func runRegret(sys *system, o *ReplayOptions) error {
	begun, err := o.begin(sys)
	if err != nil {
		return err
	}
	var tls []*replay.Timeline
	failed, err := eachConversation(begun.loop("judged"), func(c agentConversation) (*replay.Timeline, error) {
		return replayOne(o, begun.choose, c)
	}, func(tl *replay.Timeline) error {
		// The listing needs the regret alone.
		tls = append(tls, &replay.Timeline{Session: tl.Session, Agent: tl.Agent, File: tl.File, Policy: tl.Policy, Counter: tl.Counter, Regret: tl.Regret})
		return nil
	})
	if err == nil && len(tls) == 0 {
		err = failed
	}
	if err == nil {
		err = report.Regret(begun.out, tls, report.Layout{Format: report.Format(o.Format), All: o.All, Color: o.useColor(sys), Hints: reportHints()})
	}
	if err == nil {
		err = failed
	}
	return begun.out.close(err)
}
