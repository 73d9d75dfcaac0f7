package report

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/ctxkit/ctxkit/jsonl/must"
)

const (
	someID     = "3fea94ca-9a1c-4900-ba4b-332afdaddc4a"
	somePolicy = "claude-code@recorded-version,microcompact_time.minutes=30"
)

// fitSample has a name, figures of three priorities and a text.
func fitSample() *table {
	t := newTable([]column{{Title: "session", Key: "session"}, {Title: "requests"}, {Title: "peak", Drop: 1}, {Title: "only simulated", Drop: 2},
		{Title: "empty"}, {Title: "what happened", Flex: true, Min: 12}})
	t.add(none, someID, 12, 123456, 7, "", "clear 3 results of opencode_compaction")
	t.add(bold, "sum", 1200, 7, 12, nil, "")
	return t
}

func printed(t *testing.T, g *grid) (string, []string) {
	t.Helper()
	var b bytes.Buffer
	hidden := must.Get(g.text(&b, false))(t)
	return b.String(), hidden
}

func TestFit(t *testing.T) {
	for _, c := range []struct {
		width  int
		hidden string
		want   string
	}{
		{120, "", `session                               requests     peak  only simulated  what happened
────────────────────────────────────  ────────  ───────  ──────────────  ──────────────────────────────────────
3fea94ca-9a1c-4900-ba4b-332afdaddc4a        12  123,456               7  clear 3 results of opencode_compaction
sum                                      1,200        7              12
`},
		{98, "", `session                               requests     peak  only simulated  what happened
────────────────────────────────────  ────────  ───────  ──────────────  ─────────────────────────
3fea94ca-9a1c-4900-ba4b-332afdaddc4a        12  123,456               7  clear 3 results of
                                                                         opencode_compaction
sum                                      1,200        7              12
`},
		{90, "", `                                                              only
session                               requests     peak  simulated  what happened
────────────────────────────────────  ────────  ───────  ─────────  ──────────────────────
3fea94ca-9a1c-4900-ba4b-332afdaddc4a        12  123,456          7  clear 3 results of
                                                                    opencode_compaction
sum                                      1,200        7         12
`},
		{80, "only simulated", `session                               requests     peak  what happened
────────────────────────────────────  ────────  ───────  ───────────────────────
3fea94ca-9a1c-4900-ba4b-332afdaddc4a        12  123,456  clear 3 results of
                                                         opencode_compaction
sum                                      1,200        7
`},
		{60, "", `session
                          only
  requests     peak  simulated  what happened
  ────────  ───────  ─────────  ────────────────────────────
3fea94ca-9a1c-4900-ba4b-332afdaddc4a
        12  123,456          7  clear 3 results of
                                opencode_compaction
sum
     1,200        7         12
`},
	} {
		got, hidden := printed(t, fitSample().grid(c.width))
		if got != c.want || strings.Join(hidden, ", ") != c.hidden {
			t.Errorf("%d columns: without %q\n%s", c.width, hidden, got)
		}
	}
	long := newTable([]column{{Title: "policy", Flex: true}, {Title: "a"}, {Title: "b"}, {Title: "c"}, {Title: "d"}})
	long.add(none, somePolicy, strings.Repeat("1", 15), strings.Repeat("2", 15), strings.Repeat("3", 15), strings.Repeat("4", 15))
	if got, _ := printed(t, long.grid(60)); got != `policy  claude-code@recorded-version,
        microcompact_time.minutes=30
a       111111111111111
b       222222222222222
c       333333333333333
d       444444444444444
` && got != `policy  `+somePolicy[:29]+"\n" {
		t.Errorf("records:\n%s", got)
	}
}

// TestFitAny holds for tables of all shapes that no line is too wide, and that no name is broken.
func TestFitAny(t *testing.T) {
	names := []string{"none", "opencode-1.1.36", someID, "claude-code@recorded-version", "testdata/sessions/" + someID + ".jsonl", "e\u0301t\u0301"}
	for shape := range 300 {
		var columns []column
		for i := range 1 + shape%11 {
			columns = append(columns, column{Title: names[(shape+i)%4][:4] + " of it", Drop: (shape / (i + 1)) % 3, Flex: (shape+i)%3 == 0})
		}
		tab := newTable(columns)
		var used []string
		for n := range 3 {
			var cells []any
			for i := range columns {
				name := names[(shape*n+i)%len(names)]
				used = append(used, name)
				cells = append(cells, either[any]((shape+i)%2 == 0, name, n*7919))
			}
			tab.add(none, cells...)
		}
		for _, w := range []int{60, 80, 100, 160, 240} {
			text, hidden := printed(t, tab.grid(w))
			for line := range strings.Lines(text) {
				if n := width(strings.TrimSuffix(line, "\n")); n > w {
					t.Fatalf("shape %d: %d of %d columns: %s", shape, n, w, line)
				}
			}
			if len(hidden) > 0 {
				continue
			}
			for i, cells := range tab.rows {
				for j := range columns {
					if s, ok := cells.cells[j].(string); ok && !strings.Contains(s, "/") && !strings.Contains(text, s) {
						t.Fatalf("shape %d, row %d: %q is broken at %d columns:\n%s", shape, i, s, w, text)
					}
				}
			}
		}
		if !slices.Contains(used, someID) && shape > 100 && len(columns) > 8 {
			t.Fatalf("shape %d has no id", shape)
		}
	}
}

func TestShortPath(t *testing.T) {
	path := "/home/me/.claude/projects/-home-me-work/" + someID + "/subagents/agent-a1b2c3.jsonl"
	for w, want := range map[int]string{
		200: path,
		100: "/…/.claude/projects/-home-me-work/" + someID + "/subagents/agent-a1b2c3.jsonl",
		80:  "/home/me/…/" + someID + "/subagents/agent-a1b2c3.jsonl",
		60:  "/home/me/.claude/projects/…/subagents/agent-a1b2c3.jsonl",
		20:  "…/agent-a1b2c3.jsonl",
		10:  "/home…sonl",
	} {
		if got := shortPath(path, w); got != want || width(got) > w {
			t.Errorf("%d: %s, want %s", w, got, want)
		}
	}
	seen := map[string]bool{}
	for i := range 40 {
		seen[shortPath(fmt.Sprintf("%s/%02d/agent.jsonl", strings.Repeat("/folder", 20), i), 60)] = true
	}
	must.Equal(t, len(seen), 40)
}

// TestHiddenTitles holds that a title of several columns is told apart where one of them is left out.
func TestHiddenTitles(t *testing.T) {
	tab := newTable([]column{{Title: "client"}, {Title: "read"}, {Title: "error", Drop: 2}, {Title: "written", Drop: 1}, {Title: "error", Drop: 2}, {Title: "USD", Drop: 3}})
	tab.add(none, strings.Repeat("x", 40), "1,000", "1,000", "1,000", "1,000", "1,000")
	_, hidden := printed(t, tab.grid(65))
	must.Equal(t, strings.Join(hidden, ", "), "error (written), USD")
	if _, hidden = printed(t, tab.grid(60)); strings.Join(hidden, ", ") != "error (read), error (written), USD" {
		t.Errorf("hidden: %s", strings.Join(hidden, ", "))
	}
}

func TestOneSpaced(t *testing.T) {
	must.Rows(t, `
""                   | ""
a                    | a
two words            | two words
"  indented"         | "  indented"
"  a  b "            | "  a b"
"a\u00a0\u3000b"     | a b
"fix it:\n\n\tthis " | fix it: this
"\u00a0a"            | a
" \n"                | " "
"   "                | "   "
`, func(text, want string) {
		must.Equal(t, oneSpaced(text), want, text)
	})
}
