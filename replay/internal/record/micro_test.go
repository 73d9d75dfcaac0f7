package record

import (
	"slices"
	"testing"

	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/view"
	"github.com/ctxkit/ctxkit/replay/tokens"
)

// TestResultsByID: what is found by id is what a search of the results finds, also after the view is rebuilt.
func TestResultsByID(t *testing.T) {
	file := must.Get(session.Load("../../../testdata/sessions/compaction.jsonl", session.LoadOptions{}))(t)
	defer file.Close()
	cal := must.Get(tokens.Calibrate(file.Main, tokens.CountedModel{}))(t)
	v := view.New(file.Main, cal, nil)
	var found resultsByID
	var ids []string
	check := func() {
		t.Helper()
		for _, id := range append(slices.Clone(ids), "none") {
			var want []int
			for i, r := range v.Results() {
				if r.ID == id {
					want = append(want, i)
				}
			}
			if got := found.of(v, []string{id, "none", id}); !slices.Equal(got, want) {
				t.Fatalf("%s is at %v, want %v", id, got, want)
			}
		}
		var all []int
		for i := range v.Results() {
			all = append(all, i)
		}
		backwards := slices.Clone(ids)
		slices.Reverse(backwards)
		if got := found.of(v, backwards); !slices.Equal(got, all) {
			t.Fatalf("all are at %v, want %v", got, all)
		}
	}
	rebuilt := 0
	for m := range file.Main.Messages {
		v.Join(m)
		for _, r := range v.Results() {
			if !slices.Contains(ids, r.ID) {
				ids = append(ids, r.ID)
			}
		}
		check()
		if results := v.Results(); len(results) > 3 {
			must.Get(v.Apply(policy.Edit{Kind: policy.KindSummarize, Keep: []policy.ItemID{results[len(results)-1].Target.Item}}))(t)
			rebuilt++
			check()
		}
	}
	if rebuilt < 2 || len(ids) < 5 {
		t.Fatalf("%d ids, rebuilt %d times: the session is too short", len(ids), rebuilt)
	}
}
