package replay_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/replay"
)

// TestSearchIsNoOverhead: what a search of the provider's found within the first request is sent with it, and is neither
// system prompt nor tools after a compaction.
func TestSearchIsNoOverhead(t *testing.T) {
	const (
		message = `{"type":"message","role":"user","content":[{"type":"input_text","text":"Compare the two pages, please."}]}`
		search  = `{"type":"web_search_call","status":"completed"%s}`
		call    = `{"type":"function_call","name":"exec_command","arguments":"{\"cmd\":\"ls\"}","call_id":"c%d"}`
		output  = `{"type":"function_call_output","call_id":"c%d","output":"one two three"}`
		count   = `{"type":"token_count","info":{"total_token_usage":{"total_tokens":%d},"last_token_usage":{"input_tokens":%d,"output_tokens":%d,"total_tokens":%d},"model_context_window":258400}}`
	)
	rollout := func(action string) *session.Conversation {
		var b strings.Builder
		add := func(kind, payload string) {
			fmt.Fprintf(&b, `{"timestamp":"2026-07-01T10:00:%02dZ","type":%q,"payload":%s}`+"\n", strings.Count(b.String(), "\n"), kind, payload)
		}
		add("session_meta", `{"id":"019f1f9d-47e8-7f62-a837-696e54bbcbe9","cwd":"/work","cli_version":"0.142.5","model_provider":"openai"}`)
		add("event_msg", `{"type":"task_started","turn_id":"019f1f9d-47e8-7f62-a837-696e54bbcbea","model_context_window":258400}`)
		add("turn_context", `{"model":"gpt-5.5"}`)
		add("response_item", message)
		add("response_item", fmt.Sprintf(search, action))
		add("response_item", fmt.Sprintf(call, 1))
		add("response_item", fmt.Sprintf(output, 1))
		add("event_msg", fmt.Sprintf(count, 14050, 14000, 50, 14050))
		add("response_item", fmt.Sprintf(call, 2))
		add("response_item", fmt.Sprintf(output, 2))
		add("event_msg", fmt.Sprintf(count, 28200, 14100, 50, 14150))
		add("compacted", `{"message":"","replacement_history":[`+message+`,{"type":"compaction","encrypted_content":"REDACTED"}]}`)
		add("event_msg", fmt.Sprintf(count, 28200, 0, 0, 5000))
		add("response_item", fmt.Sprintf(call, 3))
		add("response_item", fmt.Sprintf(output, 3))
		add("event_msg", fmt.Sprintf(count, 41250, 13000, 50, 13050))
		f := must.Get(session.LoadReader("rollout.jsonl", strings.NewReader(b.String()), session.LoadOptions{}))(t)
		t.Cleanup(func() { f.Close() })
		return f.Main
	}
	for action, searched := range map[string]bool{"": false, `,"action":{"type":"search","query":"two pages"}`: true} {
		tl := replayed(t, rollout(action), replay.RecordedTrack(), replay.Options{})
		var over []int
		for _, r := range tl.Requests {
			if r.Kind == "main" {
				over = append(over, r.Overhead)
			}
		}
		sent := 0
		for _, e := range tl.Events {
			if e.Kind == "attach" {
				sent += e.After - e.Before
			}
		}
		if len(over) != 3 || searched != (sent > 0) || searched && (over[0]-over[2] < 3000 || over[0]-over[2] > 4500) {
			t.Errorf("action %q: overhead %v, sent after the compaction %d", action, over, sent)
		}
	}
}
