// Package compare puts replays of the same sessions under several policies side
// by side: figures of one replay, their totals and spread over many, and which
// policy has the better of them where.
package compare

import (
	"encoding/json"
	"math"

	"github.com/ctxkit/ctxkit/replay"
)

// Better says which of two values of a figure is to be preferred.
type Better int8

// What is better.
const (
	Neither Better = iota
	Less
	More
)

// gather says how a figure of many sessions comes from those of each.
type gather uint8

const (
	sum gather = iota
	highest
	mean // weighted by requests
)

// Figure is a number that policies are compared by.
type Figure struct {
	Name   string // the name in JSON, in ctxkit.yaml and in columns
	Unit   string // "tokens", "USD"; "" for counts
	Better Better
	gather gather
	of     func(t *replay.Timeline) (float64, bool)
}

// Figures lists all figures, in the order they are printed in.
func Figures() []Figure {
	total := func(get func(t *replay.Totals) int) func(*replay.Timeline) (float64, bool) {
		return func(t *replay.Timeline) (float64, bool) { return float64(get(&t.Totals)), true }
	}
	regret := func(get func(t *replay.Timeline) int) func(*replay.Timeline) (float64, bool) {
		return func(t *replay.Timeline) (float64, bool) {
			if t.Regret == nil {
				return 0, false
			}
			return float64(get(t)), true
		}
	}
	return []Figure{
		{"requests", "", Neither, sum, total(func(t *replay.Totals) int { return t.Requests })},
		{"calls", "", Neither, sum, total(func(t *replay.Totals) int { return t.Calls })},
		{"raw_peak", "tokens", Neither, highest, total(func(t *replay.Totals) int { return t.RawPeak })},
		{"model_peak", "tokens", Less, highest, total(func(t *replay.Totals) int { return t.ModelPeak })},
		{"model_mean", "tokens", Less, mean, total(func(t *replay.Totals) int { return t.ModelMean })},
		{"payload_peak", "tokens", Less, highest, total(func(t *replay.Totals) int { return t.PayloadPeak })},
		{"payload_input", "tokens", Less, sum, total(func(t *replay.Totals) int { return t.Payload })},
		{"own_input", "tokens", Neither, sum, total(func(t *replay.Totals) int { return t.OwnInput })},
		{"tokens_saved", "tokens", More, sum, total(func(t *replay.Totals) int { return t.Saved })},
		{"output_tokens", "tokens", Neither, sum, total(func(t *replay.Totals) int { return t.Output })},
		{"cache_read", "tokens", Neither, sum, total(func(t *replay.Totals) int { return t.Cache.Read })},
		{"cache_write_5m", "tokens", Neither, sum, total(func(t *replay.Totals) int { return t.Cache.Write5m })},
		{"cache_write_1h", "tokens", Neither, sum, total(func(t *replay.Totals) int { return t.Cache.Write1h })},
		{"uncached", "tokens", Neither, sum, total(func(t *replay.Totals) int { return t.Cache.Uncached })},
		{"cost_usd", "USD", Less, sum, func(t *replay.Timeline) (float64, bool) {
			// What is known of a part only would look cheap; no request costs nothing.
			return t.Totals.CostUSD.Dollars, (t.Totals.CostUSD.Known || t.Totals.Calls == 0) && t.Totals.Unpriced == 0
		}},
		{"compactions", "", Less, sum, total(func(t *replay.Totals) int { return t.Compactions })},
		{"cleared_results", "", Neither, sum, total(func(t *replay.Totals) int { return t.Cleared })},
		{"cleared_tokens", "tokens", Neither, sum, total(func(t *replay.Totals) int { return t.ClearedTokens })},
		{"client_pre_tokens", "tokens", Neither, sum, detail("pre_tokens")},
		{"client_tokens_saved", "tokens", Neither, sum, detail("tokens_saved", "cleared_input_tokens")},
		{"events", "", Neither, sum, total(func(t *replay.Totals) int { return t.Events })},
		{"misses", "", Less, sum, regret(func(t *replay.Timeline) int { return len(t.Regret.Misses) })},
		{"refetch_tokens", "tokens", Less, sum, regret(func(t *replay.Timeline) int { return t.Regret.Tokens })},
		{"bound_misses", "", Neither, sum, regret(func(t *replay.Timeline) int { return t.Regret.BoundMisses })},
		{"bound_tokens", "tokens", Neither, sum, regret(func(t *replay.Timeline) int { return t.Regret.BoundTokens })},
		{"median_distance", "requests", Neither, mean, func(t *replay.Timeline) (float64, bool) {
			if t.Regret == nil || len(t.Regret.Misses) == 0 {
				return 0, false
			}
			return t.Regret.MedianDistance, true
		}},
		{"violations", "", Less, sum, total(func(t *replay.Totals) int { return t.Violations })},
	}
}

// Names lists the names of the figures.
func Names() []string {
	var names []string
	for _, f := range Figures() {
		names = append(names, f.Name)
	}
	return names
}

// detail sums what the client, or the server for it, would itself write of its
// events under any of the names: its own arithmetic, which decides in some
// policies whether anything is done, and need not be what was really saved.
func detail(names ...string) func(t *replay.Timeline) (float64, bool) {
	return func(t *replay.Timeline) (float64, bool) {
		n := 0
		for i := range t.Events {
			for _, name := range names {
				n += t.Events[i].Detail[name]
			}
		}
		return float64(n), true
	}
}

// Values are the figures of one replay, by index into Figures; NaN where a
// figure is not known.
type Values []float64

// Of reads the figures of a replay.
func Of(t *replay.Timeline) Values {
	figures := Figures()
	v := make(Values, len(figures))
	for i := range figures {
		x, known := figures[i].of(t)
		if !known {
			x = math.NaN()
		}
		v[i] = x
	}
	return v
}

// Known reports whether there is a value.
func Known(x float64) bool { return !math.IsNaN(x) }

// Map returns the values that are known, by name.
func (v Values) Map() map[string]float64 {
	m := map[string]float64{}
	for i, f := range Figures() {
		if Known(v[i]) {
			m[f.Name] = v[i]
		}
	}
	return m
}

// MarshalJSON implements json.Marshaler: the values of Map.
func (v Values) MarshalJSON() ([]byte, error) { return json.Marshal(v.Map()) }

// Get is the value of the figure of that name.
func (v Values) Get(name string) float64 {
	for i, f := range Figures() {
		if f.Name == name {
			return v[i]
		}
	}
	return math.NaN()
}
