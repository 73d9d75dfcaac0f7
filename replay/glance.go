package replay

import (
	"time"

	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/replay/bill"
	"github.com/ctxkit/ctxkit/replay/cache"
	"github.com/ctxkit/ctxkit/replay/price"
)

// Glance is what the recorded session says of its size and cost, without a replay. Tokens are those that the API
// reported.
type Glance struct {
	Requests    int       `json:"requests"`                // of the main conversation
	PeakContext int       `json:"peak_context"`            // tokens of its largest request
	LastContext int       `json:"last_context"`            // tokens of its last request that has usage
	Compactions int       `json:"compactions"`             // of the main conversation
	CostUSD     price.USD `json:"cost_usd,omitzero"`       // billed, subagents included
	AtLeast     bool      `json:"cost_at_least,omitempty"` // more was billed than cost_usd
	Without     int       `json:"requests_without_usage"`  // of them nothing is known; subagents included
	Unpriced    int       `json:"unpriced_requests"`       // calls without a price; subagents included
	Partial     int       `json:"partial_outputs"`         // responses whose output count is that of their first moment; subagents included
	Idle        float64   `json:"idle_seconds"`            // in pauses between responses of more than 5 minutes
	Models      []string  `json:"models"`                  // with usage, subagents included; sorted
	Ended       time.Time `json:"-"`                       // end of the last response of the main conversation; zero: not recorded

	Billed []bill.Entry `json:"-"` // what CostUSD is the sum of: sessions may have calls in common
}

// GlanceAt reads a glance off a main conversation and those of its subagents, at the prices of a table; nil: the
// embedded one. A pause is from the last line of a response to the first line of the next one. It counts as idle where it
// is longer than the short TTL of the prompt cache, 5 minutes.
func GlanceAt(main *session.Conversation, agents []*session.Conversation, table *price.Table) *Glance {
	g := &Glance{Requests: len(main.Requests), Compactions: len(main.Boundaries), Models: []string{}}
	var before time.Time
	for _, q := range main.Requests {
		m := &main.Messages[q.Message]
		if m.HasUsage {
			g.LastContext = m.Usage.Context()
			g.PeakContext = max(g.PeakContext, g.LastContext)
		}
		if pause := m.Time.Sub(before); !before.IsZero() && !m.Time.IsZero() && pause > cache.Short.Duration() {
			g.Idle += pause.Seconds()
		}
		for _, t := range []time.Time{m.Time, m.End} {
			if t.After(before) {
				before = t
			}
		}
	}
	g.Ended = before
	b := bill.OfSession(main, agents, table)
	g.CostUSD, g.AtLeast, g.Without, g.Unpriced, g.Partial, g.Billed = b.CostUSD, b.AtLeast(), b.Without, b.Unpriced, b.Partial.Calls, b.Entries()
	for _, m := range b.Models {
		g.Models = append(g.Models, m.Model)
	}
	return g
}
