package replay_test

import (
	"testing"

	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/replay"
)

// TestTypicalSummary: a placeholder is as large as the recorded summaries, and what the one before it says is not counted
// as needed later.
func TestTypicalSummary(t *testing.T) {
	const line = "const answer = computeTheFortySecondValue(seedOfTheSession, 17)"
	s := newScript()
	for n := 1; n <= 20; n++ {
		call := text(40)
		switch n {
		case 2:
			call = read("r1")
		case 3:
			s.line("user", map[string]any{"message": map[string]any{"role": "user", "content": []any{
				map[string]any{"type": "tool_result", "tool_use_id": "r1", "content": "     1→" + line + "\n"},
			}}})
		case 5:
			s.boundary("auto", 24000, 400)
			s.lines[len(s.lines)-1]["message"] = map[string]any{"role": "user", "content": "Left to do: change this line:\n" + line + "\n"}
		case 18:
			call = map[string]any{"type": "tool_use", "id": "e1", "name": "Edit", "input": map[string]any{"file_path": "12345.go", "old_string": line, "new_string": "const answer = 42"}}
		}
		switch n {
		case 3:
		case 19:
			s.result("e1", 20)
		default:
			s.user(40)
		}
		s.answer(context(20000+100*n), call)
	}
	conv := s.load(t)
	for summary, want := range map[policy.SummaryKind]int{policy.SummaryTypical: 0, policy.SummaryFixed: 1} {
		p := compacting(t).Clone()
		must.Do(t, p.Set("autocompact.summary", "["+string(summary)+"]"))
		tl := replayed(t, conv, p, replay.Options{CompactAt: []int{16}, Regret: true})
		if len(tl.Events) == 0 || tl.Regret == nil || len(tl.Regret.Misses) != want {
			t.Errorf("%s: %+v, want %d", summary, tl.Regret, want)
		}
	}
}
