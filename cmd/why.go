package cmd

import (
	"github.com/spf13/cobra"

	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/replay"
	"github.com/ctxkit/ctxkit/replay/why"
	"github.com/ctxkit/ctxkit/report"
)

func newWhy(sys *system) *cobra.Command {
	o := &replayOptions{}
	o.Policy = "recorded"
	return command(&cobra.Command{
		Use: "why INPUT...", Short: "Show every break of the prompt cache with its cause and cost",
		Args: arguments(&o.Inputs),
		Long: `Show where the prompt cache broke, the most expensive break first: its cause and
what it cost. The causes are a restart of the client, an edit or a compaction, a
pause longer than the cache lives, another model, other tools or settings, and
breakpoints that do not reach far enough. A recorded break that no line of the
file explains is said to be unexplained. Where the file holds the requests that
were sent (Claude Code 2.1.282 and later), the first tool, setting or block that
differs from the request before is named.

Breaks of the record are those that the usage shows, with what they cost by it.
The simulated cache, which names the causes, has a figure of its own beside it;
its parts add up to the simulated cost. --policy shows the breaks of another
policy, which are simulated.

Between compactions it lists what filled the context again: tool results, files
and prompts, the heaviest first.`,
		Example: `  ctxkit why session.jsonl
  ctxkit why session.jsonl --policy opencode
  ctxkit why last --all
  ctxkit why ~/.claude/projects --format csv -o breaks.csv`,
	}, func() error { return runWhy(sys, o) }, append(o.shared(sys, o.listing(report.PageFormats, report.WhyTables...).worded()), o.by(replay.CacheOwn))...)
}

func runWhy(sys *system, o *replayOptions) error {
	return analyze(sys, o, "explained", func(_ *replays, c agentConversation, pol *policy.Policy, warn func(...session.Warning)) (*why.SessionBreaks, error) {
		log, err := requestsOf(c.conv)
		if err != nil {
			return nil, err
		}
		s, tl, err := why.Replay(c.rec, pol, o.options(), log)
		if err == nil {
			err = checkReplay(tl)
		}
		if err != nil {
			return nil, err
		}
		s.Agent = c.name()
		addHints(tl.Warnings)
		warn(tl.Warnings...)
		return s, nil
	}, report.Why)
}
