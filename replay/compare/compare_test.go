package compare

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/replay"
	"github.com/ctxkit/ctxkit/replay/cache"
	"github.com/ctxkit/ctxkit/replay/exact"
	"github.com/ctxkit/ctxkit/replay/price"
	"github.com/ctxkit/ctxkit/replay/regret"
)

func index(name string) int { return slices.Index(Names(), name) }

// TestClientPreTokens: what the client would have recorded is not known where it did not record it.
func TestClientPreTokens(t *testing.T) {
	compaction := func(pre int) replay.Event {
		return replay.Event{Kind: policy.KindSummarize, Recorded: &replay.RecordedEvent{PreTokens: pre}, Detail: map[string]int{"pre_tokens": pre}}
	}
	own := replay.Event{Kind: policy.KindSummarize, Detail: map[string]int{"pre_tokens": 7}}
	micro := compaction(0)
	micro.Kind = policy.KindClear
	for _, tt := range []struct {
		name   string
		events []replay.Event
		want   string // empty: not known
	}{
		{"none", nil, "0"}, {"own", []replay.Event{own}, "7"}, {"recorded", []replay.Event{own, compaction(20)}, "27"},
		{"another kind", []replay.Event{own, micro}, "7"},
		{"not recorded", []replay.Event{own, compaction(20), compaction(0)}, ""},
	} {
		got := Of(&replay.Timeline{Events: tt.events}).get("client_pre_tokens")
		if got.Known != (tt.want != "") || got.Known && got.String() != tt.want {
			t.Errorf("%s: %v, want %q", tt.name, got, tt.want)
		}
	}
}

func TestFiguresOfATimeline(t *testing.T) {
	tl := &replay.Timeline{
		Totals: replay.Totals{
			Requests: 3, Calls: 4, ModelPeak: 100, ModelMean: 50, Payload: 150, Saved: 30, Cache: cache.Split{Read: 90, Write5m: 40, Uncached: 20},
			CostUSD: price.USD{Nano: 1_500_000_000, Known: true}, Compactions: 1, Cleared: 2, ClearedTokens: 12,
		},
		Events: []replay.Event{
			{Detail: map[string]int{"pre_tokens": 90, "tokens_saved": 6, "compacted_ids": 3}},
			{Detail: map[string]int{"cleared_input_tokens": 4}},
			{Detail: map[string]int{"pre_tokens": 2000}},
		},
	}
	v := Of(tl)
	must.Rows(t, `
requests            | 3
calls               | 4
model_peak          | 100
model_mean          | 50
payload_input       | 150
tokens_saved        | 30
cache_read          | 90
cache_write_5m      | 40
uncached            | 20
cost_usd            | 1.5
compactions         | 1
cleared_results     | 2
cleared_tokens      | 12
client_pre_tokens   | 2090
client_tokens_saved | 10
`, func(name string, want float64) {
		must.Equal(t, v.get(name).Cmp(decimal(want)), 0, name)
	})
	must.Say(t, "false false", v.get("misses").Known, v.get("refetch_tokens").Known)
	tl.Regret = &regret.Regret{Misses: make([]regret.Miss, 2), Tokens: 300, MedianDistance: 4.5}
	must.Equal(t, Of(tl).get("median_distance").String(), "4.5")
	if v := Of(tl); v.get("misses").String() != "2" || v.get("refetch_tokens").String() != "300" {
		t.Errorf("misses %v, tokens %v", v.get("misses"), v.get("refetch_tokens"))
	}
	tl.Totals.Unpriced = 1
	if v := Of(tl); v.get("cost_usd").Known {
		t.Errorf("a cost without one of its requests is %v", v.get("cost_usd"))
	} else if data, err := json.Marshal(v); err != nil || strings.Contains(string(data), "cost_usd") || !strings.Contains(string(data), `"calls":4`) {
		t.Errorf("got %s, %v", data, err)
	}
	must.Equal(t, Of(&replay.Timeline{}).get("cost_usd").String(), "0")
}

// decimal is a number as it is written; NaN is not known.
func decimal(x float64) exact.Decimal {
	d, _ := exact.Parse(strconv.FormatFloat(x, 'f', -1, 64))
	return d
}

// sessionOf has one value in every figure of a policy, but for requests and what makes it infeasible.
func sessionOf(name, model, version string, requests float64, values ...float64) ComparedSession {
	s := ComparedSession{Origin: Origin{Session: name}, Model: model, Version: version, Project: "p"}
	for _, x := range values {
		v := make(Values, len(Names()))
		for i := range v {
			v[i] = decimal(x)
		}
		v[index("requests")], v[index("refused")], v[index("violations")] = decimal(requests), decimal(0), decimal(0)
		s.Values = append(s.Values, v)
	}
	return s
}

func TestTotalsAndSpread(t *testing.T) {
	c := Compare([]string{"a", "b"}, []ComparedSession{
		sessionOf("1", "m", "2.1.9", 1, 10, 20), sessionOf("2", "m", "2.1.10", 3, 30, 30), sessionOf("3", "n", "2.1.10", 6, 20, 10),
	}, ByNothing)[0]
	a := func(name string) Distribution { return c.Policies[0].Figures[index(name)] }
	if got := a("payload_input"); got.Total != decimal(60) || got.Median != decimal(20) || got.P90.Cmp(decimal(28)) != 0 {
		t.Errorf("sent: %+v", got)
	}
	must.Equal(t, a("model_peak").Total, decimal(30))
	must.Equal(t, a("model_mean").Total.Cmp(decimal(22)), 0)
	if c.Differ != 0 && c.Differ != 2 || c.DifferPolicy != 1 {
		t.Errorf("most different is %d, policy %d", c.Differ, c.DifferPolicy)
	}
}

// A sum without one of its parts is not told; peaks and means of the rest are. Sums of amounts leave out a session that has a
// price under no policy.
func TestUnknownValues(t *testing.T) {
	two := []ComparedSession{sessionOf("1", "m", "v", 1, 10, 20), sessionOf("2", "m", "v", 1, 30, 40), sessionOf("3", "m", "v", 1, 50, 60)}
	two[1].Values[0][index("cost_usd")], two[1].Values[1][index("cost_usd")] = exact.Decimal{}, exact.Decimal{}
	if c := Compare([]string{"a", "b"}, two, ByNothing)[0]; c.Policies[0].Figures[index("cost_usd")].Total != decimal(60) || c.Policies[1].Figures[index("cost_usd")].Total != decimal(80) {
		t.Errorf("costs %+v", c.Policies)
	}
	two[2].Values[0][index("cost_usd")] = exact.Decimal{}
	if c := Compare([]string{"a", "b"}, two, ByNothing)[0]; c.Policies[0].Figures[index("cost_usd")].Total.Known || c.Policies[1].Figures[index("cost_usd")].Total != decimal(80) {
		t.Errorf("costs of a session with a price under one policy %+v", c.Policies)
	}
	s := []ComparedSession{sessionOf("1", "m", "v", 1, 10), sessionOf("2", "m", "v", 1, 30)}
	s[1].Values[0][index("cost_usd")] = exact.Decimal{}
	s[1].Values[0][index("model_peak")] = exact.Decimal{}
	c := Compare([]string{"a"}, s, ByNothing)[0]
	if got := c.Policies[0].Figures[index("cost_usd")]; got.Total != decimal(10) || got.Median != decimal(10) {
		t.Errorf("cost %+v", got)
	}
	if got := c.Policies[0].Figures[index("model_peak")]; got.Total != decimal(10) {
		t.Errorf("peak %+v", got)
	}
	must.Equal(t, c.Differ, -1)
}

func TestGroups(t *testing.T) {
	sessions := []ComparedSession{sessionOf("1", "m", "2.1.10", 1, 1), sessionOf("2", "n", "2.1.9", 1, 1), sessionOf("3", "m", "", 1, 1)}
	must.Rows(t, `
model   | ["m", "n"]
version | ["(none)", "2.1.9", "2.1.10"]
project | ["p"]
""      | [""]
`, func(by Group, want []string) {
		var got []string
		n := 0
		for _, c := range Compare([]string{"a"}, sessions, by) {
			got = append(got, c.Group)
			n += len(c.Sessions)
		}
		if !slices.Equal(got, want) || n != len(sessions) {
			t.Errorf("by %q: %q with %d sessions, want %q", by, got, n, want)
		}
	})
}

func TestQuantile(t *testing.T) {
	must.Rows(t, `
# values | tenths | want
[5]    | 5  | 5
[1, 3] | 5  | 2
[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11] | 9  | 10
[1, 2] | 10 | 2
[1, 2] | 9  | 1.9
`, func(theValues []float64, tenths int, want float64) {
		var values Values
		for _, x := range theValues {
			values = append(values, decimal(x))
		}
		must.Equal(t, quantile(values, tenths).Cmp(decimal(want)), 0, tenths, theValues, want)
	})
}

// get is the value of a figure by its name.
func (v Values) get(name string) exact.Decimal { return v[slices.Index(Names(), name)] }
