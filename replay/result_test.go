package replay

import (
	"testing"

	"github.com/ctxkit/ctxkit/policy"
)

// TestThrash: a compaction counts that frees less than a tenth, and one in a row with the one before.
func TestThrash(t *testing.T) {
	for _, tt := range []struct {
		name       string
		freed      [][2]int // tokens before, and saved
		count, run int
	}{
		{"none", nil, 0, 0}, {"of nothing", [][2]int{{0, 0}}, 0, 0}, {"a tenth", [][2]int{{100, 10}}, 0, 0}, {"less", [][2]int{{100, 9}}, 1, 1},
		{"larger", [][2]int{{100, -5}}, 1, 1}, {"in a row", [][2]int{{100, 9}, {100, 10}, {100, 0}, {50, 1}, {100, 90}, {9, 0}}, 4, 2},
	} {
		var tl Timeline
		for _, f := range tt.freed {
			tl.Events = append(tl.Events, Event{Kind: policy.KindSummarize, Before: f[0], Saved: f[1]}, Event{Kind: policy.KindFail})
		}
		tl.total()
		if got := tl.Totals; got.Compactions != len(tt.freed) || got.Thrash != tt.count || got.ThrashRun != tt.run {
			t.Errorf("%s: thrash %d of %d, in a row %d, want %d and %d", tt.name, got.Thrash, got.Compactions, got.ThrashRun, tt.count, tt.run)
		}
	}
}
