package main

import (
	"path/filepath"
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
