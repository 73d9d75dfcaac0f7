package compare

import (
	"slices"

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
	AtLeast   int              `json:"at_least_sessions"`      // of which more was billed
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
		fit.Add(b.Fit)
	}
	m.Bill = bill.OfEntries(calls...)
	m.AtLeast = lacking(m.Bill, calls)
	m.CostUSD, m.AgentsUSD, m.Copies = m.Bill.CostUSD, m.Bill.AgentsUSD, m.Bill.Copies
	if fit.Requests > 0 {
		m.CacheFit = &fit
	}
	return m
}

// lacking counts the lists of calls of which more was billed than is known. A call of which another copy knows more lacks
// nothing.
func lacking(whole *bill.Bill, lists [][]bill.Entry) (n int) {
	short := map[int64]bool{}
	for _, e := range whole.Entries() {
		short[e.Key] = short[e.Key] || e.AtLeast()
	}
	for _, list := range lists {
		if slices.ContainsFunc(list, func(e bill.Entry) bool { return e.AtLeast() && short[e.Key] }) {
			n++
		}
	}
	return n
}
