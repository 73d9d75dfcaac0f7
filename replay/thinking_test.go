package replay_test

import (
	"strings"
	"testing"

	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/replay"
	"github.com/ctxkit/ctxkit/replay/cache"
)

func thought(n int) map[string]any {
	return map[string]any{"type": "thinking", "thinking": strings.Repeat("h", n), "signature": strings.Repeat("s", n*4/3+250)}
}

// twoTurns is a tool loop with thinking, and a second prompt. The recorded context falls there by what the first turn
// thought.
func twoTurns(model string) *script {
	s := newScript()
	s.version, s.model = "2.1.17", model
	s.tell(`
user 4000
answer 30000: thinks 8000, read t1
result t1 8000
answer 34900: thinks 16000, text 400
user 400
answer 33100: text 400
user 400
answer 33400: text 400
`)
	return s
}

// TestThinkingOfEarlierTurns: a model that is sent the thinking of the current turn alone is not sent the rest: the
// view keeps it, the payload does not, and the overhead stays what it was.
func TestThinkingOfEarlierTurns(t *testing.T) {
	conv := twoTurns("claude-sonnet-4-5-20250929").load(t)
	for _, name := range []string{"recorded", "none", "claude-code-2.1.19", "opencode-1.18"} {
		tl := replayed(t, conv, named(t, name), replay.Options{})
		rows := mains(tl)
		for i, r := range rows {
			if over := rows[0].Overhead; max(r.Overhead-over, over-r.Overhead) > 100 {
				t.Errorf("%s: request %d has %d tokens of overhead, the first %d", name, r.N, r.Overhead, over)
			}
			if out := r.Tokens - r.Payload; (out > 4000) != (i > 1) {
				t.Errorf("%s: request %d: %d tokens are left out", name, r.N, out)
			}
			if want := r.Recorded.Input + r.Recorded.CacheRead; name == "recorded" && r.Payload != want {
				t.Errorf("request %d sends %d tokens, recorded %d", r.N, r.Payload, want)
			}
		}
		var by []replay.Event
		for _, ev := range tl.Events {
			if ev.Stage == "server" {
				by = append(by, ev)
			}
		}
		if len(by) != 1 || by[0].Kind != policy.KindServerClear || *by[0].Request != 3 || len(by[0].Targets) != 2 || tl.Totals.ClearedTokens != 0 {
			t.Errorf("%s: %+v, %d tokens cleared by the policy", name, by, tl.Totals.ClearedTokens)
		}
	}
}

// TestThinkingStays: other models are sent all thinking, and so is every model where the policy says so.
func TestThinkingStays(t *testing.T) {
	keeps := written(t, "name: keeps\nstages:\n  - clear_thinking: {keep: all}\n")
	for _, tt := range []struct {
		name, model string
		policy      *policy.Policy
		opt         replay.Options
	}{
		{"a model that keeps it", "claude-opus-4-5-20251101", named(t, "none"), replay.Options{}},
		{"a policy that keeps it", "claude-sonnet-4-5-20250929", keeps, replay.Options{}},
		{"under another model", "claude-sonnet-4-5-20250929", named(t, "none"), replay.Options{Model: "claude-opus-4-5"}},
	} {
		for _, r := range mains(replayed(t, twoTurns(tt.model).load(t), tt.policy, tt.opt)) {
			must.Equal(t, r.Tokens, r.Payload, tt.name, r.N)
		}
	}
}

// TestThinkingBreaksTheCache: from the first block on that is left out, except where the client has asked again after
// the turn, without it: then the record reads the last response.
func TestThinkingBreaksTheCache(t *testing.T) {
	must.Rows(t, `
# name | asks | interrupt | broken
no further request | false | false | true
a further request  | true  | false | false
interrupted        | true  | true  | true
`, func(name string, asks, interrupt, theBroken bool) {
		s := newScript()
		s.version, s.model = "2.1.17", "claude-sonnet-4-5-20250929"
		at := 30000
		for i := range 4 {
			s.user(40)
			u := context(at)
			if u.CacheWrite = 3000; i > 0 && asks {
				u.CacheWrite = 20
			}
			u.CacheRead -= u.CacheWrite
			s.answer(u, thought(4000), text(8000))
			at += 3000
		}
		s.user(40)
		s.answer(context(at), thought(4000), read("t1"))
		s.result("t1", 40)
		s.answer(context(at+1500), text(8000))
		if interrupt {
			s.line("user", map[string]any{"message": map[string]any{"role": "user", "content": []any{
				map[string]any{"type": "text", "text": "[Request interrupted by user]"},
			}}})
		}
		s.user(40)
		s.answer(context(at+3000), text(40))
		rows := mains(replayed(t, s.load(t), named(t, "recorded"), replay.Options{}))
		miss := rows[len(rows)-1].Cache.Miss
		if broken := miss != nil && miss.Kind == cache.Thinking; broken != theBroken {
			t.Errorf("%s: the cache says %v", name, miss)
		}
	})
}
