package account

import (
	"maps"
	"slices"
	"time"

	"github.com/ctxkit/ctxkit/replay/cache"
	"github.com/ctxkit/ctxkit/replay/price"
)

// priceList is the models of a table that requests went to.
type priceList struct {
	table  *price.Table
	whatIf bool                    // another model answers than the recorded ones, whenever it was released
	models map[string]*price.Model // zero: not in the table
}

// newPriceList is a list of a table's models.
func newPriceList(table *price.Table, whatIf bool) *priceList {
	return &priceList{table: table, whatIf: whatIf, models: map[string]*price.Model{}}
}

// find looks a model up once, and gives it the prices of a day; zero: of today.
func (p *priceList) find(id string, day time.Time) *price.Model {
	m := p.models[id]
	if m == nil {
		row, _ := p.table.Find(id)
		m = &row
		p.models[id] = m
	}
	if !p.whatIf && m.Unreleased(day) {
		return &price.Model{}
	}
	return m.On(day)
}

// cost is the cost of a request of a day; not known where its model is not in the table.
func (p *priceList) cost(model string, day time.Time, in cache.Split, output int) price.USD {
	m := p.find(model, day)
	if m.ID == "" {
		return price.USD{}
	}
	return m.Cost(in, output)
}

// unpriced returns the models of requests without a known price, sorted.
func (p *priceList) unpriced() []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(p.models)), func(id string) bool { return p.models[id].ID != "" })
}
