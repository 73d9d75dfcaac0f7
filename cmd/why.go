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
	return command(&cobra.Command{
		Use: "why INPUT...", Short: "Show why a session cost what it did, and why it compacted",
		Args: arguments(&o.Inputs),
		Long: `Show what a session cost and why: how much was paid for reading the context
again, for new content, for cache misses by cause, for output, summaries and
subagents. The parts add up to what cost shows as billed. Then what the input
consisted of, what would have cost less, what filled the context before each
compaction, and each cache miss with its request, cause and cost.

The causes are a restart of the client, an edit or a compaction, a pause longer
than the cache lives, another model, other tools or settings, and breakpoints
that do not reach far enough. A recorded cache miss that no line of the file
explains is called unexplained, unless the file has the API's reason (Claude
Code 2.1.119 and later). Where it holds the requests that were sent (2.1.282 and
later), the first tool, setting or block that differs from the request before is
named.

--policy shows the same of another policy, simulated.`,
		Example: `  ctxkit why session.jsonl
  ctxkit why session.jsonl --policy opencode
  ctxkit why last --all
  ctxkit why ~/.claude/projects --format csv -o misses.csv`,
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
