package account

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/session"
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

// RecordedBill is what the API reported of a conversation's requests, at the table's prices.
type RecordedBill struct {
	Bill                 // calls are samplings: several where the API iterated within a request; recorded calls that compact are among them
	Models   []ModelBill `json:"models"`                 // by model, sorted
	Requests int         `json:"requests"`               // with usage
	Without  int         `json:"requests_without_usage"` // of them nothing is known
	Agents   int         `json:"subagents,omitempty"`    // whose requests are included
	Client   price.USD   `json:"client_usd,omitzero"`    // what the client itself recorded as the cost of its requests and compactions
}

// ModelBill is the bill of one model.
type ModelBill struct {
	Model string `json:"model"`
	Bill
}

// Add adds another bill.
func (b *RecordedBill) Add(o *RecordedBill) {
	b.Bill.Add(o.Bill)
	b.Requests += o.Requests
	b.Without += o.Without
	b.Agents += o.Agents
	b.Client.Add(o.Client)
	for _, m := range o.Models {
		b.model(m.Model).Add(m.Bill)
	}
}

// model is the bill of a model.
func (b *RecordedBill) model(name string) *Bill {
	i, found := slices.BinarySearchFunc(b.Models, name, func(m ModelBill, name string) int { return strings.Compare(m.Model, name) })
	if !found {
		b.Models = slices.Insert(b.Models, i, ModelBill{Model: name})
	}
	return &b.Models[i].Bill
}

// samplings is a usage as the API bills it: what the request sent last, and the samplings before it. Writes of an unknown
// lifetime are for five minutes, the only one of the clients that did not record it.
type samplings struct {
	last, rounds, compactions cache.Split
	output, summary           int // of the request, and of its compactions
	calls                     int
}

// samplingsOf are those of a usage.
func samplingsOf(u *jsonl.Usage) samplings {
	s := samplings{last: RecordedSplit(u), output: u.Output, calls: 1}
	if !u.Iterated() {
		return s
	}
	long := u.Write1h > u.Write5m
	split := func(x jsonl.Spent) cache.Split {
		if long {
			return cache.Split{Read: x.CacheRead, Write1h: x.CacheWrite, Uncached: x.Input}
		}
		return cache.Split{Read: x.CacheRead, Write5m: x.CacheWrite, Uncached: x.Input}
	}
	rounds, compactions := u.Rounds(), u.Compactions()
	s.rounds, s.compactions, s.summary = split(rounds), split(compactions), compactions.Output
	s.calls += rounds.Calls + compactions.Calls
	return s
}

// RecordedSplit is the input that the API reported of a request, its last iteration alone. Writes of an unknown
// lifetime are for five minutes.
func RecordedSplit(u *jsonl.Usage) cache.Split {
	long := min(u.Write1h, u.CacheWrite)
	return cache.Split{Read: u.CacheRead, Write1h: long, Write5m: u.CacheWrite - long, Uncached: u.Input}
}

// bill is what all samplings cost.
func (s *samplings) bill(m *price.Model) (b Bill) {
	b = Bill{Calls: s.calls, Input: s.last, Output: s.output + s.summary}
	b.Input.Add(s.rounds)
	b.Input.Add(s.compactions)
	if m.ID == "" {
		b.Unpriced = 1
		return b
	}
	b.CostUSD.Add(m.Cost(s.last, s.output))
	b.CostUSD.Add(m.Cost(s.rounds, 0))
	b.CostUSD.Add(m.Cost(s.compactions, s.summary))
	return b
}

// BilledBy is what the API reported of a conversation's requests, at the prices of a table; nil: the embedded one.
func BilledBy(conv *session.Conversation, table *price.Table) *RecordedBill {
	p := newPriceList(cmp.Or(table, price.Default()))
	b := &RecordedBill{Models: []ModelBill{}}
	models := map[string]Bill{}
	add := func(model string, one Bill) {
		b.Bill.Add(one)
		sum := models[model]
		sum.Add(one)
		models[model] = sum
	}
	for _, q := range conv.Requests {
		m := &conv.Messages[q.Message]
		if !m.HasUsage {
			b.Without++
			continue
		}
		u := m.Usage
		s := samplingsOf(&u)
		b.Requests++
		add(m.Model, s.bill(p.find(m.Model, m.Time)))
		b.says(&u)
	}
	for i := range conv.Boundaries {
		of := &conv.Boundaries[i]
		if of.Usage == nil {
			continue
		}
		b.says(of.Usage)
		if b.Requests > 0 { // else the bill is not known
			add(p.recordedCall(conv, of))
		}
	}
	for _, model := range slices.Sorted(maps.Keys(models)) {
		b.Models = append(b.Models, ModelBill{model, models[model]})
	}
	return b
}

// recordedCall is the bill of the call that wrote the summary of a compaction, which has a recorded usage, and its model:
// that of the request after it, else of the last one.
func (p *priceList) recordedCall(conv *session.Conversation, of *session.Boundary) (model string, b Bill) {
	if k := min(of.Request, len(conv.Requests)) - 1; k >= 0 {
		model = conv.Response(k).Model
	}
	s := samplingsOf(of.Usage)
	return model, s.bill(p.find(model, of.Time))
}

// says adds what the client recorded as the cost of a call.
func (b *RecordedBill) says(u *jsonl.Usage) {
	if u.Nano > 0 {
		b.Client.Add(price.USD{Nano: u.Nano, Known: true})
	}
}
