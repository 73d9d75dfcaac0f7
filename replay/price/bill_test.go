package price_test

import (
	"strings"
	"testing"
	"time"

	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/replay/cache"
	"github.com/ctxkit/ctxkit/replay/price"
)

// TestBill: what a call costs by all that a record shows of it. Amounts are in billionths of a dollar.
func TestBill(t *testing.T) {
	const million = 1_000_000
	all := cache.Split{Uncached: 1000, Write5m: 60_000, Write1h: 40_000, Read: 100_000}
	day := func(text string) time.Time {
		at := must.Get(time.Parse(time.RFC3339, text))(t)
		return at
	}
	for _, tt := range []struct {
		what     string
		call     price.Call
		want     string // dollars
		unpriced string
	}{
		{"both lifetimes of writes", price.Call{Model: "claude-opus-5", Input: all}, "0.83", ""},
		{"the usual values", price.Call{Model: "claude-opus-5", Input: all, Speed: "standard", Geo: "not_available", Tier: "standard"}, "0.83", ""},
		{"a model without prices", price.Call{Model: "claude-opus-9", Input: all}, "", "model claude-opus-9"},

		{"in the United States", price.Call{Model: "claude-opus-5", Input: all, Output: 10_000, Geo: "us"}, "1.188", ""},
		{"anywhere", price.Call{Model: "claude-opus-5", Input: all, Geo: "global"}, "0.83", ""},
		{"a model that takes no place", price.Call{Model: "claude-opus-4-5", Input: all, Geo: "us"}, "", "inference_geo us of claude-opus-4-5"},
		{"a place that no price is known of", price.Call{Model: "claude-opus-5", Geo: "eu"}, "", "inference_geo eu of claude-opus-5"},

		{"fast", price.Call{Model: "claude-opus-5-5", Input: all, Speed: "fast"}, "1.288", ""},
		{"fast, earlier", price.Call{Model: "claude-opus-4-7", Input: all, Speed: "fast"}, "4.98", ""},
		{"fast in the United States", price.Call{Model: "claude-fable-5-2", Input: all, Speed: "fast", Geo: "us"}, "2.7896", ""},
		{"a model without a fast mode", price.Call{Model: "claude-sonnet-5", Input: all, Speed: "fast"}, "", "speed fast of claude-sonnet-5"},
		{"another speed", price.Call{Model: "claude-opus-5", Speed: "turbo"}, "", "speed turbo of claude-opus-5"},

		{"batch", price.Call{Model: "claude-opus-5", Input: all, Tier: "batch"}, "0.415", ""},
		{"committed capacity", price.Call{Model: "claude-opus-5", Input: all, Tier: "priority"}, "", "service_tier priority of claude-opus-5"},
		{"flex", price.Call{Model: "gpt-5.4", Input: cache.Split{Uncached: 100_000}, Tier: "flex"}, "0.125", ""},
		{"priority", price.Call{Model: "gpt-5.5", Input: cache.Split{Uncached: 100_000}, Tier: "priority"}, "1.25", ""},
		{"not for a long prompt", price.Call{Model: "gpt-5.5", Input: cache.Split{Uncached: 300_000}, Tier: "priority"}, "", "service_tier priority of gpt-5.5"},
		{"fast mode, as it is called now, has long prompts", price.Call{Model: "gpt-5.6-terra", Input: cache.Split{Uncached: 300_000}, Tier: "fast", Time: day("2026-11-01T00:00:00Z")}, "2.4", ""},
		{"a tier that only a request names", price.Call{Model: "gpt-5.5", Tier: "auto"}, "", "service_tier auto of gpt-5.5"},

		{"DeepSeek at a peak hour", price.Call{Model: "deepseek-v4-pro", Provider: "deepseek", Output: 1_000_000, Time: day("2026-11-02T09:59:59Z")}, "3.96", ""},
		{"at another hour", price.Call{Model: "deepseek/deepseek-v4-pro", Input: cache.Split{Read: million, Uncached: million}, Output: million, Time: day("2026-11-02T10:00:00Z")}, "2.662", ""},
		{"in the hour between, of another zone", price.Call{Model: "deepseek-flash", Output: million, Time: day("2026-11-02T13:30:00+08:00")}, "0.6", ""},
		{"at the weekend", price.Call{Model: "deepseek-flash", Output: million, Time: day("2026-11-01T02:00:00Z")}, "0.6", ""},
		{"at a weekend before that was a rule", price.Call{Model: "deepseek-v4-flash", Output: million, Time: day("2026-08-22T02:00:00Z")}, "1.32", ""},
		{"before there were hours", price.Call{Model: "deepseek-v4-flash", Output: million, Time: day("2026-08-02T12:00:00Z")}, "0.28", ""},
		{"sold by another", price.Call{Model: "deepseek-v4-pro", Provider: "openrouter", Output: million, Time: day("2026-11-02T12:00:00Z")}, "3.96", ""},
		{"at an hour that is not recorded", price.Call{Model: "deepseek-v4-pro", Output: million}, "", "model deepseek-v4-pro on a day that is not recorded"},

		{"Bedrock, anywhere", price.Call{Model: "global.anthropic.claude-sonnet-4-5-20250929-v1:0", Input: cache.Split{Uncached: 100_000}}, "0.3", ""},
		{"Bedrock, in a region", price.Call{Model: "us.anthropic.claude-sonnet-4-5-20250929-v1:0", Input: cache.Split{Uncached: 100_000}}, "0.33", ""},
		{"with a provider before it", price.Call{Model: "amazon-bedrock/eu.anthropic.claude-opus-5", Output: 1000}, "0.0275", ""},
		{"without a profile", price.Call{Model: "anthropic.claude-opus-5-5", Output: 1000}, "0.022", ""},
		{"without anything of Bedrock's in the id", price.Call{Model: "claude-opus-5-5", Provider: "amazon-bedrock", Output: 1000, Geo: "not_available"}, "0.02", "premium of the region of claude-opus-5-5"},
		{"of Google's, which does not say where", price.Call{Model: "claude-opus-5-5@20260922", Provider: "google-vertex-anthropic", Output: 1000}, "0.02", "premium of the region of claude-opus-5-5@20260922"},
		{"of Google's, before the premium", price.Call{Model: "claude-sonnet-4@20250514", Provider: "google-vertex", Output: 1000}, "0.015", ""},
		{"of Google's own", price.Call{Model: "gemini-2.5-pro", Provider: "google-vertex", Output: 1000}, "0.01", ""},
		{"Bedrock takes no place beside its profile", price.Call{Model: "us.anthropic.claude-opus-5-5", Output: 1000, Geo: "us"}, "0.022", ""},
		{"a model from before the premium", price.Call{Model: "us.anthropic.claude-sonnet-4-20250514-v1:0", Input: cache.Split{Uncached: 100_000}}, "0.3", ""},
		{"a profile that no price is known of", price.Call{Model: "us-gov.anthropic.claude-opus-5"}, "", "bedrock_profile us-gov of us-gov.anthropic.claude-opus-5"},

		{"searches, which cost the same everywhere", price.Call{Model: "claude-opus-5", Output: 1000, Geo: "us", Searches: 7}, "0.0975", ""},
		{"searches of a provider without a price for them", price.Call{Model: "kimi-k2.6", Input: cache.Split{Read: million}, Searches: 1}, "0.16", "web searches of kimi-k2.6"},

		{"before its release", price.Call{Model: "claude-opus-5-5", Output: 1000, Time: day("2026-09-21T23:00:00Z")}, "", "model claude-opus-5-5 before its release"},
		{"on the day of its release", price.Call{Model: "claude-opus-5-5", Output: 1000, Time: day("2026-09-22T00:00:00Z")}, "0.02", ""},
		{"on a day that is not recorded, of prices that changed", price.Call{Model: "gpt-5.6-terra", Output: 1000}, "", "model gpt-5.6-terra on a day that is not recorded"},
		{"the last day of a price", price.Call{Model: "claude-sonnet-5-5", Input: cache.Split{Read: million}, Time: day("2026-10-06T23:59:59Z")}, "0.2", ""},
		{"the first of the next", price.Call{Model: "claude-sonnet-5-5", Input: cache.Split{Read: million}, Time: day("2026-10-07T00:00:00Z")}, "0.1", ""},
		{"days are UTC's", price.Call{Model: "claude-sonnet-5-5", Input: cache.Split{Read: million}, Time: day("2026-10-07T01:00:00+02:00")}, "0.2", ""},
		{"Terra before the cut", price.Call{Model: "gpt-5.6-terra", Output: million, Time: day("2026-07-29T12:00:00Z")}, "15", ""},
		{"and after it", price.Call{Model: "gpt-5.6-terra", Output: million, Time: day("2026-07-30T12:00:00Z")}, "12", ""},
		{"Luna, a long prompt", price.Call{Model: "gpt-5.6-luna", Input: cache.Split{Uncached: million}, Time: day("2026-07-29T12:00:00Z")}, "2", ""},
		{"Sol was cut later", price.Call{Model: "gpt-5.6-sol", Output: million, Time: day("2026-08-20T12:00:00Z")}, "30", ""},
		{"the 1M beta of Opus 4.6", price.Call{Model: "claude-opus-4-6", Input: cache.Split{Uncached: 300_000}, Time: day("2026-03-12T12:00:00Z")}, "3", ""},
		{"a short prompt then", price.Call{Model: "claude-opus-4-6", Input: cache.Split{Uncached: 100_000}, Time: day("2026-03-12T12:00:00Z")}, "0.5", ""},
		{"and a long one since", price.Call{Model: "claude-opus-4-6", Input: cache.Split{Uncached: 300_000}, Time: day("2026-03-13T12:00:00Z")}, "1.5", ""},
		{"two below it that are above it together", price.Call{Model: "claude-haiku-5-5", Calls: 2, Input: cache.Split{Uncached: 200_000}, Time: day("2026-11-01T00:00:00Z")}, "0.02", ""},
		{"one above Haiku 5.5's tier", price.Call{Model: "claude-haiku-5-5", Input: cache.Split{Uncached: 100_001}}, "0.0500005", ""},
	} {
		usd, _, unpriced := price.Default().Bill(tt.call)
		got := ""
		if usd.Known {
			got = usd.Decimal().String()
		}
		if got != tt.want || unpriced != tt.unpriced {
			t.Errorf("%s: %q, %q, want %q, %q", tt.what, got, unpriced, tt.want, tt.unpriced)
		}
	}
}

// TestBillOfATable: a user's modifiers come before those of the program, and odd prices are rounded once.
func TestBillOfATable(t *testing.T) {
	own := must.Get(price.ReadFile("p.json", []byte(`{"models": [
	{"id": "acme/m", "input": 1, "output": 2, "fast": {"input": 3, "output": 4},
	 "earlier": [{"until": "2026-05-01", "input": 9, "output": 9}, {"until": "2026-04-01", "input": 10, "output": 10, "tier": {"above_prompt_tokens": 5, "input": 20, "output": 20}}]}],
	"modifiers": [
	{"of": "service_tier", "values": ["standard"], "models": ["ACME/m"], "times": 1.000000001},
	{"of": "web_search", "models": ["m"], "usd_per_1000": 0.0005}]}`)))(t)
	table := own.Over(price.Default())
	for _, tt := range []struct {
		call price.Call
		want int64
	}{
		{price.Call{Model: "m", Input: cache.Split{Read: 1000}, Speed: "fast"}, 300_000},
		{price.Call{Model: "m", Output: 1_000_000, Tier: "standard"}, 2_000_000_002},
		{price.Call{Model: "m", Output: 1_000_000, Tier: "default"}, 2_000_000_000},
		{price.Call{Model: "m", Searches: 1}, 500},
		{price.Call{Model: "m", Searches: 1 << 60}, 1<<63 - 1},
		{price.Call{Model: "m", Output: 1, Time: time.Date(2026, 4, 1, 0, 0, 0, 0, time.UTC)}, 10_000},
		{price.Call{Model: "m", Input: cache.Split{Read: 6}, Time: time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)}, 12_000},
		{price.Call{Model: "m", Output: 1, Time: time.Date(2026, 4, 2, 0, 0, 0, 0, time.UTC)}, 9_000},
	} {
		if tt.call.Time.IsZero() {
			tt.call.Time = time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)
		}
		if usd, _, unpriced := table.Bill(tt.call); usd.Nano != tt.want || unpriced != "" {
			t.Errorf("%+v: %v, %q, want %d", tt.call, usd.Nano, unpriced, tt.want)
		}
	}
}

// TestModifiersOfTheTable: each has a source and a day, and no model of the table is billed by a factor of nothing.
func TestModifiersOfTheTable(t *testing.T) {
	for _, m := range price.Default().Modifiers {
		if m.Source == "" || m.AsOf == "" || m.Times+m.Each == 0 {
			t.Errorf("%+v", m)
		}
		for _, id := range m.Models {
			if _, known := price.Default().Find(id); !known && !strings.HasSuffix(id, "*") {
				t.Errorf("%s of %v: %s is not in the table", m.Of, m.Values, id)
			}
		}
	}
}
