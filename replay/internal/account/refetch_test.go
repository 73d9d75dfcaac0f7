package account

import (
	"testing"

	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/replay/cache"
)

// TestRefetch: what is read again is billed as the cache's settings say.
func TestRefetch(t *testing.T) {
	for _, tt := range []struct {
		set  policy.Caching
		mode cache.Mode
		want cache.Split
	}{
		{policy.Caching{Breakpoints: policy.BreakpointsLastTwo, TTL: "5m"}, cache.Breakpoints, cache.Split{Read: 900, Write5m: 30}},
		{policy.Caching{Breakpoints: policy.BreakpointsLastTwo, TTL: "1h"}, cache.Breakpoints, cache.Split{Read: 900, Write1h: 30}},
		{policy.Caching{Breakpoints: policy.BreakpointsAutomatic, TTL: "auto"}, cache.Breakpoints, cache.Split{Read: 900, Write1h: 30}},
		{policy.Caching{Breakpoints: policy.BreakpointsNone, TTL: "1h"}, cache.Breakpoints, cache.Split{Uncached: 930}},
		{policy.Caching{Breakpoints: policy.BreakpointsLastTwo, TTL: "1h"}, cache.Auto, cache.Split{Read: 900, Uncached: 30}},
		{policy.Caching{Breakpoints: policy.BreakpointsNone, TTL: "1h"}, cache.Auto, cache.Split{Uncached: 930}},
	} {
		a := New(AccountSettings{Caching: tt.set})
		if tt.set.TTL == "auto" {
			a.ttl = cache.Long // as the request before asked for
		}
		a.kinds["m"] = &cache.CacheKind{Mode: tt.mode}
		must.Equal(t, a.refetch("m", 900, 30), tt.want, tt.set)
	}
}
