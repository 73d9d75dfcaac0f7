package account

import (
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/view"
	"github.com/ctxkit/ctxkit/replay/cache"
	"github.com/ctxkit/ctxkit/replay/price"
)

// marks is which breakpoints a release of the client sets.
func (a *Account) marks(version string) string {
	return a.settings.Caching.Marks(a.settings.Product, version)
}

// breakpoints are the marks of the policy's client in a request whose last block is at place last, with tokens up to
// there, and whose last message but one ends before place before, with tokensBefore up to there. before is 0 where
// there is no such message.
func (a *Account) breakpoints(last, tokens, before, tokensBefore int) (list []cache.Breakpoint) {
	mark := func(position, n int) {
		if k := len(list); n > 0 && (k == 0 || position > list[k-1].Position && n >= list[k-1].Tokens) && n <= tokens {
			list = append(list, cache.Breakpoint{Position: position, Tokens: n, TTL: a.ttl})
		}
	}
	if a.kind.Mode == "" || a.kind.Mode == cache.Off {
		return list
	}
	switch marks := a.marks(a.version); marks {
	case policy.BreakpointsAutomatic:
		mark(last, tokens)
	case policy.BreakpointsLastTwoIfAnthropic:
		if !price.Anthropic(a.model) {
			break
		}
		fallthrough
	case policy.BreakpointsLast, policy.BreakpointsLastTwo:
		mark(sharedPlace, a.head.Shared)
		mark(systemPlace, a.head.Own)
		if before > firstPlace && marks != policy.BreakpointsLast {
			mark(before-1, tokensBefore)
		}
		if last >= firstPlace {
			mark(last, tokens)
		}
	}
	return list
}

// lastMessage is the place at which the last message of a view begins, and its tokens in the payload. Adjacent messages of
// one role are one.
func lastMessage(v *view.View) (place, tokens int) {
	role := session.User
	any := false
	for id := range v.Backward {
		if r := v.Role(id); !any {
			role = r
			any = true
		} else if r != role {
			break
		}
		place, _ = v.Place(id)
		tokens += v.PayloadWeight(id)
	}
	return place, tokens
}

// covered is the end of the part of a request that its last breakpoint covers: a place of the view, and the tokens before it.
func covered(t *cache.Tail, v *view.View, payload int) (place, tokens int) {
	place, tokens = until(v, t.Behind, payload)
	return place, tokens - t.Plain
}

// until is the place in a view at which the messages from m on begin, and the tokens of a payload before them.
func until(v *view.View, m, payload int) (place, tokens int) {
	place = v.Places()
	tokens = payload
	for id := range v.Backward {
		if int(id) < m {
			break
		}
		place, _ = v.Place(id)
		tokens -= v.PayloadWeight(id)
	}
	return place, tokens
}
