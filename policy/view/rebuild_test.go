package view

import (
	"slices"
	"testing"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
)

// TestRebuildKeepsPlaces holds that the places of items that stay are counted where a block far back has gone.
func TestRebuildKeepsPlaces(t *testing.T) {
	var messages []session.Message
	for i := range 2 * recount {
		messages = append(messages, message(session.Role(i%2), textBlock("a"), textBlock("b")))
	}
	v := seen(messages...)
	gone := policy.Content{Kind: jsonl.KindText, Gone: true}
	for _, e := range []policy.Edit{
		{Kind: policy.KindTruncate, Target: policy.Target{Item: 5}, New: &gone},
		{Kind: policy.KindSummarize, Keep: v.IDs()[3:]},
	} {
		must.Get(v.Apply(e))(t)
	}
	blocks := 0
	for id := range v.Items {
		if place, ok := v.Place(id); !ok || place != blocks {
			t.Fatalf("item %d has place %d (%v), want %d", id, place, ok, blocks)
		}
		blocks += v.SentBlocks(id)
	}
	same(t, blocks, v.Places())
}

// TestRebuildAhead holds that a message that a rebuild takes in before it is offered arrives with each rebuild until then.
func TestRebuildAhead(t *testing.T) {
	hi := textBlock("hi")
	conv := &session.Conversation{Messages: []session.Message{message(session.User, hi), message(session.Assistant, hi), message(session.User, hi)}}
	v := New(conv, flat{conv}, nil)
	v.Join(0)
	v.Join(1)
	for range 2 {
		must.Get(v.Apply(policy.Edit{Kind: policy.KindSummarize, Keep: []policy.ItemID{1, 2}}))(t)
	}
	if want := []policy.ItemID{0, 1, 2, 2}; !slices.Equal(v.Arrived(), want) {
		t.Errorf("arrived %v, want %v", v.Arrived(), want)
	}
}

// TestRebuildLeaves holds that what a rebuild leaves behind has left the payload that was sent.
func TestRebuildLeaves(t *testing.T) {
	hi := textBlock("hi")
	for _, keep := range [][]policy.ItemID{{3, 4}, {2, 4}} {
		v := seen(message(session.User, hi, hi), message(session.Assistant, hi), message(session.User, hi), message(session.Assistant, hi))
		v.Sent()
		v.push(v.newSynthetic(&policy.Synthetic{Role: "user", Contents: []policy.Content{policy.NewContent(jsonl.KindText, "new")}}))
		keep[1] = -1
		must.Get(v.Apply(policy.Edit{Kind: policy.KindSummarize, Keep: keep}))(t)
		same(t, 4, v.LeftTokens(), keep)
	}
}

// TestLeftAtRebuild holds which tokens of what was sent have left where a view is rebuilt.
func TestLeftAtRebuild(t *testing.T) {
	hi, text := textBlock("hi"), policy.NewContent(jsonl.KindText, "s")
	change := policy.Edit{Kind: policy.KindClear, Target: policy.Target{Item: 0}, New: &text}
	rebuild := func(lead ...policy.ItemID) policy.Edit { return policy.Edit{Kind: policy.KindSummarize, Lead: lead} }
	apply := func(t *testing.T, v *View, edits ...policy.Edit) {
		for _, e := range edits {
			must.Get(v.Apply(e))(t)
		}
	}
	for _, tt := range []struct {
		name  string
		edits []policy.Edit
		want  int
	}{
		{"all but the last, which was not sent", []policy.Edit{rebuild()}, 5},
		{"one stays", []policy.Edit{rebuild(1)}, 4},
		{"a changed block counts once", []policy.Edit{change, rebuild()}, 5},
		{"a changed block that stays", []policy.Edit{change, rebuild(0)}, 4},
		{"inferred", []policy.Edit{{Kind: policy.KindInferred, Delta: 7}, rebuild()}, 5},
		{"removed before", []policy.Edit{{Kind: policy.KindRemove, Items: []policy.ItemID{1}}, rebuild()}, 5},
	} {
		t.Run(tt.name, func(t *testing.T) {
			v := seen(message(session.User, hi, hi), message(session.Assistant, hi), message(session.User, hi, hi), message(session.User, hi))
			v.sent.items = 3
			if apply(t, v, tt.edits...); v.LeftTokens() != tt.want {
				t.Errorf("%d tokens left, want %d", v.LeftTokens(), tt.want)
			}
		})
	}
	v := seen(message(session.User, hi), message(session.Assistant, hi))
	for range 2 {
		v.Sent()
		if apply(t, v, change); v.LeftTokens() != 1 {
			t.Errorf("%d tokens left, want 1, of the block that was sent", v.LeftTokens())
		}
	}
}
