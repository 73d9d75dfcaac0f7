package backtest_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/policy/preset"
	"github.com/ctxkit/ctxkit/replay"
	"github.com/ctxkit/ctxkit/replay/backtest"
)

// TestOpencodePrunes replays recorded OpenCode sessions under the release that recorded them: it prunes just the
// results that OpenCode pruned, where it did.
func TestOpencodePrunes(t *testing.T) {
	dir := os.Getenv("CTXKIT_AGENTS")
	if dir == "" {
		t.Skip("CTXKIT_AGENTS names no folder of real sessions")
	}
	paths := must.Glob(t, 1, dir, "opencode", "*.json.gz")
	reg := must.Get(registry())(t)
	library := preset.New(reg)
	recorded := 0
	for _, path := range paths {
		name := filepath.Base(path)
		conv := load(t, path)
		p := must.Get(library.LoadFor("opencode@"+preset.RecordedVersion, preset.ClientOf(conv)))(t)
		rec := must.Get(replay.NewRecord(conv))(t)
		score := must.Get(backtest.Score(rec, p, backtest.ScoreOptions{}))(t)
		for _, m := range score.Micro {
			recorded++
			if !m.Hit || !m.Same {
				t.Errorf("%s: the prune before request %d: %+v", name, m.Request, m)
			}
		}
		if len(score.MicroAlarms) > 0 || len(conv.Micro) != len(score.Micro) {
			t.Errorf("%s: %d prunes recorded, %d scored, alarms %+v", name, len(conv.Micro), len(score.Micro), score.MicroAlarms)
		}
	}
	if t.Logf("%d sessions, %d prunes", len(paths), recorded); recorded == 0 {
		t.Error("the sessions hold no prune")
	}
}
