package view

import (
	"math/rand/v2"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
)

func TestSummaryOrTail(t *testing.T) {
	hi, ok := textBlock("hi"), textBlock("ok")
	conv := func() *View {
		return seen(message(session.User, hi), message(session.Assistant, ok), message(session.User, hi), message(session.Assistant, ok), message(session.User, hi))
	}
	summary := func(keep ...policy.ItemID) policy.Edit {
		return policy.Edit{Kind: policy.KindSummarize, Keep: keep, Insert: []policy.Synthetic{{Role: "user", Label: "summary", Summary: true, Contents: []policy.Content{{Kind: jsonl.KindText, Tokens: 5}}}}}
	}
	repeats := func(item policy.ItemID, keep ...policy.ItemID) policy.Edit {
		e := summary(keep...)
		e.Insert[0].Contents[0].Ref = &policy.Target{Item: item}
		return e
	}
	for _, tt := range []struct {
		name  string
		steps [][]policy.Edit // checked after each
		want  []Violation
	}{
		{"a tail is kept", [][]policy.Edit{{summary(3, 4)}}, nil},
		{"a summary of a message that is kept", [][]policy.Edit{{repeats(4, 3, 4)}}, []Violation{{-1, SummaryOrTail, "the summary repeats a message that is in view"}}},
		{"a summary of one that is not", [][]policy.Edit{{repeats(0, 3, 4)}}, nil},
		{"a message comes back", [][]policy.Edit{{summary(3, 4)}, {summary(2, 3, 4)}}, []Violation{{2, SummaryOrTail, "a message that a summary has taken the place of is in view again"}}},
		{"one that was only removed comes back", [][]policy.Edit{{{Kind: policy.KindRemove, Items: []policy.ItemID{1, 2}}}, {summary(2, 3, 4)}}, nil},
		{"both at once", [][]policy.Edit{{{Kind: policy.KindRemove, Items: []policy.ItemID{1, 2}}, summary(4)}, {summary(2, 3, 4)}}, []Violation{{3, SummaryOrTail, "a message that a summary has taken the place of is in view again"}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			v := conv()
			c := NewChecker(v)
			var got []Violation
			c.Check()
			for _, step := range tt.steps {
				for _, e := range step {
					if _, err := v.Apply(e); err != nil {
						t.Fatal(err)
					}
				}
				for _, x := range c.Check() {
					if x.Rule == SummaryOrTail {
						got = append(got, x)
					}
				}
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
		})
	}
}

// TestCheckerFollows holds a checker that follows a view, message by message and edit by edit, against one that looks
// at all of it anew.
func TestCheckerFollows(t *testing.T) {
	kinds := []jsonl.Kind{jsonl.KindText, jsonl.KindToolUse, jsonl.KindToolResult, jsonl.KindThinking, jsonl.KindAttachment}
	for seed := range uint64(2000) {
		r := rand.New(rand.NewPCG(seed, 1))
		var messages []session.Message
		calls := 0
		for range 1 + r.IntN(14) {
			var blocks []session.Block
			many := seed%3 == 0 // more calls in a message than are searched without an index
			most := 4
			if many {
				most = fewCalls
			}
			for range r.IntN(most) {
				k := kinds[r.IntN(len(kinds))]
				id := string(rune('a' + r.IntN(4)))
				if many && r.IntN(2) == 0 {
					calls++
					k, id = jsonl.KindToolUse, strconv.Itoa(calls)
				}
				b := idBlock(k, id)
				if r.IntN(5) == 0 {
					b.Change(func(c *jsonl.ContentBlock) { c.Text = jsonl.Metrics{} })
				}
				blocks = append(blocks, b)
			}
			role := session.Role(r.IntN(2))
			if many && r.IntN(8) > 0 {
				role = session.Assistant
			}
			messages = append(messages, message(role, blocks...))
		}
		conv := &session.Conversation{Messages: messages}
		conv.IndexTools()
		v := New(conv, flat{conv}, nil)
		c, told := NewChecker(v), map[Violation]bool{}
		for m := range messages {
			v.Join(m)
			for range r.IntN(3) {
				ids := v.IDs()
				if len(ids) == 0 {
					break
				}
				id := ids[r.IntN(len(ids))]
				empty := policy.NewContent(jsonl.KindText, "")
				e := policy.Edit{Kind: policy.KindClear, Target: policy.Target{Item: id, Block: 0}, New: &empty}
				if r.IntN(3) == 0 {
					e.Target.Block = r.IntN(4)
				}
				if id >= 0 {
					if c := v.Replacement(e.Target); c != nil && c.Gone || e.Target.Block < v.Blocks(id) && v.Kind(e.Target) == jsonl.KindAttachment {
						continue // what is gone stays gone, and no edit replaces an attachment
					}
				}
				switch r.IntN(5) {
				case 2:
					e.New = &policy.Content{Kind: jsonl.KindText, Gone: true}
				case 0:
					e = policy.Edit{Kind: policy.KindRemove, Items: []policy.ItemID{id}}
				case 1:
					e = policy.Edit{Kind: policy.KindSummarize, Keep: ids[len(ids)/2:], Insert: []policy.Synthetic{{Role: "user", Contents: []policy.Content{policy.NewContent(jsonl.KindText, "s")}}}}
				}
				_, _ = v.Apply(e) // of a message without blocks it is refused
			}
			if r.IntN(2) == 0 {
				continue
			}
			now := map[Violation]bool{}
			for _, x := range CheckAPI(v) {
				now[x] = true
			}
			for _, x := range c.Check() {
				told[x] = true
				if !now[x] {
					t.Fatalf("seed %d, message %d: told %v, which the whole view does not show", seed, m, x)
				}
			}
			for x := range now {
				if !told[x] {
					t.Fatalf("seed %d, message %d: %v was never told", seed, m, x)
				}
			}
		}
	}
}

// TestCheckerOfManyCalls holds that a checker does not look at all calls of a long message again where the last of it
// changes before each check.
func TestCheckerOfManyCalls(t *testing.T) {
	const n = 2000
	var messages []session.Message
	for i := range n {
		messages = append(messages, message(session.Assistant, textBlock("x"), idBlock(jsonl.KindToolUse, strconv.Itoa(i))))
	}
	for i := range n {
		messages = append(messages, message(session.User, textBlock("x"), idBlock(jsonl.KindToolResult, strconv.Itoa(i))))
	}
	conv := &session.Conversation{Messages: messages}
	conv.IndexTools()
	v := New(conv, flat{conv}, nil)
	c := NewChecker(v)
	for m := range messages {
		v.Join(m)
		for _, x := range c.Check() {
			if x.Rule == ResultFollowsUse {
				t.Fatal(x)
			}
		}
		if _, err := v.Apply(policy.Edit{Kind: policy.KindClear, Target: policy.Target{Item: policy.ItemID(m)}, New: &policy.Content{Kind: jsonl.KindText, Gone: true}}); err != nil {
			t.Fatal(err)
		}
	}
	if c.check.indexed > 3*n {
		t.Errorf("%d calls of %d were looked at again", c.check.indexed, n)
	}
}

// TestRebuildKeepingTwice holds that a rebuild that names an item twice, or none, changes nothing.
func TestRebuildKeepingTwice(t *testing.T) {
	hi := textBlock("hi")
	for name, e := range map[string]policy.Edit{
		"twice in what is kept": {Keep: []policy.ItemID{1, 2, 1}},
		"in front and kept":     {Lead: []policy.ItemID{0, 1}, Keep: []policy.ItemID{3, 1}},
		"unknown":               {Lead: []policy.ItemID{0}, Keep: []policy.ItemID{2, 99}},
		"unknown and made":      {Keep: []policy.ItemID{2, -9}},
		"removed, and twice":    {Keep: []policy.ItemID{4, 4}},
	} {
		t.Run(name, func(t *testing.T) {
			v := seen(message(session.User, hi), message(session.Assistant, hi), message(session.User, hi), message(session.Assistant, hi), message(session.User, hi))
			if _, err := v.Apply(policy.Edit{Kind: policy.KindRemove, Items: []policy.ItemID{4}}); err != nil {
				t.Fatal(err)
			}
			want := v.IDs()
			e.Kind = policy.KindSummarize
			if _, err := v.Apply(e); err == nil {
				t.Fatal("no error")
			}
			if diff := cmp.Diff(want, v.IDs()); diff != "" || v.Has(4) || v.Tokens() != 4 {
				t.Errorf("the view holds %v, %d tokens (-want +got)\n%s", v.IDs(), v.Tokens(), diff)
			}
			for _, id := range want {
				if place, ok := v.Place(id); !ok || place != int(id) {
					t.Errorf("item %d is at place %d, %v", id, place, ok)
				}
			}
		})
	}
}
