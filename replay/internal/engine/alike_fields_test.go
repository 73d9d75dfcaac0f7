package engine

import (
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/ctxkit/ctxkit/policy"
)

// filled returns an edit with a value in every field, and the paths of all values, with those of nested structs. The
// value at path number `other` differs from the one that filled(-1) sets.
func filled(other int) (e policy.Edit, paths []string) {
	var fill func(v reflect.Value, path string)
	fill = func(v reflect.Value, path string) {
		if v.Kind() == reflect.Struct {
			for i := range v.NumField() {
				fill(v.Field(i), path+"."+v.Type().Field(i).Name)
			}
			return
		}
		differs := len(paths) == other
		paths = append(paths, path)
		n := 1
		if differs {
			n = 2
		}
		switch v.Kind() {
		case reflect.Bool:
			v.SetBool(differs)
		case reflect.String:
			v.SetString("text " + strconv.Itoa(n))
		case reflect.Int, reflect.Int32:
			v.SetInt(int64(n))
		case reflect.Uint8:
			v.SetUint(uint64(n))
		case reflect.Pointer:
			if last := strings.HasSuffix(path, ".Then.Then"); last == differs { // the chain of calls ends there
				v.Set(reflect.New(v.Type().Elem()))
				if !differs {
					fill(v.Elem(), path)
				}
			}
		case reflect.Slice:
			if !differs {
				v.Set(reflect.MakeSlice(v.Type(), 1, 1))
				fill(v.Index(0), path+"[0]")
			}
		case reflect.Map:
			v.Set(reflect.ValueOf(map[string]int{"pre_tokens": n}))
		default:
			panic("no value for a " + v.Kind().String() + " at " + path)
		}
	}
	fill(reflect.ValueOf(&e).Elem(), "Edit")
	return e, paths
}

// TestSameEdit changes each field of an edit alone: sameEdit sees the change, except in fields that change no figure.
func TestSameEdit(t *testing.T) {
	ignored := map[string]string{
		"Edit.Reason": "the text of an event, which names the policy's own limits",
	}
	base, paths := filled(-1)
	if again, _ := filled(-1); !sameEdit(base, again) {
		t.Error("two equal edits are not the same")
	}
	for i, path := range paths {
		e, _ := filled(i)
		if _, ignore := ignored[path]; sameEdit(base, e) != ignore || sameEdit(e, base) != ignore {
			t.Errorf("another %s: the same: %v, want %v", path, sameEdit(base, e), ignore)
		}
	}
	for _, want := range []string{"Edit.Call.Retries", "Edit.Call.Then.Retries", "Edit.New.Partial", "Edit.Insert[0].Contents[0].Partial", "Edit.Call.Cut.Block", "Edit.Reason"} {
		if !slices.Contains(paths, want) {
			t.Errorf("%s is not among the fields tried: %q", want, paths)
		}
	}
}
