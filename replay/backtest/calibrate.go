package backtest

import (
	"slices"

	"github.com/ctxkit/ctxkit/replay/tokens"
)

// CalibrateSchema names the form of Calibrated as JSON.
const CalibrateSchema = "ctxkit.calibrate/v1"

// Fitting is what the usage counter learns from before it is scored. The other counters learn nothing and are scored
// on the same requests.
type Fitting string

// The fittings. None scores a request that was fitted on.
const (
	FitFirstHalf Fitting = "first-half" // the first half of a session's requests; the rest is scored
	FitOthers    Fitting = "others"     // inputs of other projects; every request is scored
	FitBoth      Fitting = "both"       // inputs of other projects and the first half; the rest is scored
)

// Fittings lists all fittings.
func Fittings() []Fitting { return []Fitting{FitFirstHalf, FitOthers, FitBoth} }

// Calibrated is the error of token counters against the usage that the API reported.
type Calibrated struct {
	Schema   string              `json:"schema"`
	Fit      Fitting             `json:"fit"`
	Counters []string            `json:"counters"`
	Sessions []CalibratedSession `json:"sessions"`
	Rows     []CalibratedRow     `json:"rows"`
}

// CalibratedSession is the error of one counter over one session.
type CalibratedSession struct {
	Session  string          `json:"session"`
	Agent    string          `json:"agent"`
	File     string          `json:"file"`
	Model    string          `json:"model"`   // of the first request
	Version  string          `json:"version"` // of the client then
	Counter  string          `json:"counter"`
	Requests int             `json:"requests"` // scored
	Free     PredictionError `json:"free_running_total"`
}

// CalibratedRow is the error of one counter over the requests of one model and one band of client versions, or of
// all.
type CalibratedRow struct {
	Clients  string `json:"clients"` // a band of versions, or All
	Model    string `json:"model"`   // or All
	Counter  string `json:"counter"`
	Sessions int    `json:"sessions"`
	Requests int    `json:"requests"` // scored

	Increment PredictionError `json:"increment"`             // of the tokens added since the request before
	Next      PredictionError `json:"next_total"`            // of the total, given the one before
	Free      PredictionError `json:"free_running_total"`    // of the total, given the first and those of anchors
	Each      SessionMeans    `json:"free_running_sessions"` // the same by session
}

// PredictionError is the error of predictions. P50 and P90 are tokens of an increment and % of a total; MAPE and Bias
// are %, of the sum of all increments or of each total.
type PredictionError struct {
	MAPE float64 `json:"mape"` // mean absolute error
	Bias float64 `json:"bias"` // mean error; over 0: the prediction is too high
	P50  float64 `json:"p50"`  // of the absolute errors
	P90  float64 `json:"p90"`
}

// SessionMeans are over the sessions with at least 5 scored requests: errors of shorter ones do not add up.
type SessionMeans struct {
	Sessions int     `json:"sessions"`
	Mean     float64 `json:"mean"`   // of the sessions' MAPE, %
	Median   float64 `json:"median"` // of the same
}

// Calibrate scores the counters on the trials. The prediction of totals starts at the first request of a session and
// again at each anchor: a request after a recorded compaction, or after a restart as another client version.
func Calibrate(trials []*GrowthTrial, fit Fitting) (*Calibrated, error) {
	c := &Calibrated{Schema: CalibrateSchema, Fit: fit, Counters: tokens.Names(), Sessions: []CalibratedSession{}}
	sum := scores{}
	rates, err := fitted(trials, fit)
	if err != nil {
		return nil, err
	}
	clients := []string{All}
	for i, t := range trials {
		clients = withBands(clients, t.bands, "")
		from := 0
		if fit != FitOthers {
			from = t.half()
		}
		for _, counter := range c.Counters {
			one := &score{}
			t.predict(from, counter, &rates[i], func(s *TrialStep, p prediction) {
				one.add(p, i)
				sum.add(counter, s, p, i)
			})
			if n := len(one.free); n > 0 {
				c.Sessions = append(c.Sessions, CalibratedSession{
					Session: t.Session, Agent: t.Agent, File: t.File, Model: t.Model, Version: t.Version,
					Counter: counter, Requests: n, Free: errorOf(one.free),
				})
			}
		}
	}
	c.Rows = sum.rows(clients)
	return c, nil
}

// half is the first step that is scored where the ones before are fitted on.
func (t *GrowthTrial) half() int { return (len(t.Steps) + 1) / 2 }

// prediction is what a counter predicts for one request, and what is recorded.
type prediction struct {
	total, free, context float64 // given the total before; from the last anchor on; recorded
	growth               float64 // recorded
}

// predict calls yield with the prediction of each predictable step, from the step `from` on.
func (t *GrowthTrial) predict(from int, counter string, rates *tokens.TokenRates, yield func(*TrialStep, prediction)) {
	before := float64(t.First)
	free := float64(t.First)
	for i := range t.Steps {
		s := &t.Steps[i]
		context := float64(s.Context)
		if s.Anchor {
			before = context
			free = context
			continue
		}
		joined := s.Counts[counter]
		if counter == tokens.NameUsage {
			joined = rates.Tokens(&s.Amounts)
		}
		joined -= float64(s.TakenOff)
		free += joined
		if i >= from {
			yield(s, prediction{total: before + joined, free: free, context: context, growth: context - before})
		}
		before = context
	}
}

// folds is the largest number of parts into which the inputs are divided; each is predicted by rates fitted on the
// other parts. A project is in one part: sessions of one project are alike. Where all belong to one project, a file is.
const folds = 10

// parts returns the part of each trial, and the number of parts.
func parts(trials []*GrowthTrial) (part []int, n int) {
	for _, key := range []func(*GrowthTrial) string{
		func(t *GrowthTrial) string { return t.Project },
		func(t *GrowthTrial) string { return t.File },
	} {
		seen := map[string]int{}
		part = part[:0]
		for _, t := range trials {
			k, ok := seen[key(t)]
			if !ok {
				k = len(seen)
				seen[key(t)] = k
			}
			part = append(part, k%folds)
		}
		if n = min(folds, len(seen)); n > 1 {
			break
		}
	}
	return part, n
}

// fitted returns the rates that predict each trial.
func fitted(trials []*GrowthTrial, fit Fitting) ([]tokens.TokenRates, error) {
	rates := make([]tokens.TokenRates, len(trials))
	if fit != FitFirstHalf {
		byOthers(trials, rates)
	}
	for i, t := range trials {
		if fit == FitFirstHalf {
			var err error
			if rates[i], err = tokens.DefaultRates(t.Tokenizer); err != nil {
				return nil, err
			}
		}
		if fit != FitOthers {
			rates[i] = tokens.Fit(&rates[i], tokens.OwnSpread(), t.samples(t.half()))
		}
	}
	return rates, nil
}

// byOthers sets each trial's rates to a fit on the other parts' trials with the same tokenizer, from the documented rates on.
func byOthers(trials []*GrowthTrial, rates []tokens.TokenRates) {
	of, n := parts(trials)
	for _, tokenizer := range tokens.Tokenizers() {
		for part := range n {
			var others []*GrowthTrial
			for i, t := range trials {
				if of[i] != part {
					others = append(others, t)
				}
			}
			r := FitRates(others, tokenizer)
			for i, t := range trials {
				if t.Tokenizer == tokenizer && of[i] == part {
					rates[i] = r
				}
			}
		}
	}
}

// FitRates fits common rates to the trials of a tokenizer, from the documented rates on. Whether a client sends reasoning
// back differs by session, and is no common rate: each session's own share of it is taken off first.
func FitRates(trials []*GrowthTrial, tokenizer string) tokens.TokenRates {
	var samples []tokens.Sample
	prior := tokens.Documented(tokenizer)
	for _, t := range trials {
		if t.Tokenizer != tokenizer {
			continue
		}
		own := t.samples(len(t.Steps))
		if slices.ContainsFunc(own, func(s tokens.Sample) bool { return s.Amounts[tokens.Reasoning] != 0 }) {
			sent := tokens.Fit(&prior, tokens.OwnSpread(), own)[tokens.Reasoning]
			for i := range own {
				own[i].Growth -= sent * own[i].Amounts[tokens.Reasoning]
				own[i].Amounts[tokens.Reasoning] = 0
			}
		}
		samples = append(samples, own...)
	}
	return tokens.FitAll(&prior, tokens.CommonSpread(), samples)
}

// samples returns the first steps from which the usage counter learns.
func (t *GrowthTrial) samples(steps int) []tokens.Sample {
	var samples []tokens.Sample
	for i := range t.Steps[:steps] {
		if s := &t.Steps[i]; s.Learn {
			samples = append(samples, tokens.Sample{Amounts: s.Amounts, Growth: float64(s.Growth)})
		}
	}
	return samples
}
