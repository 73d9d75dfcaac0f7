package backtest_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/ctxkit/ctxkit/policy/preset"
	"github.com/ctxkit/ctxkit/replay"
	"github.com/ctxkit/ctxkit/replay/backtest"
)

// TestCodexCorpus holds the release of each session's time against its recorded compactions: decided at the exact
// place, in a free replay as well, and the next input predicted.
func TestCodexCorpus(t *testing.T) {
	root := os.Getenv("CTXKIT_CODEX")
	if root == "" {
		t.Skip("CTXKIT_CODEX is not set")
	}
	files, err := filepath.Glob(filepath.Join(root, "*.jsonl.gz"))
	if err != nil || len(files) == 0 {
		t.Fatal(err, len(files))
	}
	reg, err := registry()
	if err != nil {
		t.Fatal(err)
	}
	recorded, hits, alarms, free, predicted, near := 0, 0, 0, 0, 0, 0
	for _, path := range files {
		conv := load(t, path)
		if len(conv.Boundaries) == 0 && testing.Short() {
			continue
		}
		pol, err := preset.New(reg).LoadFor("codex@"+preset.RecordedVersion, preset.ClientOf(conv))
		if err != nil {
			t.Fatal(err)
		}
		rec, err := replay.NewRecord(conv)
		if err != nil {
			t.Fatal(err)
		}
		s, err := backtest.Score(rec, pol, backtest.ScoreOptions{})
		if err != nil {
			t.Fatal(err)
		}
		tl, err := rec.Replay(pol, replay.Options{})
		if err != nil {
			t.Fatal(err)
		}
		main := []replay.Request{}
		for _, q := range tl.Requests {
			if q.Kind == "main" {
				main = append(main, q)
			}
		}
		alarms += len(s.Alarms)
		for _, c := range s.Compactions {
			recorded++
			if c.Hit {
				hits++
			}
			if c.Distance == nil || *c.Distance != 0 {
				continue
			}
			free++
			want := conv.Messages[conv.Requests[c.Request-1].Message].Usage.Context()
			got := main[c.Request-1].Payload
			predicted++
			if off := got - want; 20*max(off, -off) <= want {
				near++
			} else {
				t.Logf("%s: line %d: input %d predicted, %d recorded", filepath.Base(path), c.Line, got, want)
			}
		}
	}
	t.Logf("%d recorded, %d hits, %d alarms; %d in a free replay, %d of %d next inputs within 5 %%", recorded, hits, alarms, free, near, predicted)
	if recorded != 21 || hits < 19 || alarms > 4 || free < 15 || 100*near < 80*predicted {
		t.Errorf("too few of them are right")
	}
}
