// Package account simulates the prompt cache for the requests of a replay and prices them. It is given each request with
// the facts of its record (RequestFacts) and the view that is sent, whose places and edits say which part of it is as
// the request before sent it, and answers how its input is billed and what it costs, in parts. It changes no view, and
// knows neither the engine nor the recorded session.
package account

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/view"
	"github.com/ctxkit/ctxkit/replay/cache"
	"github.com/ctxkit/ctxkit/replay/price"
)

// The places before the messages: one for tools and the part of the system prompt that all sessions share, one for
// the rest of it.
const (
	sharedPlace = iota
	systemPlace
	firstPlace // of the messages
)

// Account simulates the prompt cache for a replay, and what its requests cost.
type Account struct {
	settings AccountSettings
	prices   *priceList
	ttl      cache.TTL
	kinds    map[string]*cache.CacheKind // by model of a request
	sim      cache.Sim                   // of models whose clients mark what is cached
	auto     cache.Automatic             // of models whose providers cache by themselves
	ladder   ladder                      // what a request would read, cause by cause
	model    string                      // of the last request
	kind     *cache.CacheKind            // of that model
	version  string                      // of the client that made the last request
	head     cache.Head                  // of the last request
	restart  bool                        // the client was started again since
	warm     int                         // tokens that other sessions keep in the cache
	last     lastMain
	ended    bool            // what comes belongs to today, and not to the recorded session
	marked   int             // last marked place of a main request
	changes  [firstPlace]int // how often what stands at the places before the messages has changed
}

// lastMain is the last main request.
type lastMain struct {
	tokens    int // of its payload
	output    int
	estimated bool // output is
	end       time.Time
}

// New makes the account of a replay, before its first request.
func New(s AccountSettings) *Account {
	a := &Account{settings: s, prices: newPriceList(s.Prices, s.Model != ""), kinds: map[string]*cache.CacheKind{}}
	if s.Caching.TTL == "1h" {
		a.ttl = cache.Long
	}
	return a
}

// kindFor looks the kind of a model's cache up once. Where the policy has no cache, no provider has one.
func (a *Account) kindFor(model string) *cache.CacheKind {
	k := a.kinds[model]
	if k == nil {
		kind := a.settings.Kind(model)
		if a.settings.Caching.Breakpoints == policy.BreakpointsNone {
			kind = cache.CacheKind{Mode: cache.Breakpoints}
		}
		k = &kind
		a.kinds[model] = k
	}
	return k
}

// answers is the model that answers in place of a recorded one.
func (a *Account) answers(recorded string) string { return cmp.Or(a.settings.Model, recorded) }

// automatic reports whether the provider of the last request's model caches by itself.
func (a *Account) automatic() bool { return a.kind.Mode == cache.Auto }

// lifetime is how long the content of the last request stays cached.
func (a *Account) lifetime() time.Duration { return a.lifetimeOf(a.kind) }

// lifetimeOf is the TTL of what a kind of cache holds.
func (a *Account) lifetimeOf(kind *cache.CacheKind) time.Duration {
	if kind.Mode == cache.Auto {
		return kind.Lifetime()
	}
	return a.ttl.Duration()
}

// Lifetime is how long what the last request left is cached, and whether that is known.
func (a *Account) Lifetime() (life time.Duration, known bool) {
	return a.lifetime(), !a.automatic() || a.kind.TTLSeconds != 0
}

// LifetimeFor is Lifetime for a request to a model; ok is false where that reads nothing.
func (a *Account) LifetimeFor(model string) (life time.Duration, ok bool) {
	kind := a.kindFor(model)
	return a.lifetimeOf(kind), a.caches(kind) && model == a.model
}

// caches reports whether anything is known to be cached.
func (a *Account) caches(kind *cache.CacheKind) bool {
	return a.settings.Caching.Breakpoints != policy.BreakpointsNone && (kind.Mode == cache.Auto || kind.Mode == cache.Breakpoints)
}

// split is an input of which some tokens are read, and all others written where writes are billed.
func (a *Account) split(kind *cache.CacheKind, read, others int) cache.Split {
	switch {
	case kind.Mode == cache.Auto:
		return cache.Split{Read: read, Uncached: others}
	case a.ttl == cache.Long:
		return cache.Split{Read: read, Write1h: others}
	}
	return cache.Split{Read: read, Write5m: others}
}

// defaultMinimum is the shortest prefix that is cached where the model is not in the table, tokens: the most common
// figure of the documentation.
const defaultMinimum = 1024

// minimum is the shortest prefix that is cached of a model's requests, tokens.
func (a *Account) minimum(model string) int {
	return cmp.Or(a.prices.find(model, time.Time{}).MinCacheable, defaultMinimum)
}

// Rates are the prices of a token that is read, written, sent uncached and answered. A model without a price has those
// that are usual, in multiples of its input.
func (a *Account) Rates(model string) (read, write, input, output float64) {
	rates := a.prices.find(a.answers(model), time.Time{}).Rates
	if rates == (price.Rates{}) {
		rates = price.Rates{Input: 100, CacheWrite5m: 125, CacheWrite1h: 200, CacheRead: 10, Output: 500}
	}
	input = float64(rates.Input)
	output = float64(rates.Output)
	switch kind := a.kindFor(model); {
	case !a.caches(kind):
		return input, input, input, output
	case kind.Mode == cache.Auto:
		return float64(rates.CacheRead), input, input, output
	case a.ttl == cache.Long:
		return float64(rates.CacheRead), float64(rates.CacheWrite1h), input, output
	}
	return float64(rates.CacheRead), float64(rates.CacheWrite5m), input, output
}

// Refetch is the cost of one more request like a main one, which reads its payload from the cache and writes some tokens
// more to it, for as long as the cache's settings say. Without a cache all of it is uncached.
func (a *Account) Refetch(row *Request, tokens int) price.USD {
	return a.prices.cost(row.Model, row.Time, a.refetch(a.answers(row.Model), row.Payload, tokens), 0)
}

// refetch is the input of that request.
func (a *Account) refetch(model string, payload, tokens int) cache.Split {
	kind := a.kindFor(model)
	if !a.caches(kind) {
		return cache.Split{Uncached: payload + tokens}
	}
	return a.split(kind, payload, tokens)
}

// Unpriced returns the models of requests without a known price, sorted.
func (a *Account) Unpriced() []string { return a.prices.unpriced() }

// UncutReads lists the models of requests whose provider caches, and whose cached input costs as much as any other, sorted.
func (a *Account) UncutReads() []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(a.kinds)), func(model string) bool {
		m := a.prices.models[model]
		return m == nil || m.Input == 0 || m.CacheRead < m.Input || a.kinds[model].Mode == "" || a.kinds[model].Mode == cache.Off
	})
}

// ModelCache is how a provider caches a model.
type ModelCache struct {
	Model string `json:"model"`
	cache.CacheKind
}

// Automatic lists the models of requests whose provider caches without being asked, sorted.
func (a *Account) Automatic() (list []ModelCache) {
	for _, model := range slices.Sorted(maps.Keys(a.kinds)) {
		if k := a.kinds[model]; k.Mode == cache.Auto {
			list = append(list, ModelCache{model, *k})
		}
	}
	return list
}

// Unknown lists the models of requests of which it is not known how they are cached, sorted.
func (a *Account) Unknown() []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(a.kinds)), func(model string) bool { return a.kinds[model].Mode != "" })
}

// Shown lists the models of requests of which the recorded session alone shows that they are cached, or that they are not,
// sorted.
func (a *Account) Shown() (cached, uncached []string) {
	for _, model := range slices.Sorted(maps.Keys(a.kinds)) {
		switch k := a.kinds[model]; {
		case k.Confidence != cache.Recorded:
		case k.Mode == cache.Off:
			uncached = append(uncached, model)
		default:
			cached = append(cached, model)
		}
	}
	return cached, uncached
}

// NoteChanges passes on to the simulation what edits have changed of the last payload.
func (a *Account) NoteChanges(v *view.View) {
	if c, ok := v.FirstChange(); ok {
		a.sim.Change(firstPlace+c.Place, a.causeOf(v, c))
	}
}

// causeOf is the cause that a change of the payload is.
func (a *Account) causeOf(v *view.View, c view.SentChange) cache.Cause {
	edits := v.Edits()
	switch stage := edits[c.Edit].Stage; {
	case stage == policy.StageServer:
		return cache.Cause{Kind: cache.Thinking}
	case edits[c.Edit].Kind != policy.KindSummarize:
		return cache.Cause{Kind: cache.Edited, Stage: stage, Message: c.Item.Name(v.Conversation())}
	}
	return cache.Cause{Kind: cache.Compacted}
}
