package main

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestParamMutants holds that the shipped check tells of a sample of the
// parameters' mutants: of each that changes an event by its events, and by
// figures alone unless it is known why these cannot. How many that are of all,
// docs/mutants.md says.
func TestParamMutants(t *testing.T) {
	w, err := load(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	all := w.paramMutants()
	if len(all) < 500 {
		t.Fatalf("only %d parameters to change", len(all))
	}
	before := make([][]outcome, len(w.policies))
	sum := &tally{}
	step := 29
	if testing.Short() {
		step = 101
	}
	for i := 0; i < len(all); i += step {
		m := all[i]
		if before[m.at] == nil {
			if before[m.at], err = w.replay(m.at, w.policies[m.at]); err != nil {
				t.Fatal(err)
			}
		}
		v, err := w.tryParam(m, before[m.at])
		if err != nil {
			t.Fatalf("%s: %v", m.name(w), err)
		}
		if v.events > 0 && !v.byEvents {
			t.Errorf("%s: events changed, and the check does not tell: %s", m.name(w), v.first)
		}
		sum.add(m.name(w), v)
	}
	t.Logf("%d tried, %d change an event, %d of them told by figures", sum.tried, sum.events, sum.byFigures)
	for _, s := range sum.survivors {
		if reason(s) == unexplained {
			t.Errorf("figures do not tell, and no reason is known:\n%s", s)
		}
	}
	if sum.byFigures < 3 {
		t.Errorf("only %d mutants in the sample that figures tell", sum.byFigures)
	}
	if v := w.judge(before[all[0].at], before[all[0].at]); v.events+v.figures != 0 || v.byFigures {
		t.Errorf("without a mutation: %+v", v)
	}
}

const program = `package stage

func f(list []int) int {
	n := 0
	for i, x := range list {
		if x < 3 && !(i == 2) {
			n += x * 2
		}
	}
	return n
}
`

func TestMutations(t *testing.T) {
	list, err := mutationsOf("f.go", []byte(program))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, m := range list {
		got = append(got, m.name())
		changed := string(m.apply([]byte(program)))
		if changed == program || strings.Count(changed, "\n") != strings.Count(program, "\n") {
			t.Errorf("%s: %s", m.name(), changed)
		}
		if m.rule == "order" && !strings.HasPrefix(changed, "package stage; import mutated \"slices\"\n") {
			t.Errorf("%s: %s", m.name(), changed)
		}
		if _, err := mutationsOf("f.go", []byte(changed)); err != nil {
			t.Errorf("%s: %v", m.name(), err)
		}
	}
	for _, want := range []string{
		"f.go:5: order: `list` -> `mutated.Backward(list)`", "f.go:6: operator: `<` -> `<=`", "f.go:6: operator: `<` -> `>=`", "f.go:6: constant: `3` -> `(6)`",
		"f.go:6: operator: `&&` -> `||`", "f.go:6: negation: `!` -> ``", "f.go:6: operator: `==` -> `!=`", "f.go:7: operator: `+=` -> `-=`", "f.go:7: operator: `*` -> `/`",
		"f.go:4: constant: `0` -> `(1)`", "f.go:4: constant: `0` -> `(-1)`",
	} {
		if !slices.Contains(got, want) {
			t.Errorf("no mutant %s among\n%s", want, strings.Join(got, "\n"))
		}
	}
	some := sample(list, 4)
	if len(some) != 4 || !slices.Equal(some, sample(list, 4)) || len(sample(list, 0)) != len(list) {
		t.Errorf("sample %v", some)
	}
}
