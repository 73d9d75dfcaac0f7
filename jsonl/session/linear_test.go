package session_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/ctxkit/ctxkit/jsonl/session"
)

// TestLinear: four times the lines take about four times the time, whatever their shape. The bar is above the noise and
// below the sixteen times of work that grows with the square.
func TestLinear(t *testing.T) {
	if testing.Short() {
		t.Skip("measures time")
	}
	answer := func(i int, parent, id string) string {
		return fmt.Sprintf(`{"type":"assistant","uuid":"u%d","parentUuid":%s,"message":{"id":%q,"role":"assistant","content":[{"type":"tool_use","id":"t%d","name":"Read","input":{}}]}}`+"\n", i, parent, id, i)
	}
	shapes := map[string]func(i int) string{
		"one message of many roots": func(i int) string { return answer(i, "null", "m") },
		"windows": func(i int) string {
			return fmt.Sprintf(`{"type":"recorded-by","product":"codex","sessionId":"s","window":%d}`+"\n", 1000+i) + answer(i, fmt.Sprintf(`"u%d"`, i-1), fmt.Sprint(i))
		},
	}
	took := func(line func(i int) string, n int) time.Duration {
		var text strings.Builder
		for i := range n {
			text.WriteString(line(i))
		}
		best := time.Hour
		for range 3 {
			start := time.Now()
			f, err := session.LoadReader("s", strings.NewReader(text.String()), session.LoadOptions{})
			if err != nil {
				t.Fatal(err)
			}
			best = min(best, time.Since(start))
			f.Close()
		}
		return best
	}
	for name, line := range shapes {
		var small, large time.Duration
		for range 5 { // on a busy machine a measurement can be off
			if small, large = took(line, 4000), took(line, 16000); large <= 9*small {
				break
			}
		}
		if large > 9*small {
			t.Errorf("%s: %s for 4,000 lines, %s for 16,000", name, small, large)
		}
	}
}
