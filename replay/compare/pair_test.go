package compare

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/replay"
	"github.com/ctxkit/ctxkit/replay/exact"
	"github.com/ctxkit/ctxkit/replay/price"
)

// in puts a session into a project, and makes a policy infeasible in it for each name of a figure.
func (s ComparedSession) in(project string, infeasible ...string) ComparedSession {
	s.Project = project
	for p, name := range infeasible {
		if name != "" {
			s.Values[p][index(name)] = decimal(3)
		}
	}
	return s
}

func TestPair(t *testing.T) {
	c := Compare([]string{"a", "b"}, []ComparedSession{
		sessionOf("1", "m", "v", 1, 100, 90).in("p"),
		sessionOf("2", "m", "v", 3, 1000, 1005).in("p"), // even: 0.5 %
		sessionOf("3", "m", "v", 1, 1000, 1006).in("q"),
		sessionOf("4", "m", "v", 1, 1000, 5).in("r", "", "refused"),
		sessionOf("5", "m", "v", 1, 1000, 5).in("s", "violations", ""),
	}, ByNothing)[0]
	v := c.Pairs[1].Figures[index("cost_usd")]
	if v.Sessions != 3 || v.Projects != 2 || v.First != decimal(2100) || v.Difference != decimal(1) || v.Lower != 1 || v.Even != 1 || v.Higher != 1 {
		t.Errorf("cost: %+v", v)
	}
	must.Say(t, "0.00047619 false too_few", v.Interval.Value.String(), v.Interval.Lower.Known, v.Conclusion())
	if v := c.Pairs[1].Figures[index("model_mean")]; v.First.Cmp(decimal(820)) != 0 || v.Difference.String() != "2.2" || v.Interval.Value.String() != "0.002682927" {
		t.Errorf("means are by requests: %+v", v) // 11 / 4100
	}
	if v := c.Pairs[1].Figures[index("model_peak")]; v.First != decimal(1000) || v.Difference != decimal(6) || v.Interval.Value.Known || v.Higher != 1 {
		t.Errorf("peaks: %+v", v)
	}
	if got := c.Pairs[1]; got.Half != 2 || got.Largest.Project != "p" || got.Largest.Of.String() != "0.7143" {
		t.Errorf("concentration: %+v", got) // 15 of 21; 10 + 6 make half of it
	}
	for p, row := range c.Policies {
		if row.Infeasible != 1 || !row.Bound || c.Common != nil {
			t.Errorf("policy %d: %d infeasible, bound %v, common %v", p, row.Infeasible, row.Bound, c.Common)
		}
	}
}

// TestBound holds that a policy that is infeasible in many sessions takes none from the sums of the others, and one
// that is in few does.
func TestBound(t *testing.T) {
	var sessions []ComparedSession
	for i := range 20 {
		why := []string{"", "", ""}
		if i < 2 {
			why[1] = "refused"
		}
		if i < 3 {
			why[2] = "refused"
		}
		sessions = append(sessions, sessionOf(fmt.Sprint(i), "m", "v", 1, 10, 20, 30).in(fmt.Sprint(i%7), why...))
	}
	c := Compare([]string{"a", "few", "many"}, sessions, ByNothing)[0]
	if len(c.Common) != 18 || c.Common[0] != 2 || c.Policies[1].Bound || !c.Policies[2].Bound {
		t.Errorf("common %v, %+v", c.Common, c.Policies)
	}
	cost := index("cost_usd")
	if got := c.Policies[1]; got.Figures[cost].Total != decimal(400) || got.Common[cost].Total != decimal(360) {
		t.Errorf("cost of all %v, of the common sessions %v", got.Figures[cost].Total, got.Common[cost].Total)
	}
	must.Say(t, "18 17", len(c.Pairs[1].Sessions), len(c.Pairs[2].Sessions))
}

func TestVerdicts(t *testing.T) {
	must.Rows(t, `
# values | projects | want | effective
null                 | 9 | ""            | ""
[[10, 10], [20, 20]] | 9 | same          | 1.8
[[10, 11], [20, 22], [30, 33], [10, 11]] | 9 | too_few       | 3.3
[[10, 11], [10, 12], [10, 11], [10, 11]] | 9 | more          | 4
[[10, 9], [20, 18], [30, 27], [10, 9], [10, 9]] | 1 | less          | 4
[[10, 11], [20, 22], [30, 33], [10, 11], [10, 11]] | 2 | too_few       | 1.9
[[100, 101], [20, 22], [30, 33], [10, 11], [10, 11]] | 9 | too_few       | 2.5  # four have 90 %
[[100, 101], [20, 22], [20, 23], [20, 23], [20, 21], [3, 1]] | 9 | more          | 2.9
[[100, 101], [20, 22], [20, 23], [20, 19], [20, 21], [3, 1]] | 9 | too_few       | 2.9
[[1000, 1001], [2000, 2002], [2000, 2001], [1000, 1001], [1000, 1002]] | 9 | even          | 4.5
[[1000, 1004], [2000, 2008], [2000, 2007], [1000, 1004], [1000, 1006]] | 9 | small         | 4.5
[[1000, 1001], [2000, 2002], [2000, 2001], [1000, 1001], [1000, 1030]] | 9 | no_difference | 4.5
[[10, 11], [20, 18], [30, 33], [10, 9], [10, 11]] | 9 | no_difference | 4
`, func(values [][2]float64, projects int, want Conclusion, effective string) {
		var sessions []ComparedSession
		for i, v := range values {
			sessions = append(sessions, sessionOf(fmt.Sprint(i), "m", "v", 1, v[0], v[1]).in(fmt.Sprint(i%projects)))
		}
		v := Compare([]string{"a", "b"}, sessions, ByNothing)[0].Pairs[1].Figures[index("cost_usd")]
		if got := v.Conclusion(); got != want || v.Interval.Effective.String() != effective {
			t.Errorf("%v in %d projects: %q over %s clusters, want %q over %s", values, projects, got, v.Interval.Effective, want, effective)
		}
	})
}

// TestJudgedWithoutPrices holds that what is sent is judged where no cost is known, and that a cost is compared where
// it is.
func TestJudgedWithoutPrices(t *testing.T) {
	unpriced := func(n int) Comparison {
		var sessions []ComparedSession
		for i := range 4 {
			s := sessionOf(fmt.Sprint(i), "m", "v", 1, 10, 20)
			if i < n {
				s.Values[0][index("cost_usd")], s.Values[1][index("cost_usd")] = exact.Decimal{}, exact.Decimal{}
			}
			sessions = append(sessions, s)
		}
		return Compare([]string{"a", "b"}, sessions, ByNothing)[0]
	}
	if c := unpriced(4); c.Judged != index("payload_input") || c.Pairs[1].Half != 2 {
		t.Errorf("judged by %s: %+v", Names()[c.Judged], c.Pairs[1])
	}
	if c := unpriced(1); c.Judged != index("cost_usd") || c.Pairs[1].Figures[c.Judged].Sessions != 3 {
		t.Errorf("judged by %s: %+v", Names()[c.Judged], c.Pairs[1].Figures[c.Judged])
	}
}

// TestJudgedByFit holds that a cost is judged only where the simulated cache fits the sessions.
func TestJudgedByFit(t *testing.T) {
	usd := func(n int64) price.USD { return price.USD{Nano: n, Known: true} }
	must.Rows(t, `
1040 | cost_usd
960  | cost_usd
1060 | payload_input
940  | payload_input
`, func(simulated int64, want string) {
		one := sessionOf("1", "m", "v", 1, 100, 90).in("p")
		one.Billed.Fit = &replay.CacheFit{Requests: 3, Recorded: 3, Near: 3, Billed: usd(1000), Simulated: usd(simulated)}
		if c := Compare([]string{"a", "b"}, []ComparedSession{one}, ByNothing)[0]; c.Judged != index(want) {
			t.Errorf("%d of 1000: judged by %s, want %s", simulated, Names()[c.Judged], want)
		}
	})
}

// TestPairsStandAlone holds that neither the order of the sessions nor another policy, such as a near-copy, changes what
// is said of a pair, but that more comparisons at once make wider intervals.
func TestPairsStandAlone(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 30 {
		var two, three []ComparedSession
		for i := range 1 + r.IntN(40) {
			a, b := 1000+float64(r.IntN(5000)), 1000+float64(r.IntN(5000))
			if r.IntN(3) == 0 {
				b = a
			}
			project, why := fmt.Sprint(r.IntN(9)), []string{"", ""}
			if r.IntN(9) == 0 {
				why[r.IntN(2)] = "refused"
			}
			two = append(two, sessionOf(fmt.Sprint(i), "m", "v", float64(1+r.IntN(50)), a, b).in(project, why...))
			s := sessionOf(fmt.Sprint(i), "m", "v", 1, a, b, b+float64(r.IntN(3))).in(project, append(why, []string{"", "violations"}[r.IntN(2)])...)
			s.Values[0][0], s.Values[1][0] = two[i].Values[0][0], two[i].Values[1][0]
			three = append(three, s)
		}
		want := Compare([]string{"a", "b"}, two, ByNothing)[0].Pairs[1]
		got := Compare([]string{"a", "b", "b2"}, three, ByNothing)[0].Pairs[1]
		for f := range got.Figures {
			v, w := &got.Figures[f], want.Figures[f]
			if i, j := &v.Interval, &w.Interval; v.Comparisons != 2 || i.Lower.Cmp(j.Lower) > 0 || i.Upper.Cmp(j.Upper) < 0 {
				t.Fatalf("of two comparisons:\n%+v, of one\n%+v", v, w)
			}
			v.Comparisons, v.Interval.Lower, v.Interval.Upper = 1, w.Interval.Lower, w.Interval.Upper
		}
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("with a near-copy beside it:\n%+v, want\n%+v", got, want)
		}
		slices.Reverse(two)
		got = Compare([]string{"a", "b"}, two, ByNothing)[0].Pairs[1]
		got.Sessions, want.Sessions = nil, nil
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("in another order:\n%+v, want\n%+v", got, want)
		}
	}
}
