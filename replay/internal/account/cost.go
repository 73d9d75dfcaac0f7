package account

import (
	"cmp"
	"slices"

	"github.com/ctxkit/ctxkit/replay/bill"
	"github.com/ctxkit/ctxkit/replay/cache"
)

// CacheLoss is one cause of cache misses, with the tokens that were not read from the prompt cache because of it.
type CacheLoss struct {
	Cause    cache.BreakCause `json:"cause"`
	Stage    string           `json:"stage,omitempty"` // of edits
	Requests int              `json:"requests"`
	Tokens   int              `json:"tokens"` // not read, although the request before had sent them too
}

// Cost is what a replay would have cost.
type Cost struct {
	Main         bill.Sum    `json:"main"`                // requests of the client
	Own          bill.Sum    `json:"own"`                 // the policy's own requests: compactions, collapses, session memory
	Conversation int         `json:"conversation_tokens"` // the raw history at the last request
	Overhead     float64     `json:"own_share"`           // tokens of Own / (tokens of Own + Conversation)
	Lost         []CacheLoss `json:"cache_lost"`          // most tokens first
}

// Total is both bills in one.
func (c *Cost) Total() bill.Sum {
	t := c.Main
	t.Add(c.Own)
	return t
}

// Sum is one request as a sum.
func (r *Request) Sum() bill.Sum {
	one := bill.Sum{Calls: 1, Input: r.Cache.Split, Output: r.Output, CostUSD: r.CostUSD}
	if r.Estimated {
		one.Estimated = 1
	}
	if !r.CostUSD.Known {
		one.Unpriced = 1
	}
	return one
}

// CostOf sums up what requests would have cost, and what their cache misses lost.
func CostOf(requests []Request) *Cost {
	c := &Cost{Lost: []CacheLoss{}}
	type key struct {
		cause cache.BreakCause
		stage string
	}
	lost := map[key]*CacheLoss{}
	before := 0
	for _, r := range requests {
		if r.Kind != "main" {
			c.Own.Add(r.Sum())
			continue
		}
		c.Main.Add(r.Sum())
		c.Conversation = r.Raw - r.Overhead
		if m := r.Cache.Miss; m != nil {
			k := key{m.Kind, m.Stage}
			l := lost[k]
			if l == nil {
				l = &CacheLoss{Cause: m.Kind, Stage: m.Stage}
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
	slices.SortFunc(c.Lost, func(a, b CacheLoss) int {
		return cmp.Or(b.Tokens-a.Tokens, b.Requests-a.Requests,
			cmp.Compare(a.Cause, b.Cause), cmp.Compare(a.Stage, b.Stage))
	})
	if own := c.Own.Tokens(); own > 0 && own+c.Conversation > 0 {
		c.Overhead = float64(own) / float64(own+c.Conversation)
	}
	return c
}
