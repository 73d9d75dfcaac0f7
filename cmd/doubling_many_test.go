//go:build unix

package cmd

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/ctxkit/ctxkit/jsonl/must"
)

// TestDoublingOfMany holds that of sessions with very much of one kind, larger ones than in TestDoubling, time and
// memory grow with the input.
func TestDoublingOfMany(t *testing.T) {
	must.BeCI(t)
	t.Setenv("CTXKIT_CACHE", "off")
	d := &doubling{dir: t.TempDir(), made: map[string]bool{}, leastCPU: 150 * time.Millisecond}
	d.mostGrowth, d.mostBytes = 2.8, 2.8 // 4 is quadratic; times scatter, and slices grow in steps
	unreported := func(g *grower, n int) {
		for i := range n / 2 {
			g.line(`"type":"assistant","message":{"id":"m%d","role":"assistant","model":"claude-opus-4-5-20251101","content":[%s]}`, i, use(i))
			g.result(i, "content")
		}
	}
	forms := map[string]growth{
		"unreported": {"unreported", func(g *grower, n int) { // no response has a usage
			g.user("go")
			unreported(g, n)
		}},
		"once": {"once", func(g *grower, n int) { // the first one has
			g.user("go")
			g.assistant("m", text("I go."))
			unreported(g, n)
		}},
		"automatic": {"automatic", func(g *grower, n int) { // each model has its own automatic cache
			for i := range n / 3 {
				g.user("next")
				g.model = fmt.Sprintf("gpt-5.4-%d", i)
				g.step(i)
			}
		}},
	}
	seen := map[string]bool{}
	for _, s := range append(shapes(), agentShapes()...) {
		if seen[s.name] {
			t.Errorf("two shapes have the name %s: the second would get the input of the first", s.name)
		}
		seen[s.name], forms[s.name] = true, s
	}
	for _, line := range strings.Split(strings.TrimSpace(`
2500  models     replay -p none -f ndjson
2500  models     compare -p none -p opencode --cache equal -f json
40000 unreported replay -p none -f ndjson
40000 once       replay -p none -f ndjson
4000  automatic  replay -p swe-agent -f ndjson
4000  turn       replay -p goose -f ndjson
10000 requests   replay -p goose -f ndjson
10000 falling    replay -p opencode -f ndjson
10000 falling    view --as session -p opencode
10000 falling    replay -p cline -f ndjson
10000 falling    replay -p dedupe -f ndjson
10000 turn       replay -p gemini-cli -f ndjson
10000 turn       replay -p qwen-code-0.7 -f ndjson
40000 parallel   regret -p none -f json
20000 snips      regret -p opencode -f json
10000 little     regret -p none -f json
10000 micro      replay -p recorded -f ndjson
10000 roots      replay -p claude-code -f ndjson
10000 fused      stats -f json
10000 codex      replay -p codex -f ndjson
10000 codex      regret -p codex -f json
10000 pi         replay -p pi -f ndjson
10000 pi         view --as session -p pi
10000 subagents  stats -f json
`), "\n") {
		args := strings.Fields(line)
		d.n = must.Get(strconv.Atoi(args[0]))(t)
		s, ok := forms[args[1]]
		if !ok {
			t.Fatalf("there is no form %s", args[1])
		}
		d.check(t, s, false, append(args[2:], "-q", "--jobs", "1"))
	}
}
