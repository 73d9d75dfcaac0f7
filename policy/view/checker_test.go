package view

import (
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/must"
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
					must.Get(v.Apply(e))(t)
				}
				for _, x := range c.Check() {
					if x.Rule == SummaryOrTail {
						got = append(got, x)
					}
				}
			}
			same(t, tt.want, got)
		})
	}
}

// TestCheckerFollows holds a checker that follows a view, message by message and edit by edit, against one that looks
// at all of it anew.
func TestCheckerFollows(t *testing.T) {
	for seed := range uint64(4000) {
		r := rand.New(rand.NewPCG(seed, 1))
		messages := anyMessages(r, seed%3 == 0)
		calm := seed%2 == 1 // most messages are as the API takes them, and few edits are made
		if calm {
			messages = someTalk(r)
		}
		conv := &session.Conversation{Messages: messages}
		conv.IndexTools()
		v := New(conv, flat{conv}, nil)
		checkFollows(t, r, v, NewChecker(v), calm, seed)
	}
}

func checkFollows(t *testing.T, r *rand.Rand, v *View, c *Checker, calm bool, seed uint64) {
	messages, told := v.Conversation().Messages, map[Violation]bool{}
	for m := range messages {
		v.Join(m)
		for range r.IntN(3) {
			if calm && r.IntN(3) > 0 || v.Len() == 0 {
				break
			}
			_, _ = v.Apply(someEdit(r, v, m+1, calm)) // of a message without blocks it is refused
		}
		if r.IntN(2) == 0 {
			continue
		}
		now := map[Violation]bool{}
		for _, x := range NewChecker(v).CheckRequest() {
			now[x] = true
		}
		for _, x := range c.CheckRequest() {
			told[x] = true
			if !now[x] && x.Message != cameBack {
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

// anyMessages have any blocks in any order: with many, some of them have many calls.
func anyMessages(r *rand.Rand, many bool) (messages []session.Message) {
	kinds := []jsonl.Kind{jsonl.KindText, jsonl.KindToolUse, jsonl.KindToolResult, jsonl.KindThinking, jsonl.KindAttachment}
	calls, most := 0, 4
	if many {
		most = 8
	}
	for range 1 + r.IntN(14) {
		var blocks []session.Block
		for range r.IntN(most) {
			k := kinds[r.IntN(len(kinds))]
			id := string(rune('a' + r.IntN(4)))
			if many && r.IntN(2) == 0 {
				calls++
				k, id = jsonl.KindToolUse, strconv.Itoa(calls)
			}
			b := idBlock(k, id)
			if r.IntN(5) == 0 {
				b.Text = jsonl.Metrics{}
			}
			blocks = append(blocks, b)
		}
		role := session.Role(r.IntN(2))
		if many && r.IntN(8) > 0 {
			role = session.Assistant
		}
		messages = append(messages, message(role, blocks...))
	}
	return messages
}

// someTalk is prompts, calls and their results, and now and then one thing too many or too few.
func someTalk(r *rand.Rand) (messages []session.Message) {
	calls := 0
	unsent := idBlock(jsonl.KindAttachment, "")
	unsent.Text = jsonl.Metrics{}
	for range 1 + r.IntN(12) {
		if r.IntN(3) == 0 {
			messages = append(messages, message(session.User, unsent))
		}
		for range r.IntN(6) / 2 {
			messages = append(messages, message(session.User, textBlock("go")))
		}
		for range r.IntN(4) {
			var asks, answers []session.Block
			if r.IntN(2) == 0 {
				asks = append(asks, idBlock(jsonl.KindThinking, ""))
			}
			for range 1 + r.IntN(2)*r.IntN(11) {
				calls++
				asks = append(asks, idBlock(jsonl.KindToolUse, strconv.Itoa(calls)))
				answers = append(answers, idBlock(jsonl.KindToolResult, strconv.Itoa(calls+r.IntN(12)/11)))
			}
			messages = append(messages, message(session.Assistant, asks...), message(session.User, answers...))
		}
		if r.IntN(4) > 0 {
			messages = append(messages, message(session.Assistant, idBlock(jsonl.KindThinking, ""), textBlock("done")))
		}
	}
	return messages
}

// someEdit is an edit of a view that is not empty, to which so many messages were offered: calm, more often a rebuild.
func someEdit(r *rand.Rand, v *View, messages int, calm bool) policy.Edit {
	ids := v.IDs()
	id := ids[r.IntN(len(ids))]
	empty := policy.NewContent(jsonl.KindText, "")
	e := policy.Edit{Kind: policy.KindClear, Target: policy.Target{Item: id, Block: 0}, New: &empty}
	if r.IntN(3) == 0 {
		e.Target.Block = r.IntN(4)
	}
	switch what := r.IntN(5); {
	case what == 0 && !calm:
		return policy.Edit{Kind: policy.KindRemove, Items: []policy.ItemID{id}}
	case what == 1 || what == 0 && r.IntN(3) > 0:
		return someRebuild(r, ids, messages)
	case id < 0:
	case e.Target.Block < v.Blocks(id) && v.Kind(e.Target) == jsonl.KindAttachment:
		return policy.Edit{Kind: policy.KindCall} // no edit replaces an attachment
	case v.Replacement(e.Target) != nil && v.Replacement(e.Target).Gone:
		return policy.Edit{Kind: policy.KindCall} // what is gone stays gone
	case what == 2:
		e.New = &policy.Content{Kind: jsonl.KindText, Gone: true}
	}
	return e
}

// cameBack is what no checker knows that has not followed the view.
const cameBack = "a message that a summary has taken the place of is in view again"

// someRebuild keeps the newest of the items behind what is new; now and then it leaves one of them out, or puts a message
// that is not in view behind them.
func someRebuild(r *rand.Rand, ids []policy.ItemID, messages int) policy.Edit {
	e := policy.Edit{Kind: policy.KindSummarize, Keep: slices.Clone(ids[r.IntN(len(ids)):])}
	if back := policy.ItemID(r.IntN(messages)); r.IntN(5) == 0 && !slices.Contains(e.Keep, back) {
		e.Keep = append(e.Keep, back)
	}
	if r.IntN(8) == 0 {
		at := r.IntN(len(e.Keep))
		e.Keep = slices.Delete(e.Keep, at, at+1)
	}
	text := policy.NewContent(jsonl.KindText, "s")
	if r.IntN(4) == 0 {
		text.Ref = &policy.Target{Item: policy.ItemID(r.IntN(messages))}
	}
	for range r.IntN(4) {
		e.Insert = append(e.Insert, policy.Synthetic{Role: []string{"user", "assistant"}[r.IntN(2)], Contents: []policy.Content{text}})
	}
	return e
}

// TestCheckerKeeps holds what a checker finds after a rebuild in a few views.
func TestCheckerKeeps(t *testing.T) {
	hi, thought, use := textBlock("hi"), idBlock(jsonl.KindThinking, ""), idBlock(jsonl.KindToolUse, "a")
	unsent := idBlock(jsonl.KindAttachment, "")
	unsent.Text = jsonl.Metrics{}
	text := policy.NewContent(jsonl.KindText, "s")
	rebuild := func(keep ...policy.ItemID) policy.Edit {
		return policy.Edit{Kind: policy.KindSummarize, Keep: keep, Insert: []policy.Synthetic{
			{Role: "user", Contents: []policy.Content{text}}, {Role: "assistant", Contents: []policy.Content{text}},
		}}
	}
	remove := func(id policy.ItemID) policy.Edit {
		return policy.Edit{Kind: policy.KindRemove, Items: []policy.ItemID{id}}
	}
	attach := policy.Edit{Kind: policy.KindAttach, Insert: []policy.Synthetic{{Role: "user", Contents: []policy.Content{{Kind: jsonl.KindText, Tokens: 5, Ref: &policy.Target{Item: 0}}}}}}
	change := policy.Edit{Kind: policy.KindClear, Target: policy.Target{Item: 5}, New: &text}
	said := []session.Message{message(session.User, hi), message(session.Assistant, thought), message(session.User, hi), message(session.Assistant, hi), message(session.User, hi), message(session.Assistant, thought)}
	for _, tt := range []struct {
		name     string
		messages []session.Message
		steps    []policy.Edit // checked after each
		want     []Violation   // at the last
	}{
		{"what is kept is not sent", []session.Message{message(session.User, hi), message(session.Assistant, hi), message(session.User, unsent)}, []policy.Edit{rebuild(2)}, nil},
		{"and leaves", []session.Message{message(session.User, hi), message(session.Assistant, hi), message(session.User, unsent), message(session.User, hi)}, []policy.Edit{rebuild(2, 3), remove(3)}, nil},
		{"a message that a kept one repeats comes back", said[:5], []policy.Edit{remove(0), attach, rebuild(4, -1, 0)}, []Violation{{-1, SummaryOrTail, "the made-up message repeats a message that is in view"}}},
		{"thinking comes back", said, []policy.Edit{rebuild(2, 3, 4, 5), rebuild(4, 5, 1), change}, []Violation{{1, LastIsUser, "a response is the last message: what was said after it is missing"}, {5, LastThinkingWhole, "thinking of the last tool loop was changed"}}},
		{"a result is left behind", []session.Message{message(session.User, hi), message(session.User, idBlock(jsonl.KindToolResult, "a")), message(session.User, thought)}, []policy.Edit{
			{Kind: policy.KindSummarize, Keep: []policy.ItemID{2}, Insert: rebuild().Insert[:1]}, {Kind: policy.KindClear, Target: policy.Target{Item: 2}, New: &text},
		}, nil},
		{"what is new ends otherwise", said[:5], []policy.Edit{
			{Kind: policy.KindSummarize, Keep: []policy.ItemID{4}, Insert: []policy.Synthetic{{Role: "user", Contents: []policy.Content{{Kind: jsonl.KindText, Tokens: 5, Ref: &policy.Target{Item: 4}}}}}},
		}, []Violation{{-1, SummaryOrTail, "the made-up message repeats a message that is in view"}}},
		{"fewer leave than come", []session.Message{message(session.User, hi), message(session.User, hi), message(session.Assistant, use)}, []policy.Edit{rebuild(1, 2), remove(2)}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			v := seen(tt.messages...)
			c := NewChecker(v)
			got := c.CheckRequest()
			for _, e := range tt.steps {
				must.Get(v.Apply(e))(t)
				got = c.CheckRequest()
			}
			slices.SortFunc(got, func(a, b Violation) int { return int(a.Item - b.Item) })
			if diff := cmp.Diff(tt.want, slices.DeleteFunc(got, func(x Violation) bool { return x.Message == cameBack })); diff != "" && len(got)+len(tt.want) > 0 {
				t.Errorf("-want +got\n%s", diff)
			}
		})
	}
}

// TestRebuildKeepingTwice holds that a rebuild that names an item twice, or none, changes nothing.
func TestRebuildKeepingTwice(t *testing.T) {
	hi := textBlock("hi")
	must.Rows(t, `
# name | e
twice in what is kept | {"Keep":[1,2,1]}
in front and kept     | {"Keep":[3,1],"Lead":[0,1]}
unknown               | {"Keep":[2,99],"Lead":[0]}
unknown and made      | {"Keep":[2,-9]}
removed, and twice    | {"Keep":[4,4]}
`, func(_ string, e policy.Edit) {
		v := seen(message(session.User, hi), message(session.Assistant, hi), message(session.User, hi), message(session.Assistant, hi), message(session.User, hi))
		must.Get(v.Apply(policy.Edit{Kind: policy.KindRemove, Items: []policy.ItemID{4}}))(t)
		want := v.IDs()
		e.Kind = policy.KindSummarize
		if _, err := v.Apply(e); err == nil {
			t.Fatal("no error")
		}
		if diff := cmp.Diff(want, v.IDs()); diff != "" || v.Has(4) || v.Tokens() != 4 {
			t.Errorf("the view holds %v, %d tokens (-want +got)\n%s", v.IDs(), v.Tokens(), diff)
		}
		for _, id := range want {
			must.Both(v.Place(id))(t, int(id), true, id)
		}
	})
}
