package policy

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ctxkit/ctxkit/jsonl/must"
)

func TestRegistryRefuses(t *testing.T) {
	refusing := testStage("a", nil)
	refusing.New = func(any) (Stage, error) { return nil, errors.New("no such thing") }
	sharing := testStage("a", nil)
	sharing.Shared = &Shared{Name: "a", Params: &struct {
		A int `yaml:"a" doc:"x" min:"1"`
	}{}}
	unmade := testStage("a", nil)
	unmade.New = nil
	tests := []struct {
		name string
		defs []Definition
		want string
	}{
		{"name", []Definition{testStage("A b", nil)}, `stage "A b": no name for a stage`},
		{"window", []Definition{testStage("window", nil)}, `stage "window": no name for a stage`},
		{"twice", []Definition{testStage("a", nil), testStage("a", nil)}, "stage a: defined twice"},
		{"summary", []Definition{{Name: "a", Moments: Prepare}}, "stage a: without a summary or a moment"},
		{"moment", []Definition{{Name: "a", Summary: "x"}}, "stage a: without a summary or a moment"},
		{"new", []Definition{unmade}, "stage a: cannot be made"},
		{"defaults refused", []Definition{refusing}, "stage a: its own defaults: no such thing"},
		{"no pointer", []Definition{testStage("a", kinds{})}, "stage a: parameters are a policy.kinds: use a pointer to a struct"},
		{"no struct", []Definition{testStage("a", new(int))}, "parameters are a *int"},
		{"unexported", []Definition{testStage("a", &struct {
			a int `yaml:"a" doc:"x"`
		}{})}, "field a is unexported"},
		{"no yaml", []Definition{testStage("a", &struct {
			A int `doc:"x"`
		}{})}, `field A has the yaml name "": use snake_case`},
		{"yaml", []Definition{testStage("a", &struct {
			A int `yaml:"someName" doc:"x"`
		}{})}, `field A has the yaml name "someName": use snake_case`},
		{"yaml twice", []Definition{testStage("a", &struct {
			A int `yaml:"a" doc:"x"`
			B int `yaml:"a" doc:"x"`
		}{})}, "two fields have the yaml name a"},
		{"no doc", []Definition{testStage("a", &struct {
			A int `yaml:"a"`
		}{})}, "a has no doc tag"},
		{"type", []Definition{testStage("a", &struct {
			A []int `yaml:"a" doc:"x"`
		}{})}, "field A is a []int: no parameter can be one"},
		{"pointer to pointer", []Definition{testStage("a", &struct {
			A **int `yaml:"a" doc:"x"`
		}{})}, "field A is a **int"},
		{"map", []Definition{testStage("a", &struct {
			A map[string]string `yaml:"a" doc:"x"`
		}{})}, "field A is a map[string]string"},
		{"default out of range", []Definition{testStage("a", &struct {
			A int `yaml:"a" doc:"x" min:"1"`
		}{})}, "stage a: its own default: a: 0 is out of range: give 1 or more"},
		{"shared default out of range", []Definition{sharing}, "stage a: shared parameters: its own default: a: 0 is out of range: give 1 or more"},
		{"default no choice", []Definition{testStage("a", &struct {
			A string `yaml:"a" doc:"x" enum:"on,off"`
		}{})}, `stage a: its own default: a: "" is not one of its values`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r, err := NewRegistry(Family{Name: "test", Stages: tt.defs})
			if err == nil {
				err = r.Check()
			}
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %s", err, tt.want)
			}
		})
	}
}

func TestRegistryLookup(t *testing.T) {
	r := testRegistry(t)
	names := r.Names()
	if want := []string{"bare", "compress", "fold", "kinds", "picky", "recall", "refill", "spare", "sweep", "trim"}; !cmp.Equal(want, names) {
		t.Errorf("names %q", names)
	}
	if f := r.Families(); len(f) != 2 || f[0].Name != "test" || f[1].Name != "made" {
		t.Errorf("families %v", f)
	}
	for _, n := range names {
		if d, ok := r.Lookup(n); !ok || d.Name != n {
			t.Errorf("%s: got %q, %v", n, d.Name, ok)
		}
	}
	if _, ok := r.Lookup("kind"); ok {
		t.Error("found a stage that is not there")
	}
	var zero Registry
	if _, ok := zero.Lookup("kinds"); ok || len(zero.Names()) > 0 {
		t.Error("the zero registry knows stages")
	}
}

func TestParameters(t *testing.T) {
	got := defineKinds().Parameters()
	want := []Param{
		{Name: "switch", Type: "true or false", Doc: "a bool", Default: "true"},
		{Name: "count", Type: "a whole number", Doc: "an int", Unit: "results", Min: "1", Max: "9", Default: "3"},
		{Name: "free", Type: "a whole number", Doc: "an int without limits", Default: "0"},
		{Name: "auto", Type: "a whole number", Doc: "an int with a word for 0", Min: "0", Zero: "auto", Default: "auto"},
		{Name: "share", Type: "a number", Doc: "a float", Min: "0", Max: "1", Default: "0.5"},
		{Name: "style", Type: "text", Doc: "a word", Enum: []string{"human", "chars"}, Default: "human"},
		{Name: "note", Type: "text", Doc: "any text", Default: "''"},
		{Name: "gap", Type: "a duration", Doc: "a duration", Min: "1s", Max: "24h", Default: "1h"},
		{Name: "tools", Type: "a list of text", Doc: "a list", Default: "[Read, Bash]"},
		{Name: "modes", Type: "a list of text", Doc: "a list of words", Enum: []string{"a", "b", "c"}, Default: "[]"},
		{Name: "per_tool", Type: "a map of names to whole numbers or none", Doc: "a map", Unit: "characters", Default: "{Grep: 20000, Read: none}"},
		{Name: "limit", Type: "a whole number", Doc: "an int or none", Min: "0", None: "none", Default: "none"},
		{Name: "turns", Type: "a whole number", Doc: "an int or all", Min: "1", None: "all", Default: "all"},
		{Name: "summary", Type: "a list of recorded, outline, typical or fixed: N", Doc: "choices", Default: "[recorded, {fixed: 5000}]"},
		{Name: "trigger", Type: "input_tokens: N or tool_uses: N", Doc: "a trigger", Default: "{input_tokens: 100000}"},
		{Name: "least", Type: "input_tokens: N or tool_uses: N", Doc: "a trigger or none", None: "none", Default: "none"},
	}
	must.Equal(t, got, want)
	if w := WindowParameters(); len(w) == 0 || w[0].Name != "context" {
		t.Errorf("window: %v", w)
	}
	if got := testStage("a", nil).Parameters(); len(got) > 0 {
		t.Errorf("no parameters: %v", got)
	}
}

func TestFamilyTwice(t *testing.T) {
	must.Fail(NewRegistry(Family{Name: "a"}, Family{Name: "a"}))(t, "family a: defined twice")
}
