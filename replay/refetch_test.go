package replay

import (
	"testing"

	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/replay/cache"
)

// TestRefetch: what is read again is billed as the cache's settings say.
func TestRefetch(t *testing.T) {
	for _, tt := range []struct {
		set  policy.Caching
		want cache.Split
	}{
		{policy.Caching{Breakpoints: policy.BreakpointsLastTwo, TTL: "5m"}, cache.Split{Read: 900, Write5m: 30}},
		{policy.Caching{Breakpoints: policy.BreakpointsLastTwo, TTL: "1h"}, cache.Split{Read: 900, Write1h: 30}},
		{policy.Caching{Breakpoints: policy.BreakpointsAutomatic, TTL: "auto"}, cache.Split{Read: 900, Write1h: 30}},
		{policy.Caching{Breakpoints: policy.BreakpointsNone, TTL: "1h"}, cache.Split{Uncached: 930}},
	} {
		if got := newCaching(tt.set, nil, true).refetch(900, 30); got != tt.want {
			t.Errorf("%+v: %+v, want %+v", tt.set, got, tt.want)
		}
	}
}
