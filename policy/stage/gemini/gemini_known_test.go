package gemini

import (
	"slices"
	"testing"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/stage/measure"
	"github.com/ctxkit/ctxkit/policy/stage/stagetest"
)

// TestKnown: what is remembered of a history is what there is to know of it anew, whatever edits have changed since.
func TestKnown(t *testing.T) {
	kept := 0
	for seed := range uint64(1500) {
		d := stagetest.NewDice(seed, nil)
		c := d.Conversation()
		v := stagetest.NewRun(t, c).View
		m, e := memory{}, estimate{1.3, d.One(2)}
		for i := range c.Messages {
			if c.Messages[i].RecordOnly {
				v.Skip(i)
				continue
			}
			v.Join(i)
			for range d.N(3) {
				if _, err := v.Apply(someEdit(d, v)); err != nil {
					t.Fatal(err)
				}
			}
			if d.One(3) {
				continue
			}
			history, _ := measure.History(v, d.One(2))
			cuts := map[policy.Target]*policy.Content{}
			for _, id := range history {
				for b := range v.Blocks(id) {
					if at := (policy.Target{Item: id, Block: b}); v.Kind(at) == jsonl.KindToolResult && d.One(4) {
						left := policy.NewContent(jsonl.KindToolResult, "cut")
						cuts[at] = &left
					}
				}
			}
			if _, _, n := stayed(history, m.items); n > 0 {
				kept++
			}
			got, fresh := m.of(v, history, cuts, e), memory{}
			if want := fresh.of(v, history, cuts, e); !slices.Equal(got, want) {
				t.Fatalf("seed %d, message %d:\n%v\nanew:\n%v", seed, i, got, want)
			}
		}
	}
	if kept == 0 {
		t.Error("nothing stayed")
	}
}

// someEdit is an edit of a view that is not empty.
func someEdit(d *stagetest.Dice, v policy.View) policy.Edit {
	ids := v.IDs()
	text := policy.NewContent(jsonl.KindText, d.Pick("", "é", "some text"))
	made := []policy.Synthetic{{Role: d.Pick("user", "assistant"), Contents: []policy.Content{text}}}
	at := 0
	if len(ids) > 0 {
		at = d.N(len(ids))
	}
	switch {
	case len(ids) == 0 || d.One(8):
		return policy.Edit{Kind: policy.KindAttach, Insert: made}
	case d.One(3):
		return policy.Edit{Kind: policy.KindSummarize, Insert: made, Keep: ids[at:]}
	case d.One(8):
		return policy.Edit{Kind: policy.KindCollapse, Items: ids[at : at+1], Insert: made}
	case d.One(4):
		return policy.Edit{Kind: policy.KindRemove, Items: ids[at : at+1]}
	case ids[at] < 0 || v.Blocks(ids[at]) == 0:
		return policy.Edit{Kind: policy.KindCall}
	}
	return policy.Edit{
		Kind: []policy.EditKind{policy.KindClear, policy.KindPersist, policy.KindTruncate}[d.N(3)],
		New:  &text, Target: policy.Target{Item: ids[at], Block: d.N(v.Blocks(ids[at]))},
	}
}
