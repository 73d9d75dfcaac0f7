package compare

import (
	"cmp"
	"slices"

	"github.com/ctxkit/ctxkit/replay"
	"github.com/ctxkit/ctxkit/replay/exact"
	"github.com/ctxkit/ctxkit/replay/price"
)

// CostPart is a part of the difference in cost between two policies.
type CostPart struct {
	Name   string        `json:"part"`             // content, breaks, lifetime, placement, own calls, output
	Stages []string      `json:"stages,omitempty"` // of breaks: whose edits cost the most, at most mostStages
	USD    exact.Decimal `json:"usd"`
}

const mostStages = 3

// Parts is the difference in cost between a policy and the first, over the sessions of their pair, by its reasons, the
// largest first; they add up to the difference. Nil where a cost is not known.
//
// Under one cache for all, what expires and what no breakpoint covers follows from what is sent: it is content.
func (c *Comparison) Parts(p int) []CostPart {
	diff := func(figure string) exact.Decimal {
		return c.Pairs[p].Figures[slices.Index(Names(), figure)].Difference
	}
	content, lifetime, placement := diff("cost_ideal"), diff("cost_lifetime"), diff("cost_placement")
	if len(c.Sessions) > 0 && c.Sessions[0].Cache == replay.CacheEqual {
		content = content.Add(lifetime).Add(placement)
		lifetime, placement = exact.Whole(0), exact.Whole(0)
	}
	if !diff("cost_usd").Known {
		return nil
	}
	list := []CostPart{
		{"content", nil, content}, {"breaks", c.breaking(p), diff("cost_breaks")}, {"lifetime", nil, lifetime},
		{"placement", nil, placement}, {"own calls", nil, diff("cost_own_calls")}, {"output", nil, diff("cost_output")},
	}
	list = slices.DeleteFunc(list, func(part CostPart) bool { return part.USD.N == 0 })
	slices.SortStableFunc(list, func(a, b CostPart) int { return b.USD.Abs().Cmp(a.USD.Abs()) })
	return list
}

// breaking lists the stages whose edits broke the prefix most, of the policy that pays more for it.
func (c *Comparison) breaking(pair int) (names []string) {
	breaks := func(p int) (list []replay.StageCost, sum int64) {
		var all replay.CostParts
		for _, i := range c.Pairs[pair].Sessions {
			if s := &c.Sessions[i]; p < len(s.Breaks) {
				all.Add(&replay.CostParts{ByStage: s.Breaks[p]})
			}
		}
		for _, s := range all.ByStage {
			sum += s.Breaks.Nano
		}
		return all.ByStage, sum
	}
	list, sum := breaks(pair)
	if first, other := breaks(0); other > sum {
		list = first
	}
	slices.SortStableFunc(list, func(a, b replay.StageCost) int { return cmp.Compare(b.Breaks.Nano, a.Breaks.Nano) })
	for _, s := range list[:min(len(list), mostStages)] {
		names = append(names, s.Stage)
	}
	return names
}

// BreaksOf is what the edits of each stage of a replay cost.
func BreaksOf(t *replay.Timeline) []replay.StageCost {
	if p := t.Totals.CostParts; p != nil {
		return p.ByStage
	}
	return nil
}

// part is a figure of a part of the cost, known where the cost is.
func part(get func(p *replay.CostParts) price.USD) func(t *replay.Timeline) exact.Decimal {
	return func(t *replay.Timeline) exact.Decimal {
		p := t.Totals.CostParts
		if p == nil {
			p = &replay.CostParts{}
		}
		if !costUSD(t).Known {
			return exact.Decimal{}
		}
		return price.USD{Nano: get(p).Nano, Known: true}.Decimal()
	}
}
