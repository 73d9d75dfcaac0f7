package strict

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ctxkit/ctxkit/jsonl/must"
)

type limits struct {
	Low  int `yaml:"low" min:"0"`
	High int `yaml:"high"`
}

func (l *limits) SetDefaults() { l.High = 9 }

func (l *limits) CheckFields() error {
	if l.Low > l.High {
		return &Error{Msg: "low is above high", Hint: "exchange them"}
	}
	return nil
}

// pair is read from KEY: VALUE, in the order of the file.
type pair struct{ Key, Value string }

type ordered []pair

func (o *ordered) ReadNode(r *Decoder, n *Node, key string) {
	for _, kv := range r.Map(n, key, "write {a: b}") {
		p := pair{Key: kv.Key}
		r.Read(kv.Value, &p.Value, Param{Form: "line"}, key+"."+kv.Key)
		*o = append(*o, p)
	}
}

// point is written as X/Y.
type point struct{ X, Y int }

func (p *point) DecodeParam(plain any) error {
	s, _ := plain.(string)
	if _, err := fmt.Sscanf(s, "%d/%d", &p.X, &p.Y); err != nil {
		return errors.New("not a point")
	}
	return nil
}
func (p *point) EncodeParam() any                    { return fmt.Sprintf("%d/%d", p.X, p.Y) }
func (p *point) ParamForm() (string, map[string]any) { return "X/Y", map[string]any{"type": "string"} }

type common struct {
	Speed float64 `json:"speed,omitempty" max:"1e12"`
}

type inner struct {
	Wait time.Duration `yaml:"wait"`
}

type item struct {
	Position
	common
	Name   string  `yaml:"name" form:"line" required:"write name: NAME"`
	Limits *limits `yaml:"limits"`
	At     point   `yaml:"at"`
}

type root struct {
	Items  []item  `yaml:"items" form:"filled" required:"list them"`
	Pairs  ordered `yaml:"pairs"`
	Day    string  `yaml:"day" form:"date"`
	Notes  string  `yaml:"notes" form:"lines"`
	Count  *int    `yaml:"count" none:"-"`
	Inner  inner   `yaml:",inline"`
	Hidden any     `yaml:"-"`
}

func read(text string, ptr any) (found []string, errs Errors) {
	n, errs := Parse("f.yaml", []byte(text), Document{Name: "test file", Example: "items: []", Start: "write one"})
	r := &Decoder{File: "f.yaml", Errors: errs, Found: func(key string, at Position) { found = append(found, key+" "+at.String()) }}
	if n != nil {
		r.Struct(n, ptr, "")
	}
	SortByPlace(r.Errors, func(e *Error) Position { return e.Position })
	return found, r.Errors
}

func TestStruct(t *testing.T) {
	var got root
	found, errs := read(`items:
  - {name: a, speed: 5e11, at: 1/2}
  - {name: b, limits: {low: 3}}
pairs: {z: 1, a: "2"}
day: 2026-01-02
notes: "a\nb"
count: 4
wait: 1h30m
`, &got)
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	four := 4
	want := root{
		Items: []item{
			{Position: Position{"f.yaml", 2, 5}, common: common{5e11}, Name: "a", At: point{1, 2}},
			{Position: Position{"f.yaml", 3, 5}, Name: "b", Limits: &limits{3, 9}},
		},
		Pairs: ordered{{"z", "1"}, {"a", "2"}}, Day: "2026-01-02", Notes: "a\nb", Count: &four, Inner: inner{90 * time.Minute},
	}
	must.Equal(t, cmp.Diff(want, got, cmp.AllowUnexported(item{})), "")
	if want := "items.name f.yaml:2:12"; len(found) < 2 || found[1] != want {
		t.Errorf("found %q, want %s", found, want)
	}
}

func TestStructErrors(t *testing.T) {
	for _, tt := range []struct{ name, text, want string }{
		{"not a map", "[a]", `f.yaml:1:1: a list is not a test file: write keys and values, such as "items: []"`},
		{"all at once", "item: 3\npairs: [a]\nday: today\n", lines(
			`f.yaml:1:1: unknown key "item": did you mean items? the others are pairs, day, notes, count, wait`,
			"f.yaml:1:1: no items: list them",
			"f.yaml:2:8: pairs: a list is not a map: write {a: b}",
			`f.yaml:3:6: day: "today" is not a date: write it as 2026-01-25`)},
		{"empty list", "items: []", "f.yaml:1:8: items: the list is empty: list them"},
		{"items a map", "items: {name: a}", "f.yaml:1:8: items: a map is not a list: list them"},
		{"an item is a word", "items: [a]", `f.yaml:1:9: items: "a" is not a map of keys: write them as NAME: VALUE, one a line`},
		{"required", "items: [{speed: 1}]", "f.yaml:1:9: items: no name: write name: NAME"},
		{"line", `items: [{name: " "}, {name: "a\tb"}, {name: yes, at: 3}]`, lines(
			"f.yaml:1:16: items.name: empty: write a word, or leave the key out",
			`f.yaml:1:29: items.name: "a\tb" has characters in it that cannot be printed: leave them out`,
			"f.yaml:1:54: items.at: not a point: write it as X/Y")},
		{"checked together", "items: [{name: a, limits: {low: 10}}]", "f.yaml:1:27: items.limits: low is above high: exchange them"},
		{"not checked where a field is wrong", "items: [{name: a, limits: {low: -1, high: -2}}]", "f.yaml:1:33: items.limits.low: -1 is out of range: give 0 or more"},
		{"no word for none", "items: [{name: a}]\ncount: none\n", `f.yaml:2:8: count: "none" is not a whole number: write digits, such as 1000`},
		{"empty and no none", "items: [{name: a}]\ncount:\n", "f.yaml:2:7: count: empty where a whole number belongs: give it, such as 1000"},
		{"a larger limit", "items: [{name: a, speed: 2e12}]", "f.yaml:1:26: items.speed: 2e12 is out of range: give 1e12 or less"},
		{"a node within", "items: [{name: a}]\npairs: {a: [b]}\n", "f.yaml:2:12: pairs.a: a list where text belongs: give it, such as a word"},
		{"an alias is reported once", "items: &a [{name: *a}]", lines(
			"f.yaml:1:8: anchors are not allowed: write the value out where it is needed",
			"f.yaml:1:19: aliases are not allowed: write the value out")},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, errs := read(tt.text, &root{})
			must.Equal(t, strings.Split(errs.Error(), "\n"), strings.Split(tt.want, "\n"))
		})
	}
}

func lines(s ...string) string { return strings.Join(s, "\n") }

func TestCheckDefaults(t *testing.T) {
	for want, ptr := range map[string]any{
		"": &struct {
			At point `yaml:"at" doc:"x"`
		}{point{1, 2}},
		"parameters are a int": 3,
		"a has no doc tag": &struct {
			A int `yaml:"a"`
		}{},
		"l is a strict.limits, which is only read": &struct {
			L limits `yaml:"l" doc:"x"`
		}{},
		"o is a strict.ordered, which is only read": &struct {
			O ordered `yaml:"o" doc:"x"`
		}{},
		"its own default: a: 5 is out of range: give 0 to 3": &struct {
			A int `yaml:"a" doc:"x" min:"0" max:"3"`
		}{5},
	} {
		err := CheckDefaults(ptr)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

func TestMaxBytes(t *testing.T) {
	must.Rows(t, `
# size | want
10 | true
4  | false
`, func(size int, want bool) {
		_, errs := Parse("f", []byte("a: 12345"), Document{Name: "test file", MaxBytes: size})
		must.Equal(t, len(errs) == 0, want, size, errs)
	})
}

// FuzzStruct holds that no text makes a Reader panic, that each error has a place, and that what is read without
// error has what is required.
func FuzzStruct(f *testing.F) {
	for _, s := range []string{"items: [{name: a}]", "items: [{name: a, limits: {low: 3}, at: 1/2, speed: 1}]\npairs: {a: b}\nwait: 1s\n", "items: &a [*a]", "{", "\xff"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var got root
		_, errs := read(string(data), &got)
		if len(errs) == 0 && (len(got.Items) == 0 || got.Items[0].Name == "") {
			t.Errorf("%q is read as %+v", data, got)
		}
		for _, e := range errs {
			if e.Line < 1 || e.Column < 1 || strings.ContainsAny(e.Error(), "\n\x1b") {
				t.Errorf("%q gives %q", data, e)
			}
		}
	})
}
