package replay_test

import (
	"testing"

	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/replay"
	"github.com/ctxkit/ctxkit/replay/bill"
)

// checkBridge holds that the steps from the recorded bill lead to the simulated record and to the replay's cost, to the
// last digit.
func checkBridge(t *testing.T, file *session.File, policies []*policy.Policy, options []replay.Options) (n int) {
	t.Helper()
	conv := file.Main
	rec := recordOf(t, conv)
	rec.Session = bill.OfSession(conv, file.Sidechains, nil)
	for _, pol := range policies {
		for _, opt := range options {
			tl := must.Get(rec.Replay(pol, opt))(t)
			b := must.Get(rec.Bridge(tl, pol, opt))(t)
			var models int64
			for _, m := range b.Recorded.Models {
				models += m.CostUSD.Nano
			}
			at, order := b.Recorded.CostUSD.Nano, replay.Steps()
			simulated := int64(-1)
			for len(order) > 0 {
				for i := range b.Steps {
					if b.Steps[i].Step == order[0] {
						at += b.Steps[i].USD.Nano
						n++
					}
				}
				if order[0] == replay.StepClient && at != b.Own.Nano {
					t.Errorf("%s, %s, %+v: the steps lead to %d, the record costs %d under its own models", conv.Path, pol.Name, opt, at, b.Own.Nano)
				}
				if order[0] == replay.StepModel {
					simulated = at
				}
				order = order[1:]
			}
			switch {
			case models != b.Recorded.CostUSD.Nano:
				t.Errorf("%s: the models cost %d of %d", conv.Path, models, b.Recorded.CostUSD.Nano)
			case simulated != b.Simulated.Nano:
				t.Errorf("%s, %s, %+v: the steps lead to %d, the record costs %d: %+v", conv.Path, pol.Name, opt, simulated, b.Simulated.Nano, b.Steps)
			case at != b.Cost.Nano || b.Cost != tl.Totals.CostUSD:
				t.Errorf("%s, %s, %+v: the steps lead to %d, it costs %d and %v: %+v", conv.Path, pol.Name, opt, at, b.Cost.Nano, tl.Totals.CostUSD, b.Steps)
			case pol.Recorded && opt.Model == "" && b.Simulated != b.Cost:
				t.Errorf("%s, %+v: the record costs %v and %v", conv.Path, opt, b.Simulated, b.Cost)
			}
		}
	}
	return n
}

func bridged(t *testing.T) []*policy.Policy {
	return []*policy.Policy{named(t, "recorded"), named(t, "opencode-1.18"), named(t, "claude-code-2.1.19")}
}

var bridgeOptions = []replay.Options{
	{}, {Cache: replay.CacheEqual}, {Cache: replay.CacheNone}, {Model: "claude-opus-5-5"}, {Model: "claude-sonnet-4-5", Cache: replay.CacheEqual},
	{Counter: "heuristic"}, {Overhead: policy.Overhead{Tokens: 0, Given: true}},
}

func TestBridge(t *testing.T) {
	n := 0
	for _, path := range shippedFiles(t) {
		n += checkBridge(t, load(t, path), bridged(t), bridgeOptions)
	}
	if t.Logf("%d steps", n); n == 0 {
		t.Error("no step")
	}
}

func TestCorpusBridge(t *testing.T) {
	for _, path := range corpusFiles(t) {
		checkBridge(t, load(t, path), bridged(t), bridgeOptions[:4])
	}
}
