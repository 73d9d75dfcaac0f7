package replay_test

import (
	"testing"

	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/policy/preset"
	"github.com/ctxkit/ctxkit/replay"
)

// TestShownWindow: a recorded context above the window of model and client shows the larger one, unless an automatic
// compaction is recorded or the options say another.
func TestShownWindow(t *testing.T) {
	must.Rows(t, `
# name | peak | auto | opt | window | shown
within | 199000 | false | {} | 200000 | 0
above | 243000 | false | {} | 1000000 | 243000
above, with a compaction | 243000 | true | {} | 200000 | 0
above the larger one | 1000001 | false | {} | 200000 | 0
above, with a window given | 243000 | false | {"window": 300000} | 300000 | 0
above, with a model given | 243000 | false | {"model": "claude-opus-4-5"} | 200000 | 0
`, func(theName string, peak int, auto bool, opt replay.Options, window, shown int) {
		s := loop(150000, peak-1000, peak)
		s.version = "2.1.39"
		if auto {
			s.tell(`boundary auto 160000 400; user 40; answer 30000: text 40`)
		}
		conv := s.load(t)
		for _, name := range []string{"recorded", "claude-code-2.1.37", "opencode"} {
			tl := replayed(t, conv, named(t, name), opt)
			if tl.Window != window || tl.Shown != shown {
				t.Errorf("%s, %s: window %d shown by %d, want %d and %d", theName, name, tl.Window, tl.Shown, window, shown)
			}
		}
	})
}

// TestAutoOff: requests above the threshold, one after another and without a compaction, show that automatic compaction
// was off. A lower threshold by the user's settings does not show so.
func TestAutoOff(t *testing.T) {
	reg := must.Get(registry())(t)
	presets := preset.New(reg)
	must.Rows(t, `
# name | contexts | auto | opt | requests
below | [100000, 150000, 166000, 166500, 166800] | false | {} | 0
once above | [100000, 150000, 166000, 168000, 169000] | false | {} | 0
far above | [150000, 168000, 170000, 175000, 180000, 190000] | false | {} | 4
far above, in another window | [150000, 168000, 170000, 175000, 180000, 190000] | false | {"window": 200000} | 0
in the larger window | [150000, 168000, 170000, 175000, 180000, 250000] | false | {} | 0
compacted | [150000, 160000, 168000] | true | {} | 0
`, func(name string, contexts []int, auto bool, opt replay.Options, requests int) {
		s := loop(contexts...)
		s.version = "2.1.39"
		if auto {
			s.tell(`boundary auto 168500 400; user 40; answer 30000: text 40`)
		}
		rec := must.Get(replay.NewRecord(s.load(t)))(t)
		must.Do(t, rec.UseRelease(presets))
		tl := must.Get(rec.Replay(named(t, "recorded"), opt))(t)
		switch off := tl.AutoOff; {
		case off == nil && requests > 0, off != nil && (off.Requests != requests || off.Threshold != 167000):
			t.Errorf("%s: %+v, want %d requests", name, off, requests)
		}
	})
}
