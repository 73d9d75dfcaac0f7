package policy

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/ctxkit/ctxkit/jsonl/must"
)

// TestRebuildRandom holds that a policy that is made of what Resolved lists lists the same, in any order of the list.
func TestRebuildRandom(t *testing.T) {
	reg := testRegistry(t)
	random := []*rand.Rand{rand.New(rand.NewPCG(3, 4)), rand.New(rand.NewPCG(3, 5))}
	for i := range 600 {
		r := random[i%2]
		p := randomPolicy(r, reg)
		want := p.Resolved()
		settings := slices.Clone(want)
		r.Shuffle(len(settings), func(i, j int) { settings[i], settings[j] = settings[j], settings[i] })
		q, unknown, err := Rebuild(p.Name, settings, reg)
		if len(p.check()) > 0 {
			continue
		}
		if err != nil || len(unknown) > 0 {
			t.Fatalf("%v, unknown %q, of %q", err, unknown, want)
		}
		if got := q.Resolved(); !slices.Equal(got, want) {
			t.Fatalf("%q, want %q", got, want)
		}
	}
}

// TestRebuildOther holds what becomes of a list that another version made.
func TestRebuildOther(t *testing.T) {
	reg := testRegistry(t)
	p := mustDecode(t, "p.yaml", "version: 1.2.3\nstages: [{kinds: {count: 4, turns: 2}}, bare, {picky: {low: 3, high: 4}}]\n", nil)
	without := func(key string) []Setting {
		return slices.DeleteFunc(p.Resolved(), func(s Setting) bool { return s.Key == key })
	}
	q, unknown, err := Rebuild("p", append(without("kinds.count"), Setting{"kinds.gone", "5"}, Setting{"far.away", "6"}), reg)
	if err != nil || !slices.Equal(unknown, []string{"kinds.gone", "far.away"}) || q.Version != "1.2.3" {
		t.Fatalf("%+v, unknown %q, %v", q, unknown, err)
	}
	if changes := DiffSettings(p.Resolved(), q.Resolved()); len(changes) != 1 || changes[0] != (Change{"kinds.count", "4", "3"}) {
		t.Errorf("a parameter that was left out has not its default: %v", changes)
	}
	must.Rows(t, `
stages      | [kinds, bare, picky, none_such]
recorded    | perhaps
kinds.count | 100
kinds.style | odd
picky.high  | 1
`, func(key, bad string) {
		if q, _, err := Rebuild("p", append(without(key), Setting{key, bad}), reg); err == nil || !strings.Contains(err.Error(), " ") {
			t.Errorf("%s %s: %+v, %v", key, bad, q, err)
		}
	})
	if _, _, err := Rebuild("p", append(without("stages"), Setting{"stages", "[bare, bare]"}), reg); err == nil {
		t.Error("a stage is there twice")
	}
}
