// Package compare puts replays of the same sessions under several policies side by side: figures of one replay, their
// totals and spread over many, and which policy has the best value where.
package compare

import (
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/replay"
	"github.com/ctxkit/ctxkit/replay/exact"
	"github.com/ctxkit/ctxkit/replay/price"
	"github.com/ctxkit/ctxkit/replay/regret"
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
	of     func(t *replay.Timeline) exact.Decimal
}

// Figures lists all figures, in the order they are printed in.
func Figures() []Figure {
	return []Figure{
		{"requests", "", Neither, sum, total("Requests")},
		{"calls", "", Neither, sum, total("Calls")},
		{"raw_peak", "tokens", Neither, highest, total("RawPeak")},
		{"model_peak", "tokens", Less, highest, total("ModelPeak")},
		{"model_mean", "tokens", Less, mean, total("ModelMean")},
		{"payload_peak", "tokens", Less, highest, total("PayloadPeak")},
		{"payload_mean", "tokens", Less, mean, total("PayloadMean")},
		{"payload_input", "tokens", Less, sum, total("Payload")},
		{"own_input", "tokens", Neither, sum, total("OwnInput")},
		{"tokens_saved", "tokens", More, sum, total("Saved")},
		{"output_tokens", "tokens", Neither, sum, total("Output")},
		{"cache_read", "tokens", Neither, sum, total("Cache", "Read")},
		{"cache_write_5m", "tokens", Neither, sum, total("Cache", "Write5m")},
		{"cache_write_1h", "tokens", Neither, sum, total("Cache", "Write1h")},
		{"uncached", "tokens", Neither, sum, total("Cache", "Uncached")},
		{"cost_usd", "USD", Less, sum, costUSD},
		{"cost_ideal", "USD", Neither, sum, part("Ideal")},
		{"cost_breaks", "USD", Neither, sum, part("Breaks")},
		{"cost_lifetime", "USD", Neither, sum, part("Lifetime")},
		{"cost_placement", "USD", Neither, sum, part("Placement")},
		{"cost_own_calls", "USD", Neither, sum, part("OwnCalls")},
		{"cost_output", "USD", Neither, sum, part("Output")},
		{"refused", "", Less, sum, total("Refused")},
		{"blocked", "", Less, sum, total("Blocked")},
		{"compactions", "", Less, sum, total("Compactions")},
		{"failed_compactions", "", Less, sum, total("Failed")},
		{"thrash", "", Less, sum, total("Thrash")},
		{"thrash_run", "", Less, highest, total("ThrashRun")},
		{"cleared_results", "", Neither, sum, total("Cleared")},
		{"cleared_tokens", "tokens", Neither, sum, total("ClearedTokens")},
		{"client_pre_tokens", "tokens", Neither, sum, clientPreTokens},
		{"client_tokens_saved", "tokens", Neither, sum, detail("tokens_saved", "cleared_input_tokens")},
		{"events", "", Neither, sum, total("Events")},
		{"misses", "", Less, sum, regretCount(func(r *regret.Regret) int { return len(r.Misses) })},
		{"misses_reread", "", Less, sum, regretCount(func(r *regret.Regret) int { return r.Count(regret.Reread) })},
		{"misses_edit", "", Less, sum, regretCount(func(r *regret.Regret) int { return r.Count(regret.Edited) })},
		{"misses_quote", "", Less, sum, regretCount(func(r *regret.Regret) int { return r.Count(regret.Quoted) })},
		{"removed_blocks", "", Neither, sum, regretCount(func(r *regret.Regret) int { return r.Removed })},
		{"refetch_tokens", "tokens", Less, sum, regretCount(func(r *regret.Regret) int { return r.Tokens })},
		{"refetch_usd", "USD", Less, sum, ofRegret(func(r *regret.Regret) exact.Decimal { return r.Cost().Decimal() })},
		{"median_distance", "requests", Neither, mean, medianDistance},
		{"violations", "", Less, sum, total("Violations")},
		{"preserved_thinking", "", Less, sum, total("Preserved")},
	}
}

// total is a number of the totals, by the names of its fields.
func total(fields ...string) func(*replay.Timeline) exact.Decimal {
	return func(t *replay.Timeline) exact.Decimal {
		v := reflect.ValueOf(&t.Totals).Elem()
		for _, name := range fields {
			v = v.FieldByName(name)
		}
		return exact.Whole(int(v.Int()))
	}
}

// Places is how many digits after the point every known value of the figure has.
func (f *Figure) Places() int {
	switch {
	case f.Unit == "USD":
		return price.USD{}.Decimal().Places
	case f.Name == "median_distance":
		return 1
	}
	return 0
}

// costUSD is not known where a request has no price: a part of the cost would look cheap. No request costs nothing.
func costUSD(t *replay.Timeline) exact.Decimal {
	if c := t.Totals.CostUSD; (c.Known || t.Totals.Calls == 0) && t.Totals.Unpriced == 0 {
		return price.USD{Nano: c.Nano, Known: true}.Decimal()
	}
	return exact.Decimal{}
}

// OfRegret reports whether a figure is known only where the regret is computed.
func OfRegret(figure string) bool {
	switch figure {
	case "misses", "misses_reread", "misses_edit", "misses_quote", "removed_blocks",
		"refetch_tokens", "refetch_usd", "median_distance":
		return true
	}
	return false
}

// OfMisses reports whether a figure counts content needed later, or is computed from it.
func OfMisses(figure string) bool {
	return OfRegret(figure) && figure != "removed_blocks"
}

// ofRegret is not known where the regret was not computed.
func ofRegret(get func(r *regret.Regret) exact.Decimal) func(*replay.Timeline) exact.Decimal {
	return func(t *replay.Timeline) exact.Decimal {
		if t.Regret == nil {
			return exact.Decimal{}
		}
		return get(t.Regret)
	}
}

func regretCount(get func(r *regret.Regret) int) func(*replay.Timeline) exact.Decimal {
	return ofRegret(func(r *regret.Regret) exact.Decimal { return exact.Whole(get(r)) })
}

func medianDistance(t *replay.Timeline) exact.Decimal {
	if t.Regret == nil || len(t.Regret.Misses) == 0 {
		return exact.Decimal{}
	}
	return exact.Of(int64(2*t.Regret.MedianDistance)*5, 1) // a multiple of a half
}

// Names lists the names of the figures.
func Names() []string {
	var names []string
	for _, f := range Figures() {
		names = append(names, f.Name)
	}
	return names
}

// place is the index of the figure with a name.
func place(name string) int { return places()[name] }

var places = sync.OnceValue(func() map[string]int {
	list := map[string]int{}
	for i, name := range Names() {
		list[name] = i
	}
	return list
})

// clientPreTokens is not known where a recorded compaction has no such figure.
func clientPreTokens(t *replay.Timeline) exact.Decimal {
	for _, e := range t.Events {
		if e.Kind == policy.KindSummarize && e.Recorded != nil && e.Recorded.PreTokens == 0 {
			return exact.Decimal{}
		}
	}
	return detail("pre_tokens")(t)
}

// detail sums the figures of any of the names that the client or the server would record in its events. They are its
// own arithmetic, by which some policies decide, and may differ from what was really saved.
func detail(names ...string) func(t *replay.Timeline) exact.Decimal {
	return func(t *replay.Timeline) exact.Decimal {
		n := 0
		for _, e := range t.Events {
			for _, name := range names {
				n += e.Detail[name]
			}
		}
		return exact.Whole(n)
	}
}

// Values are the figures of one replay, by index into Figures. All values of a figure have as many decimals: its N can
// be summed.
type Values []exact.Decimal

// Of reads the figures of a replay.
func Of(t *replay.Timeline) (v Values) {
	for _, f := range Figures() {
		v = append(v, f.of(t))
	}
	return v
}

// MarshalJSON writes the known values by name, sorted.
func (v Values) MarshalJSON() ([]byte, error) {
	names := Names()
	order := make([]int, 0, len(names))
	for i := range names {
		if v[i].Known {
			order = append(order, i)
		}
	}
	slices.SortFunc(order, func(a, b int) int { return strings.Compare(names[a], names[b]) })
	out := make([]byte, 0, 1<<10)
	for _, i := range order {
		out = append(out, ',', '"')
		out = append(append(append(out, names[i]...), '"', ':'), v[i].String()...)
	}
	if len(out) == 0 {
		return []byte("{}"), nil
	}
	out[0] = '{'
	return append(out, '}'), nil
}
