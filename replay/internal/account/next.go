package account

import (
	"time"

	"github.com/ctxkit/ctxkit/policy/view"
	"github.com/ctxkit/ctxkit/replay/cache"
	"github.com/ctxkit/ctxkit/replay/price"
)

// NextCost is the input of a request and what it costs.
type NextCost struct {
	Input cache.Split `json:"input"`
	USD   price.USD   `json:"cost_usd,omitzero"`
}

// Clone is an account that goes on by itself.
func (a *Account) Clone() *Account {
	o := *a
	o.sim, o.auto, o.ladder = a.sim.Clone(), a.auto.Clone(), a.ladder.clone()
	return &o
}

// NoteNext passes on to the simulations what edits have changed of the last payload, before one of some tokens.
func (a *Account) NoteNext(v *view.View, payload int) {
	a.ended = true
	a.NoteChanges(v)
	if c, ok := v.FirstChange(); ok {
		a.auto.Limit(payload-v.PayloadFrom(c.Place), a.causeOf(v, c))
	}
}

// ForgetShared leaves nothing in the cache that other sessions share.
func (a *Account) ForgetShared() { a.warm = 0 }

// Next makes one more request after the last one, to a model.
func (a *Account) Next(v *view.View, model string, start time.Time, payload int) (NextCost, error) {
	if a.automatic() {
		a.auto.NewTurn(model, a.kind)
		split, _ := a.auto.Request(cache.UnmarkedRequest{Start: start, Model: model, Kind: a.kind, Tokens: payload, Floor: a.warm})
		return NextCost{split, a.prices.cost(model, time.Time{}, split, 0)}, nil
	}
	last, tail := lastMessage(v)
	split, _, err := a.sim.Request(cache.CachedRequest{
		Start: start, Model: model, Minimum: a.minimum(model), Tokens: payload,
		Breakpoints: a.breakpoints(firstPlace+v.Places()-1, payload, firstPlace+last, payload-tail),
	})
	return NextCost{split, a.prices.cost(model, time.Time{}, split, 0)}, err
}

// ReadCost is the cost of an input to a model that is read from the cache.
func (a *Account) ReadCost(model string, tokens int) price.USD {
	return a.prices.cost(model, time.Time{}, cache.Split{Read: tokens}, 0)
}
