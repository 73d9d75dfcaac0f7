package view

import (
	"errors"
	"testing"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
)

// talk is n user messages.
func talk(n int) *View {
	var list []session.Message
	for range n {
		list = append(list, message(session.User, textBlock("hi")))
	}
	return seen(list...)
}

func apply(t *testing.T, v *View, edits ...policy.Edit) {
	t.Helper()
	for _, e := range edits {
		must.Get(v.Apply(e))(t)
	}
}

func stub() []policy.Synthetic {
	return []policy.Synthetic{{Role: "user", Contents: []policy.Content{policy.NewContent(jsonl.KindText, "stub")}}}
}

// What a collapse has put away is out of view for good: also after a compaction has made the view shorter than its
// place was.
func TestHasAfterCollapseAndRebuild(t *testing.T) {
	v := talk(6)
	apply(t, v,
		policy.Edit{Kind: policy.KindCollapse, Items: []policy.ItemID{3, 4}, Insert: stub()},
		policy.Edit{Kind: policy.KindSummarize, Insert: stub(), Keep: []policy.ItemID{5}},
	)
	must.Rows(t, `
# id | want
0  | false
3  | false
4  | false
5  | true
-1 | false
-2 | true
`, func(id policy.ItemID, want bool) {
		same(t, want, v.Has(id), id)
	})
	if _, err := v.Apply(policy.Edit{Kind: policy.KindRemove, Items: []policy.ItemID{3}}); err == nil {
		t.Error("a collapsed message could be removed once more")
	}
	// A recorded compaction may bring it back.
	apply(t, v, policy.Edit{Kind: policy.KindSummarize, Keep: []policy.ItemID{3, 5}})
	same(t, []policy.ItemID{3, 5}, v.IDs(), "kept")
	must.Say(t, "2 2", v.Len(), v.Tokens())
}

func TestRemoveTwiceInOneEdit(t *testing.T) {
	v := talk(3)
	if _, err := v.Apply(policy.Edit{Kind: policy.KindRemove, Items: []policy.ItemID{1, 1}}); err == nil {
		t.Error("no error for an item named twice")
	}
	must.Say(t, "3 3", v.Len(), v.Tokens())
}

// What leads stands before what is inserted, what is kept behind it.
func TestRebuildOrder(t *testing.T) {
	v := talk(5)
	e := policy.Edit{Kind: policy.KindSummarize, Lead: []policy.ItemID{3, 0}, Insert: stub(), Keep: []policy.ItemID{4}, Tail: stub()}
	must.Get(v.Apply(e))(t)
	same(t, []policy.ItemID{3, 0, -1, 4, -2}, v.IDs())
}

// A window that slides over a long conversation is not walked over from its beginning each time: what left is passed
// over in one step.
func TestItemsPassOverWhatLeft(t *testing.T) {
	const n, window = 20000, 10
	v := talk(n)
	steps := 0
	for m := 1; m < n-window; m++ {
		must.Get(v.Apply(policy.Edit{Kind: policy.KindRemove, Items: []policy.ItemID{policy.ItemID(m)}}))(t)
		for i := 0; i < len(v.items); i++ { // as Items does, up to the third in view
			if v.items[i].removed() {
				for at := i; v.items[at].removed(); at = v.items[at].next {
					steps++
				}
				i = v.skip(i)
			}
			if i > m+1 {
				break
			}
		}
	}
	if steps > 4*n {
		t.Errorf("%d steps over what left in %d walks: they grow with the conversation", steps, n)
	}
	want := []policy.ItemID{0}
	for m := n - window; m < n; m++ {
		want = append(want, policy.ItemID(m))
	}
	same(t, want, v.IDs())
}

// A rebuild that is refused leaves the view as it was.
func TestRebuildRefused(t *testing.T) {
	for _, keep := range [][]policy.ItemID{{1, 1}, {7}, {-1}} {
		v := talk(3)
		if _, err := v.Apply(policy.Edit{Kind: policy.KindSummarize, Keep: keep}); err == nil {
			t.Errorf("keeping %v: no error", keep)
		}
		if _, err := v.Apply(policy.Edit{Kind: policy.KindSummarize, Lead: keep[:1], Keep: keep}); err == nil {
			t.Errorf("keeping %v on both sides: no error", keep)
		}
		same(t, []policy.ItemID{0, 1, 2}, v.IDs(), keep)
	}
}

func TestApplyRefuses(t *testing.T) {
	text := policy.NewContent(jsonl.KindText, "x")
	tests := []struct {
		name string
		edit policy.Edit
	}{
		{"no such kind", policy.Edit{Kind: "shrink"}},
		{"no such item", policy.Edit{Kind: policy.KindClear, Target: policy.Target{Item: 9, Block: 0}, New: &text}},
		{"no such block", policy.Edit{Kind: policy.KindClear, Target: policy.Target{Item: 0, Block: 1}, New: &text}},
		{"nothing to put there", policy.Edit{Kind: policy.KindPersist, Target: policy.Target{Item: 0, Block: 0}}},
		{"no text to append", policy.Edit{Kind: policy.KindTag, Target: policy.Target{Item: 0, Block: -1}}},
		{"no block of the payload", policy.Edit{Kind: policy.KindServerClear, Target: policy.Target{Item: 0, Block: 7}}},
		{"nobody to remove", policy.Edit{Kind: policy.KindRemove}},
		{"a collapse into nothing", policy.Edit{Kind: policy.KindCollapse, Items: []policy.ItemID{0}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			v := talk(2)
			if _, err := v.Apply(tt.edit); err == nil {
				t.Error("no error")
			}
			must.Say(t, "0 2 2", len(v.Edits()), v.Len(), v.Tokens())
		})
	}
}

// TestFailuresAreBounded: what failed compactions are about is held, and counts towards the most edits.
func TestFailuresAreBounded(t *testing.T) {
	v := talk(2 * namedShare)
	v.Limit(7)
	fail := policy.Edit{Kind: policy.KindFail, Items: v.IDs()} // one edit, and as many items as two
	apply(t, v, fail, fail)
	var over *jsonl.LimitError
	_, err := v.Apply(fail)
	must.Say(t, "true edits", errors.As(err, &over), over.Name)
}

// same fails a test whose result is not the one that is wanted; of says what it belongs to.
func same[T any](t testing.TB, want, got T, of ...any) {
	t.Helper()
	must.Equal(t, got, want, of)
}
