package report

import (
	"bytes"
	"io"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/replay"
	"github.com/ctxkit/ctxkit/replay/backtest"
	"github.com/ctxkit/ctxkit/replay/cache"
	"github.com/ctxkit/ctxkit/replay/price"
	"github.com/ctxkit/ctxkit/report/golden"
)

func sampleBacktest() *backtest.Scores {
	late, early := 1, -4
	figure := func(recorded, simulated int) backtest.InputFigure {
		return backtest.InputFigure{Recorded: recorded, Simulated: simulated, Off: max(recorded-simulated, simulated-recorded), Scored: 3, MAPE: 12.345}
	}
	plain := &backtest.SessionScore{
		Session: "s-1", File: "=proj/\x1b[31ms-1|\u202e.jsonl", Model: "claude-opus-4-5", Version: "2.1.5", Clients: "to 2.1.11", Policy: "claude-code-2.1.19",
		Requests: 420, Window: 200000, Manual: 1, Last: 1, FreeAlarms: 1, MicroAlarms: []backtest.MicroAlarm{{Request: 87, Line: 190, Saved: 26956}}, MicroUnknown: 1,
		Compactions: []backtest.CompactionScore{
			{Line: 427, Request: 116, Version: "2.1.5", PreTokens: 155109, Used: 154770, Threshold: 155000, Distance: &late},
			{Line: 700, Request: 230, Version: "2.1.5", PreTokens: 155301, Used: 155301, Threshold: 155000, Hit: true, Distance: &early},
			{Line: 800, Request: 300, Version: "1.0.53", Used: 150310, Threshold: 155000, Distance: &late},
			{Line: 900, Request: 400, Version: "2.1.5", PreTokens: 155301, Used: 155301, Threshold: 155000, Hit: true, Lost: true},
		},
		Alarms: []backtest.Alarm{{Request: 208, Line: 650, Used: 155226, Threshold: 155000}},
		Micro: []backtest.Microcompacted{
			{Request: 90, Line: 199, Recorded: true, Hit: true, Same: true, Saved: 20801, Wanted: 20801}, {Request: 95, Line: 230, Hit: true, Saved: 20134},
		},
		Usage: backtest.UsageScore{
			Requests: 419, Read: figure(40000000, 39000000), Write: figure(900000, 1200000), Input: figure(1257, 0), Near: 410, Close: 400, WriteNear: 390,
			Cost:   backtest.InputCost{Recorded: price.USD{Nano: 21_500_000_000, Known: true}, Simulated: price.USD{Nano: 20_000_000_000, Known: true}},
			Broken: 3, Kind: 2, Amount: 1, Unexplained: 1, FalseAlarms: 1,
		},
		Breaks: []backtest.Break{
			{Session: "s-1", File: "=proj/\x1b[31ms-1|\u202e.jsonl", Line: 428, Request: 116, Recorded: true, Cause: cache.Compacted, Why: "compaction", Left: 154500, Read: 18576, Simulated: 13000, Kind: true},
			{Session: "s-1", File: "=proj/\x1b[31ms-1|\u202e.jsonl", Line: 440, Request: 119, Recorded: true, Cause: backtest.Unexplained, Why: "no cause is known", Left: 60000, Read: 18576, Simulated: 59900},
			{Session: "s-1", File: "=proj/\x1b[31ms-1|\u202e.jsonl", Line: 460, Request: 122, Recorded: true, Cause: cache.SkillRan, Why: "a skill began or ended", Left: 70000, Read: 18576, Simulated: 18000, Kind: true, Amount: true},
			{Session: "s-1", File: "=proj/\x1b[31ms-1|\u202e.jsonl", Line: 480, Request: 130, Cause: cache.Expired, Why: "TTL expired", Left: 80000, Read: 80000},
		},
	}
	fitted := &backtest.SessionScore{
		Session: "s-2", Agent: "a1", File: "proj/s-2.jsonl", Model: "claude-opus-4-7", Version: "2.1.119", Clients: "2.1.119+", Policy: "claude-code-2.1.119",
		Requests: 900, Window: 400000, Fit: &replay.Fit{Window: 400000, Least: 399578, Most: 401320, Agrees: true},
		Compactions: []backtest.CompactionScore{{Line: 706, Request: 300, Version: "2.1.119", PreTokens: 368320, Used: 368320, Threshold: 367000, Hit: true}},
		Alarms:      []backtest.Alarm{}, Micro: []backtest.Microcompacted{}, MicroAlarms: []backtest.MicroAlarm{}, Breaks: []backtest.Break{},
		Usage: backtest.UsageScore{Requests: 899, Read: figure(200000000, 199900000), Near: 899, Close: 890},
	}
	torn := *fitted
	torn.Session, torn.Agent, torn.Fit = "s-3", "", &replay.Fit{Window: 401000, Least: 413001, Most: 401000}
	plain.Author, fitted.Author, torn.Author = "/home/ann", "/home/bo", "/home/bo"
	s := backtest.Sum("claude-code@recorded-version", []*backtest.SessionScore{plain, fitted, &torn})
	s.ByAuthor()
	return s
}

func TestBacktest(t *testing.T) {
	schema := compileSchemaAt(t, filepath.Join("..", "docs", "schemas", "backtest.v1.json"))
	for _, explain := range []int{0, 3} {
		for _, f := range ListFormats {
			name := "backtest."
			if explain > 0 {
				name = "backtest-explain."
			}
			var b bytes.Buffer
			must.Do(t, Backtest(&b, sampleBacktest(), BacktestLayout{Layout: Layout{Format: f}, Explain: explain}))
			golden.Check(t, filepath.Join("testdata", name+string(f)), b.Bytes())
			if strings.ContainsAny(b.String(), "\x1b\u202e") {
				t.Errorf("%s lets control characters through", f)
			}
			if f == FormatTable {
				checkWidth(t, b.String())
			}
			if f != FormatJSON {
				continue
			}
			if err := validate(schema, b.Bytes()); err != nil {
				t.Error(err)
			}
			for _, change := range [][2]string{
				{`"hits": `, `"hit_count": `}, {`"cause": "unexplained"`, `"cause": "weather"`}, {`"requests": 420`, `"requests": -420`}, {`"fit": null`, `"fit": 5`}, {`"of": `, `"extra": 1, "of": `},
			} {
				changed := strings.Replace(b.String(), change[0], change[1], 1)
				if changed == b.String() || validate(schema, []byte(changed)) == nil {
					t.Errorf("with %s in place of %s it still validates", change[1], change[0])
				}
			}
		}
	}
	if err := Backtest(io.Discard, sampleBacktest(), BacktestLayout{Layout: Layout{Format: "xml"}}); err == nil {
		t.Error("no error for a format that is not there")
	}
}

// TestBacktestCounts: where a client compares a figure of its own, each miss and false alarm has its parts, and how far
// the estimated one would have to be off.
func TestBacktestCounts(t *testing.T) {
	count := func(last, reasoning int) []policy.Counted {
		return []policy.Counted{{Name: "used by the last response", Tokens: last}, {Name: "of reasoning", Tokens: reasoning, Estimated: reasoning > 0}}
	}
	var b bytes.Buffer
	s := &backtest.SessionScore{
		File: "s.jsonl", Clients: "all", Requests: 9, Micro: []backtest.Microcompacted{}, MicroAlarms: []backtest.MicroAlarm{}, Breaks: []backtest.Break{},
		Compactions: []backtest.CompactionScore{
			{Line: 7, Request: 3, Version: "0.1", PreTokens: 90000, Used: 99000, Threshold: 100000, Count: count(90000, 8000)},
			{Line: 17, Request: 8, Version: "0.1", PreTokens: 90000, Used: 99000, Threshold: 100000, Count: count(100000, 8000), Hit: true},
		},
		Alarms: []backtest.Alarm{
			{Request: 6, Line: 12, Threshold: 100000, Count: count(92000, 10000), Early: 2}, {Request: 9, Line: 19, Threshold: 100000, Count: count(100000, 0)},
		},
	}
	must.Do(t, Backtest(&b, backtest.Sum("codex", []*backtest.SessionScore{s}), BacktestLayout{Layout: Layout{Format: FormatTable, Width: 400}}))
	for _, want := range []string{
		"missed: s.jsonl:7: request 3, client 0.1: 90,000 used by the last response + 8,000 of reasoning (estimated: it is not in the file) = 98,000, 2,000 fewer than the threshold of 100,000; with 25.0 % more in the estimate it would compact\n",
		"false alarm: s.jsonl:12: request 6, 2 requests before the client compacted: 92,000 used by the last response + 10,000 of reasoning (estimated: it is not in the file) = 102,000, 2,000 over the threshold of 100,000; with 20.0 % less in the estimate it would not\n",
		"false alarm: s.jsonl:19: request 9: 100,000 used by the last response + 0 of reasoning = 100,000, 0 over the threshold of 100,000\n",
		"size of the context at the compaction: in 2 of 2 compactions the client compares another figure\n",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in\n%s", want, b.String())
		}
	}
	b.Reset()
	must.Do(t, Backtest(&b, backtest.Sum("codex", []*backtest.SessionScore{s}), BacktestLayout{Layout: Layout{Format: FormatJSON}}))
	if err := validate(compileSchemaAt(t, filepath.Join("..", "docs", "schemas", "backtest.v1.json")), b.Bytes()); err != nil {
		t.Error(err)
	}
}

// TestBacktestEmpty: nothing scored is said with dashes, and is valid JSON.
func TestBacktestEmpty(t *testing.T) {
	schema := compileSchemaAt(t, filepath.Join("..", "docs", "schemas", "backtest.v1.json"))
	var b bytes.Buffer
	must.Do(t, Backtest(&b, backtest.Sum("p", nil), BacktestLayout{Layout: Layout{Format: FormatJSON}}))
	if err := validate(schema, b.Bytes()); err != nil {
		t.Error(err)
	}
	for _, explain := range []int{0, 20} {
		b.Reset()
		if err := Backtest(&b, backtest.Sum("p", nil), BacktestLayout{Explain: explain}); err != nil || strings.Contains(b.String(), "NaN") {
			t.Errorf("%v: %s", err, b.String())
		}
	}
}

func checkWidth(t *testing.T, text string) {
	t.Helper()
	for line := range strings.Lines(text) {
		if n := width(strings.TrimSuffix(line, "\n")); n > defaultWidth {
			t.Errorf("%d columns: %s", n, line)
		}
	}
}

// TestBacktestSumsFirst holds that the sums over all tokens come before the errors of single requests.
func TestBacktestSumsFirst(t *testing.T) {
	var b bytes.Buffer
	r := backtest.Sum("p", []*backtest.SessionScore{{Requests: 101, Usage: backtest.UsageScore{
		Requests: 100, Near: 100, Close: 100,
		Read:  backtest.InputFigure{Recorded: 900000, Simulated: 899000, Off: 1000, Scored: 100, MAPE: 0.1},
		Write: backtest.InputFigure{Recorded: 99000, Simulated: 101000, Off: 4000, Scored: 100, MAPE: 164.2},
		Input: backtest.InputFigure{Recorded: 1000, Off: 1000, Scored: 100, MAPE: 100},
	}}})
	must.Do(t, Backtest(&b, r, BacktestLayout{}))
	last := -1
	for _, want := range []string{
		"input by cache class, % of all input", "90.00      89.90", "9.90      10.10", "0.10       0.00",
		"of 1,000,000 input tokens, 90.00 % were read from the cache (simulated: 89.90 %)", "request by request", "164.20",
	} {
		at := strings.Index(b.String(), want)
		if at <= last {
			t.Errorf("%q stands at %d, what goes before it at %d:\n%s", want, at, last, b.String())
		}
		last = max(last, at)
	}
}
