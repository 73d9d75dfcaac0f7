package replay_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/replay"
	"github.com/ctxkit/ctxkit/replay/bill"
)

// TestNewContext: no request writes a summary where Codex begins a new context without one, at its limit or called by the
// model; what is sent again is all the context behind it.
func TestNewContext(t *testing.T) {
	said := func(role, text string) string {
		return fmt.Sprintf(`{"type":"message","role":%q,"content":[{"type":"input_text","text":%q}]}`, role, text)
	}
	for _, c := range []struct {
		called bool
		items  string
		want   string // trigger, summaries, compaction requests, requests that the bill lacks
	}{
		{true, "", "model 0 0 0"},
		{false, "", "auto 0 0 0"},
		{false, `,{"type":"compaction","encrypted_content":"AAAA"}`, "auto 1 1 1"},
		{false, "," + said("user", "read it"), "auto 1 1 1"}, // the encrypted summary was taken out
	} {
		count := func(total, input int) string {
			return fmt.Sprintf(`{"type":"event_msg","payload":{"type":"token_count","info":{"total_token_usage":{"total_tokens":%d},"last_token_usage":{"input_tokens":%d,"output_tokens":5,"total_tokens":%d}}}}`, total, input, input+5)
		}
		item := func(text string) string { return `{"type":"response_item","payload":` + text + `}` }
		call := "exec_command"
		if c.called {
			call = "new_context"
		}
		environment := said("user", "<environment_context>here</environment_context>")
		lines := []string{
			`{"type":"session_meta","payload":{"id":"s","cli_version":"0.171.0"}}`, `{"type":"turn_context","payload":{"model":"gpt-5.4"}}`,
			item(environment), item(said("user", "read it")),
			item(`{"type":"function_call","name":"` + call + `","arguments":"{}","call_id":"c1"}`),
			item(`{"type":"function_call_output","call_id":"c1","output":"done"}`), count(9000, 9000),
			`{"type":"compacted","payload":{"message":"","replacement_history":[` + environment + c.items + `]}}`,
			item(said("assistant", "ready")), count(17500, 8500),
		}
		f := must.Get(session.LoadReader("rollout.jsonl", strings.NewReader(strings.Join(lines, "\n")), session.LoadOptions{}))(t)
		defer f.Close()
		tl := must.Get(replay.Run(f.Main, replay.RecordedTrack(), replay.Options{}))(t)
		calls, summaries := 0, 0
		for i := range tl.Requests {
			if tl.Requests[i].Kind == "compaction" {
				calls++
			}
		}
		b := &f.Main.Boundaries[0]
		if b.Summary >= 0 {
			summaries++
		}
		if got := fmt.Sprintf("%s %d %d %d", b.Trigger, summaries, calls, bill.Of(f.Main, nil).Unbilled); got != c.want || len(f.Main.Warnings) > 0 || len(b.Attached) != 1 {
			t.Errorf("called %t, %q: %s, want %s; warnings %v, sent again %v", c.called, c.items, got, c.want, f.Main.Warnings, b.Attached)
		}
	}
}
