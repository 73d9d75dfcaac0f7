package bill

import (
	"maps"
	"slices"

	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/replay/cache"
	"github.com/ctxkit/ctxkit/replay/price"
)

// Client is what clients themselves recorded as the cost of sessions, and the bill of the same calls.
type Client struct {
	ClientTotal
	Differences []ModelSum `json:"differences"` // by model, what the client counted more; less is negative. Sorted; without those of nothing
}

// ClientTotal is a Client without its models.
type ClientTotal struct {
	CostUSD  price.USD `json:"cost_usd"`
	Billed   price.USD `json:"billed_usd,omitzero"`
	Unpriced price.USD `json:"unpriced_usd,omitzero"` // of CostUSD: for what the table has no price for
	More     price.USD `json:"more_usd,omitzero"`     // what CostUSD without Unpriced is more than Billed; left out where it is not
	Calls    int       `json:"calls"`                 // of its bill
	Guessed  bool      `json:"guessed,omitempty"`     // the client had no price for a model
	Twice    price.USD `json:"twice_usd,omitzero"`    // of CostUSD, and not of More: for reasoning that it counts in the output, and again
}

// add adds what another client recorded.
func (c *Client) add(o *Client) {
	price.AddUp(c, o)
	c.Guessed = c.Guessed || o.Guessed
	sums := map[string]Sum{}
	for _, m := range slices.Concat(c.Differences, o.Differences) {
		addTo(sums, m.Model, m.Sum)
	}
	c.Differences = differences(sums)
}

// differences lists those that are not nothing.
func differences(sums map[string]Sum) []ModelSum {
	list := []ModelSum{}
	for _, model := range slices.Sorted(maps.Keys(sums)) {
		if s := sums[model]; s != (Sum{CostUSD: price.USD{Known: s.CostUSD.Known}}) {
			list = append(list, ModelSum{model, s})
		}
	}
	return list
}

// more sets by how much the client reports more.
func (c *Client) more(nano int64) { c.More = price.USD{Nano: max(nano, 0), Known: nano > 0} }

// gap is by how much a client's amount for a number of calls is more than the bill; 0 where it is the bill, rounded up or down to the
// digits that it has, four or more.
func gap(client, billed int64, calls int) int64 {
	unit := int64(100_000)
	for client%unit != 0 {
		unit /= 10
	}
	if more := client - billed; max(more, -more) >= max(unit, int64(calls)) {
		return more
	}
	return 0
}

// less takes a sum off.
func (s *Sum) less(o Sum) {
	s.Input.Add(cache.Split{Read: -o.Input.Read, Write5m: -o.Input.Write5m, Write1h: -o.Input.Write1h, Uncached: -o.Input.Uncached})
	s.Output -= o.Output
	s.Searches -= o.Searches
	s.CostUSD.Add(price.USD{Nano: -o.CostUSD.Nano, Known: o.CostUSD.Known})
}

// ofCalls is what the client recorded call by call; nil: nothing.
func ofCalls(calls []Call) *Client {
	c := &Client{}
	more := int64(0)
	sums := map[string]Sum{}
	for i := range calls {
		call := &calls[i]
		if !call.ClientUSD.Known {
			continue
		}
		billed := call.Sum("")
		c.CostUSD.Add(call.ClientUSD)
		c.Billed.Add(billed.CostUSD)
		c.Calls += max(billed.Calls, 1)
		if !billed.CostUSD.Known {
			c.Unpriced.Add(call.ClientUSD)
			continue
		}
		c.Twice.Add(call.Twice)
		off := gap(call.ClientUSD.Nano, billed.CostUSD.Nano+call.Twice.Nano, billed.Calls)
		more += off
		addTo(sums, call.Parts[0].Model, Sum{CostUSD: price.USD{Nano: off, Known: true}})
	}
	if !c.CostUSD.Known {
		return nil
	}
	c.Differences = differences(sums)
	c.more(more)
	return c
}

// compare holds the bill of a session against what the client recorded for the whole of it; nil: nothing. The client
// does not say for how long it wrote to the cache: what the bill has at other TTLs is not a difference.
func (b *Bill) compare(totals *session.ClientTotals, table *price.Table) {
	if totals == nil {
		return
	}
	id := func(model string) string {
		if m, ok := table.Find(model); ok {
			return m.ID
		}
		return price.Normalize(model)
	}
	c := &Client{ClientTotal: ClientTotal{CostUSD: price.USD{Nano: totals.Nano, Known: true}, Billed: b.CostUSD, Calls: b.Calls, Guessed: totals.Unpriced}}
	sums := map[string]Sum{}
	for i := range totals.Models {
		m := &totals.Models[i]
		one := Sum{Input: RecordedSplit(&m.Usage), Output: m.Usage.Output, Searches: m.Usage.Searches, CostUSD: price.USD{Nano: m.Usage.Nano, Known: true}}
		addTo(sums, id(m.Model), one)
	}
	for _, m := range b.Models {
		m.Input.Write5m += m.Input.Write1h
		m.Input.Write1h = 0
		sum := sums[id(m.Model)]
		if !m.CostUSD.Known {
			c.Unpriced.Add(sum.CostUSD)
			sum.CostUSD = price.USD{}
		}
		said := sum.CostUSD.Nano
		sum.less(m.Sum)
		sum.CostUSD.Nano = gap(said, m.CostUSD.Nano, m.Calls)
		sums[id(m.Model)] = sum
	}
	c.Differences = differences(sums)
	c.more(gap(c.CostUSD.Nano-c.Unpriced.Nano, c.Billed.Nano, c.Calls))
	b.state(c)
	b.setClient(c)
}

// state notes what the client recorded for all calls of a session.
func (b *Bill) state(c *Client) {
	b.stated = []*Client{c}
	for i := range b.List {
		b.List[i].stated = 1
	}
}
