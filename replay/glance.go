package replay

import (
	"time"

	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/replay/bill"
	"github.com/ctxkit/ctxkit/replay/cache"
	"github.com/ctxkit/ctxkit/replay/price"
)

// Glance is the size and the cost of a recorded session, found without replaying it. Tokens are those that the API
// reported.
type Glance struct {
	Requests    int       `json:"requests"`                // main requests of the main conversation
	PeakContext int       `json:"peak_context"`            // tokens of the largest main request
	LastContext int       `json:"last_context"`            // tokens of the last main request that has usage
	Compactions int       `json:"compactions"`             // compactions of the main conversation
	CostUSD     price.USD `json:"cost_usd,omitzero"`       // billed, subagents included, in US dollars
	AtLeast     bool      `json:"cost_at_least,omitempty"` // more was billed than cost_usd: some calls have no price or no usage
	Without     int       `json:"requests_without_usage"`  // requests without recorded usage, subagents included
	Unpriced    int       `json:"unpriced_requests"`       // calls of models without a price, subagents included
	Partial     int       `json:"partial_outputs"`         // responses whose recorded output count was taken at their start, subagents included
	Idle        float64   `json:"idle_seconds"`            // seconds in idle pauses (GlanceAt)
	Models      []string  `json:"models"`                  // models with recorded usage, subagents included; sorted
	Ended       time.Time `json:"-"`                       // end of the last response of the main conversation; zero: not recorded

	Billed []bill.Entry `json:"-"` // the amounts that sum to CostUSD, to find calls that several sessions have in common
}

// GlanceAt returns the Glance of a main conversation and its subagents. Costs are at the prices of table; a nil table
// is the embedded one. A pause lasts from the last line of a response to the first line of the next response. A pause
// is idle if it is longer than 5 minutes, the short TTL of the prompt cache.
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
