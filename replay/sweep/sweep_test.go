package sweep

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/ctxkit/ctxkit/replay"
	"github.com/ctxkit/ctxkit/replay/compare"
	"github.com/ctxkit/ctxkit/replay/exact"
)

func TestParseAxis(t *testing.T) {
	for in, want := range map[string]string{
		"s.p=1,2,3":               "1 2 3",
		"s.p = a , b":             "a b",
		"s.p=[a,b],[c]":           "[a,b] [c]",
		"s.p=10..30:10":           "10 20 30",
		"s.p=10..35:10":           "10 20 30",
		"s.p=5k..15k:5k":          "5000 10000 15000",
		"s.p=1.5k..3_000:500":     "1500 2000 2500 3000",
		"s.p=0..1M":               "0 250000 500000 750000 1000000",
		"s.p=1..3":                "1 2 3",
		"s.p=7..7":                "7",
		"s.p=0.2..0.7:0.1":        "0.2 0.3 0.4 0.5 0.6 0.7",
		"s.p=0..1.0":              "0 0.25 0.5 0.75 1",
		"s.p=5m..20m:5m":          "5m0s 10m0s 15m0s 20m0s",
		"s.p=30m..90m":            "30m0s 45m0s 1h0m0s 1h15m0s 1h30m0s",
		"s.p=fixed: 5000,outline": "fixed: 5000 outline",
	} {
		a, err := ParseAxis(in)
		if got := strings.Join(a.Values, " "); err != nil || got != want || a.Key != "s.p" {
			t.Errorf("%s: %s %q, %v; want %q", in, a.Key, got, err, want)
		}
	}
	for _, in := range []string{
		"", "p", "p=1", "s.p", "s.p=", "s.p=1,1", "s.p=1,,2", "s.p=3..1", "s.p=1..3:0", "s.p=1..3:-1", "s.p=a..b", "s.p=0..1:x", "s.p=1..1000000000:1", "s.p=0..1:1e-9",
		"s.p=1m..5m:0s", "s.p=1m..5", "s.p=0.1..0.5:NaN", "s.p=NaN..1", "s.p=1..Inf",
	} {
		if a, err := ParseAxis(in); err == nil {
			t.Errorf("%q is taken: %q", in, a.Values)
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
	if err != nil || fmt.Sprint(grid) != "[[1 u] [1 v] [1 w] [2 u] [2 v] [2 w]]" {
		t.Errorf("grid %v, %v", grid, err)
	}
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
	if all := Sample(axes, 10, seeded(1)); fmt.Sprint(all) != fmt.Sprint(grid) {
		t.Errorf("more samples than points give %v", all)
	}
	many := make([]string, 1000)
	for i := range many {
		many[i] = fmt.Sprint(i)
	}
	if _, err := Cross([]Axis{{"a.x", many}, {"a.y", many}}); err == nil {
		t.Error("a grid of a million points is made")
	}
	if got := Sample([]Axis{{"a.x", many}, {"a.y", many}, {"a.z", many}, {"a.w", many}, {"a.v", many}, {"a.u", many}, {"a.t", many}}, 5, seeded(1)); len(got) != 5 {
		t.Errorf("%d samples", len(got))
	}
}

func seeded(seed uint64) func(int) int { return rand.New(rand.NewPCG(seed, 0)).IntN }

func TestFront(t *testing.T) {
	const unknown = -1
	for _, c := range []struct {
		values [][]int64
		want   string
	}{
		{nil, "[]"},
		{[][]int64{{1, 5}, {2, 4}, {2, 5}, {3, 3}}, "[true true false true]"},
		{[][]int64{{1, 1}, {1, 1}}, "[true true]"},
		{[][]int64{{1, unknown}, {2, 0}}, "[true false]"},
	} {
		var values [][]exact.Decimal
		for _, row := range c.values {
			var v []exact.Decimal
			for _, x := range row {
				v = append(v, exact.Decimal{N: x, Known: x != unknown})
			}
			values = append(values, v)
		}
		if got := fmt.Sprint(Front(values)); got != c.want {
			t.Errorf("front of %v is %s, want %s", c.values, got, c.want)
		}
	}
	// No point of the front is dominated, and every other one is by one of it.
	r := rand.New(rand.NewPCG(1, 1))
	for range 200 {
		values := make([][]exact.Decimal, 1+r.IntN(30))
		for i := range values {
			values[i] = []exact.Decimal{exact.Whole(r.IntN(6)), exact.Whole(r.IntN(6)), exact.Whole(r.IntN(6))}
		}
		front := Front(values)
		for i := range values {
			by := slices.IndexFunc(values, func(v []exact.Decimal) bool { return dominates(v, values[i], []int{0, 1, 2}) })
			if front[i] != (by < 0) {
				t.Fatalf("point %d of %v: on the front %v, dominated by %d", i, values, front[i], by)
			}
		}
	}
}

// TestMark: a point that is infeasible in many sessions is not on the front; a session in which another one is
// infeasible counts for none.
func TestMark(t *testing.T) {
	at := func(name string) int { return slices.Index(compare.Names(), name) }
	values := func(cost, refused int) compare.Values {
		v := make(compare.Values, len(compare.Names()))
		for i := range v {
			v[i] = exact.Whole(0)
		}
		v[at("cost_usd")], v[at("refused")] = exact.Whole(cost), exact.Whole(refused)
		return v
	}
	s := &Grid{Sessions: 11, Points: []Point{{"cheap"}, {"once"}, {"dear"}}}
	for p, refused := range []int{9, 1, 0} { // sessions
		var list []compare.Values
		for i := range s.Sessions {
			over := 0
			if i < refused {
				over = 3
			}
			list = append(list, values([]int{1, 2, 2}[p]+p*1000*over, over))
		}
		s.Tried = append(s.Tried, list)
	}
	s.Billed = []compare.SessionBill{{Fit: &replay.CacheFit{Requests: 9, Read: 100, Reproduced: 60}}}
	if s.Mark(); s.By[0] != "payload_input" {
		t.Errorf("front by %v where the simulated cache does not fit", s.By)
	}
	s.Billed = nil
	if s.Mark(); s.By[0] != "cost_usd" {
		t.Errorf("front by %v", s.By)
	}
	if s.Common != 10 || fmt.Sprint(s.Front) != "[false true true]" || !s.Bound(0) || s.Bound(1) || s.Bound(2) {
		t.Errorf("%d sessions in common, front %v, bounds %v %v %v", s.Common, s.Front, s.Bound(0), s.Bound(1), s.Bound(2))
	}
	s.Sessions = 1
	for p := range s.Tried {
		s.Tried[p] = []compare.Values{values(p, 1)}
	}
	if s.Mark(); s.Common != 0 || fmt.Sprint(s.Front) != "[false false false]" {
		t.Errorf("%d sessions in common, front %v where no point could have run", s.Common, s.Front)
	}
}
