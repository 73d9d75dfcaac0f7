package claude

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/stage/stagetest"
)

// countsAnew is context_collapse without what it keeps between requests of the segments of an undivided view.
type countsAnew struct{ *contextCollapse }

func (s countsAnew) Run(c *policy.Context) ([]policy.Edit, error) {
	s.passed, s.passedTurns = 0, 0
	for i := range s.view.list {
		s.view.list[i].tokens = -1
	}
	return s.contextCollapse.Run(c)
}

// Edits of other stages change what segments weigh, and spans are staged one after another: what is counted again is
// enough.
func TestContextCollapseCountsAnew(t *testing.T) {
	collapsed := 0
	for seed := range uint64(150) {
		run := func(anew bool) (all []policy.Edit) {
			rng := rand.New(rand.NewPCG(seed, 3))
			stage := collapsing(t, "stage_at: 200, commit_at: %d, target: 300, protect: %d, span: %d, head: %d", 400+rng.IntN(900), rng.IntN(300), 1+rng.IntN(250), rng.IntN(3))
			if anew {
				stage.Stage = countsAnew{stage.Stage.(*contextCollapse)}
			}
			c := stagetest.NewConvo()
			var ends []int // of the messages at each request
			for range 30 {
				c.Play(`prompt u*%d`, 1+rng.IntN(300))
				ends = append(ends, len(c.Messages))
				if rng.IntN(3) > 0 {
					c.Play(`assistant say a*%d`, 1+rng.IntN(300))
				}
			}
			r := stagetest.NewRun(t, c, stage)
			for k, end := range ends {
				for m := r.View.Joined(); m < end; m++ {
					r.View.Join(m)
				}
				ids := r.View.IDs()
				tag := policy.NewContent(jsonl.KindText, strings.Repeat("t", rng.IntN(200)))
				if id := ids[rng.IntN(len(ids))]; id >= 0 {
					must.Get(r.View.Apply(policy.Edit{Stage: "tags", Kind: policy.KindTag, Target: policy.Target{Item: id}, New: &tag}))(t)
				}
				n, used := len(r.View.Edits()), r.View.ClientTokens()
				r.Used = func(int) (int, int) { return used, 0 }
				r.Fire(policy.Prepare, k, policy.Context{})
				all = append(all, r.View.Edits()[n:]...)
			}
			return all
		}
		got, want := run(false), run(true)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("seed %d: -want +got\n%s", seed, diff)
		}
		for _, e := range got {
			if e.Kind == policy.KindCollapse {
				collapsed++
			}
		}
	}
	if collapsed < 100 {
		t.Errorf("%d spans were collapsed", collapsed)
	}
}
