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
	About  string // what it says
}

// Figures lists all figures, in the order they are printed in.
func Figures() []Figure {
	return []Figure{
		{"requests", "", Neither, sum, total("Requests"), "main requests"},
		{"calls", "", Neither, sum, total("Calls"), "main requests and the policy's summarization requests"},
		{"raw_peak", "tokens", Neither, highest, total("RawPeak"), "largest request of the raw history"},
		{"model_peak", "tokens", Less, highest, total("ModelPeak"), "largest model view"},
		{"model_mean", "tokens", Less, mean, total("ModelMean"), "mean model view"},
		{"payload_peak", "tokens", Less, highest, total("PayloadPeak"), "largest payload"},
		{"payload_mean", "tokens", Less, mean, total("PayloadMean"), "mean payload"},
		{"payload_input", "tokens", Less, sum, total("Payload"), "input tokens, the policy's summarization requests included"},
		{"own_input", "tokens", Neither, sum, total("OwnInput"), "of payload_input: the policy's summarization requests"},
		{"tokens_saved", "tokens", More, sum, total("Saved"), "raw history less the input of main requests"},
		{"output_tokens", "tokens", Neither, sum, total("Output"), "of all calls"},
		{"cache_read", "tokens", Neither, sum, total("Cache", "Read"), "read from the cache"},
		{"cache_write_5m", "tokens", Neither, sum, total("Cache", "Write5m"), "written into it for 5 minutes"},
		{"cache_write_1h", "tokens", Neither, sum, total("Cache", "Write1h"), "written into it for 1 hour"},
		{"uncached", "tokens", Neither, sum, total("Cache", "Uncached"), "neither read nor written"},
		{"cost_usd", "USD", Less, sum, costUSD, "of all calls; null: a model has no price"},
		{"cost_ideal", "USD", Neither, sum, part("Ideal"), "of cost_usd: input, where what was sent before is read from the cache"},
		{"cost_breaks", "USD", Neither, sum, part("Breaks"), "of cost_usd: what the policy's edits made the cache lose"},
		{"cost_lifetime", "USD", Neither, sum, part("Lifetime"), "of cost_usd: what had expired"},
		{"cost_placement", "USD", Neither, sum, part("Placement"), "of cost_usd: what no breakpoint or look-back covered, or was too short"},
		{"cost_own_calls", "USD", Neither, sum, part("OwnCalls"), "of cost_usd: the policy's summarization requests"},
		{"cost_output", "USD", Neither, sum, part("Output"), "of cost_usd: output of main requests"},
		{"refused", "", Less, sum, total("Refused"), "main requests that would have had no answer"},
		{"blocked", "", Less, sum, total("Blocked"), "of refused: those that the client would not have sent"},
		{"compactions", "", Less, sum, total("Compactions"), "compactions of the whole conversation"},
		{"failed_compactions", "", Less, sum, total("Failed"), "those that came to nothing, not in compactions"},
		{"thrash", "", Less, sum, total("Thrash"), "compactions that freed less than a tenth of what they read"},
		{"thrash_run", "", Less, highest, total("ThrashRun"), "the most of them in a row"},
		{"cleared_results", "", Neither, sum, total("Cleared"), "tool results that stay cleared"},
		{"cleared_tokens", "tokens", Neither, sum, total("ClearedTokens"), "removed by edits of single blocks"},
		{"client_pre_tokens", "tokens", Neither, sum, clientPreTokens, "before compactions, by the client's own count"},
		{"client_tokens_saved", "tokens", Neither, sum, detail("tokens_saved", "cleared_input_tokens"), "saved, by the client's own count"},
		{"events", "", Neither, sum, total("Events"), "events of the replay"},
		{"misses", "", Less, sum, regretCount(func(r *regret.Regret) int { return len(r.Misses) }), "blocks removed and needed later; this and all down to median_distance are null where the regret is left out"},
		{"misses_reread", "", Less, sum, regretCount(func(r *regret.Regret) int { return r.Count(regret.Reread) }), "needed later: read again"},
		{"misses_edit", "", Less, sum, regretCount(func(r *regret.Regret) int { return r.Count(regret.Edited) }), "needed later: edited"},
		{"misses_quote", "", Less, sum, regretCount(func(r *regret.Regret) int { return r.Count(regret.Quoted) }), "needed later: quoted"},
		{"removed_blocks", "", Neither, sum, regretCount(func(r *regret.Regret) int { return r.Removed }), "blocks removed"},
		{"refetch_tokens", "tokens", Less, sum, regretCount(func(r *regret.Regret) int { return r.Tokens }), "tokens of the content needed later"},
		{"refetch_usd", "USD", Less, sum, ofRegret(func(r *regret.Regret) exact.Decimal { return r.Cost().Decimal() }), "what fetching them again costs"},
		{"median_distance", "requests", Neither, mean, medianDistance, "median from removal to need; null without any"},
		{"violations", "", Less, sum, total("Violations"), "rules of the API that the policy violates"},
		{"preserved_thinking", "", Less, sum, total("Preserved"), "edits before thinking that the model preserves"},
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
	switch f.Unit {
	case "USD":
		return price.USD{}.Decimal().Places
	case "requests":
		return 1 // medians
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
	return !Figures()[place(figure)].of(&replay.Timeline{}).Known
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
