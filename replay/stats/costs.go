package stats

import (
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/replay"
	"github.com/ctxkit/ctxkit/replay/bill"
	"github.com/ctxkit/ctxkit/replay/price"
	"github.com/ctxkit/ctxkit/replay/spend"
)

// Extent is the requests that stats cover.
type Extent struct {
	Request int               // whose payload is divided
	Until   int               // the last that sums include
	Spent   []spend.PaidInput // what the main requests cost; nil: not known
}

// spent is what the main requests cost: by the usage on the recorded track, else simulated.
func spent(rec *replay.Record, pol *policy.Policy, tl *replay.Timeline, table *price.Table) []spend.PaidInput {
	if pol.Recorded && bill.Of(rec.Conv, table).Requests > 0 {
		list, _ := spend.Recorded(rec.Conv, tl, table)
		return list
	}
	return spend.Simulated(tl, func(*replay.Request) bool { return false })
}

// tokenCosts are what a token cost in each main request, in thousandths of a billionth of a dollar.
type tokenCosts struct {
	fresh []int64 // in the first request that held it; by n of the request
	held  []int64 // in all requests up to n that held it already
	total price.USD
}

// perUnit is how many of the units of tokenCosts make a billionth of a dollar.
const perUnit = 1000

// newTokenCosts divides what each of the main requests cost over its tokens: what is new over what joined, the rest over
// what it held already. system is the size of system prompt and tools in the first.
func newTokenCosts(spent []spend.PaidInput, main []mainRequest, l *Ledger, system int) *tokenCosts {
	c := &tokenCosts{fresh: make([]int64, len(main)+1), held: make([]int64, len(main)+1)}
	joined := make([]int, len(main)+1)
	for i := range l.Blocks {
		if b := &l.Blocks[i]; len(b.Spans) > 0 && b.Spans[0].From <= len(main) {
			joined[b.Spans[0].From] += b.Spans[0].Tokens
		}
	}
	for k := range main {
		n := k + 1
		c.held[n] = c.held[k]
		if k >= len(spent) || !spent[k].Known {
			continue
		}
		if k == 0 {
			joined[n] += system
		}
		r := &spent[k]
		c.total.Add(price.USD{Nano: r.Input(), Known: true})
		c.fresh[n] = r.New.Nano * perUnit / int64(max(joined[n], r.New.Tokens, 1))
		// The denominator has a floor: what a request held already is next to nothing where the counts disagree.
		c.held[n] += (r.Input() - r.New.Nano) * perUnit / int64(max(main[k].payload-joined[n], main[k].payload/16, 1))
	}
	return c
}

// block is what a block cost in the requests up to n.
func (c *tokenCosts) block(b *LedgerBlock, n int) price.USD {
	if c == nil || !c.total.Known {
		return price.USD{}
	}
	units := int64(0)
	for k, s := range b.Spans {
		if s.From > n {
			break
		}
		each := c.held[min(s.To, n)] - c.held[s.From-1]
		if k == 0 {
			each += c.fresh[s.From] - (c.held[s.From] - c.held[s.From-1])
		}
		units += each * int64(s.Tokens)
	}
	return price.USD{Nano: units / perUnit, Known: true}
}

// system is what the system prompt and the tools cost, whose sizes are given by request.
func (c *tokenCosts) system(sizes []int) price.USD {
	if c == nil {
		return price.USD{}
	}
	units := int64(0)
	for k, tokens := range sizes {
		each := c.held[k+1] - c.held[k]
		if k == 0 {
			each = c.fresh[1]
		}
		units += each * int64(tokens)
	}
	return price.USD{Nano: units / perUnit, Known: c.total.Known}
}
