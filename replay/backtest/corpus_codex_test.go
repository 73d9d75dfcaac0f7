package backtest_test

import (
	"os"
	"testing"

	"github.com/ctxkit/ctxkit/jsonl/must"
)

// TestCorpusCodexCache holds the simulated automatic cache of the recorded track against the recorded reads of Codex
// sessions. The simulation knows what the first request read, and what requests after a long pause did before.
func TestCorpusCodexCache(t *testing.T) {
	dir := os.Getenv("CTXKIT_CODEX")
	if dir == "" {
		t.Skip("CTXKIT_CODEX names no folder of real sessions")
	}
	files := must.Glob(t, 1, dir, "*.jsonl.gz")
	type score struct{ requests, near, same, input, read, simulated int }
	var all score
	models := map[string]*score{}
	for _, path := range files {
		conv := load(t, path)
		if len(conv.Requests) == 0 {
			continue
		}
		tl := recorded(t, conv)
		main := 0
		for _, r := range tl.Requests {
			if r.Kind != "main" {
				continue
			}
			msg := &conv.Messages[conv.Requests[r.N-1].Message]
			if r.Cache.Write5m+r.Cache.Write1h != 0 {
				t.Fatalf("%s: request %d writes", path, r.N)
			}
			if !msg.HasUsage {
				continue
			}
			main++
			m := models[r.Model]
			if m == nil {
				m = &score{}
				models[r.Model] = m
			}
			off := r.Cache.Read - msg.Usage.CacheRead
			for _, s := range []*score{m, &all} {
				s.requests++
				s.input += msg.Usage.Context()
				s.read += msg.Usage.CacheRead
				s.simulated += r.Cache.Read
				if 20*max(off, -off) <= msg.Usage.Context() {
					s.near++
				}
				if off == 0 {
					s.same++
				}
			}
		}
		if main > 0 && len(tl.Caches) == 0 {
			t.Errorf("%s: %s has no automatic cache", path, tl.Model)
		}
		if p := tl.Totals.CostParts; p == nil || p.Sum() != tl.Totals.CostUSD {
			t.Errorf("%s: the parts are %+v, all costs %s", path, p, tl.Totals.CostUSD)
		}
	}
	percent := func(n, of int) float64 { return 100 * float64(n) / float64(of) }
	for name, s := range models {
		t.Logf("%s: %d requests, within 5 %% of the input %.1f %%, equal %.1f %%; of the input %.1f %% read, %.1f %% simulated",
			name, s.requests, percent(s.near, s.requests), percent(s.same, s.requests), percent(s.read, s.input), percent(s.simulated, s.input))
	}
	t.Logf("all: %d requests, within 5 %% of the input %.1f %%, equal %.1f %%; of the input %.1f %% read, %.1f %% simulated",
		all.requests, percent(all.near, all.requests), percent(all.same, all.requests), percent(all.read, all.input), percent(all.simulated, all.input))
	if percent(all.near, all.requests) < 94 {
		t.Errorf("%.1f %% of the requests read within 5 %% of the input what is recorded", percent(all.near, all.requests))
	}
	if off := percent(all.simulated-all.read, all.read); max(off, -off) > 5 {
		t.Errorf("%.1f %% more is read than is recorded", off)
	}
}
