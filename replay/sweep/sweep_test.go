package sweep

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/preset"
	"github.com/ctxkit/ctxkit/policy/stage"
	"github.com/ctxkit/ctxkit/replay/compare"
	"github.com/ctxkit/ctxkit/replay/exact"
)

func TestParseAxis(t *testing.T) {
	must.Rows(t, `
s.p=1,2,3               | 1 2 3
s.p = a , b             | a b
s.p=[a,b],[c]           | [a,b] [c]
s.p=10..30:10           | 10 20 30
s.p=10..35:10           | 10 20 30
s.p=5k..15k:5k          | 5000 10000 15000
s.p=1.5k..3_000:500     | 1500 2000 2500 3000
s.p=0..1M               | 0 250000 500000 750000 1000000
s.p=1..3                | 1 2 3
s.p=7..7                | 7
s.p=0.2..0.7:0.1        | 0.2 0.3 0.4 0.5 0.6 0.7
s.p=0..1.0              | 0 0.25 0.5 0.75 1
s.p=5m..20m:5m          | 5m0s 10m0s 15m0s 20m0s
s.p=30m..90m            | 30m0s 45m0s 1h0m0s 1h15m0s 1h30m0s
s.p=fixed: 5000,outline | fixed: 5000 outline
`, func(in, want string) {
		a, err := ParseAxis(in)
		if got := strings.Join(a.Values, " "); err != nil || got != want || a.Key != "s.p" {
			t.Errorf("%s: %s %q, %v; want %q", in, a.Key, got, err, want)
		}
	})
	for _, in := range []string{
		"", "p", "p=1", "s.p", "s.p=", "s.p=1,1", "s.p=1,,2", "s.p=3..1", "s.p=1..3:0", "s.p=1..3:-1", "s.p=a..b", "s.p=0..1:x", "s.p=1..1000000000:1", "s.p=0..1:1e-9",
		"s.p=1m..5m:0s", "s.p=1m..5", "s.p=0.1..0.5:NaN", "s.p=NaN..1", "s.p=1..Inf",
	} {
		if a, err := ParseAxis(in); err == nil {
			t.Errorf("%q is taken: %q", in, a.Values)
		}
	}
}

// TestThresholdOfFew holds that a session whose policy has no parameter of its threshold is one in which nothing varies.
func TestThresholdOfFew(t *testing.T) {
	reg := must.Get(stage.Registry())(t)
	for name, want := range map[string]bool{"claude-code-2.1.128": true, "gemini-cli-0.43": false, "mask": false} {
		pol := must.Get(preset.New(reg).Load(name))(t)
		p := NewPlan([]Axis{{policy.ThresholdKey, []string{"97k", "127k"}}}, []Point{{"97k"}, {"127k"}})
		if has, err := p.Has(&SweptSession{Policy: pol}); err != nil || len(has) != 1 || has[0] != want {
			t.Errorf("%s: %v, %v", name, has, err)
		}
	}
}

func FuzzParseAxis(f *testing.F) {
	for _, s := range []string{"s.p=1..5:2", "s.p=0.1..1", "s.p=1m..2m:1s", "s.p=a,b"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		a, err := ParseAxis(s)
		if err == nil && (len(a.Values) == 0 || len(a.Values) > MaxPoints) && strings.Contains(s, "..") {
			t.Errorf("%q has %d values", s, len(a.Values))
		}
	})
}

func TestGridAndSample(t *testing.T) {
	axes := []Axis{{"a.x", []string{"1", "2"}}, {"a.y", []string{"u", "v", "w"}}}
	grid, err := Cross(axes)
	must.Say(t, "<nil> [[1 u] [1 v] [1 w] [2 u] [2 v] [2 w]]", err, fmt.Sprint(grid))
	one, two, three := Sample(axes, 3, seeded(1)), Sample(axes, 3, seeded(1)), Sample(axes, 3, seeded(2))
	if len(one) != 3 || fmt.Sprint(one) != fmt.Sprint(two) {
		t.Errorf("the same seed draws %v and %v", one, two)
	}
	if fmt.Sprint(one) == fmt.Sprint(three) && fmt.Sprint(one) == fmt.Sprint(Sample(axes, 3, seeded(3))) {
		t.Errorf("every seed draws %v", one)
	}
	for i, p := range one {
		if !slices.ContainsFunc(grid, func(g Point) bool { return slices.Equal(g, p) }) || i > 0 && slices.Equal(one[i-1], p) {
			t.Errorf("%v is no point of the grid, or drawn twice", p)
		}
	}
	must.Equal(t, fmt.Sprint(Sample(axes, 10, seeded(1))), fmt.Sprint(grid))
	many := make([]string, 1000)
	for i := range many {
		many[i] = fmt.Sprint(i)
	}
	if _, err := Cross([]Axis{{"a.x", many}, {"a.y", many}}); err == nil {
		t.Error("a grid of a million points is made")
	}
	must.Equal(t, len(Sample([]Axis{{"a.x", many}, {"a.y", many}, {"a.z", many}, {"a.w", many}, {"a.v", many}, {"a.u", many}, {"a.t", many}}, 5, seeded(1))), 5)
}

func seeded(seed uint64) func(int) int { return rand.New(rand.NewPCG(seed, 0)).IntN }

func TestFront(t *testing.T) {
	must.Rows(t, `
null             | []
[[1, 5], [2, 4], [2, 5], [3, 3]] | [true true false true]
[[1, 1], [1, 1]] | [true true]
`, func(theValues [][]int64, want string) {
		var values [][]exact.Decimal
		for _, row := range theValues {
			var v []exact.Decimal
			for _, x := range row {
				v = append(v, exact.Decimal{N: x, Known: true})
			}
			values = append(values, v)
		}
		must.Equal(t, fmt.Sprint(Front(values)), want, theValues)
	})
	// No point of the front is dominated, and every other one is by one of it.
	r := rand.New(rand.NewPCG(1, 1))
	for range 200 {
		values := make([][]exact.Decimal, 1+r.IntN(30))
		for i := range values {
			values[i] = []exact.Decimal{exact.Whole(r.IntN(6)), exact.Whole(r.IntN(6)), exact.Whole(r.IntN(6))}
		}
		front := Front(values)
		for i := range values {
			by := slices.IndexFunc(values, func(v []exact.Decimal) bool { return dominates(v, values[i]) })
			if front[i] != (by < 0) {
				t.Fatalf("point %d of %v: on the front %v, dominated by %d", i, values, front[i], by)
			}
		}
	}
}

// figures are values of a session; all that are not named are 0.
func figures(cost, misses, refused int) compare.Values {
	v := make(compare.Values, len(compare.Names()))
	for i, name := range compare.Names() {
		v[i] = exact.Whole(map[string]int{"cost_usd": cost, "misses": misses, "refused": refused}[name])
	}
	return v
}

// marked are sessions under a policy and points, each in a project of its own: one row a session.
func marked(axes []Axis, rows ...[]compare.Values) *Grid {
	points, err := Cross(axes)
	if err != nil {
		panic(err)
	}
	s := &Grid{Policy: "base", Axes: axes, Points: points}
	for i, values := range rows {
		s.Sessions = append(s.Sessions, compare.ComparedSession{Project: fmt.Sprint("/p", i), Values: values})
	}
	s.Mark(rand.New(rand.NewPCG(1, 0)).Perm)
	return s
}

// TestMark: a point that is infeasible in a session that counts is a bound, a session in which the policy as it is is
// infeasible does not count, and what the other points come to there does not matter.
func TestMark(t *testing.T) {
	axes := []Axis{{"a.x", []string{"1", "2", "3"}}}
	rows := [][]compare.Values{
		{figures(9, 0, 0), figures(5, 1, 1), figures(6, 1, 0), figures(7, 0, 0)},
		{figures(9, 0, 0), figures(5, 1, 0), figures(6, 1, 0), figures(7, 0, 0)},
		{figures(9, 0, 2), figures(1, 0, 0), figures(99, 0, 3), figures(2, 0, 0)},
	}
	s := marked(axes, rows...)
	must.Say(t, "2 [false true true] true false 1", len(s.Against.Sessions), fmt.Sprint(s.Front), s.Results[0].Bound, s.Results[1].Bound, s.Best)
	if s = marked(axes, []compare.Values{figures(9, 0, 1), figures(5, 1, 1), figures(6, 1, 1), figures(7, 0, 1)}); s.Best >= 0 || slices.Contains(s.Front, true) {
		t.Errorf("front %v, best %d where no point could have run", s.Front, s.Best)
	}
}

// TestAlike: points with the same figures in all sessions are on the front once, and an axis that changes nothing is named.
func TestAlike(t *testing.T) {
	a, b := figures(5, 1, 0), figures(6, 0, 0)
	s := marked([]Axis{{"a.x", []string{"1", "2"}}, {"a.y", []string{"1", "2"}}}, []compare.Values{b, a, a, b, b}, []compare.Values{b, b, b, a, a})
	must.Equal(t, fmt.Sprint(s.Same, s.Inert, s.Front), "[0 0 2 2] [false true] [true false true false]", s.Same, s.Inert, s.Front)
}

// TestGroups: a window, or a project with a fifth of the whole, in which another point is the best is named.
func TestGroups(t *testing.T) {
	s := &Grid{Policy: "base", Axes: []Axis{{"a.x", []string{"1", "2"}}}, Points: []Point{{"1"}, {"2"}}}
	add := func(project string, window int, costs ...int) {
		one := compare.ComparedSession{Project: project, Window: window}
		for _, cost := range costs {
			one.Values = append(one.Values, figures(cost, 0, 0))
		}
		s.Sessions = append(s.Sessions, one)
	}
	add("/large", 1000, 500, 100, 300)
	add("/b", 200, 200, 210, 100)
	add("/b", 200, 100, 110, 100)
	add("/small", 200, 50, 90, 50)
	s.Mark(rand.New(rand.NewPCG(1, 0)).Perm)
	got := ""
	for _, g := range s.Groups {
		got += fmt.Sprintln(g.Window, g.Project, g.Sessions, g.Best, g.Share, g.Overall)
	}
	if want := "200  3 1 -0.2857 0.1714\n0 /b 2 1 -0.3333 0.0667\n"; s.Best != 0 || got != want {
		t.Errorf("best %d, got %q, want %q", s.Best, got, want)
	}
}

// TestHoldOut: a point that is far better in one project and worse in the others is no gain in those it was not chosen by.
func TestHoldOut(t *testing.T) {
	axes := []Axis{{"a.x", []string{"1", "2"}}}
	rows := [][]compare.Values{{figures(1000, 0, 0), figures(100, 0, 0), figures(990, 0, 0)}}
	for range 7 {
		rows = append(rows, []compare.Values{figures(100, 0, 0), figures(110, 0, 0), figures(99, 0, 0)})
	}
	s := marked(axes, rows...)
	if h := s.HoldOut; s.Best != 0 || h.Projects != 8 || h.Draws != draws || h.Higher != 7 || h.Worse < 400 || h.Worse > 600 {
		t.Errorf("best %d, %+v", s.Best, h)
	}
	if h := marked(axes, rows[:3]...).HoldOut; h.Draws != 0 {
		t.Errorf("three projects: %+v", h)
	}
}
