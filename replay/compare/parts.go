package compare

import (
	"cmp"
	"reflect"
	"slices"

	"github.com/ctxkit/ctxkit/replay"
	"github.com/ctxkit/ctxkit/replay/exact"
	"github.com/ctxkit/ctxkit/replay/price"
)

// CostPart is a part of the difference in cost between two policies.
type CostPart struct {
	Name   string        `json:"part"`             // `content`, `breaks`, `TTL`, `placement`, `own requests`, `output`
	Stages []string      `json:"stages,omitempty"` // of `breaks`: whose edits cost the most, at most mostStages
	USD    exact.Decimal `json:"usd"`
}

const mostStages = 3

// Parts is the difference in cost between a policy and the first, over the sessions of their pair, by its reasons, the
// largest first; they add up to the difference. Nil where a cost is not known.
//
// Under one cache for all, policies differ in content, cache misses and own requests. What expires follows from the
// payload: it is content. What no breakpoint or look-back covers follows from the edits that put it out of reach: it is
// a cache miss. Without a cache all input is content.
func (c *Comparison) Parts(p int) []CostPart {
	diff := func(figure string) exact.Decimal {
		return c.Pairs[p].Figures[slices.Index(Names(), figure)].Difference
	}
	content, breaks, lifetime, placement := diff("cost_ideal"), diff("cost_breaks"), diff("cost_lifetime"), diff("cost_placement")
	zero := exact.Whole(0)
	switch c.cache() {
	case replay.CacheEqual:
		content, breaks = content.Add(lifetime), breaks.Add(placement)
		lifetime, placement = zero, zero
	case replay.CacheNone:
		content = content.Add(breaks).Add(lifetime).Add(placement)
		breaks, lifetime, placement = zero, zero, zero
	}
	if !diff("cost_usd").Known {
		return nil
	}
	list := []CostPart{
		{"content", nil, content}, {"breaks", c.breaking(p, breaks.N > 0), breaks}, {"lifetime", nil, lifetime},
		{"placement", nil, placement}, {"own calls", nil, diff("cost_own_calls")}, {"output", nil, diff("cost_output")},
	}
	list = slices.DeleteFunc(list, func(part CostPart) bool { return part.USD.N == 0 })
	slices.SortStableFunc(list, func(a, b CostPart) int { return b.USD.Abs().Cmp(a.USD.Abs()) })
	return list
}

// cache is whose prompt cache all sessions were simulated with.
func (c *Comparison) cache() replay.CacheMode {
	if len(c.Sessions) == 0 {
		return ""
	}
	return c.Sessions[0].Cache
}

// breaking lists the stages whose edits broke the prefix most: the policy's where it pays more for that, else those of
// the first policy.
func (c *Comparison) breaking(pair int, more bool) (names []string) {
	p := 0
	if more {
		p = pair
	}
	var all replay.CostParts
	for _, i := range c.Pairs[pair].Sessions {
		if s := &c.Sessions[i]; p < len(s.Breaks) {
			all.Add(&replay.CostParts{ByStage: s.Breaks[p]})
		}
	}
	list := slices.DeleteFunc(all.ByStage, func(s replay.StageCost) bool { return s.Breaks.Nano <= 0 })
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

// part is a figure of a part of the cost, by the name of its field. It is known where the cost is.
func part(field string) func(t *replay.Timeline) exact.Decimal {
	return func(t *replay.Timeline) exact.Decimal {
		p := t.Totals.CostParts
		if p == nil {
			p = &replay.CostParts{}
		}
		if !costUSD(t).Known {
			return exact.Decimal{}
		}
		of := reflect.ValueOf(p).Elem().FieldByName(field).Interface().(price.USD)
		return price.USD{Nano: of.Nano, Known: true}.Decimal()
	}
}
