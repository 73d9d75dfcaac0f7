package cmd

import (
	"github.com/spf13/cobra"

	"github.com/ctxkit/ctxkit/replay"
	"github.com/ctxkit/ctxkit/report"
)

func newRegret(sys *system) *cobra.Command {
	o := &replayOptions{Regret: true}
	return command(&cobra.Command{
		Use: "regret INPUT...", Short: "List what a policy removed before the conversation used it again",
		Args: arguments(&o.Inputs),
		Long: `List what a policy removed too early: for each block that was gone when the
recorded conversation used it, which stage removed it, at which request, and
the text that shows the use: a file that was read again after the client had
lost it too, the old text of an edit, or a quotation. What stands anywhere else
in the view, in whatever form, is not missed.
`,
		Example: `  ctxkit regret session.jsonl --policy opencode
  ctxkit regret ~/.claude/projects --policy claude-code -f csv -o needed.csv`,
	}, func() error { return runRegret(sys, o) }, o.shared(sys, o.listing(report.ListFormats, report.RegretTables...))...)
}

func runRegret(sys *system, o *replayOptions) error {
	r, err := o.begin(sys)
	if err != nil {
		return err
	}
	o.unknownModel(sys, r.msgs)
	var list []*replay.Timeline
	var converted []*replay.Conversion
	failed, err := r.each("judged", func(loop *conversationLoop, tl *replay.Timeline) error {
		for _, w := range tl.Warnings {
			if w.Code == replay.CodeWindowAssumed {
				loop.warn(w)
			}
		}
		// The listing needs the regret alone.
		list = append(list, &replay.Timeline{Session: tl.Session, Agent: tl.Agent, File: tl.File, Policy: tl.Policy, Counter: tl.Counter, Lines: tl.Lines, Regret: tl.Regret})
		converted = append(converted, tl.Converted)
		return nil
	})
	r.msgs.converted(converted)
	return r.finish(failed, err, len(list), func() error { return report.Regret(r.out, list, r.use(), o.report(sys)) })
}
