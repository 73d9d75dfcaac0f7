package replay_test

import (
	"testing"
	"time"

	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/replay"
)

// A pause is from the last line of a response to what the next request was sent for: a result of a tool, or a prompt.
func TestPauses(t *testing.T) {
	s := newScript().tell(`user 40; answer 20000: read t0`)
	s.line("user", map[string]any{"timestamp": "2026-02-01T10:20:00.000Z", "message": map[string]any{"role": "user", "content": []any{
		map[string]any{"type": "tool_result", "tool_use_id": "t0", "content": "done"},
	}}})
	s.line("assistant", map[string]any{"timestamp": "2026-02-01T10:20:05.000Z", "message": map[string]any{
		"id": "later-1", "role": "assistant", "model": "claude-opus-4-5", "content": []any{map[string]any{"type": "text", "text": "done"}}, "usage": map[string]any{"input_tokens": 21000, "output_tokens": 5},
	}})
	s.line("user", map[string]any{"timestamp": "2026-02-01T11:20:05.000Z", "message": map[string]any{"role": "user", "content": "still there?"}})
	s.line("assistant", map[string]any{"timestamp": "2026-02-01T11:20:09.000Z", "message": map[string]any{
		"id": "later-2", "role": "assistant", "model": "claude-opus-4-5", "content": []any{map[string]any{"type": "text", "text": "yes"}}, "usage": map[string]any{"input_tokens": 21100, "output_tokens": 5},
	}})
	rec := recordOf(t, s.load(t))
	end := rec.Conv.Messages[rec.Conv.Requests[0].Message].End
	want := []replay.Pause{{}, {Length: time.Date(2026, 2, 1, 10, 20, 0, 0, time.UTC).Sub(end), Tool: true}, {Length: time.Hour}}
	must.Equal(t, rec.Pauses(), want)
}
