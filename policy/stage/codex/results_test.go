package codex

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/stage/stagetest"
)

// TestRemoteCallFollows compares a request of which all results are summed up as items join with one from which they
// are left out one by one, while other stages change the view.
func TestRemoteCallFollows(t *testing.T) {
	all, some := 0, 0
	for seed := range uint64(200) {
		d := stagetest.NewDice(seed, nil)
		c := d.Conversation()
		r := stagetest.NewRun(t, c)
		stage := codex(t, "").Stage.(*codexCompaction)
		r.Each = func(k int) {
			ids := r.View.IDs()
			id := ids[d.N(len(ids))]
			e := policy.Edit{Kind: policy.KindRemove, Trigger: "auto", Stage: "test", Items: []policy.ItemID{id}}
			results := slices.DeleteFunc(slices.Clone(r.View.Results()), func(r policy.Result) bool { return r.State == policy.ResultGone })
			if d.One(3) {
				e.Kind, e.Items, e.Keep = policy.KindSummarize, nil, []policy.ItemID{id}
				e.Insert = []policy.Synthetic{{Role: "user", Summary: true, Contents: []policy.Content{{Tokens: 30}}}}
			} else if d.One(2) && len(results) > 0 {
				content := policy.NewContent(jsonl.KindText, "cut")
				e.Kind, e.Items, e.Target, e.New = policy.KindTruncate, nil, results[d.N(len(results))].Target, &content
			}
			if d.One(4) {
				must.Get(r.View.Apply(e))(t)
			}
			if ids = r.View.IDs(); d.One(3) { // not asked at each request
				return
			}
			keep := slices.DeleteFunc(ids[len(ids)-d.N(min(len(ids), 6)):], func(policy.ItemID) bool { return d.One(5) })
			window := 1 + d.N(r.View.Tokens()+20)
			got := stage.remoteCall(&policy.Context{View: r.View, Conv: c.Conversation, Window: window, Before: r.View.Tokens()}, keep)
			want := &policy.Call{Kind: "compaction", Prefix: "session", Input: r.View.Tokens()}
			for _, id := range keep {
				want.Input -= r.View.Weight(id)
			}
			leaveOut(&policy.Context{View: r.View, Window: window}, keep, want)
			if want.Cut != nil && want.Input > window {
				all++
			} else if want.Cut != nil {
				some++
			}
			want.Input = max(want.Input, 1)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Fatalf("seed %d, request %d: -want +got\n%s", seed, k, diff)
			}
		}
		r.All()
	}
	if all < 100 || some < 400 {
		t.Errorf("%d requests without any result, %d without some", all, some)
	}
}
