package cmd

import (
	"cmp"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/preset"
	"github.com/ctxkit/ctxkit/replay"
	"github.com/ctxkit/ctxkit/replay/price"
	"github.com/ctxkit/ctxkit/report"
)

// priceOptions choose the table of models and prices.
type priceOptions struct {
	Prices string // a file; "": the embedded table

	files *files       // of the command
	read  []byte       // of the file
	table *price.Table // nil: the embedded one
}

func (o *priceOptions) flags(cmd *cobra.Command) {
	cmd.Flags().StringVar(&o.Prices, "prices", "", "take models and prices from `FILE` (as ctxkit prices --format json prints them); models it does not list keep theirs")
}

// maxPrices is more than any table has, bytes.
const maxPrices = 16 << 20

// from makes the options those of a command.
func (o *priceOptions) from(sys *system) *priceOptions {
	o.files = &sys.files
	return o
}

// check reads the file, where one is named.
func (o *priceOptions) check() error {
	if o.Prices == "" {
		return nil
	}
	var err error
	if o.read, err = o.files.readLimited(rolePrices, o.Prices, maxPrices); err != nil {
		return fmt.Errorf("%s: %w: check the path after --prices", o.Prices, bare(err))
	}
	own, err := price.ReadFile(o.Prices, o.read)
	if err != nil {
		return startHint(err, "ctxkit prices --format json")
	}
	o.table = own.Over(price.Default())
	return nil
}

func newCost(sys *system) *cobra.Command {
	o := &replayOptions{}
	return command(&cobra.Command{
		Use: "cost INPUT...", Short: "Simulate the cost of sessions by cache class, own calls included",
		Args: arguments(&o.Inputs),
		Long: `Simulate what sessions would have cost under a policy.

The prompt cache is simulated: what each request reads, writes and sends
uncached follows from where the client marks it, from the recorded times, and
from what the policy's edits change of the request before. The policy's own
calls (compactions) are counted separately.

The bill of the record, from the usage that the API reported, stands beside it;
the steps from one to the other add up.`,
		Example: `  ctxkit cost session.jsonl --policy claude-code
  ctxkit cost ~/.claude/projects --policy opencode --format csv -o cost.csv
  ctxkit cost session.jsonl --policy none --set cache.breakpoints=none
  ctxkit cost session.jsonl --policy recorded --prices mine.json`,
	}, func() error { return runCost(sys, o) }, append(o.shared(sys, o.with(report.ListFormats, report.CostTables...)), o.from(sys), o.by(replay.CacheOwn))...)
}

// pricedReplay is the cost of one conversation and what there is to say of it.
type pricedReplay struct {
	cost     report.SessionCost
	pol      *policy.Policy
	warnings []session.Warning
}

func runCost(sys *system, o *replayOptions) error {
	r, err := o.begin(sys)
	if err != nil {
		return err
	}
	loop := r.loop("priced")
	var list []report.SessionCost
	failed, err := eachConversation(loop, r.price, func(one pricedReplay) error {
		loop.warn(one.warnings...)
		r.ran = append(r.ran, one.pol)
		list = append(list, one.cost)
		return nil
	})
	return r.finish(failed, err, len(list), func() error { return report.Costs(r.out, list, r.use(), o.report(sys)) })
}

// price replays a conversation, and computes what it was billed. Of a main conversation without its subagents, the
// bill includes theirs.
func (r *replays) price(c agentConversation) (one pricedReplay, err error) {
	if one.pol, err = r.choose(preset.ClientOf(c.conv)); err != nil {
		return one, err
	}
	opt := r.o.options()
	tl, err := c.replay(one.pol, opt)
	if err != nil {
		return one, err
	}
	one.warnings = tl.Warnings
	var others []*session.Conversation
	if c.main && r.o.Agent == "main" {
		agents, done := c.beside(func(list ...session.Warning) { one.warnings = append(one.warnings, list...) })
		defer done()
		for _, sub := range agents {
			others = append(others, sub.conv)
		}
	}
	bridge, err := c.rec.Bridge(tl, one.pol, opt, others...)
	one.cost = report.CostOf(tl, bridge)
	return one, err
}

func newPrices(sys *system) *cobra.Command {
	o := &struct {
		priceOptions
		outputOptions
	}{}
	return command(&cobra.Command{
		Use: "prices", Short: "List the models and prices that costs are computed with",
		Example: `  ctxkit prices
  ctxkit prices --format json -o mine.json
  ctxkit prices --prices mine.json`,
		Args: noArguments,
	}, func() error {
		table := cmp.Or(o.table, price.Default())
		return o.print(sys, func(w io.Writer, opt report.Layout) error { return report.Prices(w, table, opt) })
	}, o.from(sys), o.with(report.ListFormats, report.PriceTables...))
}
