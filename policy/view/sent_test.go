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

	must.Rows(t, `
# name | items | want
the same block twice  | [1,1] | {"Edit":0,"Item":1,"Place":1}
a later block next    | [1,2] | {"Edit":0,"Item":1,"Place":1}
an earlier block next | [1,0] | {"Edit":1,"Item":0,"Place":0}
`, func(name string, items []policy.ItemID, want SentChange) {
		v := talk(3)
		v.Sent()
		for _, item := range items {
			apply(t, v, clearing(item))
		}
		must.Both(v.FirstChange())(t, want, true, name)
	})
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
