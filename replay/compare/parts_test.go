package compare_test

import (
	"slices"
	"testing"

	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/replay"
	"github.com/ctxkit/ctxkit/replay/compare"
	"github.com/ctxkit/ctxkit/replay/exact"
)

// TestParts holds that the parts of a difference add up to it, the largest first, and that under one prompt cache
// policies differ by content, breaks and own calls alone.
func TestParts(t *testing.T) {
	names := []string{"recorded", "claude-code-pipeline", "opencode-1.1.36", "opencode-1.18", "gemini-cli-0.26", "none"}
	files := must.Glob(t, 1, "../../testdata/sessions/*.jsonl")
	policies := named(t, names...)
	for _, mode := range []replay.CacheMode{replay.CacheEqual, replay.CacheOwn, replay.CacheNone} {
		var sessions []compare.ComparedSession
		for _, file := range files {
			rec := recordOf(t, file)
			var s compare.ComparedSession
			for _, pol := range policies {
				tl := must.Get(rec.Replay(pol, replay.Options{Cache: mode}))(t)
				if len(s.Values) == 0 {
					s = compare.NewSession(tl, "p")
				}
				s.Values = append(s.Values, compare.Of(tl))
				s.Breaks = append(s.Breaks, compare.BreaksOf(tl))
			}
			if len(s.Unpriced) == 0 {
				sessions = append(sessions, s)
			}
		}
		c := compare.Compare(names, sessions, compare.ByNothing)[0]
		cost := slices.Index(compare.Names(), "cost_usd")
		var seen []string
		for p := 1; p < len(names); p++ {
			sum, last := exact.Whole(0), exact.Decimal{}
			for _, part := range c.Parts(p) {
				if last.Known && part.USD.Abs().Cmp(last) > 0 {
					t.Errorf("%s, %s: the parts are not the largest first: %+v", mode, names[p], c.Parts(p))
				}
				sum, last = sum.Add(part.USD), part.USD.Abs()
				seen = append(seen, part.Name)
				if part.Name == "breaks" && len(part.Stages) == 0 {
					t.Errorf("%s, %s: breaks of no stage", mode, names[p])
				}
			}
			if want := c.Pairs[p].Figures[cost].Difference; sum.Cmp(want) != 0 || want.N == 0 {
				t.Errorf("%s, %s: the parts add up to %s of %s", mode, names[p], sum, want)
			}
		}
		slices.Sort(seen)
		if got := slices.Compact(seen); mode == replay.CacheEqual && !slices.Equal(got, []string{"breaks", "content", "own calls"}) {
			t.Errorf("under one cache the policies differ by %q", got)
		} else if mode == replay.CacheOwn && !slices.Contains(got, "lifetime") {
			t.Errorf("under their own they differ by %q", got)
		}
	}
}
