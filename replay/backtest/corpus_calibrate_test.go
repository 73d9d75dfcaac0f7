package backtest_test

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/replay"
	"github.com/ctxkit/ctxkit/replay/backtest"
	"github.com/ctxkit/ctxkit/replay/tokens"
	"github.com/ctxkit/ctxkit/report/golden"
)

// fittedOn is the date rates.json says: of the last change of the sessions or of the fit.
const fittedOn = "2026-11-28"

// everyFile matches all sessions of the corpus, those of subagents too.
var everyFile = []string{"*.jsonl", "*.jsonl.gz", "*.jsonl.zst", "*/*.jsonl", "*/*/subagents/*.jsonl"}

// corpusTrials are those of the sessions of a folder with enough usage to try counters on, recorded by Claude Code or by
// other agents. The folder is the value of a variable.
func corpusTrials(t *testing.T, variable string, others bool) []*backtest.GrowthTrial {
	dir := os.Getenv(variable)
	if dir == "" {
		t.Skip(variable + " names no folder of real sessions")
	}
	t.Setenv("CTXKIT_CORPUS", dir)
	var trials []*backtest.GrowthTrial
	encoders := &tokens.Encoders{Jobs: 2}
	files := everyFile
	if others {
		files = append([]string{"*/*.json.gz", "*/*.jsonl.gz"}, everyFile...)
	}
	for _, path := range corpusFiles(t, files...) {
		conv := load(t, path)
		if conv.Agent != "" && filepath.Base(filepath.Dir(path)) == "subagents" || (conv.Product != session.Product) != others {
			continue
		}
		rec := must.Get(replay.NewRecordWith(conv, replay.RecordOptions{Encoders: encoders}))(t)
		trial := must.Get(backtest.NewTrial(rec))(t)
		if len(trial.Steps) > 0 {
			trials = append(trials, trial)
		}
	}
	return trials
}

// TestCorpusCalibration: rates.json holds what real sessions give, and what is said of the counters' errors on them
// is so.
func TestCorpusCalibration(t *testing.T) {
	corpus, more := corpusTrials(t, "CTXKIT_CORPUS", false), corpusTrials(t, "CTXKIT_MORE", false)
	all := slices.Concat(corpus, more)
	t.Run("rates of Claude", func(t *testing.T) { checkRates(t, all, tokens.OldTokenizer, tokens.NewTokenizer) })
	t.Run("errors", func(t *testing.T) { checkErrors(t, all) })
	t.Run("each set", func(t *testing.T) { checkEachSet(t, corpus, more) })
	t.Run("scaled", func(t *testing.T) { checkScaled(t, corpus) })
}

// TestOtherCorpusCalibration is TestCorpusCalibration for the sessions of other agents.
func TestOtherCorpusCalibration(t *testing.T) {
	codex, others := corpusTrials(t, "CTXKIT_CODEX", true), corpusTrials(t, "CTXKIT_AGENTS", true)
	all := slices.Concat(codex, others)
	checkRates(t, all, tokens.OpenAITokenizer, tokens.GoogleTokenizer, tokens.OtherTokenizer)
	for name, set := range map[string]struct {
		trials   []*backtest.GrowthTrial
		sessions int                          // at least
		most     map[backtest.Fitting]float64 // means, %
	}{
		"codex":  {codex, 40, map[backtest.Fitting]float64{backtest.FitFirstHalf: 1, backtest.FitBoth: 1, backtest.FitOthers: 1.2}},
		"others": {others, 35, map[backtest.Fitting]float64{backtest.FitFirstHalf: 1.7, backtest.FitBoth: 1.7, backtest.FitOthers: 3.5}},
	} {
		for fit, most := range set.most {
			c := must.Get(backtest.Calibrate(all, fit))(t)
			by := map[string][]float64{}
			for _, s := range c.Sessions {
				if s.Counter == tokens.NameUsage && s.Requests >= 5 && slices.ContainsFunc(set.trials, func(t *backtest.GrowthTrial) bool { return t.File == s.File }) {
					by[s.Model] = append(by[s.Model], s.Free.MAPE)
					by[backtest.All] = append(by[backtest.All], s.Free.MAPE)
				}
			}
			for model, errs := range by {
				slices.Sort(errs)
				sum := 0.0
				for _, e := range errs {
					sum += e
				}
				t.Logf("%s, %s, %s: %d sessions: mean %.2f median %.2f", name, fit, model, len(errs), sum/float64(len(errs)), errs[len(errs)/2])
				if model == backtest.All && (len(errs) < set.sessions || sum/float64(len(errs)) > most) {
					t.Errorf("%s, %s: free-running error %.2f %% over %d sessions, want %.1f at most", name, fit, sum/float64(len(errs)), len(errs), most)
				}
			}
		}
	}
}

// fittedRates is the form of rates.json: rates by tokenizer and measure, with their source.
type fittedRates struct {
	Models   map[string]string             `json:"models"`
	Sources  map[string]string             `json:"sources"`
	Sessions map[string]int                `json:"sessions"`
	Date     string                        `json:"date"`
	Rates    map[string]map[string]float64 `json:"rates"`
}

// checkRates holds the rates of tokenizers against those that the trials give.
func checkRates(t *testing.T, trials []*backtest.GrowthTrial, tokenizers ...string) {
	path := filepath.Join("..", "tokens", "rates.json")
	doc := must.Get(os.ReadFile(path))(t)
	var f fittedRates
	must.Do(t, json.Unmarshal(doc, &f))
	for _, tokenizer := range tokenizers {
		sessions := 0
		for _, trial := range trials {
			if trial.Tokenizer == tokenizer {
				sessions++
			}
		}
		if f.Sessions[tokenizer] != sessions && !golden.Update() {
			t.Errorf("%s: rates.json says %d sessions, here are %d", tokenizer, f.Sessions[tokenizer], sessions)
		}
		f.Sessions[tokenizer], f.Date = sessions, fittedOn
		f.Rates[tokenizer] = map[string]float64{}
		for m, v := range backtest.FitRates(trials, tokenizer) {
			f.Rates[tokenizer][tokens.Measure(m).String()] = math.Round(v*1e4) / 1e4
		}
		got := must.Get(tokens.DefaultRates(tokenizer))(t)
		for m, v := range got {
			name := tokens.Measure(m).String()
			if want := f.Rates[tokenizer][name]; math.Abs(v-want) > 0.002+0.01*math.Abs(want) && !golden.Update() {
				t.Errorf("%s, %s: rates.json has %v, the sessions give %v: rewrite it with -update", tokenizer, name, v, want)
			}
		}
	}
	if golden.Update() {
		doc := must.Get(json.MarshalIndent(f, "", " "))(t)
		must.Do(t, os.WriteFile(path, append(doc, '\n'), 0o644))
	}
}

// checkErrors holds the counters' errors out of sample. No session's own rates have a part in what it is fitted to
// begin with: the common ones are those of the other sessions.
func checkErrors(t *testing.T, trials []*backtest.GrowthTrial) {
	for _, fit := range []backtest.Fitting{backtest.FitOthers, backtest.FitBoth} {
		c := must.Get(backtest.Calibrate(trials, fit))(t)
		byBand := map[string]map[string]backtest.CalibratedRow{}
		for _, r := range c.Rows {
			if r.Model != backtest.All {
				continue
			}
			t.Logf("%-8s %-14s %-11s %2d sessions %5d requests: increment %.1f %% %+.1f %%, p50 %.0f p90 %.0f; next %.2f %%; free %.2f %% %+.2f %% p90 %.1f; %d sessions: mean %.2f median %.2f",
				fit, r.Clients, r.Counter, r.Sessions, r.Requests, r.Increment.MAPE, r.Increment.Bias, r.Increment.P50, r.Increment.P90,
				r.Next.MAPE, r.Free.MAPE, r.Free.Bias, r.Free.P90, r.Each.Sessions, r.Each.Mean, r.Each.Median)
			if byBand[r.Clients] == nil {
				byBand[r.Clients] = map[string]backtest.CalibratedRow{}
			}
			byBand[r.Clients][r.Counter] = r
		}
		all := byBand[backtest.All][tokens.NameUsage].Each
		if all.Sessions < 150 || all.Mean > 2.6 || all.Median > 2 {
			t.Errorf("%s: free-running error %.2f %% mean and %.2f %% median over %d sessions, want 2.6 and 2 at most", fit, all.Mean, all.Median, all.Sessions)
		}
		for clients, rows := range byBand {
			usage := rows[tokens.NameUsage]
			for counter, r := range rows {
				if counter != tokens.NameUsage && (usage.Increment.P50 >= r.Increment.P50 || usage.Increment.P90 >= r.Increment.P90 || usage.Increment.MAPE >= r.Increment.MAPE) {
					t.Errorf("%s, clients %s: increments %+v by usage, %+v by %s", fit, clients, usage.Increment, r.Increment, counter)
				}
			}
		}
	}
}

// checkEachSet holds the bars of both sets: the common rates of a session are those of other projects, of both sets,
// and then its own first half.
func checkEachSet(t *testing.T, corpus, more []*backtest.GrowthTrial) {
	c := must.Get(backtest.Calibrate(slices.Concat(corpus, more), backtest.FitBoth))(t)
	for name, set := range map[string][]*backtest.GrowthTrial{"corpus": corpus, "wider": more} {
		files := map[string]bool{}
		for _, trial := range set {
			files[trial.File] = true
		}
		var errs []float64
		sum := 0.0
		for _, s := range c.Sessions {
			if s.Counter == tokens.NameUsage && s.Requests >= 5 && files[s.File] {
				errs = append(errs, s.Free.MAPE)
				sum += s.Free.MAPE
			}
		}
		slices.Sort(errs)
		mean, median := sum/float64(len(errs)), errs[len(errs)/2]
		t.Logf("%s: %d sessions: mean %.2f median %.2f", name, len(errs), mean, median)
		if mean > 1.7 || median > 1.1 {
			t.Errorf("%s: free-running error %.2f %% mean and %.2f %% median, want 1.7 and 1.1 at most", name, mean, median)
		}
	}
}

// checkScaled holds that the usage counter is better than the others, too, where these are given the one factor that
// fits the first half of the session best.
func checkScaled(t *testing.T, trials []*backtest.GrowthTrial) {
	c := must.Get(backtest.Calibrate(scaled(trials), backtest.FitBoth))(t)
	var usage backtest.CalibratedRow
	for _, r := range c.Rows {
		if r.Clients != backtest.All {
			continue
		}
		t.Logf("%-11s increment p50 %.0f p90 %.0f; %d sessions: mean %.2f median %.2f", r.Counter, r.Increment.P50, r.Increment.P90, r.Each.Sessions, r.Each.Mean, r.Each.Median)
		if r.Counter == tokens.NameUsage {
			usage = r
		} else if r.Each.Mean < 1.5*usage.Each.Mean || r.Increment.P50 < 1.5*usage.Increment.P50 || r.Increment.P90 < 1.5*usage.Increment.P90 {
			t.Errorf("%s times a factor is within half of the usage counter", r.Counter)
		}
	}
}

// scaled are the trials with the counts of counters that fit nothing times what makes them add up to the growth over
// the first half of the steps.
func scaled(trials []*backtest.GrowthTrial) []*backtest.GrowthTrial {
	out := make([]*backtest.GrowthTrial, len(trials))
	for i, trial := range trials {
		half := (len(trial.Steps) + 1) / 2
		grown, counted := 0.0, map[string]float64{}
		for _, s := range trial.Steps[:half] {
			if s.Learn {
				grown += float64(s.Growth)
				for name, n := range s.Counts {
					counted[name] += n
				}
			}
		}
		with := *trial
		with.Steps = slices.Clone(trial.Steps)
		for k := range with.Steps {
			counts := map[string]float64{}
			for name, n := range with.Steps[k].Counts {
				if counts[name] = n; counted[name] > 0 {
					counts[name] = n * grown / counted[name]
				}
			}
			with.Steps[k].Counts = counts
		}
		out[i] = &with
	}
	return out
}
