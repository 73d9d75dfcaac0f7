package report

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/replay"
	"github.com/ctxkit/ctxkit/replay/compare"
	"github.com/ctxkit/ctxkit/replay/exact"
	"github.com/ctxkit/ctxkit/report/golden"
)

// A median between two counts is not rounded to one that it is not.
func TestQuantileText(t *testing.T) {
	for _, c := range []struct {
		name string
		x    float64
		want string
	}{
		{"compactions", 0.5, "0.5"}, {"compactions", 2, "2"}, {"misses", 99.94, "99.9"}, {"misses", 100.5, "101"}, {"model_peak", -12345, "-12.3k"},
		{"cost_usd", 0.5, "0.50"}, {"cost_usd", 9999.99, "9999.99"}, {"cost_usd", 12345, "12.3k"}, {"misses", math.NaN(), "–"}, {"misses", -0.25, "-0.3"},
	} {
		must.Equal(t, quantileText(c.name, decimalOf(c.x)), c.want, c.name, c.x)
	}
}

func comparedSample(sessions int) []compare.Comparison {
	var list []compare.ComparedSession
	for i := range sessions {
		s := compare.ComparedSession{Origin: compare.Origin{Session: fmt.Sprintf("s-%d", i), File: fmt.Sprintf("dir with spaces/s-%d.jsonl", i), Malformed: 2 * i}, Model: "claude-opus-4-6", Version: "2.1.19", Project: fmt.Sprintf("/home/\x1b[31mp\u202e%d", i%6), Cache: replay.CacheEqual,
			Apart: []int{0, 7 * i, 3}, Input: fmt.Sprintf("dir with spaces/s-%d.jsonl", i), Selection: compare.Selection{Agent: "a5"}}
		if i%2 == 0 {
			s.Flags = compare.Flags()[i%3 : 4+i%3]
			s.Rereads = replay.Rereads{Files: i, Tokens: 4000 * i, Carried: 99999 * i}
		}
		for p := range 3 {
			v := make(compare.Values, len(compare.Names()))
			for f := range v {
				v[f] = exact.Of(int64((i+1)*(f+7)*(p+3))*12345, 1)
				switch name := compare.Names()[f]; {
				case name == "requests":
					v[f] = exact.Whole((i + 1) * 8641)
				case name == "refused" && p == 2 && i == 1:
				case name == "refused" || name == "violations":
					v[f] = exact.Whole(0)
				case name == "cost_usd" && i%3 == 1:
					v[f] = exact.Of(int64(i*1000-p*(i%2)*300), 1)
				}
			}
			if p == 2 {
				for f, name := range compare.Names() {
					if name == "cost_usd" && i == sessions-1 || name == "misses" {
						v[f] = exact.Decimal{}
					}
				}
			}
			s.Values = append(s.Values, v)
		}
		list = append(list, s)
	}
	if sessions > 0 {
		list[sessions-1].Unpriced = []string{"gpt\x1b[31m-9", "glm-4.7"}
	}
	groups := compare.Compare([]string{"recorded", "opencode,opencode_prune.protect=20000", "it's mine.yaml"}, list, compare.ByNothing)
	for i := range groups {
		for _, e := range groups[i].Evidence() {
			groups[i].Commands = append(groups[i].Commands, []string{string(e.Show), e.File, "--at", e.At, "--agent", e.Selection.Agent})
		}
	}
	return groups
}

func renderCompared(t *testing.T, sessions int, opt Layout) string {
	t.Helper()
	var b bytes.Buffer
	must.Do(t, Comparisons(&b, comparedSample(sessions), compare.Inputs{Given: sessions + 1, Failed: sessions / 2, Empty: []compare.Origin{{Session: "e", File: "e.jsonl"}, {Session: "e", Agent: "a5", File: "e.jsonl"}}}, opt))
	return b.String()
}

func TestComparisons(t *testing.T) {
	for _, n := range []int{0, 1, 2, 12} {
		name := either(n == 12, "compare", "")
		out := inFormats(t, "compare", name, ListFormats, func(w io.Writer, f Format) error {
			_, err := io.WriteString(w, renderCompared(t, n, Layout{Format: f}))
			return err
		})
		if name != "" {
			golden.Check(t, "testdata/compare.json", []byte(out[FormatJSON]))
		}
	}
	wide, all := renderCompared(t, 12, Layout{Width: 120}), renderCompared(t, 12, Layout{All: true, Width: 200})
	for _, want := range []string{" lower ", " even ", " higher", " 90 % ", " USD of all", "*: infeasible", "- Over 12 sessions in 6 projects (in effect 3.7), "} {
		must.Say(t, "true", strings.Contains(wide, want))
	}
	for _, want := range []string{" median ", " p90\n", "\ncache_read ", " uncached "} {
		must.Say(t, "false true", strings.Contains(renderCompared(t, 12, Layout{}), want), strings.Contains(all, want))
	}
}

// TestConclusion holds the words for what can be told, and for what cannot.
func TestConclusion(t *testing.T) {
	type cost [3]int // of the first policy, of the other one; and its refused requests
	for _, c := range []struct {
		want     string
		projects int
		costs    []cost
	}{
		{"In this session, b costs 10.0 % more than a.", 1, []cost{{100, 110}}},
		{"In this session, b costs the same as a.", 1, []cost{{100, 100}}},
		{"`b` would not work in this session (2 requests over the limit): its cost there is only a lower bound; it is not compared with `a`.", 1, []cost{{100, 110, 2}}},
		{"Over 3 sessions in 3 projects, b costs 10.0 % less than a (-10.0 to -10.0 in the 3 projects with 90 % of the cost): too few projects to conclude from.", 3, []cost{{100, 90}, {100, 90}, {100, 90}}},
		{"Over 5 sessions in 1 project, b costs 10.0 % less than a (90 % over sessions: -10.0 to -10.0).", 1, []cost{{100, 90}, {100, 90}, {100, 90}, {100, 90}, {100, 90}}},
		{
			"Over 5 of 6 sessions in 5 projects, b costs 2.0 % more than a (90 %: -3.4 to +7.4): not distinguishable; `b` would not work in 1 of 6 sessions (1 request over the limit): its cost there is only a lower bound.",
			6, []cost{{100, 110}, {100, 100}, {100, 95}, {100, 105}, {100, 100}, {100, 9, 1}},
		},
		{"Over 5 sessions in 5 projects, b costs about as much as a (90 %: 0.0 to +0.1): the same within 0.5 %.", 5, []cost{{10000, 10006}, {10000, 10004}, {10000, 10004}, {10000, 10004}, {10000, 10004}}},
		{"Over 5 sessions in 5 projects, b costs 2.0 % more than a (90 %: -2.3 to +6.3): not distinguishable.", 5, []cost{{100, 110}, {100, 100}, {100, 100}, {100, 100}, {100, 100}}},
		{
			"Over 6 sessions in 6 projects (in effect 2.9), b costs 6.0 % more than a (+1.0 to +15.0 in the 5 projects with 90 % of the cost).",
			6, []cost{{100, 101}, {20, 22}, {20, 23}, {20, 23}, {20, 21}, {3, 4}},
		},
		{"Over 4 sessions in 4 projects, b costs 0.4 % more than a (90 %: +0.3 to +0.5): a difference of less than 0.5 %.", 4, []cost{{10000, 10050}, {10000, 10030}, {10000, 10040}, {10000, 10044}}},
	} {
		var sessions []compare.ComparedSession
		for i, x := range c.costs {
			s := compare.ComparedSession{Project: fmt.Sprint(i % c.projects)}
			for p := range 2 {
				v := make(compare.Values, len(compare.Names()))
				for f, name := range compare.Names() {
					v[f] = exact.Whole(0)
					if name == "cost_usd" {
						v[f] = exact.Whole(x[p])
					} else if name == "refused" && p == 1 {
						v[f] = exact.Whole(x[2])
					}
				}
				s.Values = append(s.Values, v)
			}
			sessions = append(sessions, s)
		}
		must.Equal(t, conclusion(&compare.Compare([]string{"a", "b"}, sessions, compare.ByNothing)[0], 1), c.want)
	}
}

// TestBoundsAreMarked holds that a policy that is infeasible in many sessions has a mark, and takes no session away.
func TestBoundsAreMarked(t *testing.T) {
	rows := func(bound bool, common []int) compare.Comparison {
		return compare.Comparison{
			Sessions: make([]compare.ComparedSession, 3), Common: common,
			Policies: []compare.PolicyRow{{Name: "a"}, {Name: "b", Infeasible: 1, Bound: bound}},
		}
	}
	for _, c := range []struct {
		of         compare.Comparison
		name, text string
	}{
		{rows(true, []int{0, 1, 2}), "b*", "*: infeasible, a lower bound: requests could not have been sent"},
		{rows(true, []int{0, 2}), "b*", "sums are over the 2 of 3 sessions in which every policy without * is feasible; the last column is over all; *: infeasible, a lower bound: requests could not have been sent"},
		{rows(false, []int{0, 2}), "b", "sums are over the 2 of 3 sessions in which every policy is feasible; the last column is over all; *: infeasible, a lower bound: requests could not have been sent"},
		{rows(false, nil), "b*", "*: infeasible, a lower bound: requests could not have been sent"},
	} {
		if got := shownRows(&c.of); got[0].Name != "a" || got[1].Name != c.name {
			t.Errorf("the rows are of %s and %s, want %s", got[0].Name, got[1].Name, c.name)
		}
		must.Equal(t, feasibleText(&c.of), c.text)
	}
}

// TestPoorFitIsMarked holds that costs have a mark where the simulated cache does not fit the sessions.
func TestPoorFitIsMarked(t *testing.T) {
	must.Rows(t, `
100 | ""
60  | ~
`, func(near int, mark string) {
		of := comparedSample(3)[0]
		of.Sessions[0].Billed.Fit = &replay.CacheFit{Requests: 100, Recorded: 100, Near: near, Billed: amount(2000), Simulated: amount(2000)}
		titles := []figureTitle{{figure: "requests"}, {figure: "cost_usd"}}
		for _, row := range compareTotals(of.Policies, &of, titles).rows {
			requests, cost := fmt.Sprint(row.cells[1]), fmt.Sprint(row.cells[2])
			if strings.HasPrefix(requests, "~") || strings.HasPrefix(cost, "~") != (mark != "" && cost != "–") {
				t.Errorf("%d of 100 near: %s requests, %s USD", near, requests, cost)
			}
			if all := fmt.Sprint(row.cells[len(row.cells)-1]); strings.HasPrefix(all, "~") != (mark != "" && all != "–") {
				t.Errorf("%d of 100 near: %s USD over all sessions", near, all)
			}
		}
	})
}

// TestConclusionOfTokensHasNoMoney holds that what extra compactions cost is said only where costs are judged.
func TestConclusionOfTokensHasNoMoney(t *testing.T) {
	for _, judged := range []string{"cost_usd", "payload_input"} {
		of := comparedSample(3)[0]
		of.Judged = slices.Index(compare.Names(), judged)
		of.Pairs[1].Correction = &compare.Correction{Stability: compare.Holds, Extra: 2, BreakEven: exact.Of(5, 1)}
		must.Equal(t, strings.Contains(conclusion(&of, 1), "USD"), judged == "cost_usd", judged)
	}
}

func TestFlagTexts(t *testing.T) {
	for _, f := range compare.Flags() {
		c := compare.Comparison{Sessions: []compare.ComparedSession{{Flags: []compare.Flag{f}}, {}}}
		if got := flagTexts(&c, &Hints{}, f); len(got) != 1 || !strings.HasPrefix(got[0], "1 of 2 sessions: ") || len(got[0]) < 30 {
			t.Errorf("%s: got %q", f, got)
		}
	}
	flagged := compare.ComparedSession{Origin: compare.Origin{File: "s.jsonl", Agent: "a1"}, Flags: []compare.Flag{compare.FlagContradicted}}
	for _, main := range []compare.ComparedSession{{}, {Flags: flagged.Flags}} {
		c := compare.Comparison{Sessions: []compare.ComparedSession{{Flags: flagged.Flags, Conversations: []compare.ComparedSession{main, flagged}}}}
		if got := strings.Join(flagTexts(&c, &Hints{}, compare.FlagContradicted), ""); strings.Contains(got, "in subagents alone: s.jsonl (agent a1)") != (main.Flags == nil) {
			t.Errorf("got %q", got)
		}
	}
}

func TestLegend(t *testing.T) {
	for _, f := range slices.Concat(figureTitles, troubleTitles) {
		if f.figure == "cost_usd" {
			continue
		}
		text := legend([]figureTitle{f})
		if !strings.HasPrefix(text, f.title+": ") || !strings.HasSuffix(text, ".") || strings.Count(text, ": ") != 1 {
			t.Errorf("%s: got %q", f.figure, text)
		}
	}
	if got, want := legend(troubleTitles[4:5]), "failed: compactions that came to nothing."; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
