package policy

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/session"
)

// talk is n user messages.
func talk(n int) *View {
	var list []session.Message
	for range n {
		list = append(list, message(session.User, textBlock("hi")))
	}
	return seen(list...)
}

func apply(t *testing.T, v *View, edits ...Edit) {
	t.Helper()
	for _, e := range edits {
		if _, err := v.Apply(e); err != nil {
			t.Fatal(err)
		}
	}
}

func stub() []Synthetic {
	return []Synthetic{{Role: "user", Contents: []Content{NewContent(jsonl.KindText, "stub")}}}
}

// What a collapse has put away is out of view for good: also after a
// compaction has made the view shorter than its place was.
func TestHasAfterCollapseAndRebuild(t *testing.T) {
	v := talk(6)
	apply(t, v,
		Edit{Kind: KindCollapse, Items: []ItemID{3, 4}, Insert: stub()},
		Edit{Kind: KindSummarize, Insert: stub(), Keep: []ItemID{5}},
	)
	for id, want := range map[ItemID]bool{0: false, 3: false, 4: false, 5: true, -1: false, -2: true} {
		if got := v.Has(id); got != want {
			t.Errorf("Has(%d) = %t, want %t", id, got, want)
		}
	}
	if _, err := v.Apply(Edit{Kind: KindRemove, Items: []ItemID{3}}); err == nil {
		t.Error("a collapsed message could be removed once more")
	}
	// A recorded compaction may bring it back.
	apply(t, v, Edit{Kind: KindSummarize, Keep: []ItemID{3, 5}})
	if diff := cmp.Diff([]ItemID{3, 5}, v.IDs()); diff != "" {
		t.Errorf("kept: -want +got\n%s", diff)
	}
	if v.Len() != 2 || v.Tokens() != 2 {
		t.Errorf("%d items of %d tokens, want 2 of 2", v.Len(), v.Tokens())
	}
}

func TestRemoveTwiceInOneEdit(t *testing.T) {
	v := talk(3)
	if _, err := v.Apply(Edit{Kind: KindRemove, Items: []ItemID{1, 1}}); err == nil {
		t.Error("no error for an item named twice")
	}
	if v.Len() != 3 || v.Tokens() != 3 {
		t.Errorf("%d items of %d tokens after a refused edit, want 3 of 3", v.Len(), v.Tokens())
	}
}

// A rebuild that is refused leaves the view as it was.
func TestRebuildRefused(t *testing.T) {
	for _, keep := range [][]ItemID{{1, 1}, {7}, {-1}} {
		v := talk(3)
		if _, err := v.Apply(Edit{Kind: KindSummarize, Keep: keep}); err == nil {
			t.Errorf("keeping %v: no error", keep)
		}
		if diff := cmp.Diff([]ItemID{0, 1, 2}, v.IDs()); diff != "" {
			t.Errorf("keeping %v: -want +got\n%s", keep, diff)
		}
	}
}

func TestApplyRefuses(t *testing.T) {
	text := NewContent(jsonl.KindText, "x")
	tests := []struct {
		name string
		edit Edit
	}{
		{"no such kind", Edit{Kind: "shrink"}},
		{"no such item", Edit{Kind: KindClear, Target: Target{9, 0}, New: &text}},
		{"no such block", Edit{Kind: KindClear, Target: Target{0, 1}, New: &text}},
		{"nothing to put there", Edit{Kind: KindPersist, Target: Target{0, 0}}},
		{"no text to append", Edit{Kind: KindTag, Target: Target{0, -1}}},
		{"no block of the payload", Edit{Kind: KindServerClear, Target: Target{0, 7}}},
		{"nobody to remove", Edit{Kind: KindRemove}},
		{"a collapse into nothing", Edit{Kind: KindCollapse, Items: []ItemID{0}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			v := talk(2)
			if _, err := v.Apply(tt.edit); err == nil {
				t.Error("no error")
			}
			if len(v.Edits()) != 0 || v.Len() != 2 || v.Tokens() != 2 {
				t.Errorf("%d edits, %d items, %d tokens after it", len(v.Edits()), v.Len(), v.Tokens())
			}
		})
	}
}
