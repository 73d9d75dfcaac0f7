package cmd

import (
	"github.com/spf13/cobra"

	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/replay"
	"github.com/ctxkit/ctxkit/report"
)

func newCost(sys *system) *cobra.Command {
	o := &replayOptions{}
	return command(&cobra.Command{
		Use: "cost INPUT...", Short: "Simulate the cost of sessions by cache class",
		Args: arguments(&o.Inputs),
		Long: `Simulate what sessions cost, as recorded or under a policy.

The prompt cache is simulated: what each request reads, writes and sends
uncached follows from where the client marks it, from the recorded times, and
from what the policy's edits change of the request before. Summarization
requests of the policy are counted separately.

The bill of the recorded session, by the reported usage, stands next to it;
the steps from one to the other add up.`,
		Example: `  ctxkit cost session.jsonl --policy claude-code
  ctxkit cost ~/.claude/projects --policy opencode --format csv -o cost.csv
  ctxkit cost ~/.claude/projects --policy opencode --by month
  ctxkit cost session.jsonl --policy none --set cache.breakpoints=none
  ctxkit cost session.jsonl --policy recorded --prices mine.json`,
	}, func() error { return runCost(sys, o) }, append(o.shared(sys, o.with(report.PageFormats, report.CostTables...).worded()), o.by(replay.CacheOwn), own(&o.outputOptions, "by"))...)
}

func runCost(sys *system, o *replayOptions) error {
	return analyze(sys, o, "priced", (*replays).price, report.Costs)
}

// price replays a conversation, and compares its cost with the bill.
func (r *replays) price(c agentConversation, pol *policy.Policy, warn func(...session.Warning)) (report.SessionCost, error) {
	opt := r.o.options()
	tl, err := c.replay(pol, opt)
	if err != nil {
		return report.SessionCost{}, err
	}
	warn(tl.Warnings...)
	bridge, err := c.rec.Bridge(tl, pol, opt)
	return report.CostOf(tl, bridge, r.o.report(r.sys)), err
}

func newPrices(sys *system) *cobra.Command {
	o := &outputOptions{}
	return command(&cobra.Command{
		Use: "prices", Short: "List the models and prices that costs are computed with",
		Example: `  ctxkit prices
  ctxkit prices --format json -o mine.json
  ctxkit prices --prices mine.json`,
		Args: noArguments,
	}, func() error {
		return show(sys, o, report.Prices, sys.models())
	}, newPriceOptions(sys), o.with(report.ListFormats, report.PriceTables...))
}
