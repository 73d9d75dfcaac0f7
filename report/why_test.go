package report

import (
	"bytes"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/replay/backtest"
	"github.com/ctxkit/ctxkit/replay/bill"
	"github.com/ctxkit/ctxkit/replay/cache"
	"github.com/ctxkit/ctxkit/replay/category"
	"github.com/ctxkit/ctxkit/replay/price"
	"github.com/ctxkit/ctxkit/replay/spend"
	"github.com/ctxkit/ctxkit/replay/stats"
	"github.com/ctxkit/ctxkit/replay/why"
	"github.com/ctxkit/ctxkit/report/golden"
)

func amount(x float64) price.USD { return price.USD{Nano: int64(x * 1e9), Known: true} }

// breaksSample is the breaks of a conversation, one of each kind, with n refills.
func breaksSample(n int) *why.SessionBreaks {
	hostile := "a\x1b[31mb\u202e"
	event := 3
	s := &why.SessionBreaks{
		Session: "s-1", File: "s-1.jsonl", Title: "A title", Policy: "recorded", Recorded: true, Counter: "usage", Cache: "own", Model: "claude-opus-4-5",
		Requests: 300, Usage: 299, Uncacheable: 2, Cost: amount(21), Brief: bill.Brief{USD: amount(20)}, Bill: billOf(amount(20)), Compactions: n + 1, Thrash: 1, Refills: []stats.Refill{},
		Spent: amount(20), Expenses: []why.Expense{{Part: why.PartReads, Times: 299, Tokens: 20_000_000, USD: amount(10)}, {Part: why.PartNew, Times: 300, Tokens: 400_000, USD: amount(2)},
			{Part: why.PartOutput, Times: 300, Tokens: 40_000, USD: amount(1)}, {Part: why.PartSubagents, Times: 2, Tokens: 9_000, USD: amount(0.499)}},
		Contents: []stats.CategoryTokens{{Category: category.Results, Sent: 12_000_000, USD: amount(8), Of: []stats.Portion{{Name: "Bash", USD: amount(5)}, {Name: "Read", USD: amount(2)}}}, {Category: category.System, Sent: 8_000_000, USD: amount(4), Of: []stats.Portion{}}},
		Hour:     &why.HourCache{Pauses: 1, USD: amount(1.2), Saved: amount(0.4)},
	}
	at := time.Date(2026, 1, 15, 9, 0, 0, 0, time.UTC)
	add := func(b why.CacheBreak, record, sim float64) {
		b.Request, b.Line, b.Time = 10*(len(s.Breaks)+1), 100+len(s.Breaks), at.Add(time.Duration(len(s.Breaks))*time.Hour)
		if record > 0 {
			b.InFile = &spend.CacheMiss{Left: 120_000, Read: 17_000, Lost: 100_000, USD: amount(record)}
		}
		if sim > 0 {
			b.Sim = &why.SimulatedBreak{Lost: 99_000, USD: amount(sim), Parts: why.Parts{Lifetime: amount(sim)}}
		}
		s.Breaks = append(s.Breaks, b)
		sum := why.BreakSum{Cause: b.Cause, Stage: b.Stage, Edit: b.Edit}
		if b.InFile != nil {
			sum.RecordedBreaks = why.RecordedBreaks{Breaks: 1, Lost: b.InFile.Lost, USD: b.InFile.USD}
		}
		if b.Sim != nil {
			sum.Simulated, sum.SimLost, sum.SimUSD = 1, b.Sim.Lost, b.Sim.USD
		}
		if b.InFile == nil {
			sum.Only = 1
		}
		s.Expenses = append(s.Expenses, why.Expense{Part: why.PartMisses, Cause: b.Cause, Stage: b.Stage, Edit: b.Edit, Times: 1, Tokens: 100_000, USD: amount(record)})
		s.Causes, s.Total = append(s.Causes, sum), func() why.BreakSum { t := s.Total; t.Add(&sum); return t }()
	}
	add(why.CacheBreak{Cause: cache.Expired, Idle: 2820}, 1.2, 1.25)
	add(why.CacheBreak{Cause: cache.Expired, Idle: 480, Tool: true}, 1.1, 1.1)
	add(why.CacheBreak{Cause: backtest.Unexplained, Idle: 20}, 0.9, 0)
	add(why.CacheBreak{Cause: cache.Restart, Idle: 86400}, 0.8, 0.8)
	add(why.CacheBreak{Cause: cache.Edited, Stage: "recorded", Edit: policy.KindClear, Trigger: "auto", Event: &event}, 0.7, 0.6)
	add(why.CacheBreak{Cause: cache.Edited, Stage: "recorded", Edit: policy.KindInferred, Trigger: "inferred", Event: &event}, 0.6, 0.6)
	add(why.CacheBreak{Cause: cache.Compacted, Stage: "recorded", Edit: policy.KindSummarize, Trigger: "manual", Event: &event, Idle: 301}, 0.5, 0.5)
	add(why.CacheBreak{Cause: cache.ModelSwitch, Before: hostile, Model: "claude-haiku-4-5"}, 0.4, 0.4)
	add(why.CacheBreak{Cause: cache.EffortSet}, 0.3, 0.3)
	add(why.CacheBreak{Cause: cache.Edited, Stage: "prune", Edit: policy.KindClear, Event: &event}, 0.001, 0.2)
	add(why.CacheBreak{Cause: cache.LookBackOver}, 0, 0.1)
	s.Breaks[2].InFile.Reason = "unavailable"
	for _, r := range []struct {
		cause  cache.BreakCause
		reason string
	}{{cache.MessageEdit, "messages_changed"}, {cache.ToolsChanged, "system_changed"}, {cache.Thinking, "later_" + hostile}} {
		add(why.CacheBreak{Cause: r.cause}, 0.002, 0)
		s.Breaks[len(s.Breaks)-1].InFile.Reason = r.reason
	}
	for i := range n {
		s.Refills = append(s.Refills, stats.Refill{From: 10 + 40*i, To: 30 + 40*i + i, Requests: 20 + i, Prompts: i, Seconds: 3600, After: 3_000, Before: 130_000, Joined: 130_000, Freed: 950,
			Parts:    []stats.RefillSource{{Category: category.Results, Of: "Bash", Times: 9, Tokens: 90_000}, {Category: category.Thinking, Times: 9, Tokens: 20_000}, {Category: category.Prompts, Times: 1, Tokens: 10_000}, {Category: category.Summaries, Of: "recorded", Times: 1, Tokens: 10_000}},
			Heaviest: []stats.RefillSource{{Category: category.Results, Of: "Bash", Target: "go test " + hostile, Line: 1200, Times: 2, Tokens: 40_000}, {Category: category.Prompts, Target: "do it", Line: 90, Times: 1, Tokens: 10_000}, {Category: category.Summaries, Of: "recorded", Times: 1, Tokens: 10_000}}})
	}
	return s
}

// simulatedSample is the same under another policy.
func simulatedSample() *why.SessionBreaks {
	s := breaksSample(0)
	s.Session, s.Agent, s.Policy, s.Recorded = "s-2", "a1", "opencode", false
	s.InRecord = &why.RecordedBreaks{Breaks: 2, Lost: 1000, USD: amount(0.001)}
	for i := range s.Breaks {
		s.Breaks[i].InFile = nil
	}
	for i := range s.Causes {
		s.Causes[i].RecordedBreaks, s.Causes[i].Only = why.RecordedBreaks{}, 0
	}
	s.Total.RecordedBreaks, s.Total.Only = why.RecordedBreaks{}, 0
	s.Breaks = slices.DeleteFunc(s.Breaks, func(b why.CacheBreak) bool { return b.Sim == nil })
	s.Causes = slices.DeleteFunc(s.Causes, func(c why.BreakSum) bool { return c.Simulated == 0 })
	return s
}

func TestWhy(t *testing.T) {
	schema := compileSchemaAt(t, filepath.Join("..", "docs", "schemas", "why.v1.json"))
	empty := &why.SessionBreaks{Session: "s-3", File: "s-3.jsonl", Policy: "recorded", Recorded: true, Counter: "estimate", Breaks: []why.CacheBreak{}, Causes: []why.BreakSum{}, Expenses: []why.Expense{}, Contents: []stats.CategoryTokens{}, Refills: []stats.Refill{}, Bill: &bill.Bill{}}
	never := &why.SessionBreaks{Session: "s-4", File: "s-4.jsonl", Policy: "recorded", Recorded: true, Counter: "usage", Requests: 3, Usage: 3, Breaks: []why.CacheBreak{}, Causes: []why.BreakSum{}, Expenses: []why.Expense{}, Contents: []stats.CategoryTokens{}, Refills: []stats.Refill{}, Bill: &bill.Bill{}}
	unused := simulatedSample()
	unused.Policy, unused.Recorded, unused.InRecord, unused.Usage, unused.Brief, unused.Bill = "recorded", true, nil, 0, bill.Brief{}, &bill.Bill{}
	for name, list := range map[string][]*why.SessionBreaks{
		"one": {breaksSample(12)}, "policy": {simulatedSample()}, "several": {breaksSample(2), simulatedSample(), empty}, "empty": {empty}, "never": {never}, "no-usage": {unused},
	} {
		for _, f := range ListFormats {
			var b bytes.Buffer
			must.Do(t, Why(&b, list, policy.Use{}, Layout{Format: f, Hints: Hints{All: "--all shows them", Pages: "Name one."}}))
			if s := b.String(); strings.ContainsAny(s, "\x1b\u202e") {
				t.Errorf("%s as %s lets control characters through", name, f)
			}
			if f == FormatJSON {
				if err := validate(schema, b.Bytes()); err != nil {
					t.Errorf("%s: %v", name, err)
				}
				continue
			}
			golden.Check(t, filepath.Join("testdata", "why-"+name+"."+string(f)), b.Bytes())
		}
	}
}

// TestWhyFit holds that no line is wider than the layout says.
func TestWhyFit(t *testing.T) {
	for _, w := range []int{60, 80, 100, 160} {
		for _, all := range []bool{false, true} {
			var b bytes.Buffer
			must.Do(t, Why(&b, []*why.SessionBreaks{breaksSample(12)}, policy.Use{}, Layout{Width: w, All: all}))
			for l := range strings.Lines(b.String()) {
				if n := width(strings.TrimRight(l, "\n")); n > w {
					t.Errorf("%d columns: %d: %s", w, n, l)
				}
			}
		}
	}
}
