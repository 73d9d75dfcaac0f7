package replay

import (
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/replay/tokens"
)

// CalibrateSchema names the form of Calibrated as JSON.
const CalibrateSchema = "ctxkit.calibrate/v1"

// Fitting is what the usage counter learns from before it is scored. The other
// counters learn nothing and are scored on the same requests.
type Fitting string

// The ways of fitting. None scores a request that was fitted on.
const (
	FitFirstHalf Fitting = "first-half" // the first half of a session's requests; the rest is scored
	FitOthers    Fitting = "others"     // the other inputs; every request is scored
	FitBoth      Fitting = "both"       // the other inputs and the first half; the rest is scored
)

// Fittings are all of them.
func Fittings() []Fitting { return []Fitting{FitFirstHalf, FitOthers, FitBoth} }

// Calibrated is how far token counters are from what the API reported.
type Calibrated struct {
	Schema   string              `json:"schema"`
	Fit      Fitting             `json:"fit"`
	Counters []string            `json:"counters"`
	Sessions []CalibratedSession `json:"sessions"`
	Rows     []CalibratedRow     `json:"rows"`
}

// CalibratedSession is the error of one counter over one session.
type CalibratedSession struct {
	Session  string `json:"session"`
	Agent    string `json:"agent"`
	File     string `json:"file"`
	Model    string `json:"model"`   // of the first request
	Version  string `json:"version"` // of the client then
	Counter  string `json:"counter"`
	Requests int    `json:"requests"` // scored
	Free     Error  `json:"free_running_total"`
}

// CalibratedRow is the error of one counter over the requests of one model and
// one band of client versions, or of all.
type CalibratedRow struct {
	Clients  string `json:"clients"` // a band of versions, or All
	Model    string `json:"model"`   // or All
	Counter  string `json:"counter"`
	Sessions int    `json:"sessions"`
	Requests int    `json:"requests"` // scored

	Increment Error        `json:"increment"`             // one step ahead: of what joined since the request before
	Next      Error        `json:"next_total"`            // one step ahead: of the total, given the one before
	Free      Error        `json:"free_running_total"`    // of the total, given the first and those after compactions
	Each      SessionMeans `json:"free_running_sessions"` // the same by session
}

// All stands for every model, or every client version.
const All = "all"

// Error is how far predictions are off. P50 and P90 are tokens of an increment
// and % of a total; MAPE and Bias are %, of the sum of all increments or of each
// total.
type Error struct {
	MAPE float64 `json:"mape"` // mean absolute error
	Bias float64 `json:"bias"` // mean error; over 0: too much was foretold
	P50  float64 `json:"p50"`  // of the absolute errors
	P90  float64 `json:"p90"`
}

// SessionMeans are over the sessions with at least 5 scored requests: in
// shorter ones there is nothing to run free over.
type SessionMeans struct {
	Sessions int     `json:"sessions"`
	Mean     float64 `json:"mean"`   // of the sessions' MAPE, %
	Median   float64 `json:"median"` // of the same
}

// bands are the client versions between which what is recorded changed
// (docs/internals/transcripts.md): each begins at its version.
var bands = []struct{ from, name string }{
	{"2.1.228", "2.1.228+"},      // thinking tokens
	{"2.1.91", "2.1.91-2.1.227"}, // attachments
	{"2.1.52", "2.1.52-2.1.90"},  // output tokens right again
	{"2.1.12", "2.1.12-2.1.51"},  // output tokens wrong
	{"", "to 2.1.11"},
}

func clientBand(version string) string {
	for _, b := range bands {
		if version != "" && session.CompareVersions(version, b.from) >= 0 {
			return b.name
		}
	}
	return bands[len(bands)-1].name
}

// Calibrate scores the counters on the trials. Totals are foretold from the
// first request of a session on, and anew from each that follows a recorded
// compaction.
func Calibrate(trials []*Trial, fit Fitting) (*Calibrated, error) {
	c := &Calibrated{Schema: CalibrateSchema, Fit: fit, Counters: tokens.Names(), Sessions: []CalibratedSession{}, Rows: []CalibratedRow{}}
	sum := scores{}
	rates, err := fitted(trials, fit)
	if err != nil {
		return nil, err
	}
	for i, t := range trials {
		from := 0
		if fit != FitOthers {
			from = t.half()
		}
		for _, counter := range tokens.Names() {
			one := &score{}
			foretell(t, from, counter, &rates[i], func(s *TrialStep, p prediction) {
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
	c.Rows = sum.rows()
	return c, nil
}

// half is the first step that is scored where the ones before are fitted on.
func (t *Trial) half() int { return (len(t.Steps) + 1) / 2 }

// prediction is what a counter foretold of one request, and what came.
type prediction struct {
	total, free, context float64 // given the total before; from the last anchor on; recorded
	growth               float64 // recorded
}

// foretell goes through a trial by one counter and tells of the requests from
// the step from on that can be foretold.
func foretell(t *Trial, from int, counter string, rates *tokens.Rates, tell func(*TrialStep, prediction)) {
	before, free := float64(t.First), float64(t.First)
	for i := range t.Steps {
		s := &t.Steps[i]
		context := float64(s.Context)
		if s.Anchor {
			before, free = context, context
			continue
		}
		joined := -float64(s.TakenOff)
		if counter == tokens.NameUsage {
			joined += rates.Tokens(&s.Amounts)
		} else {
			joined += s.Counts[counter]
		}
		free += joined
		if i >= from {
			tell(s, prediction{total: before + joined, free: free, context: context, growth: context - before})
		}
		before = context
	}
}

// folds is into how many parts the inputs are divided to be fitted on the
// others; where they are fewer, each is one.
const folds = 10

// fitted are the rates by which each trial is foretold.
func fitted(trials []*Trial, fit Fitting) ([]tokens.Rates, error) {
	rates := make([]tokens.Rates, len(trials))
	if fit == FitFirstHalf {
		for i, t := range trials {
			r, err := tokens.DefaultRates(t.Tokenizer)
			if err != nil {
				return nil, err
			}
			rates[i] = r
		}
	} else {
		byOthers(trials, rates)
	}
	if fit == FitOthers {
		return rates, nil
	}
	for i, t := range trials {
		rates[i] = tokens.Fit(&rates[i], tokens.OwnSpread(), t.samples(t.half()))
	}
	return rates, nil
}

// byOthers fits each trial's rates on those of other files with the same
// tokenizer, beginning with the documented ones.
func byOthers(trials []*Trial, rates []tokens.Rates) {
	file := map[string]int{}
	for _, t := range trials {
		if _, ok := file[t.File]; !ok {
			file[t.File] = len(file)
		}
	}
	parts := min(folds, len(file))
	for _, tokenizer := range []string{"old", "new"} {
		for part := range parts {
			var others []*Trial
			for _, t := range trials {
				if file[t.File]%parts != part {
					others = append(others, t)
				}
			}
			r := FitRates(others, tokenizer)
			for i, t := range trials {
				if t.Tokenizer == tokenizer && file[t.File]%parts == part {
					rates[i] = r
				}
			}
		}
	}
}

// FitRates fits common rates to the trials of a tokenizer, beginning with the
// documented ones.
func FitRates(trials []*Trial, tokenizer string) tokens.Rates {
	var samples []tokens.Sample
	for _, t := range trials {
		if t.Tokenizer == tokenizer {
			samples = append(samples, t.samples(len(t.Steps))...)
		}
	}
	prior := tokens.Documented(tokenizer)
	return tokens.FitAll(&prior, tokens.CommonSpread(), samples)
}

// samples are what the first steps teach.
func (t *Trial) samples(steps int) []tokens.Sample {
	var samples []tokens.Sample
	for i := range t.Steps[:steps] {
		if s := &t.Steps[i]; s.Learn {
			samples = append(samples, tokens.Sample{Amounts: s.Amounts, Growth: float64(s.Growth)})
		}
	}
	return samples
}
