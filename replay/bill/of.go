package bill

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"slices"
	"strings"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/replay/cache"
	"github.com/ctxkit/ctxkit/replay/price"
)

// Of is the bill of a conversation alone: of its charges, in their order, and compactions of which no usage is recorded, at the prices of a table; nil: the embedded one.
func Of(conv *session.Conversation, table *price.Table) *Bill {
	b := &Bill{List: make([]Call, 0, len(conv.Charges))}
	for i := range conv.Charges {
		b.List = append(b.List, callOf(&conv.Charges[i], conv.Provider, table))
	}
	runs := 0 // the line of the last one: what they used has compactions, too
	for i := range conv.Charges {
		if c := &conv.Charges[i]; c.Kind == session.ChargeRun {
			runs = c.Line
		}
	}
	for i := range conv.Boundaries {
		if of := &conv.Boundaries[i]; of.Usage == nil && of.Summary >= 0 && of.Line > runs && !conv.HasMemory { // else the client had the summary ready
			b.List = append(b.List, Call{CallFacts: CallFacts{Time: of.Time, Key: hash("boundary " + of.UUID), Compactions: 1}})
		}
	}
	b.List = append(b.List, unfiled(conv, b.List, table)...)
	if conv.Agent != "" && len(b.List) > 0 { // another file of the session may lack its file
		b.List = append(b.List, Call{CallFacts: CallFacts{Time: b.List[0].Time, Key: hash("subagent " + conv.Agent), Agent: true, Unfiled: &Unfiled{}}})
	}
	b.tally()
	return b
}

// unfiled are the subagents without a file of a conversation, and what their calls cost that are not among those billed.
func unfiled(conv *session.Conversation, billed []Call, table *price.Table) []Call {
	if len(conv.Unfiled) == 0 {
		return nil
	}
	var l Ledger
	l.Add(&Bill{List: billed})
	for i := range conv.Unfiled {
		u := &conv.Unfiled[i]
		agent := Unfiled{Agents: 1}
		one := &Bill{}
		for k := range u.Charges {
			c := callOf(&u.Charges[k], conv.Provider, table)
			if usd := c.Sum("").CostUSD; usd.Known {
				agent.Known = 1
				one.List = append(one.List, Call{CallFacts: CallFacts{Time: c.Time, Key: c.Key, Agent: true, Unfiled: &Unfiled{CostUSD: usd}}})
			}
		}
		one.List = append(one.List, Call{CallFacts: CallFacts{Time: u.Time, Key: hash("subagent " + u.Agent), Agent: true, Unfiled: &agent}}) // ids are random
		l.Add(one)
	}
	return slices.DeleteFunc(l.sum.List, func(c Call) bool { return c.Unfiled == nil })
}

// OfSession is the bill of a main conversation and its subagents. It is compared with what the client itself recorded of
// the session.
func OfSession(main *session.Conversation, agents []*session.Conversation, table *price.Table) *Bill {
	var l Ledger
	l.Add(Of(main, table))
	for _, conv := range agents {
		one := Of(conv, table)
		one.Agents = 1
		for i := range one.List {
			one.List[i].Agent = true
		}
		l.Add(one)
	}
	b := l.Bill()
	b.compare(main.Client, cmp.Or(table, price.Default()))
	return b
}

// callOf is what a charge of a provider costs, at the prices of a table; nil: the embedded one.
func callOf(c *session.Charge, provider string, table *price.Table) Call {
	call := Call{CallFacts: CallFacts{Time: c.Time, Key: key(c)}}
	if !c.HasUsage {
		if !c.InRun {
			call.Without = max(c.Calls, 1)
		}
		return call
	}
	if c.Kind == session.ChargeRequest {
		call.Requests = 1
	}
	switch { // the hosts of Claude mark its responses
	case strings.HasPrefix(c.ID, "msg_bdrk_"):
		provider = "bedrock"
	case strings.HasPrefix(c.ID, "msg_vrtx_"):
		provider = "vertex"
	}
	p := pricing{cmp.Or(table, price.Default()), c, provider}
	u := &c.Usage
	last := RecordedSplit(u)
	one := p.part(Kind(c.Kind.String()), c.Model, max(c.Calls, 1), last, max(u.Output-u.Rounds().Output, 0))
	its := u.Others()
	for _, s := range its.Rounds {
		round := p.sampling(one.Kind, c.Model, s)
		one.Add(round.Sum)
		one.What = cmp.Or(one.What, round.What)
	}
	call.Parts = append(call.Parts, one)
	for _, s := range its.Compactions {
		call.Parts = append(call.Parts, p.sampling(KindCompaction, c.Model, s))
	}
	for _, a := range its.Attempts {
		call.Parts = append(call.Parts, p.sampling(KindAttempt, cmp.Or(a.Model, unnamed), a.Spent))
	}
	if u.Searches > 0 {
		call.Parts = append(call.Parts, p.searches(u.Searches))
	}
	if c.Partial {
		call.Partial = p.partial(last, &one)
	}
	if u.Nano > 0 {
		call.ClientUSD = price.USD{Nano: u.Nano, Known: true}
		billed, twice := call.Sum("").CostUSD.Nano, one.Rates.Cost(cache.Split{}, u.Thinking)
		if twice.Nano > 0 && gap(u.Nano, billed, one.Calls) != 0 && gap(u.Nano, billed+twice.Nano, one.Calls) == 0 {
			call.Twice = twice
		}
	}
	return call
}

// key tells a call from all others: of one response the copies in other files have the same model. It is 0 where
// nothing tells it.
func key(c *session.Charge) int64 {
	switch {
	case c.ID == "":
		return 0
	case c.Kind == session.ChargeCompaction: // its model may be that of the requests around it, which other files lack
		return hash(c.ID)
	}
	return hash(c.ID + "\n" + c.Model)
}

// unnamed stands for the model of an attempt that the recorded session does not name. It has no price.
const unnamed = "not named in the file"

func hash(text string) int64 {
	h := sha256.Sum256([]byte(text))
	return int64(binary.BigEndian.Uint64(h[:]))
}

// pricing prices the parts of a charge.
type pricing struct {
	table    *price.Table
	charge   *session.Charge
	provider string
}

// bill prices a number of samplings, of which only the sum is known.
func (p *pricing) bill(model string, calls int, in cache.Split, output int) (usd price.USD, rates price.Rates, unpriced string) {
	u := &p.charge.Usage
	return p.table.Bill(price.Call{
		Model: model, Provider: p.provider, Time: p.charge.Time, Calls: calls, Input: in, Output: output, Speed: u.Speed, Geo: u.Geo, Tier: u.Tier,
	})
}

// sampling is one of the samplings of a response before its last.
func (p *pricing) sampling(kind Kind, model string, s jsonl.Spent) Part {
	return p.part(kind, model, 1, SpentSplit(s), s.Output)
}

func (p *pricing) part(kind Kind, model string, calls int, in cache.Split, output int) Part {
	usd, rates, what := p.bill(model, calls, in, output)
	one := Part{Kind: kind, Model: model, What: what, Rates: rates, Sum: Sum{Calls: calls, Input: in, Output: output, CostUSD: usd}}
	if !usd.Known {
		one.Unpriced = calls
	}
	return one
}

func (p *pricing) searches(n int) Part {
	usd, _, what := p.table.Bill(price.Call{Model: p.charge.Model, Time: p.charge.Time, Searches: n})
	if what != "" {
		usd = price.USD{}
	}
	return Part{Kind: KindSearch, Model: p.charge.Model, What: what, Sum: Sum{CostUSD: usd, Searches: n}}
}

// partial estimates by what the output is short.
func (p *pricing) partial(last cache.Split, of *Part) Partial {
	s := Partial{Calls: 1, Tokens: max(p.charge.Written-p.charge.Usage.Output, 0)}
	whole, _, what := p.bill(of.Model, 1, last, p.charge.Usage.Output+s.Tokens)
	known, _, _ := p.bill(of.Model, 1, last, p.charge.Usage.Output)
	if what == "" {
		s.CostUSD = price.USD{Nano: whole.Nano - known.Nano, Known: true}
	}
	return s
}

// RecordedSplit is the input that the API reported of a request, its last iteration alone. Writes of an unknown
// TTL are for five minutes.
func RecordedSplit(u *jsonl.Usage) cache.Split {
	long := min(u.Write1h, u.CacheWrite)
	return cache.Split{Read: u.CacheRead, Write1h: long, Write5m: u.CacheWrite - long, Uncached: u.Input}
}

// SpentSplit is the input of samplings of a usage before its last. Writes of an unknown TTL are for five minutes.
func SpentSplit(x jsonl.Spent) cache.Split {
	return cache.Split{Read: x.CacheRead, Write1h: x.Write1h, Write5m: x.CacheWrite - x.Write1h, Uncached: x.Input}
}
