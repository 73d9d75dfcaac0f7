package main

import (
	"go/parser"
	"go/token"
	"os"
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
		if v.Events > 0 && !v.ByEvents {
			t.Errorf("%s: events changed, and the check does not tell: %s", m.name(w), v.First)
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
	if v := w.judge(before[all[0].at], before[all[0].at]); v.Events+v.Figures != 0 || v.ByFigures {
		t.Errorf("without a mutation: %+v", v)
	}
}

// TestRewrite holds that the stages' sources with their mutants are Go, that
// no line of them moves, and that there are mutants of every kind.
func TestRewrite(t *testing.T) {
	root := filepath.Join("..", "..")
	sources, list, err := rewrite(root)
	if err != nil {
		t.Fatal(err)
	}
	rules := map[string]int{}
	for i, m := range list {
		rules[m.rule]++
		if m.site < 1 || m.site > i+1 || m.from == m.to || m.line < 1 {
			t.Errorf("%d: %+v", i+1, m)
		}
	}
	for _, rule := range []string{"operator", "constant", "negation", "order"} {
		if rules[rule] < 20 {
			t.Errorf("only %d mutants of kind %s", rules[rule], rule)
		}
	}
	for name, text := range sources {
		if _, err := parser.ParseFile(token.NewFileSet(), name, text, parser.SkipObjectResolution); err != nil {
			t.Error(err)
		}
		was, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(stages), name))
		if err != nil {
			t.Fatal(err)
		}
		if strings.Count(text, "\n") != strings.Count(string(was), "\n") {
			t.Errorf("%s: lines moved", name)
		}
	}
	if some := sample(list, 4); len(some) != 4 || !slices.Equal(some, sample(list, 4)) || len(sample(list, 0)) != len(list) {
		t.Errorf("sample %v", some)
	}
}
