package report

import (
	"bytes"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/replay/category"
	"github.com/ctxkit/ctxkit/replay/price"
	"github.com/ctxkit/ctxkit/replay/stats"
	"github.com/ctxkit/ctxkit/report/golden"
)

// statsSample is the stats of a conversation with n files, results, turns and repeated texts.
func statsSample(n int) *stats.SessionStats {
	const hostile = "=cmd|'/c'\x1b[31m\u202e <script>"
	s := &stats.SessionStats{
		Session: "s-1", File: "s-1.jsonl", Title: "A title", Policy: "recorded", Counter: "usage", Model: "claude-opus-4-5", Window: 200_000,
		Request: 40, Requests: 50, Tokens: 100_000, Sent: 2_000_000, Peak: stats.Peak{Request: 30, Tokens: 150_000},
		Categories: []stats.CategoryTokens{
			{Category: category.System, Tokens: 20_000, PerMille: 200, Sent: 800_000, SentPer: 400, Of: []stats.Portion{}},
			{Category: category.Prompts, Tokens: 500, PerMille: 5, Blocks: 2, Sent: 20_000, SentPer: 10, Of: []stats.Portion{}},
			{Category: category.Results, Tokens: 85_500, PerMille: 855, Blocks: 30, Sent: 1_200_000, SentPer: 600, Of: []stats.Portion{
				{Name: "Read", Tokens: 60_000, Blocks: 20}, {Name: "Bash", Tokens: 15_500, Blocks: 5}, {Name: hostile, Tokens: 10_000, Blocks: 5},
			}},
			{Category: category.Unrecorded, Tokens: -6_000, PerMille: -60, Sent: -20_000, SentPer: -10, Of: []stats.Portion{}},
		},
		Tools:    []stats.Tool{{Name: "Read", Calls: 20, Called: 900, Returned: 80_000, Largest: 9_000, InContext: 60_400, PerMille: 604, Sent: 900_000}, {Name: hostile, Calls: 1, Errors: 1}},
		Reads:    stats.Reads{Results: 20, Tokens: 80_000, Again: 20_000, Same: 15_000, InView: 9_000, ByRead: 18_000, ByEdit: 4_000, ByWrite: 1_000, InContext: 60_000, Stale: 16_000, Missed: 2, Dropped: 1},
		Repeated: stats.Repeated{Results: n, Tokens: 700 * n},
		Definitions: []stats.Listing{
			{Type: "deferred_tools_delta", Times: 2, Names: 30, MCP: 12, Tokens: 600, InContext: 300}, {Type: hostile, Times: 1, Tokens: 50},
		},
		Subagents: []stats.SubagentType{
			{Type: "Explore", Calls: 2, Called: 300, Returned: 1_500, Agents: 2, Requests: 14, Input: 400_000, Output: 5_000, Estimated: 3, CostUSD: price.USD{Nano: 412_500_000, Known: true}},
			{Calls: 1},
		},
	}
	recorded := s.Tokens
	s.Recorded = &recorded
	for i := range n {
		s.Files = append(s.Files, stats.FileReads{Path: fmt.Sprintf("internal/a%d.go", i), Changes: i, Reads: stats.Reads{Results: 3, Tokens: 4_000 - i, Again: 900, ByRead: 800, ByEdit: 100, InContext: 2_000, Stale: 300}})
		s.Results = append(s.Results, stats.ToolResult{Tool: "Bash", Target: fmt.Sprintf("go test %d %s", i, hostile), Line: 100 + i, Tokens: 3_000, Error: i == 1, InContext: 3_000, Requests: 20, Sent: 60_000 - i})
		s.Turns = append(s.Turns, stats.Turn{N: i + 1, Prompt: "do it " + hostile, Line: 1 + i, From: 2*i + 1, To: 2*i + 1 + i%2, Tokens: 30_000 + 100*i, Growth: 1_000*i - 2_000, Called: 50, Returned: 900})
		s.Repeated.Groups = append(s.Repeated.Groups, stats.Duplicate{Tool: "Read", Target: hostile, Line: 7 + i, Copies: 2, Tokens: 700})
	}
	return s
}

func TestStats(t *testing.T) {
	schema := compileSchemaAt(t, filepath.Join("..", "docs", "schemas", "stats.v1.json"))
	long := statsSample(MostStats + 3)
	other := statsSample(2)
	other.Session, other.Agent, other.Sent = "s-2", "a1", 3_000_000
	empty := &stats.SessionStats{
		Session: "s-3", File: "s-3.jsonl", Policy: "none", Counter: "estimate", Categories: []stats.CategoryTokens{}, Tools: []stats.Tool{}, Files: []stats.FileReads{},
		Results: []stats.ToolResult{}, Turns: []stats.Turn{}, Repeated: stats.Repeated{Groups: []stats.Duplicate{}}, Definitions: []stats.Listing{}, Subagents: []stats.SubagentType{},
	}
	for name, list := range map[string][]*stats.SessionStats{"one": {long}, "several": {long, other, empty}, "empty": {empty}} {
		for _, f := range ListFormats {
			var b bytes.Buffer
			must.Do(t, Stats(&b, list, policy.Use{}, Layout{Format: f, Hints: Hints{All: "--all shows them"}}))
			if s := b.String(); strings.ContainsAny(s, "\x1b\u202e") {
				t.Errorf("%s as %s lets control characters through", name, f)
			}
			if f == FormatJSON {
				if err := validate(schema, b.Bytes()); err != nil {
					t.Errorf("%s: %v", name, err)
				}
				continue
			}
			golden.Check(t, filepath.Join("testdata", "stats-"+name+"."+string(f)), b.Bytes())
		}
	}
}

// TestStatsFit holds that no line is wider than the layout says.
func TestStatsFit(t *testing.T) {
	for _, w := range []int{60, 80, 100, 160} {
		for _, list := range [][]*stats.SessionStats{{statsSample(12)}, {statsSample(3), statsSample(4)}} {
			var b bytes.Buffer
			must.Do(t, Stats(&b, list, policy.Use{}, Layout{Width: w}))
			for l := range strings.Lines(b.String()) {
				if n := width(strings.TrimRight(l, "\n")); n > w {
					t.Errorf("%d columns: %d: %s", w, n, l)
				}
			}
		}
	}
}

// TestContentPicture holds that the picture has 10 rows of 10 cells whatever fills the window, and that no two categories
// look alike without colour.
func TestContentPicture(t *testing.T) {
	marks := map[string]category.Name{freeMark: "free"}
	for _, c := range category.All() {
		if was := marks[contentMarks[c]]; was != "" || contentMarks[c] == "" || contentNames[c] == "" {
			t.Errorf("%s looks like %s: %q", c, was, contentMarks[c])
		}
		marks[contentMarks[c]] = c
	}
	for _, window := range []int{0, 1, 90_000, 200_000, 1_000_000} {
		s := statsSample(0)
		s.Window = window
		cells := 0
		for _, l := range contentPicture(newPage(&bytes.Buffer{}, Layout{}), s)[:10] {
			for i, r := range []rune(l) {
				if i%2 == 0 && i < 19 && marks[string(r)] != "" {
					cells++
				}
			}
		}
		must.Equal(t, cells, 100, window)
	}
}
