package account

import (
	"testing"

	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/replay/cache"
)

// TestRefetch: what is read again is billed as the cache's settings say.
func TestRefetch(t *testing.T) {
	must.Rows(t, `
# set | mode | want
{"breakpoints": "last_two", "ttl": "5m"} | breakpoints | {"read": 900, "write_5m": 30}
{"breakpoints": "last_two", "ttl": "1h"} | breakpoints | {"read": 900, "write_1h": 30}
{"breakpoints": "automatic", "ttl": "auto"} | breakpoints | {"read": 900, "write_1h": 30}
{"breakpoints": "none", "ttl": "1h"} | breakpoints | {"uncached": 930}
{"breakpoints": "last_two", "ttl": "1h"} | automatic | {"read": 900, "uncached": 30}
{"breakpoints": "none", "ttl": "1h"} | automatic | {"uncached": 930}
`, func(set policy.Caching, mode cache.Mode, want cache.Split) {
		a := New(AccountSettings{Caching: set})
		if set.TTL == "auto" {
			a.ttl = cache.Long // as the request before asked for
		}
		a.kinds["m"] = &cache.CacheKind{Mode: mode}
		must.Equal(t, a.refetch("m", 900, 30), want, set)
	})
}
