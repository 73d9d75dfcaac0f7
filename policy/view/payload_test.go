package view

import (
	"testing"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
)

// answered is n user messages with a tool_result of 10 characters each, and one with a text at the end.
func answered(n int) *View {
	var list []session.Message
	for i := range n {
		bl := textBlock("0123456789")
		bl.Kind, bl.IsString = jsonl.KindToolResult, true
		bl.ID = string(rune('a' + i))
		list = append(list, message(session.User, bl))
	}
	return seen(append(list, message(session.User, textBlock("hi")))...)
}

func at(item int) policy.Target { return policy.Target{Item: policy.ItemID(item), Block: 0} }

// Two stages may edit one block in the payload: each lifts its own edit alone, and what is deleted from the cached
// view leaves nothing to be cleared.
func TestPayloadOwners(t *testing.T) {
	v := answered(2)
	placeholder := policy.NewContent(jsonl.KindToolResult, "gone")
	whole := v.PayloadTokens()
	weight, short := v.BlockTokens(at(0)), v.content(&placeholder)[0]
	steps := []struct {
		name string
		edit policy.Edit
		off  int // tokens the payload is short of the model view afterwards
		left *policy.Content
		any  bool
	}{
		{"cleared", policy.Edit{Stage: "server", Kind: policy.KindServerClear, Target: at(0), New: &placeholder}, weight - short, &placeholder, true},
		{"and deleted", policy.Edit{Stage: "client", Kind: policy.KindCacheEdit, Target: at(0), Carrier: 2}, weight, nil, true},
		{"the server keeps it", policy.Edit{Stage: "server", Kind: policy.KindServerKeep, Target: at(0)}, weight, nil, true},
		{"it clears it again", policy.Edit{Stage: "server", Kind: policy.KindServerClear, Target: at(0), New: &placeholder}, weight, nil, true},
		{"the deletion is lifted", policy.Edit{Stage: "client", Kind: policy.KindServerKeep, Target: at(0)}, weight - short, &placeholder, true},
		{"nothing stands", policy.Edit{Stage: "server", Kind: policy.KindServerKeep, Target: at(0)}, 0, nil, false},
		{"nothing is lifted", policy.Edit{Stage: "server", Kind: policy.KindServerKeep, Target: at(0)}, 0, nil, false},
	}
	was := 0
	for _, s := range steps {
		e := must.Get(v.Apply(s.edit))(t)
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

// A block that is deleted from the cached view and then cleared in the model view as well is taken off the payload
// once.
func TestPayloadCountsOnce(t *testing.T) {
	v := answered(1)
	text := v.Weight(1)
	placeholder := policy.NewContent(jsonl.KindToolResult, "gone")
	apply(t, v,
		policy.Edit{Stage: "client", Kind: policy.KindCacheEdit, Target: at(0), Carrier: 1},
		policy.Edit{Stage: "other", Kind: policy.KindClear, Target: at(0), New: &placeholder})
	same(t, text, v.PayloadTokens(), "deleted, then cleared: payload of")
	apply(t, v, policy.Edit{Stage: "client", Kind: policy.KindServerKeep, Target: at(0)})
	if want := text + v.content(&placeholder)[0]; v.PayloadTokens() != want || v.Tokens() != want {
		t.Errorf("lifted: payload of %d tokens, view of %d, want %d", v.PayloadTokens(), v.Tokens(), want)
	}
	apply(t, v,
		policy.Edit{Stage: "client", Kind: policy.KindCacheEdit, Target: at(0), Carrier: 1},
		policy.Edit{Stage: "other", Kind: policy.KindRemove, Items: []policy.ItemID{0}})
	if v.PayloadTokens() != text || v.Tokens() != text {
		t.Errorf("removed: payload of %d tokens, view of %d, want %d", v.PayloadTokens(), v.Tokens(), text)
	}
}

func TestCacheEdits(t *testing.T) {
	v := answered(3)
	client := func(kind policy.EditKind, item int, carrier policy.ItemID) policy.Edit {
		return policy.Edit{Stage: "client", Kind: kind, Target: at(item), Carrier: carrier}
	}
	want := func(list ...policy.CacheEdit) {
		t.Helper()
		same(t, list, v.CacheEdits())
	}
	want()
	apply(t, v, client(policy.KindCacheEdit, 1, 2), client(policy.KindCacheEdit, 0, 3))
	want(policy.CacheEdit{Target: at(1), Carrier: 2}, policy.CacheEdit{Target: at(0), Carrier: 3})
	must.Say(t, "true false", v.CacheEdited(at(0)), v.CacheEdited(at(2)))
	// Another carrier takes it on, as a new edit.
	apply(t, v, client(policy.KindCacheEdit, 1, 3))
	want(policy.CacheEdit{Target: at(0), Carrier: 3}, policy.CacheEdit{Target: at(1), Carrier: 3})
	apply(t, v, client(policy.KindServerKeep, 0, 0))
	want(policy.CacheEdit{Target: at(1), Carrier: 3})
	apply(t, v, policy.Edit{Kind: policy.KindRemove, Items: []policy.ItemID{1}})
	want()
	// What comes back comes without.
	apply(t, v, policy.Edit{Kind: policy.KindSummarize, Keep: []policy.ItemID{1, 3}})
	want()
	apply(t, v, client(policy.KindCacheEdit, 1, 3), policy.Edit{Kind: policy.KindSummarize, Keep: []policy.ItemID{1, 3}})
	want(policy.CacheEdit{Target: at(1), Carrier: 3})

	if _, err := v.Apply(client(policy.KindCacheEdit, 1, 2)); err == nil {
		t.Error("an item that is not in view carries an edit")
	}
}
