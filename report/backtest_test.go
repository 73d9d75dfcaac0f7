package report

import (
	"bytes"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/replay/backtest"
	"github.com/ctxkit/ctxkit/report/golden"
)

func sampleBacktest() *backtest.Scores {
	s := backtest.Sum("claude-code@recorded-version", sampled[[]*backtest.SessionScore]("backtest"))
	s.ByAuthor()
	return s
}

func TestBacktest(t *testing.T) {
	for name, explain := range map[string]int{"backtest": 0, "backtest-explain": 3} {
		out := inFormats(t, "backtest", name, ListFormats, func(w io.Writer, f Format) error {
			return Backtest(w, sampleBacktest(), BacktestLayout{Layout: Layout{Format: f}, Explain: explain})
		})
		golden.Check(t, filepath.Join("testdata", name+".json"), []byte(out[FormatJSON]))
		strict(t, compileSchema(t, "backtest"), out[FormatJSON], `
"hits":  => "hit_count": 
"cause": "unexplained" => "cause": "weather"
"requests": 420 => "requests": -420
"fit": null => "fit": 5
"of":  => "extra": 1, "of": 
`)
	}
	must.Refuse(t, Backtest(io.Discard, sampleBacktest(), BacktestLayout{Layout: Layout{Format: "xml"}}), "xml")
}

// TestBacktestCounts: where a client compares a figure of its own, each miss and false alarm has its parts, and how far
// the estimated one would have to be off.
func TestBacktestCounts(t *testing.T) {
	s := sampled[*backtest.SessionScore]("backtest-counts")
	inFormats(t, "backtest", "backtest-counts", []Format{FormatTable, FormatJSON}, func(w io.Writer, f Format) error {
		return Backtest(w, backtest.Sum("codex", []*backtest.SessionScore{s}), BacktestLayout{Layout: Layout{Format: f}})
	})
}

// TestBacktestEmpty: nothing scored is said with dashes, and is valid JSON.
func TestBacktestEmpty(t *testing.T) {
	for _, explain := range []int{0, 20} {
		out := inFormats(t, "backtest", "", ListFormats, func(w io.Writer, f Format) error {
			return Backtest(w, backtest.Sum("p", nil), BacktestLayout{Layout: Layout{Format: f}, Explain: explain})
		})
		must.Say(t, "false", strings.Contains(fmt.Sprint(out), "NaN"))
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
