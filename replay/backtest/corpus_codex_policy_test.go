package backtest_test

import (
	"encoding/csv"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/policy"
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
	files := must.Glob(t, 1, root, "*.jsonl.gz")
	reg := must.Get(registry())(t)
	want := codexCounts(t, filepath.Join(root, "recorded-compactions.tsv"))
	recorded, hits, alarms, free, predicted, near := 0, 0, 0, 0, 0, 0
	for _, path := range files {
		conv := load(t, path)
		if len(conv.Boundaries) == 0 && testing.Short() {
			continue
		}
		pol := must.Get(preset.New(reg).LoadFor("codex@"+preset.RecordedVersion, preset.ClientOf(conv)))(t)
		rec := must.Get(replay.NewRecord(conv))(t)
		s := must.Get(backtest.Score(rec, pol, backtest.ScoreOptions{}))(t)
		tl := must.Get(rec.Replay(pol, replay.Options{}))(t)
		main := []replay.Request{}
		for i := range tl.Requests {
			if q := tl.Requests[i]; q.Kind == "main" {
				main = append(main, q)
			}
		}
		alarms += len(s.Alarms)
		for _, c := range s.Compactions {
			recorded++
			checkCount(t, filepath.Base(path), &c, want[fmt.Sprint(filepath.Base(path), ":", c.Line)])
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
	if recorded != 21 || hits < 19 || alarms > 4 || free < 15 || 100*near < 85*predicted {
		t.Errorf("too few of them are right")
	}
}

// codexCounts are what Codex compared at each recorded compaction, by file and line, as the corpus lists it: the last
// total, its estimate of the items after it, and that of the encrypted reasoning, which the corpus' authors estimated too.
func codexCounts(t *testing.T, path string) map[string][3]int {
	f := must.Get(os.Open(path))(t)
	defer f.Close()
	r := csv.NewReader(f)
	r.Comma = '\t'
	rows := must.Get(r.ReadAll())(t)
	all := map[string][3]int{}
	for _, row := range rows[1:] {
		var n [3]int
		for i, name := range []string{"last_total_tokens", "estimate_after", "reasoning_estimate"} {
			n[i], _ = strconv.Atoi(row[slices.Index(rows[0], name)]) // a copied compaction has no estimate
		}
		all[row[0]+":"+row[1]] = n
	}
	return all
}

// checkCount holds the parts of the policy's count against those that are listed.
func checkCount(t *testing.T, file string, c *backtest.CompactionScore, want [3]int) {
	if len(c.Count) != 3 {
		t.Errorf("%s:%d: count %+v", file, c.Line, c.Count)
		return
	}
	for i, most := range [3]int{0, max(want[1]/20, 16), want[2]/50 + 16} {
		if off := c.Count[i].Tokens - want[i]; max(off, -off) > most {
			t.Errorf("%s:%d: %+v, listed are %d", file, c.Line, c.Count[i], want[i])
		}
	}
	if sum := policy.Sum(c.Count); c.Hit != (sum >= c.Threshold) || !c.Count[2].Estimated {
		t.Errorf("%s:%d: %d of %d, decided %t: %+v", file, c.Line, sum, c.Threshold, c.Hit, c.Count)
	}
}
