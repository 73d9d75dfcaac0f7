package compare_test

import (
	"slices"
	"testing"

	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/replay"
	"github.com/ctxkit/ctxkit/replay/compare"
)

func TestSeries(t *testing.T) {
	requests := func(n int) *replay.Timeline {
		tl := &replay.Timeline{}
		for i := range n {
			tl.Requests = append(tl.Requests, replay.Request{Kind: "main", Payload: i + 1}, replay.Request{Kind: "compaction", Payload: 1_000_000})
		}
		return tl
	}
	must.Equal(t, len(compare.Series(requests(0))), 0)
	must.Equal(t, compare.Series(requests(3)), []int{1, 2, 3})
	for _, n := range []int{159, 160, 161, 1000} {
		got := compare.Series(requests(n))
		if len(got) != min(n, compare.SeriesPoints) || !slices.IsSorted(got) || got[len(got)-1] != n || got[0] != max(n/compare.SeriesPoints, 1) {
			t.Errorf("%d requests: %v", n, got)
		}
	}
}
