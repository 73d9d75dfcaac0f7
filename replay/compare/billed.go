package compare

import (
	"github.com/ctxkit/ctxkit/replay"
	"github.com/ctxkit/ctxkit/replay/bill"
	"github.com/ctxkit/ctxkit/replay/price"
)

// SessionBill is what a conversation was billed.
type SessionBill struct {
	Calls []bill.Entry     `json:"calls"`
	Fit   *replay.CacheFit `json:"cache_fit,omitempty"` // of the recorded track's simulation; nil: that was not replayed
}

// BilledBy is what a conversation was billed, by its timeline under any policy.
func BilledBy(t *replay.Timeline) SessionBill {
	return SessionBill{t.Bill.Entries(), t.CacheFit}
}

// Money is what several conversations were billed.
type Money struct {
	CostUSD  price.USD        `json:"cost_usd,omitzero"` // each call once, however many of them record it
	Priced   int              `json:"priced_sessions"`   // that have a part in it
	AtLeast  int              `json:"at_least_sessions"` // of which more was billed
	Copies   bill.Copies      `json:"copies,omitzero"`   // calls that the sum leaves out
	CacheFit *replay.CacheFit `json:"cache_fit,omitempty"`
}

// Sum adds up what conversations were billed.
func Sum(list []SessionBill) *Money {
	m, fit := &Money{}, replay.CacheFit{}
	calls := make([][]bill.Entry, len(list))
	for i := range list {
		b := &list[i]
		calls[i] = b.Calls
		if alone, _, _ := bill.Distinct(b.Calls); alone.Known {
			m.Priced++
		}
		fit.Add(b.Fit)
	}
	m.CostUSD, m.Copies, m.AtLeast = bill.Distinct(calls...)
	if fit.Requests > 0 {
		m.CacheFit = &fit
	}
	return m
}

// Money is what the sessions were billed.
func (c *Comparison) Money() *Money {
	list := make([]SessionBill, len(c.Sessions))
	for i := range c.Sessions {
		list[i] = c.Sessions[i].Billed
	}
	return Sum(list)
}
