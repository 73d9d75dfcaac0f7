package compare

import (
	"slices"
	"testing"

	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/replay"
)

// TestFaults holds that faults are figures of which less is better, as Of counts them.
func TestFaults(t *testing.T) {
	tl := &replay.Timeline{Totals: replay.Totals{Refused: 1, Violations: 2, Preserved: 3, Thrash: 4, Failed: 1005}}
	var got []string
	for _, f := range Faults(tl) {
		got = append(got, f.String())
		i := slices.Index(Names(), f.Figure)
		if i < 0 || Figures()[i].Better != Less || Of(tl)[i].N != int64(f.N) {
			t.Errorf("%+v is not the figure", f)
		}
	}
	want := []string{
		"1 request over the window, or blocked (refused)", "2 broken rules of the API (violations)",
		"3 edits before thinking that the model preserves (preserved_thinking)",
		"4 compactions that freed less than a tenth (thrash)", "1,005 failed compactions (failed_compactions)",
	}
	must.Say(t, "true 0", slices.Equal(got, want), len(Faults(&replay.Timeline{})))
}
