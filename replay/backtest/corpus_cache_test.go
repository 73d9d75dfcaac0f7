package backtest_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/replay"
	"github.com/ctxkit/ctxkit/replay/backtest"
	"github.com/ctxkit/ctxkit/replay/cache"
)

// TestCorpusCache holds the simulated prompt cache of the recorded track against the recorded reads, over sessions of
// more than 20 requests. The simulation does not know what was read or written.
func TestCorpusCache(t *testing.T) {
	var sum backtest.UsageScore
	type miss struct {
		text string
		off  float64
	}
	var worst []miss
	shown, kind, amount := 0, 0, 0 // breaks whose cause the record itself shows
	for _, path := range corpusFiles(t, everyFile...) {
		for _, conv := range loadFile(t, path).Conversations() {
			tl := recorded(t, conv)
			if tl.Totals.Requests <= 20 {
				continue
			}
			u := backtest.ScoreUsage(tl)
			sum.Join(&u)
			causes := shownBreaks(conv)
			for _, p := range backtest.CachePoints(tl) {
				if p.Broke && causes[p.N] {
					shown++
					if p.RightKind() {
						kind++
					}
					if p.RightAmount() {
						amount++
					}
				}
				if p.Unexplained() {
					worst = append(worst, miss{fmt.Sprintf("%s, request %d, client %s: read %d, simulated %d", filepath.Base(path), p.N, tl.Version, p.Recorded, p.Simulated), p.Error()})
				}
			}
		}
	}
	requests := sum.Requests
	share := func(n, of int) float64 { return 100 * float64(n) / float64(of) }
	t.Logf("%d requests: %.2f %% within 5 %% of the recorded read, %.2f %% within 1 %%", requests, share(sum.Near, requests), share(sum.Close, requests))
	t.Logf("%d breaks: %d after a compaction, a microcompaction, an expired lifetime or a model switch, %d with another named cause, %d unexplained; %d false alarms",
		sum.Broken, sum.Named, sum.Others, sum.Unexplained, sum.FalseAlarms)
	t.Logf("of the %d: %.1f %% right in kind, %.1f %% within 10 %% in amount", sum.Named, share(sum.Kind, sum.Named), share(sum.Amount, sum.Named))
	t.Logf("of all %d: %.1f %% right in kind, %.1f %% within 10 %% in amount", sum.Broken, share(sum.AllKind, sum.Broken), share(sum.AllAmount, sum.Broken))
	t.Logf("of %d breaks for which the record itself shows a cause, whatever the simulation says of them: %.1f %% right in kind, %.1f %% in amount",
		shown, share(kind, shown), share(amount, shown))
	if shown < 100 || share(kind, shown) < 90 || share(amount, shown) < 70 {
		t.Errorf("of %d breaks the record shows a cause for, %d are right in kind and %d in amount, want 90 and 70 %%", shown, kind, amount)
	}
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
	if sum.Broken != sum.Named+sum.Others+sum.Unexplained || len(worst) != sum.Unexplained {
		t.Errorf("%d breaks are not %d named, %d others and %d unexplained (%d listed)", sum.Broken, sum.Named, sum.Others, sum.Unexplained, len(worst))
	}
	if limit := sum.Broken / 6; sum.Unexplained > limit {
		t.Errorf("%d of %d breaks have no cause, want at most %d", sum.Unexplained, sum.Broken, limit)
	}
}

// recorded replays the recorded track.
func recorded(t *testing.T, conv *session.Conversation) *replay.Timeline {
	tl, err := replay.Run(conv, named(t, "recorded"), replay.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := tl.CheckValid(); err != nil {
		t.Fatal(err)
	}
	return tl
}

// shownBreaks are the requests before which the record shows what breaks the cache: a compaction, a microcompaction,
// another model, or a pause as long as entries live. The simulation has no part in it.
func shownBreaks(conv *session.Conversation) map[int]bool {
	shown := map[int]bool{}
	for i := range conv.Boundaries {
		shown[conv.Boundaries[i].Request] = true
	}
	for i := range conv.Micro {
		shown[conv.Micro[i].Request] = true
	}
	short, long := 0, 0
	for _, q := range conv.Requests {
		u := &conv.Messages[q.Message].Usage
		short, long = short+u.Write5m, long+u.Write1h
	}
	life := 5 * time.Minute
	if long > short {
		life = time.Hour
	}
	for k := 1; k < len(conv.Requests); k++ {
		before, m := &conv.Messages[conv.Requests[k-1].Message], &conv.Messages[conv.Requests[k].Message]
		if m.Model != before.Model || m.Time.Sub(before.End) > life {
			shown[conv.Requests[k].N] = true
		}
	}
	return shown
}

// TestCorpusHeads holds the heads of clients (replay/cache/head.go) against sessions they were not taken from: a
// break that reads the head is given the median of what the other sessions read at such breaks, and is wrong where
// there is no other.
func TestCorpusHeads(t *testing.T) {
	type headRead struct {
		session int
		point   backtest.CachePoint
	}
	byHead := map[int][]headRead{}
	named, right, heads, sessions := 0, 0, 0, 0
	for _, path := range corpusFiles(t, everyFile...) {
		for _, conv := range loadFile(t, path).Conversations() {
			tl := recorded(t, conv)
			if tl.Totals.Requests <= 20 {
				continue
			}
			sessions++
			for _, p := range backtest.CachePoints(tl) {
				if !p.Broke || p.Unexplained() || !backtest.NamedBreak(p.Cause.Kind) {
					continue
				}
				named++
				if head := readsHead(conv.Messages[conv.Requests[p.N-1].Message].Version, p.Simulated); head > 0 {
					heads++
					byHead[head] = append(byHead[head], headRead{sessions, p})
				} else if p.RightAmount() {
					right++
				}
			}
		}
	}
	inside, outside, alone := right, right, 0
	for _, reads := range byHead {
		for _, r := range reads {
			if r.point.RightAmount() {
				inside++
			}
			var others []int
			for _, o := range reads {
				if o.session != r.session {
					others = append(others, o.point.Recorded)
				}
			}
			if len(others) == 0 {
				alone++
				continue
			}
			slices.Sort(others)
			r.point.Simulated = others[len(others)/2]
			if r.point.RightAmount() {
				outside++
			}
		}
	}
	share := func(n int) float64 { return 100 * float64(n) / float64(named) }
	t.Logf("%d breaks of a named cause, %d of them read the head, %d of which no other session has: %.1f %% within 10 %% with the heads of the table, %.1f %% with those of the other sessions",
		named, heads, alone, share(inside), share(outside))
	if heads < 50 || share(outside) < 80 {
		t.Errorf("of %d breaks that read the head %d are right out of sample (%.1f %%), want 80 %%", heads, outside, share(outside))
	}
}

// readsHead is what a break read, where that is a head of the client's, shared or not; else 0.
func readsHead(version string, read int) int {
	for _, overhead := range []int{29999, 1 << 30, -1} {
		if h := cache.HeadOf(version, overhead); read > 0 && (read == h.Own || read == h.Shared) {
			return read
		}
	}
	return 0
}
