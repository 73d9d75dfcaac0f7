package policy

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/session"
)

// answered is n user messages with a tool_result of 10 characters each, and one
// with a text at the end.
func answered(n int) *View {
	var list []session.Message
	for i := range n {
		bl := textBlock("0123456789")
		bl.Kind, bl.ID, bl.IsString = jsonl.KindToolResult, string(rune('a'+i)), true
		list = append(list, message(session.User, bl))
	}
	return seen(append(list, message(session.User, textBlock("hi")))...)
}

func at(item int) Target { return Target{ItemID(item), 0} }

// Two stages may edit one block in the payload: each lifts its own edit alone,
// and what is deleted from the cached view leaves nothing to be cleared.
func TestPayloadOwners(t *testing.T) {
	v := answered(2)
	placeholder := NewContent(jsonl.KindToolResult, "gone")
	whole := v.PayloadTokens()
	weight, short := v.BlockTokens(at(0)), v.content(&placeholder)[0]
	steps := []struct {
		name string
		edit Edit
		off  int // tokens the payload is short of the model view afterwards
		left *Content
		any  bool
	}{
		{"cleared", Edit{Stage: "server", Kind: KindServerClear, Target: at(0), New: &placeholder}, weight - short, &placeholder, true},
		{"and deleted", Edit{Stage: "client", Kind: KindCacheEdit, Target: at(0), Carrier: 2}, weight, nil, true},
		{"the server keeps it", Edit{Stage: "server", Kind: KindServerKeep, Target: at(0)}, weight, nil, true},
		{"it clears it again", Edit{Stage: "server", Kind: KindServerClear, Target: at(0), New: &placeholder}, weight, nil, true},
		{"the deletion is lifted", Edit{Stage: "client", Kind: KindServerKeep, Target: at(0)}, weight - short, &placeholder, true},
		{"nothing stands", Edit{Stage: "server", Kind: KindServerKeep, Target: at(0)}, 0, nil, false},
		{"nothing is lifted", Edit{Stage: "server", Kind: KindServerKeep, Target: at(0)}, 0, nil, false},
	}
	was := 0
	for _, s := range steps {
		e, err := v.Apply(s.edit)
		if err != nil {
			t.Fatal(err)
		}
		left, ok := v.PayloadReplacement(at(0))
		if got := v.Tokens() - v.PayloadTokens(); got != s.off || left != s.left || ok != s.any {
			t.Errorf("%s: %d tokens off, %v stands in (%t); want %d, %v (%t)", s.name, got, left, ok, s.off, s.left, s.any)
		}
		if e.Before != weight-was || e.After != weight-s.off {
			t.Errorf("%s: the edit says %d -> %d tokens, want %d -> %d", s.name, e.Before, e.After, weight-was, weight-s.off)
		}
		was = s.off
	}
	if v.Tokens() != whole || v.PayloadTokens() != whole {
		t.Errorf("%d and %d tokens, want %d", v.Tokens(), v.PayloadTokens(), whole)
	}
}

// A block that is deleted from the cached view and then cleared in the model
// view as well is taken off the payload once.
func TestPayloadCountsOnce(t *testing.T) {
	v := answered(1)
	text := v.Weight(1)
	placeholder := NewContent(jsonl.KindToolResult, "gone")
	apply(t, v,
		Edit{Stage: "client", Kind: KindCacheEdit, Target: at(0), Carrier: 1},
		Edit{Stage: "other", Kind: KindClear, Target: at(0), New: &placeholder})
	if v.PayloadTokens() != text {
		t.Errorf("deleted, then cleared: payload of %d tokens, want %d", v.PayloadTokens(), text)
	}
	apply(t, v, Edit{Stage: "client", Kind: KindServerKeep, Target: at(0)})
	if want := text + v.content(&placeholder)[0]; v.PayloadTokens() != want || v.Tokens() != want {
		t.Errorf("lifted: payload of %d tokens, view of %d, want %d", v.PayloadTokens(), v.Tokens(), want)
	}
	apply(t, v,
		Edit{Stage: "client", Kind: KindCacheEdit, Target: at(0), Carrier: 1},
		Edit{Stage: "other", Kind: KindRemove, Items: []ItemID{0}})
	if v.PayloadTokens() != text || v.Tokens() != text {
		t.Errorf("removed: payload of %d tokens, view of %d, want %d", v.PayloadTokens(), v.Tokens(), text)
	}
}

func TestCacheEdits(t *testing.T) {
	v := answered(3)
	client := func(kind Kind, item int, carrier ItemID) Edit {
		return Edit{Stage: "client", Kind: kind, Target: at(item), Carrier: carrier}
	}
	want := func(list ...CacheEdit) {
		t.Helper()
		if diff := cmp.Diff(list, v.CacheEdits()); diff != "" {
			t.Errorf("-want +got\n%s", diff)
		}
	}
	want()
	apply(t, v, client(KindCacheEdit, 1, 2), client(KindCacheEdit, 0, 3))
	want(CacheEdit{at(1), 2}, CacheEdit{at(0), 3})
	if !v.CacheEdited(at(0)) || v.CacheEdited(at(2)) {
		t.Error("CacheEdited is wrong")
	}
	// Another carrier takes it on, as a new edit.
	apply(t, v, client(KindCacheEdit, 1, 3))
	want(CacheEdit{at(0), 3}, CacheEdit{at(1), 3})
	apply(t, v, client(KindServerKeep, 0, 0))
	want(CacheEdit{at(1), 3})
	apply(t, v, Edit{Kind: KindRemove, Items: []ItemID{1}})
	want()
	// What comes back comes without.
	apply(t, v, Edit{Kind: KindSummarize, Keep: []ItemID{1, 3}})
	want()
	apply(t, v, client(KindCacheEdit, 1, 3), Edit{Kind: KindSummarize, Keep: []ItemID{1, 3}})
	want(CacheEdit{at(1), 3})

	if _, err := v.Apply(client(KindCacheEdit, 1, 2)); err == nil {
		t.Error("an item that is not in view carries an edit")
	}
}
