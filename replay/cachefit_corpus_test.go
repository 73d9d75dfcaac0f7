package replay_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"testing"

	"github.com/ctxkit/ctxkit/replay"
)

// TestCorpusCache holds the simulated prompt cache of the recorded track against
// the recorded reads, over sessions of more than 20 requests. The simulation does
// not know what was read or written.
func TestCorpusCache(t *testing.T) {
	var sum replay.CacheFit
	type miss struct {
		text string
		off  float64
	}
	var worst []miss
	requests := 0
	for _, path := range corpusFiles(t) {
		for _, conv := range load(t, path).Conversations() {
			tl := run(t, conv, "recorded")
			if tl.Totals.Requests <= 20 {
				continue
			}
			f := replay.FitCache(tl)
			requests += len(f.Requests)
			sum.Add(f)
			for _, p := range f.Requests {
				if p.Unexplained() {
					worst = append(worst, miss{fmt.Sprintf("%s, request %d, client %s: read %d, simulated %d", filepath.Base(path), p.N, tl.Version, p.Recorded, p.Read), p.Error()})
				}
			}
		}
	}
	share := func(n, of int) float64 { return 100 * float64(n) / float64(of) }
	t.Logf("%d requests: %.2f %% within 5 %% of the recorded read, %.2f %% within 1 %%", requests, share(sum.Near, requests), share(sum.Close, requests))
	t.Logf("%d breaks: %d after a compaction, a microcompaction, an expired lifetime or a model switch, %d with another named cause, %d unexplained; %d false alarms",
		sum.Breaks, sum.Named, sum.Others, sum.Unexplained, sum.FalseAlarms)
	t.Logf("of the %d: %.1f %% right in kind, %.1f %% within 10 %% in amount", sum.Named, share(sum.Kind, sum.Named), share(sum.Amount, sum.Named))
	slices.SortStableFunc(worst, func(a, b miss) int { return int(100 * (b.off - a.off)) })
	for _, w := range worst {
		t.Logf("unexplained, off by %.2f: %s", w.off, w.text)
	}
	if share(sum.Near, requests) < 98 {
		t.Errorf("the simulated read is within 5 %% of the recorded one on %.2f %% of the requests, want 98", share(sum.Near, requests))
	}
	if share(sum.Kind, sum.Named) < 90 || share(sum.Amount, sum.Named) < 70 {
		t.Errorf("right in kind %.1f %%, in amount %.1f %% of the breaks, want 90 and 70", share(sum.Kind, sum.Named), share(sum.Amount, sum.Named))
	}
	if sum.Breaks != sum.Named+sum.Others+sum.Unexplained || len(worst) != sum.Unexplained {
		t.Errorf("%d breaks are not %d named, %d others and %d unexplained (%d listed)", sum.Breaks, sum.Named, sum.Others, sum.Unexplained, len(worst))
	}
	if limit := sum.Breaks / 6; sum.Unexplained > limit {
		t.Errorf("%d of %d breaks have no cause, want at most %d", sum.Unexplained, sum.Breaks, limit)
	}
}
