package session_test

import (
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/jsonl/session"
)

// TestLinear: a file of four times the lines takes as long as four files, whatever the lines' shape, and not four times as
// long, as work does that grows with the square. Both are measured over the same time, so that a busy machine slows both.
func TestLinear(t *testing.T) {
	must.BeCI(t)
	answer := func(i int, parent, id string) string {
		return fmt.Sprintf(`{"type":"assistant","uuid":"u%d","parentUuid":%s,"message":{"id":%q,"role":"assistant","content":[{"type":"tool_use","id":"t%d","name":"Read","input":{}}]}}`+"\n", i, parent, id, i)
	}
	prompt := func(i int, version string) string {
		return fmt.Sprintf(`{"type":"user","uuid":"u%d","parentUuid":null,"version":%q,"message":{"role":"user","content":"go"}}`+"\n", i, version)
	}
	shapes := map[string]func(i, n int) string{
		"one message of many roots": func(i, _ int) string { return answer(i, "null", "m") },
		"queued prompts of a long version": func(i, n int) string {
			switch k := i - n/4; {
			case i == 0:
				return prompt(i, "2.1.40")
			case i == 1:
				return prompt(i, "1."+strings.Repeat("9", 500*n))
			case k < 0:
				return fmt.Sprintf(`{"type":"queue-operation","operation":"enqueue","content":"q%d"}`+"\n", i)
			default:
				at := time.Date(2026, 1, 15, 9, 0, i, 0, time.UTC).Format(time.RFC3339)
				return answer(i, fmt.Sprintf(`"r%d"`, max(i-1, n/4)), fmt.Sprint(i)) +
					fmt.Sprintf(`{"type":"user","uuid":"r%d","parentUuid":"u%d","timestamp":%q,"version":"2.1.%d","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t%d","content":"x"}]}}`+"\n", i, i, at, 40+i%12, i) +
					fmt.Sprintf(`{"type":"queue-operation","operation":"remove","timestamp":%q,"content":"q%d"}`+"\n", at, k+2)
			}
		},
		"windows": func(i, _ int) string {
			return fmt.Sprintf(`{"type":"recorded-by","product":"codex","sessionId":"s","window":%d}`+"\n", 1000+i) + answer(i, fmt.Sprintf(`"u%d"`, i-1), fmt.Sprint(i))
		},
	}
	maps.Copy(shapes, agentLines())
	file := func(line func(i, n int) string, n int) string {
		var text strings.Builder
		for i := range n {
			text.WriteString(line(i, n))
		}
		return text.String()
	}
	took := func(text string, times int) time.Duration {
		start := time.Now()
		for range times {
			f := must.Get(session.LoadReader("s", strings.NewReader(text), session.LoadOptions{}))(t)
			if !f.Main.Lines.Balanced() {
				t.Fatalf("%+v", f.Main.Lines)
			}
			f.Close()
		}
		return time.Since(start)
	}
	for name, line := range shapes {
		small, large := file(line, 2000), file(line, 8000)
		var four, one time.Duration
		for range 5 { // a measurement can be off
			if four, one = took(small, 4), took(large, 1); one <= 2*four {
				break
			}
		}
		t.Logf("%s: %s and %s", name, four, one)
		if one > 2*four {
			t.Errorf("%s: %s for four files of 2,000 lines, %s for one of 8,000", name, four, one)
		}
	}
}
