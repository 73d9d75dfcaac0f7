package backtest_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/replay"
	"github.com/ctxkit/ctxkit/replay/backtest"
	"github.com/ctxkit/ctxkit/replay/price"
)

// cacheBars are the bars of one set of sessions, %. What is not named has the bar of `backtest --strict`.
type cacheBars struct {
	named        map[string]float64
	shown        int // least breaks for which the record itself shows a cause
	kind, amount float64
}

// TestCorpusCache holds the simulated prompt cache of the recorded track against the recorded reads, by the measures of
// `backtest`. The simulation does not know what was read or written.
func TestCorpusCache(t *testing.T) {
	judgeCache(t, mainFiles(t), cacheBars{
		named: map[string]float64{"break_kind": 82, "break_amount": 79},
		shown: 100, kind: 91, amount: 88,
	})
}

// TestCorpusCacheMore is TestCorpusCache over sessions on which nothing was fitted.
func TestCorpusCacheMore(t *testing.T) {
	more := os.Getenv("CTXKIT_MORE")
	if more == "" {
		t.Skip("CTXKIT_MORE names no folder of further real sessions")
	}
	t.Setenv("CTXKIT_CORPUS", more)
	judgeCache(t, mainFiles(t), cacheBars{
		named: map[string]float64{"write_within_5": 92.5, "break_kind": 69, "break_amount": 65},
		shown: 90, kind: 91, amount: 86,
	})
}

func judgeCache(t *testing.T, files []string, bars cacheBars) {
	var sessions []*backtest.SessionScore
	shown, kind, amount := 0, 0, 0 // breaks whose cause the record itself shows
	for _, path := range files {
		conv := load(t, path)
		if len(conv.Requests) == 0 {
			continue
		}
		tl := recorded(t, conv)
		u := backtest.ScoreUsage(conv, tl, price.Default())
		sessions = append(sessions, &backtest.SessionScore{Usage: u})
		causes := shownBreaks(conv)
		for p := range backtest.CachePoints(tl) {
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
				t.Logf("not simulated: %s, request %d, client %s: left %d, read %d", filepath.Base(path), p.N, tl.Version, p.Left, p.Recorded)
			}
		}
	}
	r := backtest.Sum("recorded", sessions)
	r.SetLeast(1)
	for name, bar := range bars.named {
		must.Do(t, r.SetBar(name, bar))
	}
	judged := 0
	for _, m := range r.Fidelity {
		if m.Judged() {
			judged++
			t.Logf("%s: %v of %d (bar %v)", m.Name, m.Value, m.Of, m.Bar)
		}
	}
	t.Logf("input cost: %+v", r.Usage[0].CostError)
	if failed := backtest.Failed(r.Fidelity); len(failed) > 0 || judged < 10 {
		t.Errorf("%d measures judged, these do not hold: %+v", judged, failed)
	}
	share := func(n int) float64 { return 100 * float64(n) / float64(shown) }
	t.Logf("of %d breaks for which the record itself shows a cause: %.1f %% right in kind (bar %v), %.1f %% in amount (bar %v)", shown, share(kind), bars.kind, share(amount), bars.amount)
	if shown < bars.shown || share(kind) < bars.kind || share(amount) < bars.amount {
		t.Errorf("of %d breaks the record shows a cause for, %d are right in kind and %d in amount", shown, kind, amount)
	}
}

// recorded replays the recorded track.
func recorded(t *testing.T, conv *session.Conversation) *replay.Timeline {
	tl := must.Get(replay.Run(conv, named(t, "recorded"), replay.Options{}))(t)
	must.Do(t, tl.CheckValid())
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
		u := conv.Messages[q.Message].Usage
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
