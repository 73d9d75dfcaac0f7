package report

import (
	"bytes"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

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
		if got := quantileText(c.name, decimalOf(c.x)); got != c.want {
			t.Errorf("%s %v is %q, want %q", c.name, c.x, got, c.want)
		}
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
	if err := Comparisons(&b, comparedSample(sessions), compare.Inputs{Given: sessions + 1, Failed: sessions / 2, Empty: []compare.Origin{{Session: "e", File: "e.jsonl"}, {Session: "e", Agent: "a5", File: "e.jsonl"}}}, opt); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestComparisons(t *testing.T) {
	schema := compileSchemaAt(t, filepath.Join("..", "docs", "schemas", "compare.v1.json"))
	for _, n := range []int{0, 1, 2, 12} {
		for _, f := range ListFormats {
			s := renderCompared(t, n, Layout{Format: f})
			if strings.ContainsAny(s, "\x1b\u202e") {
				t.Errorf("%d as %s lets control characters through", n, f)
			}
			if f == FormatTable {
				for line := range strings.Lines(s) {
					if w := width(strings.TrimSuffix(line, "\n")); w > lineWidth+nameWidth-8 && !strings.HasPrefix(line, "  ctxkit ") {
						t.Errorf("%d columns: %s", w, line)
					}
				}
			}
			if f == FormatJSON {
				if err := validate(schema, []byte(s)); err != nil {
					t.Errorf("%d: %v", n, err)
				}
			}
			if n == 12 && f == FormatTable {
				for _, want := range []string{" lower ", " even ", " higher", " 90 % ", " USD of all", "\n*: infeasible", "- Over 12 sessions in 6 projects, "} {
					if !strings.Contains(s, want) {
						t.Errorf("the table has no %q", want)
					}
				}
				for _, want := range []string{" median ", " p90\n", "\ncache_read ", " rest "} {
					if strings.Contains(s, want) || !strings.Contains(renderCompared(t, n, Layout{Format: f, All: true}), want) {
						t.Errorf("--all is to show %q, and it alone", want)
					}
				}
			}
			if n == 12 {
				golden.Check(t, filepath.Join("testdata", "compare."+string(f)), []byte(s))
			}
		}
	}
}

func TestFlagTexts(t *testing.T) {
	for _, f := range compare.Flags() {
		c := compare.Comparison{Sessions: []compare.ComparedSession{{Flags: []compare.Flag{f}}, {}}}
		if got := flagTexts(&c); len(got) != 1 || !strings.HasPrefix(got[0], "1 of 2 sessions: ") || len(got[0]) < 30 {
			t.Errorf("%s: got %q", f, got)
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

func TestNamesStayWhole(t *testing.T) {
	name := strings.Repeat("n", nameWidth)
	g := newTable([]column{{Title: "policy", Flex: true, Min: nameWidth}}, titles("figure"))
	g.add(none, name, strings.Repeat("9", lineWidth))
	if got := g.grid().widths()[0]; got != nameWidth {
		t.Errorf("a name of %d characters has %d", nameWidth, got)
	}
}
