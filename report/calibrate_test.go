package report

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/replay/backtest"
	"github.com/ctxkit/ctxkit/report/golden"
)

func sampleCalibration() *backtest.Calibrated {
	c := &backtest.Calibrated{
		Schema: backtest.CalibrateSchema, Fit: backtest.FitFirstHalf, Counters: []string{"usage", "heuristic"}, Rows: []backtest.CalibratedRow{},
		Sessions: []backtest.CalibratedSession{{Session: "s-1", File: "=s-1.jsonl", Model: "claude-opus-4-6", Version: "2.1.42", Counter: "usage", Requests: 7, Free: backtest.PredictionError{MAPE: 1.5, P90: 3}}},
	}
	add := func(clients, model string, sessions, requests int) {
		for i, counter := range c.Counters {
			x := float64(1 + 9*i)
			c.Rows = append(c.Rows, backtest.CalibratedRow{
				Clients: clients, Model: model, Counter: counter, Sessions: sessions, Requests: requests,
				Increment: backtest.PredictionError{MAPE: 7.5 * x, Bias: -x, P50: 31.4 * x, P90: 202.5 * x},
				Next:      backtest.PredictionError{MAPE: 0.125 * x, Bias: 0.004, P50: 0.1, P90: 0.25 * x},
				Free:      backtest.PredictionError{MAPE: 2 * x, Bias: 1.25 - 3*x, P50: x, P90: 4.5 * x},
				Each:      backtest.SessionMeans{Sessions: sessions / 2, Mean: 1.985 * x, Median: 1.5 * x},
			})
		}
	}
	add(backtest.All, backtest.All, 12, 34567)
	add("2.1.12-2.1.51", backtest.All, 11, 30000)
	add("2.1.12-2.1.51", "claude-opus-4-5-20251101", 10, 25000)
	add("2.1.12-2.1.51", "=claude-\x1b[31mopus\u202e-4|9", 1, 5000)
	add("2.1.228+", "claude-fable-5", 1, 7)
	return c
}

func TestCalibration(t *testing.T) {
	schema := compileSchemaAt(t, filepath.Join("..", "docs", "schemas", "calibrate.v1.json"))
	for _, f := range ListFormats {
		var b bytes.Buffer
		must.Do(t, Calibration(&b, sampleCalibration(), Layout{Format: f}))
		golden.Check(t, filepath.Join("testdata", "calibrate."+string(f)), b.Bytes())
		if strings.ContainsAny(b.String(), "\x1b\u202e") {
			t.Errorf("%s lets control characters through", f)
		}
		if f == FormatJSON {
			if err := validate(schema, b.Bytes()); err != nil {
				t.Error(err)
			}
			for _, change := range [][2]string{
				{`"fit": "first-half"`, `"fit": "all"`}, {`"p50": `, `"p51": `}, {`"requests": 7`, `"requests": -7`}, {`"clients": `, `"extra": 1, "clients": `},
			} {
				if validate(schema, []byte(strings.Replace(b.String(), change[0], change[1], 1))) == nil {
					t.Errorf("with %s in place of %s it still validates", change[1], change[0])
				}
			}
		}
	}
	if err := Calibration(&bytes.Buffer{}, sampleCalibration(), Layout{Format: "xml"}); err == nil {
		t.Error("no error for a format that is not there")
	}
}

func TestShortModel(t *testing.T) {
	must.Rows(t, `
claude-opus-4-5-20251101 | opus-4-5
claude-sonnet-4-6        | sonnet-4-6
all                      | all
""                       | ""
claude-3-opus-20240229   | 3-opus
claude-opus-4-5-2025110  | opus-4-5-2025110
-20251101                | -20251101
`, func(name, want string) {
		must.Equal(t, shortModel(name), want, name)
	})
}
