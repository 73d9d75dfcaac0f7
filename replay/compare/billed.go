package compare

import (
	"github.com/ctxkit/ctxkit/replay"
	"github.com/ctxkit/ctxkit/replay/bill"
	"github.com/ctxkit/ctxkit/replay/price"
)

// SessionBill is what a session was billed.
type SessionBill struct {
	Calls []bill.Entry     `json:"calls"`
	Fit   *replay.CacheFit `json:"cache_fit,omitempty"` // of the recorded track's simulation; nil: that was not replayed
}

// BilledBy is what a session was billed, by its timeline under any policy.
func BilledBy(t *replay.Timeline) SessionBill {
	return SessionBill{t.Bill.Entries(), t.CacheFit}
}

// Money is what several sessions were billed.
type Money struct {
	CostUSD   price.USD        `json:"cost_usd,omitzero"`      // each call once, however many of them record it
	AgentsUSD price.USD        `json:"subagents_usd,omitzero"` // of it: for subagents
	Priced    int              `json:"priced_sessions"`        // that have a part in it
	AtLeast   int              `json:"at_least_sessions"`      // of which more was billed than their own files say
	Copies    bill.Copies      `json:"copies,omitzero"`        // calls that the sum leaves out
	CacheFit  *replay.CacheFit `json:"cache_fit,omitempty"`
	Bill      *bill.Bill       `json:"-"` // all of it, and why it is short
}

// Money is what the sessions were billed.
func (c *Comparison) Money() *Money {
	m, fit := &Money{}, replay.CacheFit{}
	calls := make([][]bill.Entry, len(c.Sessions))
	for i := range c.Sessions {
		b := &c.Sessions[i].Billed
		calls[i] = b.Calls
		alone := bill.OfEntries(b.Calls)
		if alone.CostUSD.Known {
			m.Priced++
		}
		if alone.AtLeast() {
			m.AtLeast++
		}
		fit.Add(b.Fit)
	}
	m.Bill = bill.OfEntries(calls...)
	for i := range c.Sessions {
		for k, one := range c.Sessions[i].Conversations {
			for _, call := range one.Billed.Calls { // the main conversation has those of the session, each once
				switch main := c.Sessions[i].Agent == ""; {
				case main && k > 0:
					price.AddUp(&m.Bill.Copies, &bill.Copies{Calls: call.Calls, CostUSD: call.USD})
				case main && call.Agent:
					price.AddUp(&m.Bill.Copies, &bill.Copies{Calls: -call.Calls, CostUSD: price.USD{Nano: -call.USD.Nano, Known: true}})
				}
			}
		}
	}
	if m.Bill.Copies.Calls <= 0 { // all calls of subagents are theirs alone
		m.Bill.Copies = bill.Copies{}
	}
	m.CostUSD, m.AgentsUSD, m.Copies = m.Bill.CostUSD, m.Bill.AgentsUSD, m.Bill.Copies
	if fit.Requests > 0 {
		m.CacheFit = &fit
	}
	return m
}
