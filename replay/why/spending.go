package why

import (
	"cmp"
	"slices"

	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/replay"
	"github.com/ctxkit/ctxkit/replay/bill"
	"github.com/ctxkit/ctxkit/replay/cache"
	"github.com/ctxkit/ctxkit/replay/price"
	"github.com/ctxkit/ctxkit/replay/spend"
)

// Expense is a part of the bill of a session, or of its simulated cost.
type Expense struct {
	Part   string           `json:"part"`
	Cause  cache.BreakCause `json:"cause,omitempty"` // of cache misses
	Stage  string           `json:"stage,omitempty"` // of those by an edit or a compaction
	Edit   policy.EditKind  `json:"kind,omitempty"`
	Times  int              `json:"times"` // requests, calls or subagents
	Tokens int              `json:"tokens"`
	USD    price.USD        `json:"cost_usd,omitzero"`
}

// The parts next to those of bill.Kinds.
const (
	PartReads     = "reads"  // what was sent again, at the price of a cache read
	PartResent    = "resent" // what was sent again outside of the cache
	PartMisses    = "misses" // what cache misses cost more than reads
	PartNew       = "new"
	PartOutput    = "output"
	PartOwnCalls  = "own_calls" // of a simulated policy
	PartSubagents = "subagents"
	PartCopies    = "copies" // of calls in several sessions, which a sum counts once
)

// HourCache is what the pauses of more than five minutes and at most an hour cost, and what a cache that lives for an hour
// would have made of the bill.
type HourCache struct {
	Pauses int       `json:"pauses"`
	USD    price.USD `json:"cost_usd"`
	Saved  price.USD `json:"saved_usd"` // below 0: its writes cost more than it saves
}

// spending divides the bill, or the simulated cost, by what was paid for.
func (s *SessionBreaks) spending(rec *replay.Record, tl *replay.Timeline, spent []spend.PaidInput) {
	var reads, resent, fresh Expense
	var input price.USD
	for i := range spent {
		r := &spent[i]
		if r.Known {
			input.Add(price.USD{Nano: r.Input(), Known: true})
		}
		for _, x := range []struct {
			to *Expense
			spend.Amount
		}{{&reads, r.Reads}, {&resent, r.Resent}, {&fresh, r.New}} {
			if x.Tokens > 0 {
				x.to.Times++
			}
			x.to.Tokens += x.Tokens
			x.to.USD.Add(x.USD(r.Known))
		}
	}
	reads.Part = PartReads
	resent.Part = PartResent
	fresh.Part = PartNew
	list := []Expense{reads, resent, fresh}
	for _, c := range s.Causes {
		one := Expense{PartMisses, c.Cause, c.Stage, c.Edit, c.Simulated, c.SimLost, c.SimUSD}
		if s.ByUsage() {
			one.Times = c.Breaks
			one.Tokens = c.Lost
			one.USD = c.USD
		}
		list = append(list, one)
	}
	output := Expense{Part: PartOutput}
	if s.ByUsage() {
		own := bill.Of(rec.Conv, rec.Prices(replay.Options{Prices: s.prices}))
		s.Spent = s.Bill.CostUSD
		for _, k := range own.Kinds {
			if k.Kind == bill.KindRequest {
				output.Times = k.Calls
				output.Tokens = k.Output
				output.USD = k.CostUSD
				output.USD.Nano -= input.Nano
				continue
			}
			list = append(list, Expense{Part: string(k.Kind), Times: max(k.Calls, k.Searches), Tokens: k.Tokens(), USD: k.CostUSD})
		}
		if s.Bill.Agents > 0 {
			agents := s.Bill.CostUSD
			agents.Nano -= own.CostUSD.Nano
			list = append(list, Expense{Part: PartSubagents, Times: s.Bill.Agents, Tokens: s.Bill.Tokens() - own.Tokens(), USD: agents})
		}
	} else {
		s.Spent = s.Cost
		calls := Expense{Part: PartOwnCalls}
		for i := range tl.Requests {
			r := &tl.Requests[i]
			of := &output
			if r.Kind != "main" {
				of = &calls
				of.Tokens += r.Payload
			}
			of.Times++
			of.Tokens += r.Output
			if r.CostParts != nil {
				of.USD.Add(price.USD{Nano: r.CostParts.OwnCalls.Nano + r.CostParts.Output.Nano, Known: true})
			}
		}
		list = append(list, calls)
	}
	s.Expenses = sortExpenses(append(list, output))
}

// sortExpenses puts the most expensive first, and leaves out those that are nothing.
func sortExpenses(list []Expense) []Expense {
	list = slices.DeleteFunc(list, func(e Expense) bool { return e.Times == 0 && e.Tokens == 0 && e.USD.Nano == 0 })
	slices.SortStableFunc(list, func(a, b Expense) int {
		return cmp.Or(cmp.Compare(b.USD.Nano, a.USD.Nano), cmp.Compare(b.Tokens, a.Tokens))
	})
	return append([]Expense{}, list...)
}

// addExpense adds one of another session.
func addExpense(list []Expense, one *Expense) []Expense {
	at := slices.IndexFunc(list, func(e Expense) bool {
		return e.Part == one.Part && e.Cause == one.Cause && e.Stage == one.Stage && e.Edit == one.Edit
	})
	if at < 0 {
		return append(list, *one)
	}
	list[at].Times += one.Times
	list[at].Tokens += one.Tokens
	list[at].USD.Add(one.USD)
	return list
}

// hourCache compares the pauses with a cache that lives for an hour. It is nil where no pause had that length, or the
// session's cache is not one of five minutes.
func (s *SessionBreaks) hourCache(spent []spend.PaidInput) *HourCache {
	h := &HourCache{USD: price.USD{Known: true}, Saved: price.USD{Known: true}}
	short := false
	saves := map[int]bool{}
	for i := range s.Breaks {
		b := &s.Breaks[i]
		if b.InFile != nil && b.Cause == cache.Expired && b.Idle > 0 && b.Idle <= 3600 && b.InFile.USD.Known {
			saves[b.Request] = true
			h.Pauses++
			h.USD.Add(b.InFile.USD)
		}
	}
	for i, r := range spent {
		short = short || r.Hour+r.HourLost > 0
		h.Saved.Nano -= r.Hour
		if saves[i+1] {
			h.Saved.Nano += r.Missed.Nano
		} else {
			h.Saved.Nano -= r.HourLost
		}
	}
	if h.Pauses == 0 || !short {
		return nil
	}
	return h
}
