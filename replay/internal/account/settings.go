package account

import (
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/replay/cache"
	"github.com/ctxkit/ctxkit/replay/price"
)

// AccountSettings are those of an account, and what is known of the conversation as a whole.
type AccountSettings struct {
	Caching  policy.Caching // how the client's requests use the cache
	Prices   *price.Table
	Model    string                             // that answers in place of the recorded ones; empty: those
	Kind     func(model string) cache.CacheKind // how a model is cached
	Product  string                             // that recorded the conversation
	MostHead int                                // no head or floor is larger, tokens; below 0: no limit
}

// CacheMode says whose prompt cache a replay simulates.
type CacheMode string

// The values of Options.Cache; "" is CacheOwn.
const (
	CacheEqual CacheMode = "equal" // the prompt cache of the recorded client and provider, for every policy
	CacheOwn   CacheMode = "own"   // the prompt cache of the policy's product
	CacheNone  CacheMode = "none"  // no prompt cache
)

// CachingIn is how a policy's requests use the cache in a mode.
func CachingIn(mode CacheMode, pol *policy.Policy) policy.Caching {
	switch mode {
	case CacheEqual:
		return policy.DefaultCaching() // Claude Code's, with the TTL that the recorded session shows
	case CacheNone:
		return policy.Caching{Breakpoints: policy.BreakpointsNone, TTL: "5m", Warm: "never"}
	}
	return pol.Cache
}
