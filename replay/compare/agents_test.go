package compare_test

import (
	"fmt"
	"testing"

	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/replay/compare"
)

// TestJoinAgents: a main conversation begins a session, also where two inputs have the same path, as merged parts may.
func TestJoinAgents(t *testing.T) {
	must.Rows(t, `
""                      | null
a+0                     | [["a", ""]]
a+2 b+0                 | [["a", ""], ["a", "x"], ["a", "y"], ["b", ""]]
a+1 a+1                 | [["a", ""], ["a", "x"], ["a", ""], ["a", "x"]]
a+0 b+2                 | [["a", ""], ["b", "x"], ["b", "y"]]  # the main conversation of b has no request
a+0 a+0 b+0 b+0 a+0 b+1 | [["a", ""], ["a", ""], ["b", ""], ["b", ""], ["a", ""], ["b", ""], ["b", "x"]]
`, func(want string, list [][2]string) {
		var sessions []compare.ComparedSession
		for _, c := range list {
			sessions = append(sessions, compare.ComparedSession{Input: c[0], Origin: compare.Origin{Agent: c[1]}})
		}
		got := ""
		for _, s := range compare.JoinAgents(sessions) {
			got += fmt.Sprintf(" %s+%d", s.Input, s.Subagents())
		}
		if got != want && got != " "+want {
			t.Errorf("got %q, want %q", got, want)
		}
	})
}
