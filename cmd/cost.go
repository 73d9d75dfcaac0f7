package cmd

import (
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/ctxkit/ctxkit/replay"
	"github.com/ctxkit/ctxkit/replay/price"
	"github.com/ctxkit/ctxkit/report"
)

// PriceOptions choose the table of models and prices.
type PriceOptions struct {
	Prices string // a file; "": the embedded table

	table *price.Table // what it came to, nil: the embedded one
}

func (o *PriceOptions) flags(cmd *cobra.Command) {
	cmd.Flags().StringVar(&o.Prices, "prices", "", "take models and prices from `FILE` (as ctxkit prices --format json prints them); rows it does not have stay")
}

// maxPrices is more than any table has, bytes.
const maxPrices = 16 << 20

// read reads the file, where one is named.
func (o *PriceOptions) read() error {
	if o.Prices == "" {
		return nil
	}
	f, err := os.Open(o.Prices)
	if err != nil {
		return fmt.Errorf("%s: %w: check the path after --prices", o.Prices, bare(err))
	}
	defer f.Close()
	if info, err := f.Stat(); err == nil && info.IsDir() {
		return fmt.Errorf("%s: it is a directory, not a table of prices: name a file, such as ctxkit prices --format json -o mine.json writes", o.Prices)
	}
	data, err := io.ReadAll(io.LimitReader(f, maxPrices))
	if err != nil {
		return fmt.Errorf("%s: %w: check that it is a plain file", o.Prices, bare(err))
	}
	own, err := price.ReadFile(o.Prices, data)
	if err != nil {
		return err
	}
	base, err := price.Default()
	if err != nil {
		return err
	}
	o.table = own.Over(base)
	return nil
}

const longCost = `What would the sessions have cost under a policy?

The prompt cache is simulated: what each request reads, writes and sends
uncached follows from where the client marks it, from the recorded times, and
from what the policy's edits change of what was sent before. The policy's own
calls (compactions) are counted apart.`

const exampleCost = `  ctxkit cost session.jsonl --policy claude-code
  ctxkit cost ~/.claude/projects --policy opencode --format csv -o cost.csv
  ctxkit cost session.jsonl --policy none --set cache.breakpoints=none
  ctxkit cost session.jsonl --policy recorded --prices mine.json`

func newCost(sys *system) *cobra.Command {
	o := &ReplayOptions{}
	formats := formatNames(report.ListFormats)
	cmd := &cobra.Command{
		Use:     "cost INPUT...",
		Short:   "What would it have cost? By cache class, with the policy's own calls",
		Long:    longCost,
		Example: exampleCost,
		RunE: func(_ *cobra.Command, args []string) error {
			o.Inputs = args
			if err := o.OutputOptions.check(formats...); err != nil {
				return err
			}
			if err := o.InputOptions.check(); err != nil {
				return err
			}
			return runCost(sys, o)
		},
	}
	o.PolicyOptions.replayFlags(cmd)
	o.InputOptions.flags(cmd)
	o.CountOptions.flags(cmd)
	o.PriceOptions.flags(cmd)
	o.OutputOptions.flags(cmd, formats...)
	return cmd
}

func runCost(sys *system, o *ReplayOptions) error {
	begun, err := o.begin(sys)
	if err != nil {
		return err
	}
	var list []report.SessionCost
	loop := begun.loop("priced")
	failed, err := eachConversation(loop, func(c agentConversation) (*replay.Timeline, error) {
		return replayOne(o, begun.choose, c)
	}, func(tl *replay.Timeline) error {
		for _, w := range tl.Warnings {
			loop.tell(func(m *messages) { m.warn(w) })
		}
		list = append(list, report.CostOf(tl))
		return nil
	})
	if err == nil && len(list) == 0 {
		err = failed
	}
	if err == nil {
		err = report.Costs(begun.out, list, report.Layout{Format: report.Format(o.Format), Color: o.useColor(sys), Hints: reportHints()})
	}
	if err == nil {
		err = failed
	}
	return begun.out.close(err)
}

// PricesOptions are what `ctxkit prices` is asked for.
type PricesOptions struct {
	PriceOptions
	OutputOptions
}

func newPrices(sys *system) *cobra.Command {
	o := &PricesOptions{}
	formats := formatNames(report.ListFormats)
	cmd := &cobra.Command{
		Use:   "prices",
		Short: "Print the models and prices that costs go by, each with its source",
		Example: `  ctxkit prices
  ctxkit prices --format json -o mine.json
  ctxkit prices --prices mine.json`,
		Args: noArguments,
		RunE: func(*cobra.Command, []string) error {
			if err := o.check(formats...); err != nil {
				return err
			}
			return runPrices(sys, o)
		},
	}
	o.PriceOptions.flags(cmd)
	o.OutputOptions.flags(cmd, formats...)
	return cmd
}

func runPrices(sys *system, o *PricesOptions) error {
	if err := o.PriceOptions.read(); err != nil {
		return err
	}
	table := o.table
	if table == nil {
		var err error
		if table, err = price.Default(); err != nil {
			return err
		}
	}
	out, err := o.create(sys, nil)
	if err != nil {
		return err
	}
	return out.close(report.Prices(out, table, report.Layout{Format: report.Format(o.Format), Color: o.useColor(sys), Hints: reportHints()}))
}
