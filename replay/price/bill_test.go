package price_test

import (
	"strings"
	"testing"
	"time"

	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/replay/price"
)

// TestBill: what a call costs by all that a record shows of it, in dollars, and what has no price.
func TestBill(t *testing.T) {
	must.Rows(t, `
both lifetimes of writes | {"model": "claude-opus-5", "input": {"uncached": 1000, "write_5m": 60000, "write_1h": 40000, "read": 100000}} | 0.83 | ""
the usual values | {"model": "claude-opus-5", "input": {"uncached": 1000, "write_5m": 60000, "write_1h": 40000, "read": 100000}, "speed": "standard", "geo": "not_available", "tier": "standard"} | 0.83 | ""
a model without prices | {"model": "claude-opus-9", "input": {"uncached": 1000, "write_5m": 60000, "write_1h": 40000, "read": 100000}} | "" | model claude-opus-9

in the United States | {"model": "claude-opus-5", "input": {"uncached": 1000, "write_5m": 60000, "write_1h": 40000, "read": 100000}, "output": 10000, "geo": "us"} | 1.188 | ""
anywhere | {"model": "claude-opus-5", "input": {"uncached": 1000, "write_5m": 60000, "write_1h": 40000, "read": 100000}, "geo": "global"} | 0.83 | ""
a model that takes no place | {"model": "claude-opus-4-5", "input": {"uncached": 1000, "write_5m": 60000, "write_1h": 40000, "read": 100000}, "geo": "us"} | "" | inference_geo us of claude-opus-4-5
a place that no price is known of | {"model": "claude-opus-5", "geo": "eu"} | "" | inference_geo eu of claude-opus-5

fast | {"model": "claude-opus-5-5", "input": {"uncached": 1000, "write_5m": 60000, "write_1h": 40000, "read": 100000}, "speed": "fast"} | 1.288 | ""
fast, earlier | {"model": "claude-opus-4-7", "input": {"uncached": 1000, "write_5m": 60000, "write_1h": 40000, "read": 100000}, "speed": "fast"} | 4.98 | ""
fast in the United States | {"model": "claude-fable-5-2", "input": {"uncached": 1000, "write_5m": 60000, "write_1h": 40000, "read": 100000}, "speed": "fast", "geo": "us"} | 2.7896 | ""
a model without a fast mode | {"model": "claude-sonnet-5", "input": {"uncached": 1000, "write_5m": 60000, "write_1h": 40000, "read": 100000}, "speed": "fast"} | "" | speed fast of claude-sonnet-5
another speed | {"model": "claude-opus-5", "speed": "turbo"} | "" | speed turbo of claude-opus-5

batch | {"model": "claude-opus-5", "input": {"uncached": 1000, "write_5m": 60000, "write_1h": 40000, "read": 100000}, "tier": "batch"} | 0.415 | ""
committed capacity | {"model": "claude-opus-5", "input": {"uncached": 1000, "write_5m": 60000, "write_1h": 40000, "read": 100000}, "tier": "priority"} | "" | service_tier priority of claude-opus-5
flex | {"model": "gpt-5.4", "input": {"uncached": 100000}, "tier": "flex"} | 0.125 | ""
priority | {"model": "gpt-5.5", "input": {"uncached": 100000}, "tier": "priority"} | 1.25 | ""
not for a long prompt | {"model": "gpt-5.5", "input": {"uncached": 300000}, "tier": "priority"} | "" | service_tier priority of gpt-5.5
fast mode, as it is called now, has long prompts | {"model": "gpt-5.6-terra", "input": {"uncached": 300000}, "tier": "fast", "time": "2026-11-01T00:00:00Z"} | 2.4 | ""
a tier that only a request names | {"model": "gpt-5.5", "tier": "auto"} | "" | service_tier auto of gpt-5.5

DeepSeek at a peak hour | {"model": "deepseek-v4-pro", "provider": "deepseek", "output": 1000000, "time": "2026-11-02T09:59:59Z"} | 3.96 | ""
at another hour | {"model": "deepseek/deepseek-v4-pro", "input": {"read": 1000000, "uncached": 1000000}, "output": 1000000, "time": "2026-11-02T10:00:00Z"} | 2.662 | ""
in the hour between, of another zone | {"model": "deepseek-flash", "output": 1000000, "time": "2026-11-02T13:30:00+08:00"} | 0.6 | ""
at the weekend | {"model": "deepseek-flash", "output": 1000000, "time": "2026-11-01T02:00:00Z"} | 0.6 | ""
at a weekend before that was a rule | {"model": "deepseek-v4-flash", "output": 1000000, "time": "2026-08-22T02:00:00Z"} | 1.32 | ""
before there were hours | {"model": "deepseek-v4-flash", "output": 1000000, "time": "2026-08-02T12:00:00Z"} | 0.28 | ""
sold by another | {"model": "deepseek-v4-pro", "provider": "openrouter", "output": 1000000, "time": "2026-11-02T12:00:00Z"} | 3.96 | ""
at an hour that is not recorded | {"model": "deepseek-v4-pro", "output": 1000000} | "" | model deepseek-v4-pro on a day that is not recorded

Bedrock, anywhere | {"model": "global.anthropic.claude-sonnet-4-5-20250929-v1:0", "input": {"uncached": 100000}} | 0.3 | ""
Bedrock, in a region | {"model": "us.anthropic.claude-sonnet-4-5-20250929-v1:0", "input": {"uncached": 100000}} | 0.33 | ""
with a provider before it | {"model": "amazon-bedrock/eu.anthropic.claude-opus-5", "output": 1000} | 0.0275 | ""
without a profile | {"model": "anthropic.claude-opus-5-5", "output": 1000} | 0.022 | ""
without anything of Bedrock's in the id | {"model": "claude-opus-5-5", "provider": "amazon-bedrock", "output": 1000, "geo": "not_available"} | 0.02 | premium of the region of claude-opus-5-5
of Google's, which does not say where | {"model": "claude-opus-5-5@20260922", "provider": "google-vertex-anthropic", "output": 1000} | 0.02 | premium of the region of claude-opus-5-5@20260922
of Google's, before the premium | {"model": "claude-sonnet-4@20250514", "provider": "google-vertex", "output": 1000} | 0.015 | ""
of Google's own | {"model": "gemini-2.5-pro", "provider": "google-vertex", "output": 1000} | 0.01 | ""
Bedrock takes no place beside its profile | {"model": "us.anthropic.claude-opus-5-5", "output": 1000, "geo": "us"} | 0.022 | ""
a model from before the premium | {"model": "us.anthropic.claude-sonnet-4-20250514-v1:0", "input": {"uncached": 100000}} | 0.3 | ""
a profile that no price is known of | {"model": "us-gov.anthropic.claude-opus-5"} | "" | bedrock_profile us-gov of us-gov.anthropic.claude-opus-5

searches, which cost the same everywhere | {"model": "claude-opus-5", "output": 1000, "geo": "us", "searches": 7} | 0.0975 | ""
searches of a provider without a price for them | {"model": "kimi-k2.6", "input": {"read": 1000000}, "searches": 1} | 0.16 | web searches of kimi-k2.6

before its release | {"model": "claude-opus-5-5", "output": 1000, "time": "2026-09-21T23:00:00Z"} | "" | model claude-opus-5-5 before its release
on the day of its release | {"model": "claude-opus-5-5", "output": 1000, "time": "2026-09-22T00:00:00Z"} | 0.02 | ""
on a day that is not recorded, of prices that changed | {"model": "gpt-5.6-terra", "output": 1000} | "" | model gpt-5.6-terra on a day that is not recorded
the last day of a price | {"model": "claude-sonnet-5-5", "input": {"read": 1000000}, "time": "2026-10-06T23:59:59Z"} | 0.2 | ""
the first of the next | {"model": "claude-sonnet-5-5", "input": {"read": 1000000}, "time": "2026-10-07T00:00:00Z"} | 0.1 | ""
days are UTC's | {"model": "claude-sonnet-5-5", "input": {"read": 1000000}, "time": "2026-10-07T01:00:00+02:00"} | 0.2 | ""
Terra before the cut | {"model": "gpt-5.6-terra", "output": 1000000, "time": "2026-07-29T12:00:00Z"} | 15 | ""
and after it | {"model": "gpt-5.6-terra", "output": 1000000, "time": "2026-07-30T12:00:00Z"} | 12 | ""
Luna, a long prompt | {"model": "gpt-5.6-luna", "input": {"uncached": 1000000}, "time": "2026-07-29T12:00:00Z"} | 2 | ""
Sol was cut later | {"model": "gpt-5.6-sol", "output": 1000000, "time": "2026-08-20T12:00:00Z"} | 30 | ""
the 1M beta of Opus 4.6 | {"model": "claude-opus-4-6", "input": {"uncached": 300000}, "time": "2026-03-12T12:00:00Z"} | 3 | ""
a short prompt then | {"model": "claude-opus-4-6", "input": {"uncached": 100000}, "time": "2026-03-12T12:00:00Z"} | 0.5 | ""
and a long one since | {"model": "claude-opus-4-6", "input": {"uncached": 300000}, "time": "2026-03-13T12:00:00Z"} | 1.5 | ""
two below it that are above it together | {"model": "claude-haiku-5-5", "calls": 2, "input": {"uncached": 200000}, "time": "2026-11-01T00:00:00Z"} | 0.02 | ""
one above Haiku 5.5's tier | {"model": "claude-haiku-5-5", "input": {"uncached": 100001}} | 0.0500005 | ""
`, func(name string, call price.Call, want, unpriced string) {
		usd, _, without := price.Default().Bill(call)
		got := ""
		if usd.Known {
			got = usd.Decimal().String()
		}
		must.Both(got, without)(t, want, unpriced, name)
	})
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
	must.Rows(t, `
{"input": {"read": 1000}, "speed": "fast"}   | 300000
{"output": 1000000, "tier": "standard"}      | 2000000002
{"output": 1000000, "tier": "default"}       | 2000000000
{"searches": 1}                              | 500
{"searches": 1152921504606846976}            | 9223372036854775807
{"output": 1, "time": "2026-04-01T00:00:00Z"} | 10000
{"input": {"read": 6}, "time": "2026-03-01T00:00:00Z"} | 12000
{"output": 1, "time": "2026-04-02T00:00:00Z"} | 9000
`, func(call price.Call, want int64) {
		call.Model = "m"
		if call.Time.IsZero() {
			call.Time = time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)
		}
		usd, _, unpriced := table.Bill(call)
		must.Both(usd.Nano, unpriced)(t, want, "", call)
	})
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
