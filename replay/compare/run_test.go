package compare_test

import (
	"reflect"
	"testing"

	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/replay"
	"github.com/ctxkit/ctxkit/replay/compare"
)

// TestRun: what is known under each policy is that of a replay by itself, whatever ran before it.
func TestRun(t *testing.T) {
	files := must.Glob(t, 8, "../../testdata/sessions/*.jsonl")
	policies := named(t, "none", "claude-code-2.1.19", "opencode-1.1.36", "openhands-1.4", "recorded", "gemini-cli-0.22", "none")
	for _, file := range files[:8] {
		for _, opt := range []replay.Options{{Window: 30_000}, {Window: 30_000, Regret: true}, {Model: "gpt-5"}} {
			for _, each := range []bool{false, true} {
				c := &compare.Subject{Record: recordOf(t, file), Timelines: each}
				k := must.Get(compare.RunKept(c, policies, opt))(t)
				if n := len(k.Session.Timelines); each && n != len(policies) || !each && n > 0 {
					t.Errorf("%s: %d timelines", file, n)
				}
				for _, tl := range k.Session.Timelines {
					if len(tl.Requests) != tl.Totals.Calls || len(tl.Events) != tl.Totals.Events {
						t.Errorf("%s: a timeline has %d requests of %d, %d events of %d", file, len(tl.Requests), tl.Totals.Calls, len(tl.Events), tl.Totals.Events)
					}
				}
				var first *replay.Timeline
				for i, pol := range policies {
					tl := must.Get(recordOf(t, file).Replay(pol, opt))(t)
					if i == 0 {
						first = tl
					}
					p := k.Parts[i]
					if !reflect.DeepEqual(p.Series, compare.Series(tl)) || p.Apart != compare.Apart(first, tl) {
						t.Errorf("%s, %s: apart at %d, want %d; series %v, want %v", file, pol.Name, p.Apart, compare.Apart(first, tl), p.Series, compare.Series(tl))
					}
					if !reflect.DeepEqual(p.Values, compare.Of(tl)) || !reflect.DeepEqual(p.Breaks, compare.BreaksOf(tl)) {
						t.Errorf("%s, %s: figures %v, want %v", file, pol.Name, p.Values, compare.Of(tl))
					}
				}
			}
		}
	}
}
