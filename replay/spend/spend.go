// Package spend divides what the input of each request cost by why it was sent: read again from the prompt cache, sent
// again outside of it, lost by a cache miss, or new.
package spend

import (
	"cmp"

	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/replay"
	"github.com/ctxkit/ctxkit/replay/backtest"
	"github.com/ctxkit/ctxkit/replay/bill"
	"github.com/ctxkit/ctxkit/replay/cache"
	"github.com/ctxkit/ctxkit/replay/price"
)

// PaidInput is the input of a main request. The amounts add up to what its input cost.
type PaidInput struct {
	Reads  Amount // what an earlier request had sent, at the price of a cache read
	Resent Amount // what an earlier request had sent and no cache held
	Missed Amount // what was lost from the cache: what it cost more than reading it
	New    Amount // what no request had sent before
	Known  bool   // the amounts are known

	// What it would cost more to write for an hour what it wrote for five minutes, in billionths of a dollar: without what
	// a cache miss lost, and that.
	Hour, HourLost int64
}

// Amount is a number of tokens and what they cost, in billionths of a dollar.
type Amount struct {
	Tokens int
	Nano   int64
}

// Add adds another amount.
func (a *Amount) Add(o Amount) {
	a.Tokens += o.Tokens
	a.Nano += o.Nano
}

// USD is the amount where it is known.
func (a Amount) USD(known bool) price.USD { return price.USD{Nano: a.Nano, Known: known} }

// Input is what the whole input cost.
func (r *PaidInput) Input() int64 { return r.Reads.Nano + r.Resent.Nano + r.Missed.Nano + r.New.Nano }

// CacheMiss is a cache miss that the API reported: what was read is less than 95 % of what the request before had left.
type CacheMiss struct {
	Left int       `json:"left_tokens"` // that the request before had read and written
	Read int       `json:"read_tokens"`
	Lost int       `json:"lost_tokens"`       // of Left: sent again and not read
	USD  price.USD `json:"cost_usd,omitzero"` // what they cost more than if they had been read

	Reason      string `json:"reason,omitempty"` // by the API: session.Message.CacheMiss
	Unexplained bool   `json:"-"`                // no line of the file says why
}

// Recorded are the main requests of a recorded conversation by their usage, at the prices of a table (nil: the embedded
// one), and its cache misses by request. track is its own replay. A request without usage has no amounts.
func Recorded(conv *session.Conversation, track *replay.Timeline, table *price.Table) ([]PaidInput, map[int]*CacheMiss) {
	misses := map[int]*CacheMiss{}
	repeated := make([]int, len(conv.Requests)+1)
	for _, r := range track.Main() {
		repeated[r.N] = r.Repeated
	}
	for p := range backtest.CachePoints(track) {
		if p.Broke {
			r := &track.Requests[p.Row]
			sent := r.Recorded.Input + r.Recorded.CacheRead + r.Recorded.CacheWrite
			misses[p.N] = &CacheMiss{Left: p.Left, Read: p.Recorded, Lost: max(min(p.Left, r.Repeated, sent)-p.Recorded, 0), Reason: conv.Response(p.N - 1).CacheMiss, Unexplained: p.Unexplained()}
		}
	}
	list := make([]PaidInput, len(conv.Requests))
	own := bill.Of(conv, table)
	for i := range conv.Charges {
		c := &conv.Charges[i]
		if c.Kind == session.ChargeRequest && c.HasUsage && c.Request > 0 && c.Request <= len(list) {
			list[c.Request-1] = recorded(c, &own.List[i].Parts[0], repeated[c.Request], misses[c.Request])
		}
	}
	return list, misses
}

// recorded divides the input of a charge. The second result is nil where the cache held what it should.
func recorded(c *session.Charge, p *bill.Part, repeated int, miss *CacheMiss) PaidInput {
	in := bill.RecordedSplit(&c.Usage)
	cost := func(s cache.Split) int64 { return p.Rates.Cost(s, 0).Nano }
	lost := 0
	left := in
	if miss != nil {
		lost = miss.Lost
		left = without(in, miss.Lost)
		miss.USD = price.USD{Nano: cost(in) - cost(left) - cost(cache.Split{Read: lost}), Known: p.CostUSD.Known}
	}
	again := max(min(repeated, in.Input())-in.Read-lost, 0)
	fresh := without(left, again)
	r := PaidInput{
		Reads:  Amount{p.Input.Read + lost, cost(cache.Split{Read: p.Input.Read}) + cost(cache.Split{Read: lost})},
		Resent: Amount{again, cost(left) - cost(fresh)},
		New:    Amount{Tokens: p.Input.Input() - p.Input.Read - lost - again},
		Known:  p.CostUSD.Known,
	}
	hour := func(s cache.Split) int64 {
		return cost(cache.Split{Write1h: s.Write5m}) - cost(cache.Split{Write5m: s.Write5m})
	}
	if p.Rates.CacheWrite1h > p.Rates.CacheWrite5m {
		r.Hour, r.HourLost = hour(left), hour(in)-hour(left)
	}
	if miss != nil {
		r.Missed = Amount{lost, miss.USD.Nano}
	}
	if r.Known {
		r.New.Nano = p.CostUSD.Nano - p.Rates.Cost(cache.Split{}, p.Output).Nano - r.Input()
	}
	return r
}

// without is an input less a number of tokens: written ones, and uncached ones where these are too few.
func without(in cache.Split, tokens int) cache.Split {
	for _, from := range []*int{&in.Write1h, &in.Write5m, &in.Uncached} {
		n := min(*from, tokens)
		*from -= n
		tokens -= n
	}
	return in
}

// Simulated are the main requests of a replay by the simulated cache. missed reports whether the cache missed at a request.
func Simulated(tl *replay.Timeline, missed func(r *replay.Request) bool) []PaidInput {
	list := make([]PaidInput, 0, tl.Totals.Requests)
	for _, m := range tl.Main() {
		p := cmp.Or(m.CostParts, &replay.CostParts{})
		ideal := p.Ideal.Nano - p.Restarts.Nano - p.Changes.Nano
		lost := p.Restarts.Nano + p.Changes.Nano + p.Breaks.Nano + p.Lifetime.Nano + p.Placement.Nano
		r := PaidInput{Reads: Amount{m.Repeated, p.Reads.Nano}, New: Amount{Tokens: m.Payload - m.Repeated}, Known: m.CostParts != nil}
		switch {
		case missed(m):
			r.Missed = Amount{max(m.Repeated-m.Cache.Read, 0), lost}
		default:
			r.Resent = Amount{max(m.Repeated-m.Cache.Read, 0), lost}
			r.Reads.Tokens -= r.Resent.Tokens
		}
		if p.Reads.Nano == 0 && m.Payload > 0 { // no cache: all of it has one price
			again := price.Share(ideal, m.Repeated, m.Payload)
			r.Resent.Add(Amount{Nano: again})
			ideal -= again
		}
		r.New.Nano = ideal - p.Reads.Nano
		list = append(list, r)
	}
	return list
}
