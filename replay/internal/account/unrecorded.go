package account

import (
	"github.com/ctxkit/ctxkit/policy/view"
	"github.com/ctxkit/ctxkit/replay/cache"
)

// askedAgain puts into the cache what a request that no line holds has written before a main request.
func (a *Account) askedAgain(f *RequestFacts, v *view.View, payload int) {
	t := &f.Tail
	if t.Asked == 0 || a.kindFor(a.answers(f.Response.Model)).Mode == cache.Auto {
		return
	}
	place, tokens := until(v, t.Asked, payload)
	if !a.last.estimated && t.Ended {
		tokens = a.last.tokens + a.last.output - t.Plain
	}
	if more := tokens - a.last.tokens; more > 0 && tokens >= a.minimum(a.model) {
		a.sim.Add(cache.Breakpoint{Position: firstPlace + place - 1, Tokens: tokens, TTL: a.ttl}, a.model, a.last.end)
		a.ladder.grow(a.model, more)
	}
}

// seed puts into the cache what the first request of a file that begins mid-conversation read, as recorded: the same
// share of the payload under every policy. What the requests before it wrote beyond that is not known.
func (a *Account) seed(f *RequestFacts, v *view.View, payload int) {
	n := 0
	if context := f.Earlier.Context(); context > 0 {
		n = int(int64(f.Earlier.CacheRead) * int64(payload) / int64(context))
	}
	if n <= 0 {
		return
	}
	a.ladder.seed(a.model, n, f.Now)
	if a.automatic() {
		a.auto.Seed(a.model, n+a.kind.Slack, f.Now)
		return
	}
	position := firstPlace + v.Places() - 1
	first := max(position-cache.LookBack+1, systemPlace) // it was read, wherever the client's breakpoints were
	for position > first && payload-v.PayloadFrom(position+1-firstPlace) > n {
		position--
	}
	a.sim.Seed(cache.Breakpoint{Position: position, Tokens: n, TTL: a.ttl}, a.model, f.Now)
}
