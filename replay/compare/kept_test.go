package compare_test

import (
	"reflect"
	"testing"
	"time"

	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/replay/compare"
	"github.com/ctxkit/ctxkit/replay/exact"
)

// fill gives every field of a value something of its own.
func fill(t *testing.T, v reflect.Value, n *int) {
	t.Helper()
	*n++
	switch v.Kind() {
	case reflect.Int, reflect.Int64:
		v.SetInt(int64(*n) * 77)
	case reflect.String:
		v.SetString(string(rune('a'+*n%26)) + "\xff☂")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		for i := range v.Len() {
			fill(t, v.Index(i), n)
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(t, v.Elem(), n)
	case reflect.Array:
		for i := range v.Len() {
			fill(t, v.Index(i), n)
		}
	case reflect.Struct:
		switch x := v.Addr().Interface().(type) {
		case *time.Time:
			*x = time.Date(2026, 1, 15, 9, 0, 0, *n, time.FixedZone("", 3600))
		case *exact.Decimal:
			*x = exact.Of(int64(-*n), 3)
		default:
			for i := range v.NumField() {
				fill(t, v.Field(i), n)
			}
		}
	default:
		t.Fatalf("a field of kind %s: teach fill and convert about it", v.Kind())
	}
}

// keptInput has every field filled.
func keptInput(t *testing.T) *compare.KeptInput {
	k, n := &compare.KeptInput{}, 0
	skipped := reflect.TypeFor[[]*policy.Policy]()
	for _, list := range []any{&k.Warnings, &k.Empty} {
		fill(t, reflect.ValueOf(list).Elem(), &n)
	}
	for range 2 {
		one := &compare.Kept{}
		fill(t, reflect.ValueOf(&one.Client).Elem(), &n)
		s := reflect.ValueOf(&one.Session).Elem()
		for i := range s.NumField() {
			switch name := s.Type().Field(i).Name; {
			case s.Field(i).Type() == skipped:
			case name == "Values" || name == "Breaks" || name == "Apart" || name == "Series" || name == "Timelines" || name == "Conversations":
			default:
				fill(t, s.Field(i), &n)
			}
		}
		fill(t, reflect.ValueOf(&one.Parts).Elem(), &n)
		for _, p := range one.Parts {
			p.Values = nil
			for i, f := range compare.Figures() {
				p.Values = append(p.Values, exact.Of(int64(i*n), f.Places()))
			}
			p.Values[n%20] = exact.Decimal{}
		}
		k.Sessions = append(k.Sessions, one)
	}
	return k
}

func TestKept(t *testing.T) {
	for name, want := range map[string]*compare.KeptInput{
		"full": keptInput(t), "nothing": {}, "empty lists": {Warnings: keptInput(t).Warnings[:0], Sessions: []*compare.Kept{}},
	} {
		data := must.Get(want.Encode())(t)
		got := must.Get(compare.DecodeKept(data))(t)
		must.Equal(t, got, want, name)
		for i := range data {
			if _, err := compare.DecodeKept(data[:i]); err == nil {
				t.Errorf("%s: cut at byte %d of %d, it is read", name, i, len(data))
			}
		}
		if _, err := compare.DecodeKept(append(data, 0)); err == nil {
			t.Errorf("%s: with one more byte it is read", name)
		}
	}
}

// FuzzDecodeKept: what is read is written as it was read, and a comparison of it does not panic.
func FuzzDecodeKept(f *testing.F) {
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) == 0 {
			data = must.Get(keptInput(t).Encode())(t)
		}
		k, err := compare.DecodeKept(data)
		if err != nil {
			return
		}
		again, err := k.Encode()
		if err != nil {
			t.Skip() // a time of a zone that is not written
		}
		same := must.Get(compare.DecodeKept(again))(t)
		must.Equal(t, same, k)
		for _, by := range []compare.Group{compare.ByNothing, compare.ByProject} {
			var sessions []compare.ComparedSession
			for _, one := range k.Sessions {
				if len(one.Parts) == 0 {
					continue
				}
				digest := one.Parts[0].Policy
				if s, ok := one.Compared([]*policy.Policy{{Name: "a"}, {Name: "b"}}, []string{digest, digest}); ok {
					sessions = append(sessions, s)
				}
			}
			for _, c := range compare.Compare([]string{"a", "b"}, sessions, by) {
				c.Evidence()
			}
		}
	})
}

// TestKeptAdd: a session keeps what was known of it before, up to a bound.
func TestKeptAdd(t *testing.T) {
	one := func(names ...string) *compare.Kept {
		k := &compare.Kept{}
		for _, name := range names {
			values := make(compare.Values, len(compare.Figures()))
			k.Parts = append(k.Parts, &compare.KeptPart{Policy: name, Values: values})
		}
		return k
	}
	k := one("a", "bb")
	k.Add(one("a", "ccc"))
	if !k.Begins("a") || k.Begins("bb") || k.Part("ccc") == nil || len(k.Parts) != 3 {
		t.Errorf("%d parts, want a, bb and ccc", len(k.Parts))
	}
	policies := []*policy.Policy{{Name: "x"}, {Name: "y"}}
	if s, ok := k.Compared(policies, []string{"a", "ccc"}); !ok || len(s.Values) != 2 || s.Policies[1].Name != "y" {
		t.Errorf("what is known is not found: %v, %+v", ok, s)
	}
	for _, digests := range [][]string{{"ccc", "a"}, {"a", "d"}, {}} {
		if _, ok := k.Compared(policies, digests); ok {
			t.Errorf("%v: it is known", digests)
		}
	}
	for i := range 100 {
		next := one("a", string(rune('A'+i)))
		next.Add(k)
		if k = next; len(k.Parts) > 16 {
			t.Fatalf("%d parts", len(k.Parts))
		}
	}
}
