package replay

import (
	"cmp"
	"slices"

	"github.com/ctxkit/ctxkit/replay/cache"
	"github.com/ctxkit/ctxkit/replay/price"
)

// Bill is the sum of a number of calls. Token figures are by the timeline's counter.
type Bill struct {
	Calls     int         `json:"calls"`
	Input     cache.Split `json:"input"`
	Output    int         `json:"output_tokens"`
	Estimated int         `json:"estimated_outputs,omitempty"` // calls without a reliable recorded output
	CostUSD   price.USD   `json:"cost_usd,omitzero"`           // of the calls whose model has a price
	Unpriced  int         `json:"unpriced_requests,omitempty"` // calls whose model has none
}

func (b *Bill) add(r *Request) {
	one := Bill{Calls: 1, Input: r.Cache.Split, Output: r.Output, CostUSD: r.CostUSD}
	if r.Estimated {
		one.Estimated = 1
	}
	if !r.CostUSD.Known {
		one.Unpriced = 1
	}
	b.Add(one)
}

// Add adds another bill.
func (b *Bill) Add(o Bill) {
	b.Calls += o.Calls
	b.Input.Add(o.Input)
	b.Output += o.Output
	b.Estimated += o.Estimated
	b.CostUSD.Add(o.CostUSD)
	b.Unpriced += o.Unpriced
}

// Tokens is all tokens of the bill.
func (b *Bill) Tokens() int { return b.Input.Input() + b.Output }

// Lost is what could not be read from the cache for one reason.
type Lost struct {
	Cause    cache.BreakCause `json:"cause"`
	Stage    string           `json:"stage,omitempty"` // of edits
	Requests int              `json:"requests"`
	Tokens   int              `json:"tokens"` // not read, although the request before had sent them too
}

// Cost is what a replay would have cost.
type Cost struct {
	Main         Bill    `json:"main"`                // requests of the client
	Own          Bill    `json:"own"`                 // the policy's own calls: compactions, collapses, session memory
	Conversation int     `json:"conversation_tokens"` // the raw history at the last request
	Overhead     float64 `json:"own_share"`           // tokens of Own / (tokens of Own + Conversation)
	Lost         []Lost  `json:"cache_lost"`          // most tokens first
}

// Total is both bills in one.
func (c *Cost) Total() Bill {
	t := c.Main
	t.Add(c.Own)
	return t
}

// Cost sums up what a replay would have cost, and what its cache misses lost.
func (t *Timeline) Cost() *Cost {
	c := &Cost{Lost: []Lost{}}
	type key struct {
		cause cache.BreakCause
		stage string
	}
	lost := map[key]*Lost{}
	before := 0
	for _, r := range t.Requests {
		if r.Kind != "main" {
			c.Own.add(&r)
			continue
		}
		c.Main.add(&r)
		c.Conversation = r.Raw - r.Overhead
		if m := r.Cache.Miss; m != nil {
			k := key{m.Kind, m.Stage}
			l := lost[k]
			if l == nil {
				l = &Lost{Cause: m.Kind, Stage: m.Stage}
				lost[k] = l
			}
			l.Requests++
			l.Tokens += max(min(before, r.Payload)-r.Cache.Read, 0)
		}
		before = r.Payload
	}
	for _, l := range lost {
		c.Lost = append(c.Lost, *l)
	}
	slices.SortFunc(c.Lost, func(a, b Lost) int {
		return cmp.Or(b.Tokens-a.Tokens, b.Requests-a.Requests,
			cmp.Compare(a.Cause, b.Cause), cmp.Compare(a.Stage, b.Stage))
	})
	if own := c.Own.Tokens(); own > 0 && own+c.Conversation > 0 {
		c.Overhead = float64(own) / float64(own+c.Conversation)
	}
	return c
}
