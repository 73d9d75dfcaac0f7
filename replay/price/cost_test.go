package price_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/replay/cache"
	"github.com/ctxkit/ctxkit/replay/price"
)

// usd is a dollar per million tokens.
const usd price.Price = 1_000_000_000

func model(t *testing.T, id string) price.Model {
	t.Helper()
	table := price.Default()
	m, ok := table.Find(id)
	if !ok {
		t.Fatalf("%s is not in the table", id)
	}
	return m
}

func TestCost(t *testing.T) {
	must.Rows(t, `
# what | model | in | output | want
plain input | claude-opus-4-6 | {"uncached": 1000000} | 0 | 5
a write for 5 minutes is 1.25 times that | claude-opus-4-6 | {"write_5m": 1000000} | 0 | 6.25
one for an hour twice | claude-opus-4-6 | {"write_1h": 1000000} | 0 | 10
a read a tenth | claude-opus-4-6 | {"read": 1000000} | 0 | 0.5
output | claude-opus-4-6 | {} | 1000000 | 25
a read is 0.025 times the input of Fable 5.1 | claude-fable-5-1 | {"read": 1000000} | 0 | 0.25
0.05 times that of Opus 5.5 | claude-opus-5-5 | {"read": 1000000} | 0 | 0.2
and of Sonnet 5.5 | claude-sonnet-5-5 | {"read": 1000000} | 0 | 0.1
a list price that is no multiple | claude-3-haiku | {"read": 1000000, "write_5m": 1000000} | 0 | 0.33
100,000 cached tokens and 50 behind them | claude-sonnet-4-5 | {"read": 100000, "uncached": 50} | 0 | 0.03015
the documented compaction: 180,000 in, 3,500 out | claude-sonnet-4-6 | {"uncached": 180000} | 3500 | 0.5925
and the message after it: 23,000 in, 1,000 out | claude-sonnet-4-6 | {"uncached": 23000} | 1000 | 0.084
Haiku 5.5 at its tier | claude-haiku-5-5 | {"uncached": 100000} | 0 | 0.01
one token above it the whole request costs more | claude-haiku-5-5 | {"uncached": 100001} | 0 | 0.0500005
what is read counts towards the tier and is billed by it | claude-haiku-5-5 | {"read": 150000} | 1000 | 0.01
Sonnet 4.5 up to 200,000 | claude-sonnet-4-5 | {"read": 199000, "uncached": 1000} | 0 | 0.0627
and above | claude-sonnet-4-5 | {"read": 199000, "uncached": 1001} | 100 | 0.127656
the 4.6 generation has no tier | claude-sonnet-4-6 | {"uncached": 900000} | 0 | 2.7
`, func(what, theModel string, in cache.Split, output int, want string) {
		m := model(t, theModel)
		if got := m.Cost(in, output); !got.Known || got.Decimal().String() != want {
			t.Errorf("%s: %v, want %v", what, got.Decimal(), want)
		}
	})
}

func TestMultipliers(t *testing.T) {
	table := price.Default()
	reads := map[string]price.Price{ // thousandths of the input
		"claude-fable-5-2": 25, "claude-mythos-5-2": 25, "claude-fable-5-1": 25, "claude-mythos-5-1": 25, "claude-opus-5-5": 50, "claude-sonnet-5-5": 50,
		"claude-3-haiku": 120, // by its price list
	}
	for _, m := range table.Models {
		if !price.Anthropic(m.ID) {
			continue
		}
		read := reads[m.ID]
		if read == 0 {
			read = 100
		}
		write := price.Price(1250)
		if m.ID == "claude-3-haiku" {
			write = 1200
		}
		for what, x := range map[string][2]price.Price{
			"5m write": {m.CacheWrite5m, m.Input / 1000 * write}, "1h write": {m.CacheWrite1h, 2 * m.Input}, "read": {m.CacheRead, m.Input / 1000 * read},
		} {
			must.Equal(t, x[0], x[1], m.ID, what)
		}
	}
}

// TestProviders: what other providers' models cost by the table, a long prompt included, and where a token costs no whole
// number of billionths.
func TestProviders(t *testing.T) {
	must.Rows(t, `
# id | in | output | want
gpt-5.4 | {"read": 90000, "uncached": 10000} | 1000 | 0.0625
gpt-5.4 | {"read": 270000, "uncached": 10000} | 1000 | 0.2075
gpt-5.6-sol | {"read": 200000, "uncached": 10000, "write_5m": 1000} | 0 | 0.125
gemini-2.5-pro | {"uncached": 200001} | 0 | 0.5000025
deepseek-v4-flash | {"read": 1, "uncached": 1} | 1 | 0.000001506
kimi-k2.6 | {"read": 1000000} | 0 | 0.16
`, func(id string, in cache.Split, output int, want string) {
		m := model(t, id)
		must.Equal(t, m.Cost(in, output).Decimal().String(), want, id, in)
	})
}

// TestMinimums: the shortest prefix each model caches, as documented.
func TestMinimums(t *testing.T) {
	must.Rows(t, `
claude-opus-5-5   | 512
claude-haiku-5-5  | 512
claude-opus-5     | 512
claude-fable-5    | 512
claude-mythos-5-1 | 512
claude-opus-4-8   | 1024
claude-sonnet-5   | 1024
claude-sonnet-4-6 | 1024
claude-sonnet-4-5 | 1024
claude-opus-4-1   | 1024
claude-opus-4-7   | 2048
claude-3-5-haiku  | 2048
claude-opus-4-6   | 4096
claude-opus-4-5   | 4096
claude-haiku-4-5  | 4096
`, func(id string, want int) {
		must.Equal(t, model(t, id).MinCacheable, want, id)
	})
}

func TestAmount(t *testing.T) {
	var sum price.USD
	must.Equal(t, sum.String(), "-", sum)
	sum.Add(price.USD{})
	if sum.Known {
		t.Error("adding nothing made it known")
	}
	sum.Add(price.USD{Nano: 123_456_700, Known: true})
	for _, want := range []price.USD{{}, sum} {
		data := must.Get(json.Marshal(struct {
			A price.USD `json:"a,omitzero"`
		}{want}))(t)
		if text := string(data); want.Known && text != `{"a":0.1234567}` || !want.Known && text != "{}" {
			t.Errorf("JSON is %s", text)
		}
	}
	var back price.USD
	if err := json.Unmarshal([]byte("0.5"), &back); err != nil || back != (price.USD{Nano: 500_000_000, Known: true}) {
		t.Errorf("read %v, %v", back, err)
	}
	if err := json.Unmarshal([]byte("null"), &back); err != nil || back.Known {
		t.Errorf("read %v, %v", back, err)
	}
	if json.Unmarshal([]byte(`"1"`), &back) == nil {
		t.Error("a text was taken for an amount")
	}
}

func TestReadFile(t *testing.T) {
	table := must.Get(price.ReadFile("prices.json", []byte(`{"models": [
	{"id": "us.acme/Claude-Opus-4-6", "input": 4, "output": 20, "tier": {"above_prompt_tokens": 1000, "input": 8, "output": 40}},
	{"id": "gpt-9", "input": 1, "cache_write_5m": 1, "cache_read": 0.5, "output": 2, "retired": true, "fast": {"input": 2, "output": 4}}]}`)))(t)
	base := price.Default()
	over := table.Over(base)
	if len(over.Models) != len(base.Models)+1 || over.AsOf != base.AsOf {
		t.Errorf("%d models of %s", len(over.Models), over.AsOf)
	}
	m, ok := over.Find("claude-opus-4-6")
	must.Say(t, "true 5000000000 8000000000 400000000 800000000 0", ok, m.CacheWrite5m, m.CacheWrite1h, m.CacheRead, m.Tier.CacheRead, m.Context)
	if m, ok := over.Find("gpt-9-20260101"); !ok || m.CacheRead != usd/2 || m.CacheWrite1h != 2*usd {
		t.Errorf("the new row is %+v", m)
	}
	if m, ok := over.Find("claude-opus-4-5"); !ok || m.Input != 5*usd {
		t.Errorf("a row that the file does not have is %+v", m)
	}
}

func TestReadFileErrors(t *testing.T) {
	must.Rows(t, `
""                      | p.json:1:1: the file is empty: write a table of models, as docs/schemas/prices.v1.json describes it
[]                      | "p.json:1:1: a list is not a price table: write keys and values, such as "
{"models": [}           | "p.json:1:13: not YAML: "
"{\n \"modles\": []}"   | p.json:2:2: unknown key "modles": did you mean models?
{"as_of": "2026-01-01"} | p.json:1:1: no models: list them under "models"
{"models": []}          | p.json:1:12: models: the list is empty: list them under "models"
{"models": {}}          | "p.json:1:12: models: a map is not a list: "
{"unit": "EUR"}         | p.json:1:10: unit: "EUR" is not one of its values: write USD per million tokens
{"as_of": true}         | "p.json:1:11: as_of: true is not text: "
"{\"models\": [\n  {\"id\": \"a\", \"input\": \"1\"}]}" | "p.json:2:24: models.input: \"1\" is not a number: "
"{\"models\": [\n  {\"id\": \"a\", \"input\": -1}]}" | p.json:2:24: models.input: -1 is out of range: give 0 or more
{"models": [{"id": "a", "input": 1e99, "output": 1}]} | p.json:1:34: models.input: 1e99 is out of range: give 1000000000 or less
{"models": [{"id": "a", "input": 0.0000000001, "output": 1}]} | p.json:1:34: models.input: 0.0000000001 has too many digits to be counted exactly: give at most 9 after the point
{"models": [{"id": "a", "input": 0.000000001, "output": 1}]} | p.json:1:13: models: the cache prices that follow from input 0.000000001 have too many digits to be counted exactly: give cache_write_5m and cache_read
{"models": [{"id": "a", "input": 1, "output": 1, "context": 1.5}]} | "models.context: \"1.5\" is not a whole number: "
{"models": [{"id": "a", "input": 1, "output": 1, "retired": 1}]} | "models.retired: \"1\" is not true or false: "
{"models": [{"input": 1, "output": 1}]} | "p.json:1:13: models: no id: "
{"models": [{"id": "[1m]", "input": 1, "output": 1}]} | "p.json:1:13: models: a model without an id: "
{"models": [{"id": "a", "input": 1}]} | p.json:1:13: models: no output: give the prices of input and output
{"models": [{"id": "a", "input": 1, "input": 1}]} | p.json:1:37: key "input" is here twice, first on line 1: keep one of them
{"models": [{"id": "a", "input": 1, "output": 1}, {"id": "A", "input": 1, "output": 1}]} | "p.json:1:51: the model \"a\" is listed twice: "
{"models": [{"id": "a", "input": 1, "output": 1, "tokenizer": "x"}]} | a has the tokenizer "x": write old or new
{"models": [{"id": "a", "input": 1, "output": 1, "tier": {"input": 1, "output": 1}}]} | "models.tier: no above_prompt_tokens: "
{"models": [{"id": "a", "input": 1, "output": 1, "tier": {"above_prompt_tokens": 5, "input": 1}}]} | "models.tier: no output: "
{"models": [{"id": "a", "input": 1, "output": 1, "tier": {"above_prompt_tokens": 0, "input": 1, "output": 1}}]} | models.tier.above_prompt_tokens: 0 is out of range: give 1 or more
{"models": [{"id": "a", "input": 1, "output": 1, "tier": {"above_prompt_tokens": 5, "input": 1, "output": 1, "whole_request": false}}]} | "models.tier: a tier for a part of the request: "
{"models": [{"id": "a", "input": 1, "output": 1}], "modifiers": [{"of": "place", "values": ["x"], "times": 2}]} | "p.json:1:73: modifiers.of: \"place\" is not one of its values: "
{"models": [{"id": "a", "input": 1, "output": 1}], "modifiers": [{"values": ["x"], "times": 2}]} | "p.json:1:66: modifiers: no of: write one of speed, "
{"models": [{"id": "a", "input": 1, "output": 1}], "modifiers": [{"of": "speed", "values": ["x"]}]} | "p.json:1:66: modifiers: no factor of speed: give values, "
{"models": [{"id": "a", "input": 1, "output": 1}], "modifiers": [{"of": "web_search"}]} | p.json:1:66: modifiers: no price of a search: give usd_per_1000
{"models": [{"id": "a", "input": 1, "output": 1, "earlier": [{"input": 1, "output": 1}]}]} | "models.earlier: no until: write the last day "
{"models": [{"id": "a", "input": 1, "output": 1}]} x | "p.json:1:52: not YAML: "
{"models": [{"id": "a"  | "not YAML: "
`, func(data, want string) {
		_, err := price.ReadFile("p.json", []byte(data))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s\n got %v\nwant %s", data, err, want)
		}
	})
}

// TestReadFileJSON holds that what JSON allows in its own notation is read: tabs, escaped slashes, surrogate pairs,
// exponents, empty texts.
func TestReadFileJSON(t *testing.T) {
	table := must.Get(price.ReadFile("p.json", []byte("\t{\t\"models\":\t[{\r\n\t\"id\"\n:\n\"x\\/a\", \"input\": 1e-1, \"output\": 12345678.123456789, \"tokenizer\": \"\", \"note\": \"\\ud83d\\ude00 \\u00e9 \\\\ud83d\"}]}\n")))(t)
	m := table.Models[0]
	must.Say(t, `a 100000000 12345678123456789 😀 é \ud83d`, m.ID, m.Input, m.Output, m.Note)
}

func FuzzReadFile(f *testing.F) {
	f.Add([]byte(`{"models": [{"id": "a", "input": 1, "output": 1, "tier": {"above_prompt_tokens": 5, "input": 1, "output": 2}}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		table, err := price.ReadFile("p.json", data)
		if err != nil {
			return
		}
		for _, m := range table.Models {
			if found, ok := table.Find(m.ID); ok && found.ID == "" {
				t.Errorf("%q is found as nothing", m.ID)
			}
			if c := m.Cost(cache.Split{Uncached: 1 << 30, Read: 1 << 30}, 1<<30); c.Nano < 0 {
				t.Errorf("%q costs %v", m.ID, c.Nano)
			}
		}
	})
}

// TestCompactionBilling is the threshold analysis's bill of one compaction at 168,000 tokens with 5,000 of output, in
// tokens of plain input: 173,000 without the cache, 39,800 where what the last request left, 148,000, is read at a
// tenth.
func TestCompactionBilling(t *testing.T) {
	m := price.Model{Rates: price.Rates{Input: usd, CacheWrite5m: usd * 5 / 4, CacheWrite1h: 2 * usd, CacheRead: usd / 10, Output: usd}}
	at := time.Date(2026, 2, 1, 10, 0, 0, 0, time.UTC)
	mark := []cache.Breakpoint{{Position: 40, Tokens: 148000}}
	must.Rows(t, `
# what | warm | want
without the cache | false | 173000
with it           | true  | 39800
`, func(what string, warm bool, want int64) {
		var sim cache.Sim
		call := cache.CachedRequest{Start: at.Add(time.Minute), Model: "m", Tokens: 168000}
		if warm {
			if _, _, err := sim.Request(cache.CachedRequest{Start: at, Model: "m", Tokens: 148000, Breakpoints: mark}); err != nil {
				t.Fatal(err)
			}
			call.Breakpoints = mark // it leaves nothing of its own behind
		}
		in := must.Get(sim.Branch(41, call))(t)
		must.Equal(t, m.Cost(in, 5000).Nano/1000, want, what, in)
	})
}

// TestIterations is the documented bill of a threshold compaction: the compaction of 180,000 in and 3,500 out, then
// the message of 23,000 in and 1,000 out. What the API reports at the top leaves the compaction out; both are paid.
func TestIterations(t *testing.T) {
	m := model(t, "claude-opus-4-6")
	var sum price.USD
	sum.Add(m.Cost(cache.Split{Uncached: 180000}, 3500))
	sum.Add(m.Cost(cache.Split{Uncached: 23000}, 1000))
	if want := int64(203000*5000 + 4500*25000); sum.Nano != want {
		t.Errorf("%v, want %v", sum.Nano, want)
	}
}

// TestOddPrices: a price that is no whole number of billionths a token is added up exactly and rounded once a request.
func TestOddPrices(t *testing.T) {
	table := must.Get(price.ReadFile("p.json", []byte(`{"models": [{"id": "a", "input": 0.0375, "cache_read": 0.0005, "output": 1_000.000000001}]}`)))(t)
	m := table.Models[0]
	must.Rows(t, `
# in | output | want
{"uncached": 1} | 0 | 38
{"uncached": 2} | 0 | 75
{"uncached": 1, "write_5m": 1} | 0 | 84
{"uncached": 1, "read": 1} | 0 | 38
{"read": 1000} | 0 | 500
{} | 1000000 | 1000000000001
{} | 9007199254740992 | 9223372036854775807
`, func(in cache.Split, output int, want int64) {
		must.Equal(t, m.Cost(in, output).Nano, want, in, output)
	})
}
