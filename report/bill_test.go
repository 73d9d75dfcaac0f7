package report

import (
	"testing"

	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/replay"
	"github.com/ctxkit/ctxkit/replay/bill"
	"github.com/ctxkit/ctxkit/replay/compare"
	"github.com/ctxkit/ctxkit/replay/price"
)

// TestFitText: the sentence says what is judged, the cost with the expected cache misses, and the bar where it is not met.
func TestFitText(t *testing.T) {
	usd := func(n int64) price.USD { return price.USD{Nano: n, Known: true} }
	for _, tt := range []struct {
		fit  replay.CacheFit
		want string
	}{
		{replay.CacheFit{}, ""},
		{replay.CacheFit{Requests: 100, Recorded: 100, Near: 97, Billed: usd(1000), Simulated: usd(942), Expected: usd(48), Lower: usd(18), Upper: usd(88), Authors: 6},
			"The simulated prompt cache reads within 5 % of the recorded amount on 97 of 100 requests; in the simulation, the input of the recorded requests costs 5.8 % less than billed, " +
				"and with the expected cache misses that no line shows 1.0 % less (from recorded sessions of 6 authors: between 4.0 % less and 3.0 % more)."},
		{replay.CacheFit{Requests: 20, Recorded: 19, Near: 18, Uncached: 12, Billed: usd(1000), Simulated: usd(1000)},
			"The simulated prompt cache reads within 5 % of the recorded amount on 18 of 20 requests (1 without usage; 12 to models without recorded cached input, of which the simulation caches none either); " +
				"in the simulation, the input of the recorded requests costs as much as billed. That is not enough for a verdict in money, which needs 95 % of the requests and a cost within 5 %: amounts with ~, and the simulated ones in tables, are rough."},
	} {
		must.Equal(t, fitText(&tt.fit), tt.want)
	}
}

// TestWholeText: a bill is completed by the sizes of what it lacks, where all of them are known.
func TestWholeText(t *testing.T) {
	usd := func(cents int64) price.USD { return price.USD{Nano: cents * 1e7, Known: true} }
	cut := bill.Partial{Calls: 2, Tokens: 10, CostUSD: usd(50)}
	for _, tt := range []struct {
		bill bill.Bill
		fit  replay.CacheFit
		want string
	}{
		{bill.Bill{}, replay.CacheFit{}, ""},
		{bill.Bill{Partial: cut}, replay.CacheFit{}, "; with that, about 1.50 USD"},
		{bill.Bill{Partial: cut, Unbilled: 1}, replay.CacheFit{Compactions: 1, CompactionsUSD: usd(25)}, "; with that, about 1.75 USD"},
		{bill.Bill{Partial: cut, Unbilled: 1}, replay.CacheFit{}, ""},
		{bill.Bill{Partial: cut, Unbilled: 1}, replay.CacheFit{Compactions: 2, CompactionsUSD: usd(25)}, ""},
		{bill.Bill{Partial: cut, Unfiled: bill.Unfiled{Agents: 2, Known: 2, CostUSD: usd(75)}}, replay.CacheFit{}, "; with that, at least about 2.25 USD"},
		{bill.Bill{Partial: cut, Unfiled: bill.Unfiled{Agents: 2, Known: 1, CostUSD: usd(75)}}, replay.CacheFit{}, ""},
		{bill.Bill{Partial: cut, NotPriced: []bill.Unpriced{{What: "model m", Calls: 1}}}, replay.CacheFit{}, ""},
	} {
		tt.bill.Calls = 3
		tt.bill.CostUSD = usd(100)
		must.Equal(t, wholeText(&tt.bill, &tt.fit), tt.want)
	}
}

// TestShortText: what subagents without a file cost stands beside the bill, as far as it is known, or as the client's total has it.
func TestShortText(t *testing.T) {
	usd := price.USD{Nano: 75e7, Known: true}
	client := &bill.Client{ClientTotal: bill.ClientTotal{Calls: 3, More: price.USD{Nano: 2e9, Known: true}}}
	for _, tt := range []struct {
		bill bill.Bill
		want string
	}{
		{bill.Bill{Unfiled: bill.Unfiled{Agents: 1}}, "no file for 1 subagent"},
		{bill.Bill{Unfiled: bill.Unfiled{Agents: 2, Known: 2, CostUSD: usd}}, "no file for 2 subagents (at least 0.75 USD more, by their progress lines)"},
		{bill.Bill{Unfiled: bill.Unfiled{Agents: 3, Known: 2, CostUSD: usd}}, "no file for 3 subagents (at least 0.75 USD more for 2 of them, by their progress lines)"},
		{bill.Bill{Unfiled: bill.Unfiled{Agents: 2, Known: 2, CostUSD: usd}, Client: client}, "no file for 2 subagents (2.00 USD by the client's total)"},
		{bill.Bill{Unfiled: bill.Unfiled{Agents: 2}, Unbilled: 1, Client: client}, "no file for 2 subagents; no usage in the file for the summary request of 1 compaction"},
	} {
		tt.bill.Calls = 3
		must.Equal(t, shortText(&tt.bill, nil), tt.want)
	}
}

// TestConcentrationOfFew: nothing is said of the sessions that differ where at most one does.
func TestConcentrationOfFew(t *testing.T) {
	for differ, want := range []string{"", "", "; 2 of the 2 sessions that differ are higher, half of what differs is in 1"} {
		c := &compare.Comparison{Pairs: []compare.Contrast{{Half: 1, Figures: []compare.Versus{{Sessions: 5, Higher: differ, Even: 5 - differ}}}}}
		must.Equal(t, concentrationText(c, 0), want, differ)
	}
}
