package codex_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/jsonl/session"
)

// TestUsageRecords: a record of the provider's usage is that of the response in progress, of a compaction, or of a call that
// nothing else tells of; each is billed once.
func TestUsageRecords(t *testing.T) {
	n := 0
	record := func(kind, payload string) string {
		n++
		return fmt.Sprintf(`{"timestamp":"2026-11-18T10:00:%02d.000Z","type":%q,"payload":%s}`+"\n", n, kind, payload)
	}
	tokens := func(in, out int) string {
		return fmt.Sprintf(`{"input_tokens":%d,"cached_input_tokens":5,"output_tokens":%d,"total_tokens":%d}`, in, out, in+out)
	}
	billed := func(id string, in, out int) string {
		return record("token_usage_record", fmt.Sprintf(`{"response_id":%q,"usage":%s}`, id, tokens(in, out)))
	}
	total := 0
	counted := func(in, out int) string {
		total += in + out
		return record("event_msg", fmt.Sprintf(`{"type":"token_count","info":{"total_token_usage":{"total_tokens":%d},"last_token_usage":%s}}`, total, tokens(in, out)))
	}
	user := func() string {
		return record("response_item", `{"type":"message","role":"user","content":[{"type":"input_text","text":"go"}]}`)
	}
	answer := func(text string) string {
		return record("response_item", fmt.Sprintf(`{"type":"message","role":"assistant","content":[{"type":"output_text","text":%q}]}`, text))
	}
	tier := func(value string) string {
		return record("event_msg", fmt.Sprintf(`{"type":"thread_settings_applied","thread_settings":{"service_tier":%s}}`, value))
	}
	event := func(kind string) string { return record("event_msg", fmt.Sprintf(`{"type":%q}`, kind)) }
	compacted := func(rest string) string {
		return record("compacted", `{"message":"","replacement_history":[{"type":"compaction","encrypted_content":"AA"}]`+rest+`}`)
	}
	head := func(id, rest string) string {
		return record("session_meta", fmt.Sprintf(`{"id":%q%s}`, id, rest)) + record("turn_context", `{"model":"gpt-6-sol"}`)
	}
	for _, c := range []struct {
		name, in string
		want     []string
	}{
		{"of a response", head("s", "") + user() + answer("a") + billed("r1", 20, 3) + counted(20, 3), []string{"request r1 20 in, 3 out #1"}},
		{"without records", head("s", "") + user() + answer("a") + counted(20, 3), []string{"request s/1 20 in, 3 out #1"}},
		{"without a session", user() + answer("a") + counted(20, 3), []string{"request  20 in, 3 out #1"}},
		{"of a response that nothing counts", head("s", "") + user() + answer("a") + billed("r1", 20, 3) + event("task_complete"), []string{"request r1 20 in, 3 out #1"}},
		{"repeated counts", head("s", "") + user() + answer("a") + billed("r1", 20, 3) + counted(20, 3) + counted(0, 0), []string{"request r1 20 in, 3 out #1"}},
		{"of a compaction", head("s", "") + user() + answer("a") + billed("r1", 20, 3) + counted(20, 3) + billed("r2", 31, 9) + compacted(`,"compaction_response_id":"r2"`) + user() + answer("b") + billed("r3", 13, 2) + counted(13, 2), []string{"request r1 20 in, 3 out #1", "compaction r2 31 in, 9 out", "request r3 13 in, 2 out #2"}},
		{"that a compaction holds", head("s", "") + user() + answer("a") + billed("r1", 20, 3) + counted(20, 3) + compacted(`,"compaction_response_id":"r2","latest_token_usage_record":{"response_id":"r2","usage":`+tokens(31, 9)+`}`), []string{"request r1 20 in, 3 out #1", "compaction r2 31 in, 9 out"}},
		{"of nothing", head("s", "") + user() + answer("a") + billed("r1", 20, 3) + counted(20, 3) + billed("r2", 7, 1) + billed("r3", 8, 1), []string{"request r1 20 in, 3 out #1", "other r2 7 in, 1 out", "other r3 8 in, 1 out"}},
		{"tiers", head("s", "") + tier(`"priority"`) + user() + answer("a") + counted(20, 3) + user() + answer("b") + billed("r2", 7, 1) + tier("null") + event("task_complete") + user() + answer("c") + counted(9, 1), []string{"request s/1 20 in, 3 out priority #1", "request r2 7 in, 1 out priority #2", "request s/3 9 in, 1 out #3"}},
		{"the tier of a turn", head("s", "") + record("turn_context", `{"model":"gpt-6-sol","service_tier":"flex"}`) + user() + answer("a") + counted(20, 3) + billed("r1", 7, 1) + compacted(`,"compaction_response_id":"r1"`) + billed("r2", 7, 1), []string{"request s/1 20 in, 3 out flex #1", "compaction r1 7 in, 1 out flex", "other r2 7 in, 1 out flex"}},
		{"of a fork's parent", head("s9", `,"forked_from_id":"s1"`) + user() + answer("a") + billed("r1", 20, 3) + counted(20, 3) + record("event_msg", `{"type":"task_started","turn_id":"t9"}`) + user() + answer("b") + billed("r2", 25, 4) + counted(25, 4), []string{"request r2 25 in, 4 out #1"}},
	} {
		path := filepath.Join(t.TempDir(), "rollout.jsonl")
		must.Do(t, os.WriteFile(path, []byte(c.in), 0o600))
		f := must.Get(session.Load(path, session.LoadOptions{}))(t)
		var got []string
		for _, q := range f.Main.Charges {
			s := fmt.Sprintf("%s %s %d in, %d out", q.Kind, q.ID, q.Usage.Context(), q.Usage.Output)
			if q.Usage.Tier != "" {
				s += " " + q.Usage.Tier
			}
			if q.Request > 0 {
				s += fmt.Sprintf(" #%d", q.Request)
			}
			if got = append(got, s); q.Model != "gpt-6-sol" && c.name != "without a session" {
				t.Errorf("%s: model %q", c.name, q.Model)
			}
		}
		if !slices.Equal(got, c.want) || !f.Main.Lines.Balanced() {
			t.Errorf("%s: %q, want %q; %+v", c.name, got, c.want, f.Main.Lines)
		}
		f.Close()
	}
}
