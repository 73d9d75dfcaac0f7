package policy_test

import (
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/policy"
)

// TestEditList: an edit is what it was when it was added, whatever it shares with others.
func TestEditList(t *testing.T) {
	text := policy.NewContent(jsonl.KindToolResult, "[cleared]")
	clear := policy.Edit{
		Request: 3, Stage: "s", Kind: policy.KindClear, Reason: "r", Trigger: "auto", Target: policy.Target{Item: 4, Block: 2}, New: &text,
		Group: 1, Detail: map[string]int{"n": 1}, Joined: 9, Before: 1 << 40, After: -1,
	}
	changed := func(change func(*policy.Edit)) policy.Edit {
		e := clear
		change(&e)
		return e
	}
	want := []policy.Edit{
		clear,
		changed(func(e *policy.Edit) { e.Target = policy.Target{Item: -7, Block: policy.WholeItem} }),
		changed(func(e *policy.Edit) { e.Detail = map[string]int{"n": 1} }),
		changed(func(e *policy.Edit) { e.Detail = map[string]int{"n": 2} }),
		changed(func(e *policy.Edit) { e.Detail = map[string]int{} }),
		changed(func(e *policy.Edit) { e.Detail = nil }),
		changed(func(e *policy.Edit) { e.Request = 0 }),
		changed(func(e *policy.Edit) { e.Group = 0 }),
		changed(func(e *policy.Edit) { e.Stage = "t" }),
		changed(func(e *policy.Edit) { e.Reason = "" }),
		changed(func(e *policy.Edit) { e.Trigger = "manual" }),
		changed(func(e *policy.Edit) { e.Warm = true }),
		changed(func(e *policy.Edit) { e.Carrier = -2 }),
		changed(func(e *policy.Edit) { e.Kind = policy.KindPersist }),
		{},
		{Kind: policy.KindRemove, Items: []policy.ItemID{1, 2}},
		{Kind: policy.KindRemove, Items: []policy.ItemID{3}},
		{Kind: policy.KindInferred, Delta: -5},
		{Kind: policy.KindFail, Call: &policy.Call{Kind: "compaction"}, Refused: &policy.Call{Input: 1}},
		{Kind: policy.KindFail, Call: &policy.Call{Kind: "compaction"}},
		{Kind: policy.KindSummarize, Lead: []policy.ItemID{1}, Keep: []policy.ItemID{2}, Insert: []policy.Synthetic{{ID: -1}}, Tail: []policy.Synthetic{{ID: -2}}},
		clear,
	}
	list := policy.NewEditList(want...)
	if diff := cmp.Diff(want, list.Slice()); diff != "" {
		t.Errorf("-added +in the list\n%s", diff)
	}
	n := 0
	for i, e := range list.All() {
		if n++; !cmp.Equal(e, want[i]) || !cmp.Equal(list.At(i), want[i]) {
			t.Errorf("edit %d is %+v, want %+v", i, e, want[i])
		}
		if list.Stage(i) != e.Stage || list.Target(i) != e.Target || list.Kind(i) != e.Kind || list.Request(i) != e.Request {
			t.Errorf("edit %d has %q, %v, %q, %d apart, and %+v as a whole", i, list.Stage(i), list.Target(i), list.Kind(i), list.Request(i), e)
		}
	}
	if n != len(want) || list.Len() != n {
		t.Errorf("%d edits, want %d", n, len(want))
	}
	if got := list.To(7).From(2).Slice(); !cmp.Equal(got, want[2:7]) {
		t.Errorf("edits 2 to 7 are %v", got)
	}
	head := list.To(2)
	head.Add(&want[9])
	if !cmp.Equal(list.At(2), want[2]) || !cmp.Equal(head.Last(), want[9]) || !cmp.Equal(list.Last(), clear) {
		t.Error("an edit added to the first two is in the list")
	}
}

// TestEditListFields: of two edits that differ in one field, each keeps its own, whatever the field.
func TestEditListFields(t *testing.T) {
	zero := reflect.ValueOf(policy.Edit{})
	for i := range zero.NumField() {
		e := policy.Edit{}
		f := reflect.ValueOf(&e).Elem().Field(i)
		switch f.Kind() {
		case reflect.String:
			f.SetString("x")
		case reflect.Int, reflect.Int32:
			f.SetInt(7)
		case reflect.Bool:
			f.SetBool(true)
		case reflect.Pointer:
			f.Set(reflect.New(f.Type().Elem()))
		case reflect.Slice:
			f.Set(reflect.MakeSlice(f.Type(), 1, 1))
		case reflect.Map:
			f.Set(reflect.ValueOf(map[string]int{"n": 1}))
		case reflect.Struct:
			e.Target = policy.Target{Item: 3, Block: 2}
		default:
			t.Fatalf("no value for %s", zero.Type().Field(i).Name)
		}
		want := []policy.Edit{{}, e, {}}
		l := policy.NewEditList(want...)
		if diff := cmp.Diff(want, l.Slice()); diff != "" {
			t.Errorf("%s: -added +in the list\n%s", zero.Type().Field(i).Name, diff)
		}
	}
}

// TestEditListParts: what is added to a part is not added to the list, nor the other way round.
func TestEditListParts(t *testing.T) {
	var l policy.EditList
	for range 20 {
		l.Add(&policy.Edit{Stage: "a"})
	}
	part := l.To(1)
	part.Add(&policy.Edit{Stage: "b"})
	l.Add(&policy.Edit{Stage: "c"})
	if part.Last().Stage != "b" || l.Last().Stage != "c" {
		t.Errorf("%q and %q, want b and c", part.Last().Stage, l.Last().Stage)
	}
}
