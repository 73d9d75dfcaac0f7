package backtest_test

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/replay"
	"github.com/ctxkit/ctxkit/replay/backtest"
	"github.com/ctxkit/ctxkit/replay/tokens"
)

// grew is a step that grew by growth to context, of which the heuristic says said, and 100 characters of output of
// commands a token teach.
func grew(context, growth, said int) backtest.TrialStep {
	s := backtest.TrialStep{
		Model: "claude-opus-4-6", Version: "2.1.50", Clients: "2.1.12-2.1.51", Context: context, Growth: growth, Learn: growth > 0,
		Counts: map[string]float64{tokens.NameHeuristic: float64(said)},
	}
	s.Amounts[tokens.BashChars] = 3 * float64(growth)
	return s
}

func row(t *testing.T, c *backtest.Calibrated, clients, model, counter string) backtest.CalibratedRow {
	t.Helper()
	for _, r := range c.Rows {
		if r.Clients == clients && r.Model == model && r.Counter == counter {
			return r
		}
	}
	t.Fatalf("no row for %s, %s, %s", clients, model, counter)
	return backtest.CalibratedRow{}
}

func calibrated(t *testing.T, fit backtest.Fitting, trials ...*backtest.GrowthTrial) *backtest.Calibrated {
	t.Helper()
	c := must.Get(backtest.Calibrate(trials, fit))(t)
	return c
}

// TestCalibrateArithmetic: errors one step ahead and free-running, worked out by hand. A compaction is no error, and
// totals go on from what follows it.
func TestCalibrateArithmetic(t *testing.T) {
	anchor := grew(5000, -7000, 400)
	anchor.Anchor = true
	off := grew(5600, -400, 100)
	off.TakenOff = 500
	trial := &backtest.GrowthTrial{File: "a", Tokenizer: "old", First: 10000, Steps: []backtest.TrialStep{
		grew(11000, 1000, 900), grew(12000, 1000, 800), anchor, grew(6000, 1000, 1200), off,
	}}
	c := calibrated(t, backtest.FitOthers, trial)
	percent := func(errors ...float64) (e backtest.PredictionError) {
		for _, x := range errors {
			e.Bias += 100 * x / float64(len(errors))
			e.MAPE += 100 * math.Abs(x) / float64(len(errors))
		}
		return e
	}
	const (
		e1, e2 = -100 / 11000.0, -200 / 12000.0
		e3, e4 = 200 / 6000.0, 0
	)
	next, free := percent(e1, e2, e3, e4), percent(e1, -300/12000.0, e3, 200/5600.0)
	want := backtest.CalibratedRow{
		Clients: "2.1.12-2.1.51", Model: "claude-opus-4-6", Counter: "heuristic", Sessions: 1, Requests: 4,
		Increment: backtest.PredictionError{MAPE: 100 * 500 / 3400.0, Bias: -100 * 100 / 3400.0, P50: 150, P90: 200},
		Next:      backtest.PredictionError{MAPE: next.MAPE, Bias: next.Bias, P50: 100 * (-e1 - e2) / 2, P90: 100 * (0.3*-e2 + 0.7*e3)},
		Free:      backtest.PredictionError{MAPE: free.MAPE, Bias: free.Bias, P50: 100 * (300/12000.0 + e3) / 2, P90: 100 * (0.3*e3 + 0.7*200/5600.0)},
	}
	got := row(t, c, want.Clients, want.Model, want.Counter)
	near := cmp.Comparer(func(a, b float64) bool { return math.Abs(a-b) < 0.0011 })
	must.Equal(t, cmp.Diff(want, got, near), "")
	for _, key := range [][2]string{{backtest.All, backtest.All}, {want.Clients, backtest.All}} {
		all := row(t, c, key[0], key[1], "heuristic")
		all.Clients, all.Model = want.Clients, want.Model
		must.Equal(t, cmp.Diff(want, all, near), "", key)
	}
}

// TestCalibrateMeans: sessions have a mean of their own from 5 scored requests on.
func TestCalibrateMeans(t *testing.T) {
	talk := func(file string, n int, said func(i int) int) *backtest.GrowthTrial {
		trial := &backtest.GrowthTrial{File: file, Tokenizer: "old", First: 10000}
		for i := range n {
			trial.Steps = append(trial.Steps, grew(10000, 0, said(i)))
		}
		return trial
	}
	once := func(said int) func(int) int {
		return func(i int) int {
			if i == 0 {
				return said
			}
			return 0
		}
	}
	c := calibrated(t, backtest.FitOthers, talk("a", 5, once(1000)), talk("b", 8, once(200)), talk("c", 7, once(300)), talk("d", 4, once(9000)))
	got := row(t, c, backtest.All, backtest.All, "heuristic")
	if want := (backtest.SessionMeans{Sessions: 3, Mean: 5, Median: 3}); got.Each != want || got.Sessions != 4 || got.Requests != 24 {
		t.Errorf("%+v of %d sessions and %d requests, want %+v of 4 and 24", got.Each, got.Sessions, got.Requests, want)
	}
	must.Equal(t, len(c.Sessions), 4*len(tokens.Names()))
}

// TestCalibrateOutOfSample: what is scored has no part in what is fitted.
func TestCalibrateOutOfSample(t *testing.T) {
	trials := func(last int) []*backtest.GrowthTrial {
		var ts []*backtest.GrowthTrial
		for i := range 12 {
			trial := &backtest.GrowthTrial{File: fmt.Sprint(i), Tokenizer: "old", First: 10000}
			for k := range 9 {
				trial.Steps = append(trial.Steps, grew(11000+1000*k, 1000, 1000))
			}
			if i == 0 { // the last alone is scored, and grows by much more than is foretold
				trial.Steps = append(trial.Steps[:2], grew(12000+last, last, 0))
				trial.Steps[2].Amounts = tokens.Amounts{tokens.BashChars: 3000}
				trial.Steps[2].Version, trial.Steps[2].Clients = "2.1.60", "2.1.52-2.1.90"
			}
			ts = append(ts, trial)
		}
		return ts
	}
	for _, fit := range backtest.Fittings() {
		var foretold [2]float64
		for i, last := range []int{5000, 9000} {
			c := must.Get(backtest.Calibrate(trials(last), fit))(t)
			r := row(t, c, "2.1.52-2.1.90", backtest.All, tokens.NameUsage)
			if r.Requests != 1 {
				t.Fatalf("%s: %d requests scored", fit, r.Requests)
			}
			foretold[i] = float64(last) - r.Increment.P50
		}
		if math.Abs(foretold[0]-foretold[1]) > 0.01 {
			t.Errorf("%s: %v foretold where it grew by 5,000, %v where it grew by 9,000", fit, foretold[0], foretold[1])
		}
		if foretold[0] < 900 || foretold[0] > 1100 {
			t.Errorf("%s: %v foretold, want about 1,000", fit, foretold[0])
		}
	}
}

// TestCalibrateByProject: sessions of one project have no part in what the others of it are predicted by.
func TestCalibrateByProject(t *testing.T) {
	trials := func(project string, growth int) (ts []*backtest.GrowthTrial) {
		for i := range 3 {
			trial := &backtest.GrowthTrial{File: fmt.Sprint(project, i), Project: project, Tokenizer: "old", First: 10000}
			for k := range 40 {
				step := grew(10000+growth*(k+1), growth, 0)
				step.Amounts = tokens.Amounts{tokens.BashChars: 3000}
				trial.Steps = append(trial.Steps, step)
			}
			ts = append(ts, trial)
		}
		return ts
	}
	dense, light := trials("dense", 1500), trials("light", 600)
	for _, s := range calibrated(t, backtest.FitOthers, append(slices.Clone(dense), light...)...).Sessions {
		if s.Counter == tokens.NameUsage && (s.Free.Bias > 0) != strings.HasPrefix(s.File, "light") {
			t.Errorf("%s: bias %.1f %%, predicted by its own project", s.File, s.Free.Bias)
		}
	}
	for _, s := range calibrated(t, backtest.FitOthers, dense...).Sessions {
		if s.Counter == tokens.NameUsage && math.Abs(s.Free.Bias) > 3 {
			t.Errorf("%s: bias %.1f %%, not predicted by the other files of the one project", s.File, s.Free.Bias)
		}
	}
}

// TestCalibrateHalf: with half of a session to learn from the rest alone is scored.
func TestCalibrateHalf(t *testing.T) {
	must.Rows(t, `
1 | 0
2 | 1
3 | 1
4 | 2
9 | 4
`, func(steps, want int) {
		trial := &backtest.GrowthTrial{File: "a", Tokenizer: "old", First: 10000}
		for k := range steps {
			trial.Steps = append(trial.Steps, grew(11000+1000*k, 1000, 1000))
		}
		c, n := calibrated(t, backtest.FitFirstHalf, trial), 0
		if len(c.Rows) > 0 {
			n = c.Rows[0].Requests
		}
		must.Equal(t, n, want, steps)
	})
}

// TestTrial: what a trial holds of a session: what joined, less the results a microcompaction cleared.
// TestTrialUpdated: the total after a restart as another client version is not predicted, that after another restart is.
func TestTrialUpdated(t *testing.T) {
	line := func(kind, uuid, parent, version, rest string) string {
		return fmt.Sprintf(`{"type":%q,"uuid":%q,"parentUuid":%q,"sessionId":"s","version":%q,"timestamp":"2026-02-10T09:00:00.000Z",%s}`+"\n", kind, uuid, parent, version, rest)
	}
	prompt := `"message":{"role":"user","content":"Go on."}`
	answer := func(id string, input int) string {
		return fmt.Sprintf(`"message":{"id":%q,"role":"assistant","model":"claude-opus-4-6","content":[{"type":"text","text":"Done."}],"usage":{"input_tokens":%d,"output_tokens":5}}`, id, input)
	}
	for version, want := range map[string][]bool{"2.1.37": {false, false}, "2.1.38": {true, false}} {
		path := filepath.Join(t.TempDir(), "s.jsonl")
		text := line("user", "u1", "", "2.1.37", prompt) + line("assistant", "a1", "u1", "2.1.37", answer("m1", 20000)) +
			line("progress", "p1", "a1", version, `"data":{"type":"hook_progress","hookEvent":"SessionStart","hookName":"SessionStart:resume"}`) +
			line("user", "u2", "p1", version, prompt) + line("assistant", "a2", "u2", version, answer("m2", 30000)) +
			line("user", "u3", "a2", version, prompt) + line("assistant", "a3", "u3", version, answer("m3", 30020))
		must.Do(t, os.WriteFile(path, []byte(text), 0o600))
		f := must.Get(session.Load(path, session.LoadOptions{}))(t)
		rec := must.Get(replay.NewRecord(f.Main))(t)
		trial := must.Get(backtest.NewTrial(rec))(t)
		var got []bool
		for _, s := range trial.Steps {
			got = append(got, s.Anchor)
		}
		if len(f.Main.Restarts) != 1 || !slices.Equal(got, want) {
			t.Errorf("%s: %d restarts, anchors %v, want %v", version, len(f.Main.Restarts), got, want)
		}
		f.Close()
	}
}

func TestTrial(t *testing.T) {
	conv := load(t, shipped("microcompact.jsonl"))
	rec := must.Get(replay.NewRecord(conv))(t)
	trial := must.Get(backtest.NewTrial(rec))(t)
	if len(trial.Steps) != len(conv.Requests)-1 {
		t.Fatalf("%d steps of %d requests", len(trial.Steps), len(conv.Requests))
	}
	r := tokens.Documented("old")
	cleared := 0
	total := trial.First
	for i := range trial.Steps {
		s := &trial.Steps[i]
		total += s.Growth
		if total != s.Context {
			t.Fatalf("request %d: the growth adds up to %d, the context is %d", s.Request, total, s.Context)
		}
		said, measured := s.Counts[tokens.NameHeuristic], r.Tokens(&s.Amounts)
		if (said < -1000) != (s.Growth < -1000) || (measured < -1000) != (s.Growth < -1000) {
			t.Errorf("request %d: grew by %d, by the heuristic %.0f, by measure %.0f", s.Request, s.Growth, said, measured)
		}
		if s.Growth < -1000 {
			cleared++
		}
	}
	if cleared == 0 {
		t.Error("no microcompaction in the session")
	}
}
