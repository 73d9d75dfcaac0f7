package bill_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
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

// charged is a charge as JSON, the kind by its name.
type charged struct {
	session.Charge
	Kind string
}

func (c *charged) charge() session.Charge {
	for c.Kind != "" && c.Charge.Kind.String() != c.Kind {
		c.Charge.Kind++
	}
	return c.Charge
}

// TestOf holds what each kind of charge costs, in cents, and where it is counted.
func TestOf(t *testing.T) {
	prices := table(t)
	must.Rows(t, `
# name | charge | cents | kind | calls
classes | {"usage": {"input": 1000000, "cacheRead": 1000000, "cacheWrite": 2000000, "write5m": 1000000, "write1h": 1000000, "output": 1000000}} | 1500 | request | 1
left branch | {"kind": "branch", "usage": {"input": 1000000, "cacheRead": 1000000, "cacheWrite": 2000000, "write5m": 1000000, "write1h": 1000000, "output": 1000000}} | 1500 | branch | 1
compaction | {"kind": "compaction", "usage": {"input": 1000000, "cacheRead": 1000000, "cacheWrite": 2000000, "write5m": 1000000, "write1h": 1000000, "output": 1000000}} | 1500 | compaction | 1
summary of a branch | {"kind": "summary", "usage": {"input": 1000000, "cacheRead": 1000000, "cacheWrite": 2000000, "write5m": 1000000, "write1h": 1000000, "output": 1000000}} | 1500 | summary | 1
warming | {"kind": "warming", "usage": {"input": 1000000, "cacheRead": 1000000, "cacheWrite": 2000000, "write5m": 1000000, "write1h": 1000000, "output": 1000000}} | 1500 | warming | 1
other | {"kind": "other", "usage": {"input": 1000000, "cacheRead": 1000000, "cacheWrite": 2000000, "write5m": 1000000, "write1h": 1000000, "output": 1000000}} | 1500 | other | 1
a run | {"kind": "run", "calls": 3, "usage": {"input": 1000000, "cacheRead": 1000000, "cacheWrite": 2000000, "write5m": 1000000, "write1h": 1000000, "output": 1000000}} | 1500 | run | 3
writes of an unknown lifetime | {"usage": {"cacheWrite": 1000000}} | 200 | request | 1
rounds | {"usage": {"output": 1000000, "iterations": {"rounds": [{"calls": 1, "input": 1000000, "output": 3}, {"calls": 1, "cacheRead": 1000000, "output": 4}]}}} | 1000 | request | 3
a round's hour of cache | {"usage": {"output": 1000000, "cacheWrite": 1000000, "iterations": {"rounds": [{"calls": 1, "cacheWrite": 1000000, "write1h": 1000000}]}}} | 1000 | request | 2
compacting iteration | {"usage": {"output": 1000000, "iterations": {"compactions": [{"calls": 1, "input": 1000000, "output": 1000000}]}}} | 1400 | compaction | 2
another model's attempt | {"usage": {"output": 1000000, "iterations": {"attempts": [{"model": "claude-b", "spent": {"input": 1000000, "output": 1000000}}]}}} | 2500 | attempt | 2
an attempt's hour of cache | {"usage": {"output": 1000000, "iterations": {"attempts": [{"model": "claude-a", "spent": {"cacheWrite": 2000000, "write1h": 1000000}}]}}} | 1000 | attempt | 2
an attempt of a model that is not named | {"usage": {"output": 1000000, "iterations": {"attempts": [{"spent": {"input": 1000000}}]}}} | 500 | attempt | 2
no price | {"model": "gpt-x", "usage": {"input": 1000000, "cacheRead": 1000000, "cacheWrite": 2000000, "write5m": 1000000, "write1h": 1000000, "output": 1000000}} | null | request | 1
`, func(name string, c charged, cents *int64, kind bill.Kind, calls int) {
		b := bill.Of(conv(c.charge()), prices)
		want := price.USD{}
		if cents != nil {
			want = usd(*cents)
		}
		must.Both(b.CostUSD, b.Calls)(t, want, calls, name)
		found := false
		var sum, models price.USD
		for _, k := range b.Kinds {
			found = found || k.Kind == kind
			sum.Add(k.CostUSD)
		}
		for _, m := range b.Models {
			models.Add(m.CostUSD)
		}
		if !found || sum != b.CostUSD || models != b.CostUSD {
			t.Errorf("%s: kinds %v, models %v", name, b.Kinds, b.Models)
		}
	})
}

// TestAtLeast holds what makes a bill a lower bound, and by how much.
func TestAtLeast(t *testing.T) {
	prices := table(t)
	full := session.Charge{Usage: jsonl.Usage{Output: million}}
	must.Rows(t, `
# name | charge | billionths of a dollar in all, calls, requests, without usage, without price; of the partial output calls, tokens and billionths
partial output | {"usage": {"input": 1000000, "output": 1}, "partial": true, "written": 4000} | 9000005000 2 2 0 0; 1 3999 19995000 []
partial output of more than its text | {"usage": {"output": 10}, "partial": true} | 5000050000 2 2 0 0; 1 0 0 []
without usage | {} | 5000000000 1 1 1 0; 0 0 0 []
without price | {"model": "gpt-x", "usage": {"input": 3, "output": 4}} | 5000000000 2 2 0 1; 0 0 0 [{model gpt-x 1 7}]
`, func(name string, c charged, want string) {
		b := bill.Of(conv(full, c.charge()), prices)
		must.Equal(t, fmt.Sprint(b.CostUSD.Nano, " ", b.Calls, " ", b.Requests, " ", b.Without, " ", b.Unpriced, "; ", b.Partial.Calls, " ", b.Partial.Tokens, " ", b.Partial.CostUSD.Nano, " ", b.NotPriced), want, name)
		must.Equal(t, b.AtLeast(), true, name)
	})
	must.Equal(t, bill.Of(conv(full), prices).AtLeast(), false)
}

// TestLedger: calls that several conversations record count once; the record that knows most of a call counts, in whatever
// order they come.
func TestLedger(t *testing.T) {
	prices := table(t)
	records := map[string]session.Charge{
		"one":   {ID: "msg_1", Usage: jsonl.Usage{Output: million}},
		"two":   {ID: "msg_2", Usage: jsonl.Usage{Output: 2 * million}},
		"part":  {ID: "msg_2", Partial: true, Usage: jsonl.Usage{Output: 1}},
		"none":  {ID: "msg_2"},
		"own":   {Usage: jsonl.Usage{Output: million}},
		"other": {ID: "msg_1", Model: "claude-b", Usage: jsonl.Usage{Output: million}},
		"compA": {ID: "resp_9", Kind: session.ChargeCompaction, Model: "claude-a", Usage: jsonl.Usage{Output: million}},
		"compB": {ID: "resp_9", Kind: session.ChargeCompaction, Model: "claude-b", Usage: jsonl.Usage{Output: million}},
	}
	must.Rows(t, `
# name | conversations | billionths of a dollar | copies | exact
fork | one two; one two own | 20000000000 | 2 | true
three | one; one; one | 5000000000 | 2 | true
no id | own; own | 10000000000 | 0 | true
one id under two models | one; other | 15000000000 | 0 | true
a compaction between other models in a fork | compA; compB | 10000000000 | 1 | true
the whole output after its beginning | part; two | 10000000000 | 1 | true
the beginning after the whole output | two; part | 10000000000 | 1 | true
usage after none | none; two | 10000000000 | 1 | true
none after usage | two; none | 10000000000 | 1 | true
only beginnings | one part; part | 5000005000 | 1 | false
twice in one | one one | 5000000000 | 1 | true
`, func(name, convs string, nano int64, copies int, exact bool) {
		var l bill.Ledger
		var entries [][]bill.Entry
		var alone int64
		for _, names := range strings.Split(convs, ";") {
			var charges []session.Charge
			for _, name := range strings.Fields(names) {
				charges = append(charges, records[name])
			}
			b := bill.Of(conv(charges...), prices)
			l.Add(b)
			entries = append(entries, b.Entries())
			alone += b.CostUSD.Nano
		}
		b := l.Bill()
		if b.CostUSD.Nano != nano || b.Copies.Calls != copies || b.AtLeast() == exact || alone != nano+b.Copies.CostUSD.Nano {
			t.Errorf("%s: %v, copies %+v, alone %d", name, b.CostUSD, b.Copies, alone)
		}
		if s := bill.OfEntries(entries...); s.CostUSD != b.CostUSD || s.Copies != b.Copies || s.Calls != b.Calls || s.AtLeast() != b.AtLeast() {
			t.Errorf("%s in short: %+v, not %+v", name, s, b)
		}
	})
}

// TestRegions: where the region of a cloud is not recorded, its premium is named, and the tokens are billed without it.
func TestRegions(t *testing.T) {
	must.Rows(t, `
msg_01      | ""                      | false
msg_bdrk_01 | ""                      | true
msg_vrtx_01 | ""                      | true
""          | amazon-bedrock          | true
""          | google-vertex-anthropic | true
""          | anthropic               | false
`, func(id, provider string, named bool) {
		of := conv(session.Charge{ID: id, Model: "claude-sonnet-4-5", Usage: jsonl.Usage{Input: 100_000}})
		of.Provider = provider
		b := bill.Of(of, nil)
		var want []bill.Unpriced
		if named {
			want = []bill.Unpriced{{What: "premium of the region of claude-sonnet-4-5", Calls: 1, Tokens: 100_000}}
		}
		must.Both(b.NotPriced, b.CostUSD)(t, want, usd(30))
		must.Both(b.AtLeast(), b.Unpriced)(t, named, 0)
	})
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
	must.Rows(t, `
# name | sessions: dollars by the client, and calls | cents by the client, by the lines | calls
two sessions | 5 a; 6 b | 1100 | 1000 | 2
a fork that goes on with the total | 5 a; 11 a b | 1100 | 1000 | 2
the fork first | 11 a b; 5 a | 1100 | 1000 | 2
a fork of which the client says nothing | 5 a; 0 a b | 500 | 500 | 1
three | 5 a; 11 a b; 12 a b c; 1 d | 1300 | 2000 | 4
`, func(name, sessions string, says, lines int64, calls int) {
		var l, whole bill.Ledger
		for _, one := range strings.Split(sessions, ";") {
			ids := strings.Fields(one)
			c := conv()
			for _, id := range ids[1:] {
				c.Charges = append(c.Charges, conv(session.Charge{ID: id, Usage: jsonl.Usage{Output: million}}).Charges...)
			}
			if ids[0] != "0" {
				c.Client = &session.ClientTotals{Nano: int64(must.Get(strconv.Atoi(ids[0]))(t)) * 1e9}
			}
			l.Add(bill.OfSession(c, nil, prices))
		}
		whole.Add(l.Bill()) // a sum can be added, too
		for _, b := range []*bill.Bill{l.Bill(), whole.Bill()} {
			if got := b.Client; got == nil || got.CostUSD != usd(says) || got.Billed != usd(lines) || got.Calls != calls {
				t.Errorf("%s: %+v", name, got)
			}
		}
	})
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
	// What is known of those without a file stands beside the bill, once, and is not said of one that has a file.
	main.Unfiled = []session.UnfiledAgent{{Agent: "known", Charges: conv(session.Charge{ID: "k", Usage: jsonl.Usage{Output: 2 * million}}).Charges}, {Agent: "unknown"}, {Agent: "filed", Charges: agent.Charges}}
	agent.Agent, agent.Unfiled = "filed", main.Unfiled[:1]
	before := b
	b = bill.OfSession(main, []*session.Conversation{agent}, table(t))
	if b.Unfiled != (bill.Unfiled{Agents: 2, Known: 1, CostUSD: usd(1000)}) || b.Sum != before.Sum || b.Agents != 1 || b.AgentsUSD != before.AgentsUSD || b.Copies != before.Copies {
		t.Errorf("%+v", b)
	}
	must.Equal(t, bill.Of(&session.Conversation{Unfiled: main.Unfiled[1:2]}, nil).AtLeast(), true)
	// A conversation alone does not say again what it was billed.
	alone := conv(session.Charge{ID: "a", Usage: jsonl.Usage{Output: million}})
	alone.Unfiled = []session.UnfiledAgent{{Agent: "u", Charges: alone.Charges}}
	must.Equal(t, bill.Of(alone, table(t)).Unfiled, bill.Unfiled{Agents: 1, Known: 1})
	s := bill.OfEntries(b.Entries())
	if s.Unfiled != b.Unfiled || s.Short() != b.Short() || s.Calls != b.Calls || s.Unpriced != b.Unpriced || s.Without != b.Without || s.Partial != b.Partial || !slices.Equal(s.NotPriced, b.NotPriced) {
		t.Errorf("in short %+v, not %+v", s, b)
	}
}

// TestUnfiledCopies: over several sessions, each subagent without a file counts once, and not where another session has its file.
// Each of their calls counts once, by the record that knows most of it, and not where it is billed.
func TestUnfiledCopies(t *testing.T) {
	prices := table(t)
	must.Rows(t, `
# sessions: subagents without a file, with the calls known, or with one (+), or calls of the main conversation (=) | without, known, cents
x | 1 0 0
x:a | 1 1 500
x:a; x:ab | 1 1 1000
x:ab; x | 1 1 1000
x; x:ab | 1 1 1000
x:a y; x z:c | 3 2 1000
x:ab y:b | 2 2 1000
=:a x:ab | 1 1 500
x:a; =:a | 1 1 0
x:a; +x:a | 0 0 0
+x:a; x:a y | 1 0 0
+x:a; +x:a | 0 0 0
`, func(sessions, want string) {
		var l bill.Ledger
		var entries [][]bill.Entry
		for _, one := range strings.Split(sessions, ";") {
			main, agents := conv(), []*session.Conversation(nil)
			for _, word := range strings.Fields(one) {
				id, calls, _ := strings.Cut(word, ":")
				var charges []session.Charge
				for _, call := range calls {
					charges = append(charges, session.Charge{ID: string(call), Usage: jsonl.Usage{Output: million}})
				}
				of := conv(charges...)
				switch of.Agent = strings.TrimLeft(id, "+="); id[0] {
				case '+':
					agents = append(agents, of)
				case '=':
					main = of
				default:
					main.Unfiled = append(main.Unfiled, session.UnfiledAgent{Agent: id, Charges: of.Charges})
				}
			}
			b := bill.OfSession(main, agents, prices)
			l.Add(b)
			entries = append(entries, b.Entries())
		}
		for _, b := range []*bill.Bill{l.Bill(), bill.OfEntries(entries...)} {
			must.Equal(t, fmt.Sprint(b.Unfiled.Agents, " ", b.Unfiled.Known, " ", b.Unfiled.CostUSD.Nano/10_000_000), want, sessions)
			must.Both(b.AtLeast(), b.Copies.Calls)(t, want[0] != '0', max(strings.Count(sessions, "+")-1, 0), sessions)
		}
	})
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
	must.Rows(t, `
# name | model | billionths by the client, of calls that cost 5.00001 USD by the table | more | unpriced | differences | tokens of reasoning, 5 USD a million
reasoning counted twice          | claude-a | 5500010000 | null | null | 0 | 100000
reasoning counted twice, rounded | claude-a | 5500000000 | null | null | 0 | 100000
more than reasoning              | claude-a | 6000000000 | 0.99999 | null | 1 | 100000
more          | claude-a | 6000000000 | 0.99999 | null | 1 | 0
less          | claude-a | 4000000000 | null    | null | 1 | 0
the same      | claude-a | 5000010000 | null    | null | 0 | 0
rounded down  | claude-a | 5000000000 | null    | null | 0 | 0
rounded up    | claude-a | 5000100000 | null    | null | 0 | 0
a digit more  | claude-a | 5000020000 | 0.00001 | null | 1 | 0
no price      | gpt-x    | 6000000000 | null    | 6    | 0 | 0
`, func(name, model string, said int64, more, unpriced price.USD, differences, thinking int) {
		for _, whole := range []bool{false, true} {
			main := conv(session.Charge{ID: "a", Model: model, Usage: jsonl.Usage{Output: million + 2, Thinking: thinking}})
			if whole && thinking > 0 {
				continue // a client's total of many calls is not taken apart
			}
			if whole {
				main.Client = &session.ClientTotals{Nano: said, Models: []session.RunTotals{{Model: model, Usage: jsonl.Usage{Output: million + 2, Nano: said}}}}
			} else {
				main.Charges[0].Usage.Nano = said
			}
			b := bill.OfSession(main, nil, prices)
			k := b.Client
			if k == nil || k.More != more || k.Unpriced != unpriced || k.Twice.Known != (thinking > 0 && !more.Known) || len(k.Differences) != differences || b.AtLeast() != (more.Known || unpriced.Known) {
				t.Errorf("%s, whole %v: %+v", name, whole, k)
				return
			}
			s := bill.OfEntries(b.Entries())
			must.Both(s.Short(), s.Client.ClientTotal)(t, b.Short(), k.ClientTotal, name, whole)
		}
	})
}
