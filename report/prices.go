package report

import (
	"fmt"
	"io"
	"slices"

	"github.com/ctxkit/ctxkit/replay/price"
)

// PricesSchema is the version of the JSON form of prices.
const PricesSchema = "ctxkit.prices/v1"

// Prices prints a table of models and prices.
func Prices(w io.Writer, list *price.Table, opt Layout) error {
	t := newTable([]column{{Title: "model", Key: "model"}, {Title: "input", Key: "input"}, {Title: "write 5m", Key: "cache_write_5m"},
		{Title: "write 1h", Key: "cache_write_1h"}, {Title: "read", Key: "cache_read"}, {Title: "output", Key: "output"}, {Key: "above_prompt_tokens"},
		{Title: "window", Key: "context"}, {Key: "max_output"}, {Title: "caches", Key: "min_cacheable"}}, keys("tokenizer released retired"),
		[]column{{Title: "source", Key: "source"}, {Title: "remarks", Flex: true}}, keys("confidence note"))
	models := list.Sorted()
	var sources []string
	for i := range models {
		m := &models[i]
		source := slices.Index(sources, m.Source)
		if source < 0 {
			source = len(sources)
			sources = append(sources, m.Source)
		}
		add := func(name, remarks string, window, caches, source, above any, input, write5m, write1h, read, output float64) {
			t.add(none, pair{name, m.ID}, dollars(input), dollars(write5m), dollars(write1h), dollars(read), dollars(output), above, pair{window, m.Context},
				m.MaxOutput, pair{caches, m.MinCacheable}, m.Tokenizer, m.Released, m.Retired, pair{source, m.Source}, remarks, m.Confidence, m.Note)
		}
		add(m.ID, priceRemarks(m), countOrDash(m.Context), countOrDash(m.MinCacheable), number(fmt.Sprintf("[%d]", source+1)), nil,
			m.Input, m.CacheWrite5m, m.CacheWrite1h, m.CacheRead, m.Output)
		if t := m.Tier; t != nil {
			add("  over "+thousands(t.Above), "whole request", nil, nil, nil, t.Above, t.Input, t.CacheWrite5m, t.CacheWrite1h, t.CacheRead, t.Output)
		}
	}
	notes := []string{
		price.Unit + ", as of " + list.AsOf + ". caches: the shortest prefix that the prompt cache stores, in tokens.",
		"A model has the prices of the longest id that its name starts with, apart from a date or a version at its end.",
	}
	for i, s := range sources {
		notes = append(notes, fmt.Sprintf("[%d] %s", i+1, s))
	}
	json := object{{"schema", PricesSchema}, {"as_of", list.AsOf}, {"unit", price.Unit}, {"models", models}}
	return listing(t, json, notes...).print(w, opt)
}

// dollars is a price without rounding.
func dollars(x float64) number { return number(exact(x)) }

// priceRemarks describes a model beside its prices; its note is in JSON and CSV.
func priceRemarks(m *price.Model) string {
	return joined("; ", m.Confidence, before("released ", m.Released), either(m.Retired, "retired", ""))
}

func countOrDash(n int) number {
	return number(either(n == 0, "-", thousands(n)))
}
