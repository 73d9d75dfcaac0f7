package replay_test

import (
	"testing"

	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/replay"
	"github.com/ctxkit/ctxkit/replay/price"
)

// checkParts holds that the parts of each request's cost add up to what the plain simulation says, that breaks are a
// stage's, and that under one cache the main requests' output costs the same under every policy. A model replaces the
// recorded one.
func checkParts(t *testing.T, conv *session.Conversation, policies []*policy.Policy, model string) (n int, total replay.CostParts) {
	t.Helper()
	rec := recordOf(t, conv)
	for _, mode := range []replay.CacheMode{replay.CacheEqual, replay.CacheOwn, replay.CacheNone} {
		var output *price.USD
		for _, pol := range policies {
			tl := must.Get(rec.Replay(pol, replay.Options{Cache: mode, Model: model}))(t)
			var sum replay.CostParts
			for _, r := range tl.Requests {
				p := r.CostParts
				if p == nil {
					if r.CostUSD.Known {
						t.Fatalf("%s, %s, %s: request %d has a cost without parts", conv.Path, pol.Name, mode, r.N)
					}
					continue
				}
				n++
				switch {
				case p.Sum() != r.CostUSD:
					t.Fatalf("%s, %s, %s: the parts of request %d are %+v, it costs %d", conv.Path, pol.Name, mode, r.N, p, r.CostUSD.Nano)
				case p.Breaks.Nano != 0 && (len(p.ByStage) != 1 || p.ByStage[0].Stage == "" || p.ByStage[0].Breaks != p.Breaks):
					t.Fatalf("%s, %s, %s: request %d: breaks of no stage: %+v", conv.Path, pol.Name, mode, r.N, p)
				case min(p.Ideal.Nano, p.Breaks.Nano, p.Lifetime.Nano, p.OwnCalls.Nano, p.Output.Nano) < 0:
					t.Fatalf("%s, %s, %s: request %d: a part below zero: %+v", conv.Path, pol.Name, mode, r.N, p)
				case r.Kind == "main" && p.OwnCalls.Nano != 0, r.Kind != "main" && p.OwnCalls != r.CostUSD:
					t.Fatalf("%s, %s, %s: request %d, %s: own calls are %+v", conv.Path, pol.Name, mode, r.N, r.Kind, p)
				}
				sum.Add(p)
			}
			if all := tl.Totals.CostParts; all == nil && tl.Totals.CostUSD.Known || all != nil && (all.Sum() != tl.Totals.CostUSD || all.Sum() != sum.Sum()) {
				t.Errorf("%s, %s, %s: the parts of all are %+v, they cost %d", conv.Path, pol.Name, mode, all, tl.Totals.CostUSD.Nano)
			}
			if output == nil {
				output = &sum.Output
			}
			must.Equal(t, sum.Output, *output, conv.Path, pol.Name, mode)
			if len(pol.Stages) == 0 && sum.Breaks.Nano != 0 && (len(sum.ByStage) != 1 || sum.ByStage[0].Stage != "recorded") {
				t.Errorf("%s, %s, %s: breaks without a stage: %+v", conv.Path, pol.Name, mode, sum)
			}
			total.Add(&sum)
		}
	}
	return n, total
}

func TestCostParts(t *testing.T) {
	policies := presets(t)
	if !must.CI() {
		policies = policies[:5]
	}
	files := must.Glob(t, 1, shipped+"/*.jsonl")
	n, all := 0, replay.CostParts{}
	for _, file := range files {
		one, total := checkParts(t, load(t, file).Main, policies, "")
		n += one
		all.Add(&total)
	}
	t.Logf("%d requests: %+v", n, all)
}

func TestCorpusCostParts(t *testing.T) {
	for i, file := range corpusFiles(t) {
		if conv := load(t, file).Main; len(conv.Requests) > 0 {
			checkParts(t, conv, inTurn(t, i, 8), "")
		}
	}
}
