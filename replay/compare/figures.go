// Package compare puts replays of the same sessions under several policies side by side: figures of one replay, their
// totals and spread over many, and which policy has the best value where.
package compare

import (
	"encoding/json"
	"math"

	"github.com/ctxkit/ctxkit/replay"
)

// Better says which of two values of a figure is better.
type Better int8

// What is better.
const (
	Neither Better = iota
	Less
	More
)

// gather says how a figure of many sessions is computed from those of each.
type gather uint8

const (
	sum gather = iota
	highest
	mean // weighted by requests
)

// Figure is a number that policies are compared by.
type Figure struct {
	Name   string // in JSON, in ctxkit.yaml and in columns
	Unit   string // "tokens", "USD"; "" for counts
	Better Better
	gather gather
	of     func(t *replay.Timeline) float64 // NaN where it is not known
}

// Figures lists all figures, in the order they are printed in.
func Figures() []Figure {
	total := func(get func(t *replay.Totals) int) func(*replay.Timeline) float64 {
		return func(t *replay.Timeline) float64 { return float64(get(&t.Totals)) }
	}
	regret := func(get func(t *replay.Timeline) int) func(*replay.Timeline) float64 {
		return func(t *replay.Timeline) float64 {
			if t.Regret == nil {
				return math.NaN()
			}
			return float64(get(t))
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
		{"cost_usd", "USD", Less, sum, costUSD},
		{"refused", "", Less, sum, total(func(t *replay.Totals) int { return t.Refused })},
		{"blocked", "", Less, sum, total(func(t *replay.Totals) int { return t.Blocked })},
		{"compactions", "", Less, sum, total(func(t *replay.Totals) int { return t.Compactions })},
		{"failed_compactions", "", Less, sum, total(func(t *replay.Totals) int { return t.Failed })},
		{"thrash", "", Less, sum, total(func(t *replay.Totals) int { return t.Thrash })},
		{"thrash_run", "", Less, highest, total(func(t *replay.Totals) int { return t.ThrashRun })},
		{"cleared_results", "", Neither, sum, total(func(t *replay.Totals) int { return t.Cleared })},
		{"cleared_tokens", "tokens", Neither, sum, total(func(t *replay.Totals) int { return t.ClearedTokens })},
		{"client_pre_tokens", "tokens", Neither, sum, detail("pre_tokens")},
		{"client_tokens_saved", "tokens", Neither, sum, detail("tokens_saved", "cleared_input_tokens")},
		{"events", "", Neither, sum, total(func(t *replay.Totals) int { return t.Events })},
		{"misses", "", Less, sum, regret(func(t *replay.Timeline) int { return len(t.Regret.Misses) })},
		{"refetch_tokens", "tokens", Less, sum, regret(func(t *replay.Timeline) int { return t.Regret.Tokens })},
		{"bound_misses", "", Neither, sum, regret(func(t *replay.Timeline) int { return t.Regret.BoundMisses })},
		{"bound_tokens", "tokens", Neither, sum, regret(func(t *replay.Timeline) int { return t.Regret.BoundTokens })},
		{"median_distance", "requests", Neither, mean, medianDistance},
		{"violations", "", Less, sum, total(func(t *replay.Totals) int { return t.Violations })},
	}
}

// costUSD is not known where a request has no price: a part of the cost would look cheap. No request costs nothing.
func costUSD(t *replay.Timeline) float64 {
	if c := t.Totals.CostUSD; (c.Known || t.Totals.Calls == 0) && t.Totals.Unpriced == 0 {
		return c.Dollars
	}
	return math.NaN()
}

func medianDistance(t *replay.Timeline) float64 {
	if t.Regret == nil || len(t.Regret.Misses) == 0 {
		return math.NaN()
	}
	return t.Regret.MedianDistance
}

// Names lists the names of the figures.
func Names() []string {
	var names []string
	for _, f := range Figures() {
		names = append(names, f.Name)
	}
	return names
}

// detail sums the figures of any of the names that the client or the server would record in its events. They are its
// own arithmetic, by which some policies decide, and may differ from what was really saved.
func detail(names ...string) func(t *replay.Timeline) float64 {
	return func(t *replay.Timeline) (n float64) {
		for i := range t.Events {
			for _, name := range names {
				n += float64(t.Events[i].Detail[name])
			}
		}
		return n
	}
}

// Values are the figures of one replay, by index into Figures; NaN where a figure is not known.
type Values []float64

// Of reads the figures of a replay.
func Of(t *replay.Timeline) (v Values) {
	for _, f := range Figures() {
		v = append(v, f.of(t))
	}
	return v
}

// Known reports whether there is a value.
func Known(x float64) bool { return !math.IsNaN(x) }

// MarshalJSON writes the known values by name.
func (v Values) MarshalJSON() ([]byte, error) {
	m := map[string]float64{}
	for i, name := range Names() {
		if Known(v[i]) {
			m[name] = v[i]
		}
	}
	return json.Marshal(m)
}
