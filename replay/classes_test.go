package replay_test

import (
	"testing"

	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/view"
	"github.com/ctxkit/ctxkit/replay"
	"github.com/ctxkit/ctxkit/replay/diff"
)

// TestClasses: a result is fresh once, at its first request. What the budget replaces then is replaced at every later
// request, and what it leaves is frozen: the budget never replaces it.
func TestClasses(t *testing.T) {
	const stage = "tool_result_budget"
	pol := written(t, "stages: [tool_result_budget: {max_chars: 3000}, microcompact_time: {gap: 1m}]")
	rec, err := replay.NewRecord(load(t, "../testdata/sessions/big.jsonl").Main)
	if err != nil {
		t.Fatal(err)
	}
	count, was := map[diff.ResultClass]int{}, map[policy.Target]diff.Classed{}
	err = rec.EachView(pol, replay.Options{}, func(n int, v *view.View) bool {
		for _, c := range diff.Classes(v, pol, n) {
			count[c.Class]++
			before, seen := was[c.Target]
			switch {
			case seen == (c.Class == diff.Fresh):
				t.Errorf("request %d, %v: %s, seen %t", n, c.Target, c.Class, seen)
			case before.Class == diff.FrozenAsIs && c.Stage == stage && c.Class == diff.MustReapply:
				t.Errorf("request %d, %v: the budget replaced a frozen result", n, c.Target)
			case before.Class == diff.MustReapply && c.Class != diff.MustReapply:
				t.Errorf("request %d, %v: %s, and was to be replaced again", n, c.Target, c.Class)
			}
			was[c.Target] = c
		}
		return !t.Failed()
	})
	if err != nil || count[diff.Fresh] == 0 || count[diff.FrozenAsIs] == 0 || count[diff.MustReapply] == 0 {
		t.Errorf("%v, %v", count, err)
	}
	// Without a stage that freezes, what is left may still be replaced.
	for _, name := range []string{"none", "claude-code-2.1.19"} {
		p := named(t, name)
		v := must.Get(rec.ViewAt(p, replay.Options{}, 50))(t)
		for _, c := range diff.Classes(v, p, 50) {
			if !p.Has(stage) && c.Class == diff.FrozenAsIs {
				t.Errorf("%s: %v is frozen by %s", name, c.Target, c.Stage)
			}
		}
	}
}
