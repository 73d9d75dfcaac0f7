package policy

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ctxkit/ctxkit/jsonl/must"
)

const conditional = `numbers: {limit: 0.8, gap: 5}
stages:
- bare:
    when: cold || used > limit
- kinds: {when: "idle > gap", count: 4}
- picky
`

func TestWhen(t *testing.T) {
	p := mustDecode(t, "p.yaml", conditional, nil)
	must.Rows(t, `
bare.when     | "cold || used > limit"
kinds.when    | idle > gap
picky.when    | ''
numbers.limit | 0.8
numbers.gap   | 5
kinds.count   | 4
`, func(key, want string) {
		must.Both(p.Get(key))(t, want, nil, key)
	})
	if p.Stages[0].When.Condition == nil || p.Stages[2].When.Condition != nil {
		t.Error("the conditions are not those of the file")
	}

	again := mustDecode(t, "p.yaml", string(Marshal(p)), nil)
	same(t, p.Resolved(), again.Resolved(), Marshal(p))
	must.Equal(t, string(Marshal(again)), string(Marshal(p)))
	rebuilt, unknown, err := Rebuild("p", p.Resolved(), testRegistry(t))
	if err != nil || len(unknown) > 0 || !cmp.Equal(rebuilt.Resolved(), p.Resolved()) || rebuilt.Stages[0].When.Condition == nil {
		t.Errorf("rebuilt: %v, %v, %v", err, unknown, rebuilt)
	}
	text := string(Marshal(p))
	must.Say(t, "true 2", strings.Contains(text, "- bare:\n      when: cold || used > limit\n"), strings.Count(text, "when:"))

	plain := mustDecode(t, "p.yaml", "stages: [bare, kinds: {count: 4}, picky]", nil)
	want := []Change{{"numbers.limit", "", "0.8"}, {"numbers.gap", "", "5"}, {"bare.when", "", "cold || used > limit"}, {"kinds.when", "", "idle > gap"}}
	must.Equal(t, DiffSettings(plain.Resolved(), p.Resolved()), want)
	if slices.ContainsFunc(plain.Resolved(), func(s Setting) bool { return strings.HasSuffix(s.Key, ".when") }) {
		t.Error("a policy without conditions lists some")
	}
}

func TestWhenSet(t *testing.T) {
	p := mustDecode(t, "p.yaml", conditional, nil)
	was := p.Clone()
	before := p.Stages[0].When.Condition
	for _, kv := range [][2]string{{"numbers.limit", "0.6"}, {"picky.when", "turn_start"}, {"kinds.when", "true"}, {"bare.when", ""}, {"bare.when", "not cold and limit < 2"}} {
		if err := p.Set(kv[0], kv[1]); err != nil {
			t.Fatalf("%v: %v", kv, err)
		}
	}
	if p.Stages[0].When.Condition == before || was.Stages[0].When.Condition != before || was.Numbers[0].Value != 0.8 {
		t.Error("setting a number changes the wrong policy's conditions")
	}
	if got, _ := p.Get("kinds.when"); got != "true" {
		t.Errorf("true is written as %s", got)
	}
	for _, kv := range [][3]string{
		{"bare.when", "cold || usd > 0.8", `bare.when: unknown variable "usd" (column 9 of the condition): did you mean used?`},
		{"bare.when", "tokens", "bare.when: the condition is a number: compare it, such as tokens > 100000"},
		{"bare.when", "[cold]", "bare.when: not a condition: write an expression"},
		{"numbers.limit", "much", `numbers.limit: "much" is not a number`},
		{"numbers.limt", "1", "numbers: unknown parameter \"limt\": did you mean limit?"},
		{"window.when", "cold", "window: unknown parameter \"when\""},
	} {
		err := p.Set(kv[0], kv[1])
		if err == nil || !strings.HasPrefix(err.Error(), kv[2]) {
			t.Errorf("%s=%s: %v, want %s", kv[0], kv[1], err, kv[2])
		}
	}
}

func TestWhenErrors(t *testing.T) {
	resolve := library(map[string]string{"base": conditional})
	must.Rows(t, `
"stages:\n- bare:\n    when: cold || usd > 0.8\n" | p.yaml:3:19: bare.when: unknown variable "usd": did you mean used?
"stages:\n- bare:\n    when: \"cold || usd > 0.8\"\n" | p.yaml:3:20: bare.when: unknown variable "usd": did you mean used?
"stages:\n- bare: {when: cold > 3}\n" | p.yaml:2:21: bare.when: invalid operation: > (mismatched types boolean and number)
"stages:\n- bare:\n    when: >\n      cold ||\n      usd > 1\n" | p.yaml:3:11: bare.when: unknown variable "usd" (column 9 of the condition): did you mean used?
"stages:\n- bare:\n    when: {a: 1}\n" | p.yaml:3:11: bare.when: not a condition
"stages:\n- bare:\n    wen: cold\n" | p.yaml:3:5: bare: unknown parameter "wen": did you mean when?
"stages:\n- bare:\n    when: !cold\n" | p.yaml:3:11:
"numbers: {used: 1}\nstages: []\n" | p.yaml:1:11: numbers: "used" is a variable of conditions: take another name
"numbers: {or: 1}\nstages: []\n" | p.yaml:1:11: numbers: "or" is no name for a number: use snake_case
"numbers: {a: x}\nstages: []\n" | p.yaml:1:14: numbers.a: "x" is not a number
"numbers: [1]\nstages: []\n" | p.yaml:1:10: numbers: a list is not a map
"extends: base\nset: {bare.when: cold and limt > 2}\n" | p.yaml:2:27: bare.when: unknown variable "limt": did you mean limit?
"extends: base\nset: {numbers.lmit: 2}\n" | p.yaml:2:7: numbers: unknown parameter "lmit": did you mean limit?
`, func(text, want string) {
		_, err := Decode("p.yaml", []byte(text), testRegistry(t), resolve)
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s\ngot  %v\nwant %s", text, err, want)
		}
	})
	p := mustDecode(t, "p.yaml", "extends: base\nnumbers: {limit: 0.5, more: 2}\nset: {numbers.gap: 9, picky.when: idle > more}\n", resolve)
	must.Rows(t, `
numbers.limit | 0.5
numbers.gap   | 9
numbers.more  | 2
bare.when     | "cold || used > limit"
picky.when    | idle > more
`, func(key, want string) {
		must.Both(p.Get(key))(t, want, nil, key)
	})
	same(t, TruthOwn, p.Truth, "truth")
}

// A stage may not have a parameter of the name that its condition has.
func TestWhenIsTaken(t *testing.T) {
	d := testStage("own", &struct {
		When int `yaml:"when" doc:"a number"`
	}{})
	r := must.Get(NewRegistry(Family{Name: "f", Stages: []Definition{d}}))(t)
	must.Refuse(t, r.Check(), "stage own: a parameter when")
}

func TestWhenLint(t *testing.T) {
	must.Rows(t, `
"stages: [bare: {when: cold || used > 0.8}]" | ""
stages: [bare: {when: used > 80}] | 1:23: bare.when: it never holds: leave out the stage
stages: [bare: {when: true}] | 1:23: bare.when: it always holds: leave it out (condition)
"numbers: {a: 1, b: 2}\nstages: [bare: {when: idle > a}]" | 1:20: numbers.b: no condition uses it: leave it out (unused)
stages: [late: {when: cold and used > 0.1}] | 1:23: late.when: the stage runs at: turn end, right after a response; cold says nothing there: use a stage that runs before requests
stages: [remote: {when: cold}] | 1:25: remote.when: the server carries the stage out
`, func(text, want string) {
		p := must.Get(Decode("p.yaml", []byte(text), lintRegistry(t), nil))(t)
		var got []string
		for _, f := range Lint(p) {
			got = append(got, strings.TrimPrefix(f.String(), "p.yaml:"))
		}
		if all := strings.Join(got, "\n"); !strings.HasPrefix(all, want) || (all == "") != (want == "") {
			t.Errorf("%s\ngot  %s\nwant %s", text, all, want)
		}
	})
	_, err := Decode("p.yaml", []byte("stages: [started: {when: payback < 5}]"), lintRegistry(t), nil)
	if want := "p.yaml:1:26: started.when: tokens_freed and payback follow from what the stage proposes, and a program"; err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("got  %v\nwant %s", err, want)
	}
}

// remoteParams are those of a stage that the server carries out.
type remoteParams struct {
	Keep int `yaml:"keep" doc:"a number"`
}

func (*remoteParams) ServerEdit() (any, bool) { return nil, false }

func lintRegistry(t *testing.T) Registry {
	late, remote, started := testStage("late", nil), testStage("remote", &remoteParams{}), testStage("started", nil)
	late.Moments, started.Program = TurnEnd, "command"
	r := must.Get(NewRegistry(Family{Name: "f", Stages: []Definition{testStage("bare", nil), late, remote, started}}))(t)
	return r
}
