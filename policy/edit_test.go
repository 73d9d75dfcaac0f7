package policy

import (
	"reflect"
	"strings"
	"testing"
)

// TestEditCheck sets each field alone on an edit of each kind: an error names the field unless the kind uses it.
func TestEditCheck(t *testing.T) {
	common := "Request Stage Kind Reason Trigger Group Detail Joined Before After" // of every kind
	kinds := []EditKind{
		KindClear, KindPersist, KindTruncate, KindRemove, KindCollapse, KindSummarize, KindAttach, KindCacheEdit, KindServerClear,
		KindServerKeep, KindTag, KindCall, KindFail, KindInferred,
	}
	set := Edit{
		Request: 1, Stage: "s", Reason: "r", Trigger: "auto", Target: Target{Item: 1}, Warm: true, New: &Content{}, Items: []ItemID{1}, Carrier: 1,
		Lead: []ItemID{1}, Keep: []ItemID{1}, Insert: []Synthetic{{}}, Tail: []Synthetic{{}}, Delta: 1, Call: &Call{}, Refused: &Call{}, Group: 1,
		Detail: map[string]int{"pre_tokens": 1}, Joined: 1, Before: 1, After: 1,
	}
	used := map[string]bool{}
	for _, kind := range kinds {
		fields, ok := kind.fields()
		if !ok {
			t.Fatalf("no fields are listed for %s", kind)
		}
		from := reflect.ValueOf(set)
		for i := range from.NumField() {
			e := Edit{}
			reflect.ValueOf(&e).Elem().Field(i).Set(from.Field(i))
			e.Kind = kind
			name := from.Type().Field(i).Name
			if from.Field(i).IsZero() && name != "Kind" {
				t.Fatalf("the test sets no %s", name)
			}
			allowed := strings.Contains(common+" "+fields, name)
			used[name] = used[name] || allowed
			switch err := e.Check(); {
			case allowed && err != nil:
				t.Errorf("%s with %s: %v", kind, name, err)
			case !allowed && (err == nil || !strings.HasPrefix(err.Error(), name+" is set, which an edit of kind "+string(kind))):
				t.Errorf("%s with %s: %v, want an error that names both", kind, name, err)
			}
		}
	}
	for name, ok := range used {
		if !ok {
			t.Errorf("no kind uses %s", name)
		}
	}
	if err := (&Edit{Kind: "erase"}).Check(); err == nil || err.Error() != `unknown kind of edit "erase"` {
		t.Errorf("an unknown kind: %v", err)
	}
}
