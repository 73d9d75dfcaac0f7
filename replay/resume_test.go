package replay_test

import (
	"testing"
	"time"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/preset"
	"github.com/ctxkit/ctxkit/policy/stage"
	"github.com/ctxkit/ctxkit/replay"
	"github.com/ctxkit/ctxkit/replay/cache"
	"github.com/ctxkit/ctxkit/replay/price"
)

// continued is what continuing a shipped session costs at a time, under the release that recorded it.
func continued(t *testing.T, file string, now time.Time) (*replay.Record, *replay.Continuation) {
	t.Helper()
	reg := must.Get(stage.Registry())(t)
	rec := recordOf(t, load(t, file).Main)
	pol := must.Get(preset.New(reg).LoadFor(rec.Conv.Product, preset.ClientOf(rec.Conv)))(t)
	c := must.Get(rec.Continue(pol, replay.Options{}, now))(t)
	return rec, c
}

// TestContinue: a warm cache costs no more than a cold one, every input is whole, and a compaction pays back at the
// request that is named, and not before.
func TestContinue(t *testing.T) {
	table := price.Default()
	compacted, paid := 0, 0
	for _, file := range shippedFiles(t) {
		rec, c := continued(t, file, time.Time{})
		if c == nil {
			if len(rec.Conv.Requests) > 0 {
				t.Errorf("%s: nothing to continue", file)
			}
			continue
		}
		m, _ := table.Find(c.Model)
		read := func(n int) int64 { return m.Cost(cache.Split{Read: n}, 0).Nano }
		for _, n := range []*replay.NextCost{&c.IfWarm, &c.IfCold} {
			if n.Input.Input() != c.Context || n.USD.Known != (m.ID != "") || n.USD.Nano != m.Cost(n.Input, 0).Nano {
				t.Errorf("%s: %+v of %d tokens", file, n, c.Context)
			}
		}
		if c.IfWarm.USD.Nano > c.IfCold.USD.Nano || c.IfWarm.Input.Read < c.IfCold.Input.Read {
			t.Errorf("%s: warm %+v, cold %+v", file, c.IfWarm, c.IfCold)
		}
		if c.Compact == nil {
			continue
		}
		compacted++
		for _, x := range []struct {
			by   *replay.CompactionCost
			next *replay.NextCost
		}{{&c.Compact.IfWarm, &c.IfWarm}, {&c.Compact.IfCold, &c.IfCold}} {
			if x.by.First.Input.Input() != c.Compact.Context || x.by.USD.Nano != x.by.Call.USD.Nano+x.by.First.USD.Nano || x.by.Call.USD.Nano <= 0 {
				t.Errorf("%s: %+v of %d tokens", file, x.by, c.Compact.Context)
			}
			less := func(n int) bool { // it has cost less, or as much, after n requests
				more := int64(n - 1)
				return x.by.USD.Nano+more*read(c.Compact.Context) <= x.next.USD.Nano+more*read(c.Context)
			}
			switch n := x.by.Pays; {
			case n == 0 && (less(1) || less(1_000_000)), n > 0 && !less(n), n > 1 && less(n-1):
				t.Errorf("%s: pays back after %d: %+v, %+v", file, n, x.by, x.next)
			case n > 0:
				paid++
			}
		}
	}
	if compacted < 10 || paid < 3 {
		t.Errorf("%d sessions compacted, %d pay back", compacted, paid)
	}
}

// TestContinueClock: the cache is warm up to the end of its lifetime, and not after it; and the context is that of the last
// request with its response.
func TestContinueClock(t *testing.T) {
	const file = shipped + "/big.jsonl"
	rec, c := continued(t, file, time.Time{})
	tl := must.Get(rec.Replay(&policy.Policy{Name: "recorded", Recorded: true, Window: policy.DefaultWindow(), Cache: policy.DefaultCaching()}, replay.Options{}))(t)
	last := tl.Requests[len(tl.Requests)-1]
	if more := c.Context - last.Payload; more <= 0 || more > 1000 {
		t.Errorf("%d tokens after a request of %d", c.Context, last.Payload)
	}
	must.Equal(t, c.IfWarm.Input.Read, last.Payload-last.Cache.Uncached, last.Payload)
	for after, want := range map[time.Duration]bool{0: true, 5 * time.Minute: true, 5*time.Minute + time.Nanosecond: false} {
		if _, c := continued(t, file, c.Last.Add(after)); c.Warm != want {
			t.Errorf("%v after the last response: warm is %v", after, c.Warm)
		}
	}
}

// TestContinueAutomatic: under a model whose provider caches by itself no write is billed, a warm cache has the last
// request, whole blocks of it, for as long as the provider keeps it, and a compaction leaves less to read.
func TestContinueAutomatic(t *testing.T) {
	const model = "gpt-5.4"
	kinds := must.Get(cache.DefaultKinds())(t)
	kind := kinds.Find(model)
	conv := load(t, shipped+"/big.jsonl").Main
	for i := range conv.Messages {
		if conv.Messages[i].Model != "" {
			conv.Messages[i].Model = model
		}
	}
	c := must.Get(recordOf(t, conv).Continue(named(t, "claude-code-2.1.19"), replay.Options{}, time.Time{}))(t)
	if c.Compact == nil || c.Model != model {
		t.Fatalf("%+v", c)
	}
	for _, in := range []cache.Split{c.IfWarm.Input, c.IfCold.Input, c.Compact.IfWarm.First.Input, c.Compact.IfCold.First.Input} {
		must.Equal(t, in.Write5m+in.Write1h, 0, in)
	}
	if warm := c.IfWarm.Input; warm.Input() != c.Context || warm.Uncached > 2000 {
		t.Errorf("warm: %+v of %d tokens", warm, c.Context)
	}
	if cold := c.IfCold.Input; cold.Read >= c.IfWarm.Input.Read/2 {
		t.Errorf("cold: %+v, warm %+v", cold, c.IfWarm.Input)
	}
	if got, want := c.Expires.Sub(c.Last), kind.Lifetime(); got != want {
		t.Errorf("expires after %v, want %v", got, want)
	}
	if first := c.Compact.IfWarm.First.Input; first.Input() != c.Compact.Context || first.Read >= c.Compact.Context {
		t.Errorf("after a compaction: %+v of %d tokens", first, c.Compact.Context)
	}
}

// TestContinueUnknown: where it is not known how long the provider keeps the cache, no end of it is named, it does not pass
// as warm, and cold is nothing read.
func TestContinueUnknown(t *testing.T) {
	for _, model := range []string{"kimi-k2.5", "deepseek-chat", "gemini-3-flash-preview"} {
		conv := load(t, shipped+"/big.jsonl").Main
		for i := range conv.Messages {
			if conv.Messages[i].Model != "" {
				conv.Messages[i].Model = model
			}
		}
		end := conv.Messages[conv.Requests[len(conv.Requests)-1].Message].End
		c := must.Get(recordOf(t, conv).Continue(nil, replay.Options{}, end.Add(time.Minute)))(t)
		if !c.Unknown || c.Warm || !c.Expires.IsZero() || c.IfCold.Input.Read != 0 || c.IfWarm.Input.Read == 0 {
			t.Errorf("%s: %+v", model, c)
		}
	}
}

// TestContinueMisfit: where a record's usage is less than its content, a compaction has no figures that the summary alone
// would not fit in.
func TestContinueMisfit(t *testing.T) {
	conv := load(t, shipped+"/big.jsonl").Main
	last := &conv.Messages[conv.Requests[len(conv.Requests)-1].Message]
	last.Usage = jsonl.Usage{Input: 10, Output: 1}
	c := must.Get(recordOf(t, conv).Continue(named(t, "claude-code-2.1.19"), replay.Options{}, time.Time{}))(t)
	if !c.Misfit || c.Compact != nil {
		t.Errorf("%+v, %+v", c, c.Compact)
	}
}
