package replay

import (
	"testing"

	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/policy"
)

// TestThrash: a compaction counts that frees less than a tenth, and one in a row with the one before.
func TestThrash(t *testing.T) {
	must.Rows(t, `
# name | freed | count | run
none       | null        | 0 | 0
of nothing | [[0, 0]]    | 0 | 0
a tenth    | [[100, 10]] | 0 | 0
less       | [[100, 9]]  | 1 | 1
larger     | [[100, -5]] | 1 | 1
in a row   | [[100, 9], [100, 10], [100, 0], [50, 1], [100, 90], [9, 0]] | 4 | 2
`, func(name string, freed [][2]int, count, run int) {
		var tl Timeline
		for _, f := range freed {
			tl.Events = append(tl.Events, Event{Kind: policy.KindSummarize, Before: f[0], Saved: f[1]}, Event{Kind: policy.KindFail})
		}
		tl.total()
		if got := tl.Totals; got.Compactions != len(freed) || got.Thrash != count || got.ThrashRun != run {
			t.Errorf("%s: thrash %d of %d, in a row %d, want %d and %d", name, got.Thrash, got.Compactions, got.ThrashRun, count, run)
		}
	})
}
