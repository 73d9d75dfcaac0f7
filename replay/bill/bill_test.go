package bill_test

import (
	"slices"
	"testing"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/replay/bill"
	"github.com/ctxkit/ctxkit/replay/price"
)

const million = 1_000_000

// table has a price of 1, 2, 3, 4 and 5 USD per million for reads, writes (5m, 1h), input and output, and of 10 per
// million of anything for the other model.
func table(t *testing.T) *price.Table {
	t.Helper()
	own := must.Get(price.ReadFile("p.json", []byte(`{"as_of": "2026-11-01", "unit": "USD per million tokens", "models": [
		{"id": "claude-a", "input": 4, "cache_write_5m": 2, "cache_write_1h": 3, "cache_read": 1, "output": 5, "context": 200000, "max_output": 32000, "min_cacheable": 1024, "tokenizer": "new", "source": "test", "confidence": "documented"},
		{"id": "claude-b", "input": 10, "cache_write_5m": 10, "cache_write_1h": 10, "cache_read": 10, "output": 10, "context": 200000, "max_output": 32000, "min_cacheable": 1024, "tokenizer": "new", "source": "test", "confidence": "documented"}]}`)))(t)
	return own
}

func conv(charges ...session.Charge) *session.Conversation {
	for i := range charges {
		c := &charges[i]
		c.Calls = max(c.Calls, 1)
		if c.Model == "" {
			c.Model = "claude-a"
		}
		c.HasUsage = c.HasUsage || c.Usage != (jsonl.Usage{})
	}
	return &session.Conversation{Charges: charges}
}

func usd(cents int64) price.USD { return price.USD{Nano: cents * 10_000_000, Known: true} }

// TestOf holds what each kind of charge costs and where it is counted.
func TestOf(t *testing.T) {
	prices := table(t)
	all := jsonl.Usage{Input: million, CacheRead: million, CacheWrite: 2 * million, Write5m: million, Write1h: million, Output: million}
	for _, c := range []struct {
		name   string
		charge session.Charge
		usd    price.USD
		kind   bill.Kind
		calls  int
	}{
		{"classes", session.Charge{Usage: all}, usd(1500), bill.KindRequest, 1},
		{"left branch", session.Charge{Kind: session.ChargeBranch, Usage: all}, usd(1500), bill.KindBranch, 1},
		{"compaction", session.Charge{Kind: session.ChargeCompaction, Usage: all}, usd(1500), bill.KindCompaction, 1},
		{"summary of a branch", session.Charge{Kind: session.ChargeSummary, Usage: all}, usd(1500), bill.KindSummary, 1},
		{"warming", session.Charge{Kind: session.ChargeWarming, Usage: all}, usd(1500), bill.KindWarming, 1},
		{"other", session.Charge{Kind: session.ChargeOther, Usage: all}, usd(1500), bill.KindOther, 1},
		{"a run", session.Charge{Kind: session.ChargeRun, Calls: 3, Usage: all}, usd(1500), bill.KindRun, 3},
		{"writes of an unknown lifetime", session.Charge{Usage: jsonl.Usage{CacheWrite: million}}, usd(200), bill.KindRequest, 1},
		{"rounds", session.Charge{Usage: jsonl.Usage{Output: million, Iterations: &jsonl.Iterations{Rounds: []jsonl.Spent{{Calls: 1, Input: million, Output: 3}, {Calls: 1, CacheRead: million, Output: 4}}}}}, usd(1000), bill.KindRequest, 3},
		{"a round's hour of cache", session.Charge{Usage: jsonl.Usage{Output: million, CacheWrite: million, Iterations: &jsonl.Iterations{Rounds: []jsonl.Spent{{Calls: 1, CacheWrite: million, Write1h: million}}}}}, usd(1000), bill.KindRequest, 2},
		{"compacting iteration", session.Charge{Usage: jsonl.Usage{Output: million, Iterations: &jsonl.Iterations{Compactions: []jsonl.Spent{{Calls: 1, Input: million, Output: million}}}}}, usd(1400), bill.KindCompaction, 2},
		{"another model's attempt", session.Charge{Usage: jsonl.Usage{Output: million, Iterations: &jsonl.Iterations{Attempts: []jsonl.Attempt{{Model: "claude-b", Spent: jsonl.Spent{Input: million, Output: million}}}}}}, usd(2500), bill.KindAttempt, 2},
		{"an attempt's hour of cache", session.Charge{Usage: jsonl.Usage{Output: million, Iterations: &jsonl.Iterations{Attempts: []jsonl.Attempt{{Model: "claude-a", Spent: jsonl.Spent{CacheWrite: 2 * million, Write1h: million}}}}}}, usd(1000), bill.KindAttempt, 2},
		{"an attempt of a model that is not named", session.Charge{Usage: jsonl.Usage{Output: million, Iterations: &jsonl.Iterations{Attempts: []jsonl.Attempt{{Spent: jsonl.Spent{Input: million}}}}}}, usd(500), bill.KindAttempt, 2},
		{"no price", session.Charge{Model: "gpt-x", Usage: all}, price.USD{}, bill.KindRequest, 1},
	} {
		b := bill.Of(conv(c.charge), prices)
		if b.CostUSD != c.usd || b.Calls != c.calls {
			t.Errorf("%s: %v for %d calls, not %v for %d", c.name, b.CostUSD, b.Calls, c.usd, c.calls)
		}
		found := false
		var sum, models price.USD
		for _, k := range b.Kinds {
			found = found || k.Kind == c.kind
			sum.Add(k.CostUSD)
		}
		for _, m := range b.Models {
			models.Add(m.CostUSD)
		}
		if !found || sum != b.CostUSD || models != b.CostUSD {
			t.Errorf("%s: kinds %v, models %v", c.name, b.Kinds, b.Models)
		}
	}
}

// TestAtLeast holds what makes a bill a lower bound, and by how much.
func TestAtLeast(t *testing.T) {
	prices := table(t)
	full := session.Charge{Usage: jsonl.Usage{Output: million}}
	for _, c := range []struct {
		name   string
		charge session.Charge
		want   func(b *bill.Bill) bool
	}{
		{"partial output", session.Charge{Usage: jsonl.Usage{Input: million, Output: 1}, Partial: true, Written: 4000}, func(b *bill.Bill) bool {
			return b.Partial == bill.Partial{Calls: 1, Tokens: 3999, CostUSD: price.USD{Nano: 3999 * 5000, Known: true}} && b.CostUSD.Nano == 9_000_005_000
		}},
		{"partial output of more than its text", session.Charge{Usage: jsonl.Usage{Output: 10}, Partial: true}, func(b *bill.Bill) bool {
			return b.Partial == bill.Partial{Calls: 1, CostUSD: price.USD{Known: true}}
		}},
		{"without usage", session.Charge{}, func(b *bill.Bill) bool { return b.Without == 1 && b.Calls == 1 && b.Requests == 1 }},
		{"without price", session.Charge{Model: "gpt-x", Usage: jsonl.Usage{Input: 3, Output: 4}}, func(b *bill.Bill) bool {
			return len(b.NotPriced) == 1 && b.NotPriced[0].Calls == 1 && b.NotPriced[0].Tokens == 7 && b.CostUSD == usd(500) && b.Unpriced == 1
		}},
	} {
		b := bill.Of(conv(full, c.charge), prices)
		if !b.AtLeast() || !c.want(b) {
			t.Errorf("%s: %+v", c.name, b)
		}
	}
	if b := bill.Of(conv(full), prices); b.AtLeast() {
		t.Errorf("a whole bill is %+v", b)
	}
}

// TestLedger: calls that several conversations record count once; the record that knows most of a call counts, in whatever
// order they come.
func TestLedger(t *testing.T) {
	prices := table(t)
	one := session.Charge{ID: "msg_1", Usage: jsonl.Usage{Output: million}}
	two := session.Charge{ID: "msg_2", Usage: jsonl.Usage{Output: 2 * million}}
	part := session.Charge{ID: "msg_2", Partial: true, Usage: jsonl.Usage{Output: 1}}
	none := session.Charge{ID: "msg_2"}
	own := session.Charge{Usage: jsonl.Usage{Output: million}}
	other := session.Charge{ID: "msg_1", Model: "claude-b", Usage: jsonl.Usage{Output: million}}
	under := func(model string) session.Charge {
		return session.Charge{ID: "resp_9", Kind: session.ChargeCompaction, Model: model, Usage: jsonl.Usage{Output: million}}
	}
	for _, c := range []struct {
		name   string
		convs  [][]session.Charge
		usd    price.USD
		copies int
		exact  bool
	}{
		{"fork", [][]session.Charge{{one, two}, {one, two, own}}, usd(2000), 2, true},
		{"three", [][]session.Charge{{one}, {one}, {one}}, usd(500), 2, true},
		{"no id", [][]session.Charge{{own}, {own}}, usd(1000), 0, true},
		{"one id under two models", [][]session.Charge{{one}, {other}}, usd(1500), 0, true},
		{"a compaction between other models in a fork", [][]session.Charge{{under("claude-a")}, {under("claude-b")}}, usd(1000), 1, true},
		{"the whole output after its beginning", [][]session.Charge{{part}, {two}}, usd(1000), 1, true},
		{"the beginning after the whole output", [][]session.Charge{{two}, {part}}, usd(1000), 1, true},
		{"usage after none", [][]session.Charge{{none}, {two}}, usd(1000), 1, true},
		{"none after usage", [][]session.Charge{{two}, {none}}, usd(1000), 1, true},
		{"only beginnings", [][]session.Charge{{one, part}, {part}}, price.USD{Nano: 5_000_005_000, Known: true}, 1, false},
		{"twice in one", [][]session.Charge{{one, one}}, usd(500), 1, true},
	} {
		var l bill.Ledger
		var entries [][]bill.Entry
		var alone int64
		for _, charges := range c.convs {
			b := bill.Of(conv(charges...), prices)
			l.Add(b)
			entries = append(entries, b.Entries())
			alone += b.CostUSD.Nano
		}
		b := l.Bill()
		if b.CostUSD != c.usd || b.Copies.Calls != c.copies || b.AtLeast() == c.exact || alone != b.CostUSD.Nano+b.Copies.CostUSD.Nano {
			t.Errorf("%s: %v, copies %+v, alone %d", c.name, b.CostUSD, b.Copies, alone)
		}
		if s := bill.OfEntries(entries...); s.CostUSD != c.usd || s.Copies != b.Copies || s.Calls != b.Calls || s.AtLeast() != b.AtLeast() {
			t.Errorf("%s in short: %+v, not %+v", c.name, s, b)
		}
	}
}

// TestRegions: where the region of a cloud is not recorded, its premium is named, and the tokens are billed without it.
func TestRegions(t *testing.T) {
	for _, c := range []struct {
		id, provider string
		named        bool
	}{{"msg_01", "", false}, {"msg_bdrk_01", "", true}, {"msg_vrtx_01", "", true}, {"", "amazon-bedrock", true}, {"", "google-vertex-anthropic", true}, {"", "anthropic", false}} {
		of := conv(session.Charge{ID: c.id, Model: "claude-sonnet-4-5", Usage: jsonl.Usage{Input: 100_000}})
		of.Provider = c.provider
		b := bill.Of(of, nil)
		if named := len(b.NotPriced) == 1 && b.NotPriced[0] == (bill.Unpriced{What: "premium of the region of claude-sonnet-4-5", Calls: 1, Tokens: 100_000}); named != c.named || b.AtLeast() != c.named || b.CostUSD != usd(30) || b.Unpriced != 0 {
			t.Errorf("%+v: %+v", c, b)
		}
	}
}

// TestCompactionsOfRuns: a compaction that is on no line is in the totals of its run, and of no earlier one.
func TestCompactionsOfRuns(t *testing.T) {
	c := conv(session.Charge{Kind: session.ChargeRun, Line: 20, Usage: jsonl.Usage{Output: million}})
	c.Boundaries = []session.Boundary{{Line: 10}, {Line: 30}}
	b := bill.Of(c, table(t))
	must.Say(t, "1 true", b.Unbilled, b.AtLeast())
}

// TestForkedTotals: what the client says of a session that a fork goes on with counts once.
func TestForkedTotals(t *testing.T) {
	prices := table(t)
	session1 := func(nano int64, ids ...string) *bill.Bill {
		c := conv()
		for _, id := range ids {
			c.Charges = append(c.Charges, conv(session.Charge{ID: id, Usage: jsonl.Usage{Output: million}}).Charges...)
		}
		if nano > 0 {
			c.Client = &session.ClientTotals{Nano: nano}
		}
		return bill.OfSession(c, nil, prices)
	}
	for _, c := range []struct {
		name        string
		bills       []*bill.Bill
		says, lines price.USD
		calls       int
	}{
		{"two sessions", []*bill.Bill{session1(5e9, "a"), session1(6e9, "b")}, usd(1100), usd(1000), 2},
		{"a fork that goes on with the total", []*bill.Bill{session1(5e9, "a"), session1(11e9, "a", "b")}, usd(1100), usd(1000), 2},
		{"the fork first", []*bill.Bill{session1(11e9, "a", "b"), session1(5e9, "a")}, usd(1100), usd(1000), 2},
		{"a fork of which the client says nothing", []*bill.Bill{session1(5e9, "a"), session1(0, "a", "b")}, usd(500), usd(500), 1},
		{"three", []*bill.Bill{session1(5e9, "a"), session1(11e9, "a", "b"), session1(12e9, "a", "b", "c"), session1(1e9, "d")}, usd(1300), usd(2000), 4},
	} {
		var l bill.Ledger
		for _, b := range c.bills {
			l.Add(b)
		}
		var whole bill.Ledger
		whole.Add(l.Bill()) // a sum can be added, too
		for _, b := range []*bill.Bill{l.Bill(), whole.Bill()} {
			if got := b.Client; got == nil || got.CostUSD != c.says || got.Billed != c.lines || got.Calls != c.calls {
				t.Errorf("%s: %+v", c.name, got)
			}
		}
	}
}

// TestSubagents: the bill of a session says what of it its subagents were billed, and its entries say as much as it does.
func TestSubagents(t *testing.T) {
	main := conv(session.Charge{ID: "a", Usage: jsonl.Usage{Output: million}}, session.Charge{ID: "x", Usage: jsonl.Usage{Output: million}})
	agent := conv(session.Charge{ID: "b", Usage: jsonl.Usage{Output: 2 * million}}, session.Charge{ID: "x", Usage: jsonl.Usage{Output: million}},
		session.Charge{ID: "c", Model: "gpt-x", Usage: jsonl.Usage{Input: 3, Output: 4}}, session.Charge{ID: "d"},
		session.Charge{ID: "e", Usage: jsonl.Usage{Output: 1}, Partial: true, Written: 16_000})
	b := bill.OfSession(main, []*session.Conversation{agent}, table(t))
	if b.Agents != 1 || b.AgentsUSD.Nano != 10_000_005_000 || b.MainUSD != usd(1000) || b.Copies.Calls != 1 {
		t.Errorf("%+v", b)
	}
	s := bill.OfEntries(b.Entries())
	if s.Short() != b.Short() || s.Calls != b.Calls || s.Unpriced != b.Unpriced || s.Without != b.Without || s.Partial != b.Partial || !slices.Equal(s.NotPriced, b.NotPriced) {
		t.Errorf("in short %+v, not %+v", s, b)
	}
}

// TestClient: what a client says that it was billed is held against the lines, by model and class.
func TestClient(t *testing.T) {
	prices := table(t)
	main := conv(session.Charge{ID: "a", Usage: jsonl.Usage{Input: million, CacheWrite: million, Write1h: million, Output: million}})
	agent := conv(session.Charge{ID: "b", Model: "claude-b-20260101", Usage: jsonl.Usage{Output: million}})
	main.Client = &session.ClientTotals{Nano: 24_000_000_000, Models: []session.RunTotals{
		{Model: "claude-a[1m]", Usage: jsonl.Usage{Input: million, CacheWrite: million, Output: million, Nano: 12_000_000_000}},
		{Model: "claude-b", Usage: jsonl.Usage{Input: 200_000, Output: million, Nano: 12_000_000_000}},
	}}
	b := bill.OfSession(main, []*session.Conversation{agent}, prices)
	c := b.Client
	if c == nil || c.CostUSD != usd(2400) || c.Billed != usd(2200) || len(c.Differences) != 1 {
		t.Fatalf("%+v", c)
	}
	if d := c.Differences[0]; d.Model != "claude-b" || d.Input.Uncached != 200_000 || d.Output != 0 || d.CostUSD != usd(200) {
		t.Errorf("%+v", d)
	}
	// Call by call.
	main.Client = nil
	main.Charges[0].ID, main.Charges[0].Usage.Nano = "c", 11_500_000_000
	if c := bill.OfSession(main, nil, prices).Client; c == nil || c.CostUSD != usd(1150) || c.Billed != usd(1200) || len(c.Differences) != 1 || c.Differences[0].CostUSD != usd(-50) {
		t.Errorf("%+v", c)
	}
	// Two sessions.
	var l bill.Ledger
	l.Add(b)
	l.Add(bill.OfSession(main, nil, prices))
	if c := l.Bill().Client; c == nil || c.CostUSD != usd(3550) || len(c.Differences) != 2 {
		t.Errorf("%+v", c)
	}
}

// TestClientMore: a bill that the client's own total exceeds is a lower bound, alone and in short; rounding is no difference, and what the
// table has no price for is apart.
func TestClientMore(t *testing.T) {
	prices := table(t)
	for _, c := range []struct {
		name           string
		model          string
		said           int64 // by the client, of calls that cost 5.00001 USD by the table
		more, unpriced price.USD
		differences    int
	}{
		{"more", "claude-a", 6_000_000_000, price.USD{Nano: 999_990_000, Known: true}, price.USD{}, 1},
		{"less", "claude-a", 4_000_000_000, price.USD{}, price.USD{}, 1},
		{"the same", "claude-a", 5_000_010_000, price.USD{}, price.USD{}, 0},
		{"rounded down", "claude-a", 5_000_000_000, price.USD{}, price.USD{}, 0},
		{"rounded up", "claude-a", 5_000_100_000, price.USD{}, price.USD{}, 0},
		{"a digit more", "claude-a", 5_000_020_000, price.USD{Nano: 10_000, Known: true}, price.USD{}, 1},
		{"no price", "gpt-x", 6_000_000_000, price.USD{}, usd(600), 0},
	} {
		for _, whole := range []bool{false, true} {
			main := conv(session.Charge{ID: "a", Model: c.model, Usage: jsonl.Usage{Output: million + 2}})
			if whole {
				main.Client = &session.ClientTotals{Nano: c.said, Models: []session.RunTotals{{Model: c.model, Usage: jsonl.Usage{Output: million + 2, Nano: c.said}}}}
			} else {
				main.Charges[0].Usage.Nano = c.said
			}
			b := bill.OfSession(main, nil, prices)
			k := b.Client
			if k == nil || k.More != c.more || k.Unpriced != c.unpriced || len(k.Differences) != c.differences || b.AtLeast() != (c.more.Known || c.unpriced.Known) {
				t.Errorf("%s, whole %v: %+v", c.name, whole, k)
				continue
			}
			s := bill.OfEntries(b.Entries())
			if s.Short() != b.Short() || s.Client.ClientTotal != k.ClientTotal {
				t.Errorf("%s, whole %v: in short %+v, not %+v", c.name, whole, s.Client, k)
			}
		}
	}
}
