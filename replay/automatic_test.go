package replay_test

import (
	"path/filepath"
	"testing"

	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/replay"
	"github.com/ctxkit/ctxkit/replay/cache"
	"github.com/ctxkit/ctxkit/replay/price"
)

// TestAutomaticCache: under a model whose provider caches by itself, a request reads whole blocks of what it has in
// common with the last one, no write is billed, the parts add up, and --cache means what it does elsewhere.
func TestAutomaticCache(t *testing.T) {
	kinds := must.Get(cache.DefaultKinds())(t)
	conv := load(t, filepath.Join(shipped, "big-2.1.139.jsonl")).Main
	rec := recordOf(t, conv)
	var policies []*policy.Policy
	for _, name := range []string{"recorded", "none", "opencode", "claude-code-2.1", "gemini-cli-0.22"} {
		policies = append(policies, named(t, name))
	}
	for _, model := range []string{"gpt-5.4", "gpt-5.6-sol", "deepseek-v4-flash"} {
		if n, _ := checkParts(t, conv, policies, model); n == 0 {
			t.Errorf("%s: no request has a cost", model)
		}
		kind := kinds.Find(price.Normalize(model))
		for _, pol := range policies {
			run := func(mode replay.CacheMode) *replay.Timeline {
				tl := must.Get(rec.Replay(pol, replay.Options{Cache: mode, Model: model}))(t)
				return tl
			}
			equal, own, none := run(replay.CacheEqual), run(replay.CacheOwn), run(replay.CacheNone)
			read, sent := 0, 0
			for i, r := range equal.Requests {
				in := r.Cache.Split
				if in.Write5m+in.Write1h != 0 || in.Read > r.Payload || in.Read%kind.Quantum != kind.Offset%kind.Quantum && in.Read > 0 {
					t.Fatalf("%s, %s: request %d of %d tokens: %+v", model, pol.Name, r.N, r.Payload, in)
				}
				must.Equal(t, in, own.Requests[i].Cache.Split, model, pol.Name, r.N)
				must.Equal(t, none.Requests[i].Cache.Read, 0, model, pol.Name, r.N)
				read, sent = read+in.Read, sent+r.Payload
			}
			if 4*read < 3*sent {
				t.Errorf("%s, %s: %d of %d tokens are read", model, pol.Name, read, sent)
			}
		}
	}
	tl := must.Get(rec.Replay(named(t, "none"), replay.Options{Model: "unheard-of-1"}))(t)
	if tl.Totals.CostUSD.Known {
		t.Error("a model that no table has costs something")
	}
}
