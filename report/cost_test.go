package report

import (
	"bytes"
	"io"
	"strings"
	"testing"

	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/replay"
	"github.com/ctxkit/ctxkit/replay/bill"
	"github.com/ctxkit/ctxkit/replay/cache"
	"github.com/ctxkit/ctxkit/replay/price"
	"github.com/ctxkit/ctxkit/report/golden"
)

func TestCosts(t *testing.T) {
	for name, tls := range map[string][]*replay.Timeline{"one": {sample(30)}, "cost": {sample(30), sample(3)}, "none": {}, "empty": {sample(0)}, "hostile": {hostile()}} {
		var list []SessionCost
		for _, tl := range tls {
			list = append(list, CostOf(tl, bridgeOf(tl), Layout{}))
		}
		if name != "cost" {
			name = ""
		}
		out := inFormats(t, "cost", name, ListFormats, func(w io.Writer, f Format) error { return Costs(w, list, policy.Use{}, Layout{Format: f}) })
		if name != "" {
			golden.Check(t, "testdata/cost.json", []byte(out[FormatJSON]))
		}
	}
}

// billOf is the bill of one call.
func billOf(u price.USD) *bill.Bill {
	var l bill.Ledger
	l.Add(&bill.Bill{List: []bill.Call{{Requests: 1, Parts: []bill.Part{{Kind: bill.KindRequest, Model: "claude-opus-4-5", Sum: bill.Sum{Calls: 1, CostUSD: u}}}}}})
	return l.Bill()
}

// bridgeOf is a bridge with each step.
func bridgeOf(tl *replay.Timeline) *replay.Bridge {
	amount := func(n int64) price.USD { return price.USD{Nano: n, Known: true} }
	sum := bill.Sum{Calls: 7, Input: cache.Split{Read: 100_000, Write1h: 5000, Uncached: 12}, Output: 400, CostUSD: amount(1_234_567_891)}
	b := &replay.Bridge{
		Recorded: &bill.Bill{
			Sum: sum, Models: []bill.ModelSum{{Model: tl.Model, Sum: sum}}, Kinds: []bill.KindSum{{Kind: bill.KindRequest, Sum: sum}}, Requests: 7, Without: 1, Agents: 2,
			List: []bill.Call{{Requests: 7, CallFacts: bill.CallFacts{Without: 1, Partial: bill.Partial{Calls: 2, Tokens: 900, CostUSD: amount(4_500_000)}, ClientUSD: amount(1_000_000_000)}, Parts: []bill.Part{
				{Kind: bill.KindRequest, Model: tl.Model, Sum: sum}, {Kind: bill.KindSearch, Model: tl.Model, Sum: bill.Sum{Searches: 3}}, {Kind: bill.KindAttempt, Model: "y", What: "model y", Sum: bill.Sum{Calls: 1, Unpriced: 1, Output: 5}},
			}}},
		},
		Fit:  &replay.CacheFit{Requests: 6, Recorded: 6, Near: 5, Billed: amount(2_000_000_000), Simulated: amount(2_200_000_000)},
		Cost: tl.Totals.CostUSD, Steps: []replay.BridgeStep{},
	}
	for i, name := range replay.Steps() {
		b.Steps = append(b.Steps, replay.BridgeStep{Step: name, Calls: i % 3, USD: amount(int64(i-4) * 123_456_789)})
	}
	b.Own, b.Simulated, b.Model = amount(3_000_000_000), amount(4_481_481_468), "claude-opus-5-5"
	return b
}

// TestCostAnswer: the bill is compared with the record's simulation only where both count the same requests, under the
// same model and with a prompt cache.
func TestCostAnswer(t *testing.T) {
	amount := func(cents int64) price.USD { return price.USD{Nano: cents * 10_000_000, Known: true} }
	sum := func(change func(s *SessionCost)) *SessionCost {
		s := &SessionCost{Bridge: &replay.Bridge{
			Recorded: &bill.Bill{Sum: bill.Sum{Calls: 3, CostUSD: amount(2000)}, Requests: 3},
			Own:      amount(1100), Simulated: amount(1100), Cost: amount(1100),
		}}
		change(s)
		return s
	}
	agents := func(s *SessionCost) {
		s.Bridge.Recorded.Agents, s.Bridge.Recorded.AgentsUSD = 2, amount(1000)
		s.Bridge.Steps = []replay.BridgeStep{{Step: replay.StepSubagents, USD: amount(-1000)}}
	}
	model := func(s *SessionCost) {
		s.Bridge.Model, s.Bridge.Simulated, s.Bridge.Cost = "other", amount(2200), amount(2200)
	}
	policy := func(s *SessionCost) { s.Bridge.Cost, s.Refused = amount(3300), 1 }
	for _, c := range []struct {
		name   string
		change []func(*SessionCost)
		want   string
	}{
		{"recorded", nil, "The recorded session was billed 20.00 USD. Simulated, it costs 11.00 USD, 45.0 % less than the bill."},
		{"subagents", []func(*SessionCost){agents},
			"The recorded session was billed 20.00 USD, 10.00 USD of it by 2 subagents. Simulated without the subagents, it costs 11.00 USD, 10.0 % more than the 10.00 USD billed for the same calls."},
		{"no cache", []func(*SessionCost){func(s *SessionCost) { s.Cache = replay.CacheNone }},
			"The recorded session was billed 20.00 USD. Simulated with no prompt cache, it costs 11.00 USD."},
		{"model", []func(*SessionCost){model},
			"The recorded session was billed 20.00 USD. Simulated, it costs 11.00 USD, and under other 22.00 USD, 100.0 % more."},
		{"model and policy", []func(*SessionCost){model, policy},
			"The recorded session was billed 20.00 USD. Simulated, it costs 11.00 USD, and under other 22.00 USD; there, under p, it would have cost 33.00 USD, 50.0 % more (a lower bound)."},
		{"infeasible policy", []func(*SessionCost){policy},
			"The recorded session was billed 20.00 USD. Simulated, it costs 11.00 USD; under p it would have cost 33.00 USD, 200.0 % more (a lower bound)."},
		{"policy where the simulated cache does not fit", []func(*SessionCost){func(s *SessionCost) {
			s.Bridge.Cost, s.Bridge.Fit = amount(3300), &replay.CacheFit{Requests: 9, Recorded: 9, Near: 6, Billed: amount(2000), Simulated: amount(1100)}
		}}, "The recorded session was billed 20.00 USD. Simulated, it costs ~11.00 USD; under p it would have cost ~33.00 USD."},
		{"model that has no price in the record", []func(*SessionCost){model, func(s *SessionCost) { s.Bridge.Own = price.USD{} }},
			"The recorded session was billed 20.00 USD. Simulated under other, it costs 22.00 USD."},
		{"no usage", []func(*SessionCost){func(s *SessionCost) { s.Bridge.Recorded = &bill.Bill{Without: 3} }},
			"The bill of the recorded session is not known: no usage for 3 of 3 responses. Simulated, it costs 11.00 USD."},
	} {
		s := sum(func(s *SessionCost) {
			for _, change := range c.change {
				change(s)
			}
		})
		must.Equal(t, costAnswer(s, "p"), c.want, c.name)
	}
}

func TestPrices(t *testing.T) {
	table := price.Default()
	for _, f := range ListFormats {
		var b bytes.Buffer
		must.Do(t, Prices(&b, table, Layout{Format: f}))
		for _, m := range table.Models {
			if !strings.Contains(b.String(), m.ID) || !strings.Contains(strings.Join(strings.Fields(strings.ReplaceAll(b.String(), "&#8203;", "")), " "), m.Source[:20]) {
				t.Errorf("%s: %s or its source is missing", f, m.ID)
			}
		}
		if f != FormatJSON {
			continue
		}
		// What is printed is read back as the same table.
		back := must.Get(price.ReadFile("prices.json", b.Bytes()))(t)
		var again bytes.Buffer
		must.Do(t, Prices(&again, back, Layout{Format: f}))
		must.Equal(t, again.String(), b.String(), "the table that is read back is another")
	}
}
