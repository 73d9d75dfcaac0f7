package view

import (
	"testing"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
)

// Of two edits that change the payload at one place, the first one counts: a cache miss is explained by it.
func TestFirstChangeOfOneBlock(t *testing.T) {
	short := policy.NewContent(jsonl.KindText, "x")
	clearing := func(item policy.ItemID) policy.Edit {
		return policy.Edit{Kind: policy.KindClear, Target: policy.Target{Item: item}, New: &short}
	}
	tests := []struct {
		name  string
		items []policy.ItemID // cleared in this order
		want  SentChange
	}{
		{"the same block twice", []policy.ItemID{1, 1}, SentChange{Place: 1, Item: 1, Edit: 0}},
		{"a later block next", []policy.ItemID{1, 2}, SentChange{Place: 1, Item: 1, Edit: 0}},
		{"an earlier block next", []policy.ItemID{1, 0}, SentChange{Place: 0, Item: 0, Edit: 1}},
	}
	for _, tt := range tests {
		v := talk(3)
		v.Sent()
		for _, item := range tt.items {
			apply(t, v, clearing(item))
		}
		must.Both(v.FirstChange())(t, tt.want, true, tt.name)
	}
}

// A message that a summary keeps before it was offered arrives with the summary, and once.
func TestKeptEarlyArrivesOnce(t *testing.T) {
	conv := &session.Conversation{}
	for range 4 {
		conv.Messages = append(conv.Messages, message(session.User, textBlock("hi")))
	}
	v := New(conv, flat{conv}, nil)
	v.Join(0)
	v.Join(1)
	apply(t, v, policy.Edit{Kind: policy.KindSummarize, Keep: []policy.ItemID{1, 2}})
	want := []policy.ItemID{0, 1, 2}
	same(t, want, v.Arrived(), "after the summary")
	v.Join(2)
	v.Join(3)
	same(t, append(want, 3), v.Arrived(), "after the messages joined")
}
