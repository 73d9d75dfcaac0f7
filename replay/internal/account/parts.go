package account

import (
	"slices"
	"strings"

	"github.com/ctxkit/ctxkit/replay/cache"
	"github.com/ctxkit/ctxkit/replay/price"
)

// CostParts is a cost by its reasons. The parts add up to the cost exactly; each may be below zero. They are the
// differences between simulations of the same payloads, each with one more reason than the one before it.
type CostParts struct {
	Ideal     price.USD `json:"ideal"` // input: what was sent before and is still there is read, only the rest is written; what restarts lost is written, too
	Reads     price.USD `json:"-"`     // of Ideal: the price of reading what was sent before; 0 of a timeline that was read from JSON
	IdealLost `json:"of_ideal,omitzero"`
	Breaks    price.USD   `json:"breaks"`    // what the policy's edits made the cache lose
	Lifetime  price.USD   `json:"lifetime"`  // what had expired
	Placement price.USD   `json:"placement"` // what no breakpoint or look-back covered, or was too short
	OwnCalls  price.USD   `json:"own_calls"` // the policy's own requests, with what they write
	Output    price.USD   `json:"output"`    // of main requests, at the price of short prompts
	ByStage   []StageCost `json:"breaks_by_stage,omitempty"`
}

// IdealLost is the part of Ideal that no policy can avoid; what lost nothing is left out.
type IdealLost struct {
	Restarts price.USD `json:"restarts,omitzero"` // what restarts of the client lost
	Changes  price.USD `json:"changes,omitzero"`  // what other models, tools and settings, and thinking that the server stripped, lost
}

// StageCost is the part of the cost of cache misses that the edits of a stage caused.
type StageCost struct {
	Stage  string    `json:"stage"`
	Breaks price.USD `json:"breaks"`
}

// amounts are the parts that add up to the cost, in the order of the steps of a bridge.
func (p *CostParts) amounts() [6]*price.USD {
	return [...]*price.USD{&p.Ideal, &p.Breaks, &p.Lifetime, &p.Placement, &p.OwnCalls, &p.Output}
}

// Sum is all parts together.
func (p *CostParts) Sum() price.USD {
	var sum price.USD
	for _, part := range p.amounts() {
		sum.Add(*part)
	}
	return sum
}

// Add adds another cost's parts; nil has none.
func (p *CostParts) Add(o *CostParts) {
	if o == nil {
		return
	}
	for i, part := range o.amounts() {
		p.amounts()[i].Add(*part)
	}
	p.Reads.Add(o.Reads)
	p.Restarts.Add(o.Restarts)
	p.Changes.Add(o.Changes)
	for _, s := range o.ByStage {
		i, found := slices.BinarySearchFunc(p.ByStage, s.Stage, func(c StageCost, name string) int { return strings.Compare(c.Stage, name) })
		if !found {
			p.ByStage = slices.Insert(p.ByStage, i, StageCost{Stage: s.Stage})
		}
		p.ByStage[i].Breaks.Add(s.Breaks)
	}
}

// mainParts are the parts of the cost of a main request; nil where its model has no price.
func (a *Account) mainParts(r *Request, read [rungs]int, stage string) *CostParts {
	m := a.prices.find(a.model, r.Time)
	if m.ID == "" {
		return nil
	}
	var cost [rungs + 1]int64
	for i, n := range read {
		cost[i] = m.Cost(a.split(a.kind, n, r.Payload-n), r.Output).Nano
	}
	cost[rungs] = r.CostUSD.Nano
	usd := func(n int64) price.USD { return price.USD{Nano: n, Known: true} }
	p := &CostParts{Output: m.Cost(cache.Split{}, r.Output), OwnCalls: usd(0)}
	p.Ideal = usd(cost[losesRestarts] - p.Output.Nano)
	rates := m.RatesFor(r.Payload)
	p.Reads = rates.Cost(cache.Split{Read: a.split(a.kind, read[losesNothing], 0).Read}, 0)
	if lost := cost[losesRestarts] - cost[losesChanges]; lost != 0 {
		p.Restarts = usd(lost)
	}
	if lost := cost[losesChanges] - cost[losesNothing]; lost != 0 {
		p.Changes = usd(lost)
	}
	p.Breaks = usd(cost[losesEdits] - cost[losesRestarts])
	p.Lifetime = usd(cost[losesExpired] - cost[losesEdits])
	p.Placement = usd(cost[rungs] - cost[losesExpired])
	if p.Breaks.Nano != 0 {
		p.ByStage = []StageCost{{stage, p.Breaks}}
	}
	return p
}

// callParts are the parts of the cost, which is known, of a call of the policy's own.
func callParts(cost price.USD) *CostParts {
	none := price.USD{Known: true}
	return &CostParts{Ideal: none, Breaks: none, Lifetime: none, Placement: none, OwnCalls: cost, Output: none}
}
