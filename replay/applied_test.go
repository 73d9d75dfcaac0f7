package replay_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/replay"
)

// edits gives the last response what the API said that it applied to its request.
func (s *script) edits(list ...map[string]any) {
	s.lines[len(s.lines)-1]["message"].(map[string]any)["context_management"] = map[string]any{"applied_edits": list}
}

func clearedUses(n, tokens int) map[string]any {
	return map[string]any{"type": "clear_tool_uses_20250919", "cleared_tool_uses": n, "cleared_input_tokens": tokens}
}

func clearedThinking(n, tokens int) map[string]any {
	return map[string]any{"type": "clear_thinking_20251015", "cleared_thinking_turns": n, "cleared_input_tokens": tokens}
}

// TestAppliedEdits: what the API cleared by context editing, as responses say, is an edit of the record from that request
// on, and no fall of the context without a cause: the raw history keeps it, and so does every other policy.
func TestAppliedEdits(t *testing.T) {
	type request struct {
		context int
		applied []map[string]any
		events  string // of the record before it
	}
	both := func(list ...map[string]any) []map[string]any { return list }
	for _, tt := range []struct {
		name string
		list []request
	}{
		{"cleared once, and so from there on", []request{
			{20000, nil, ""}, {21100, nil, ""}, {22200, nil, ""}, {23300, nil, ""},
			{22400, both(clearedUses(2, 2000)), "server_clear 2: 2000"}, {23500, both(clearedUses(2, 2000)), ""},
		}},
		{"the set grows", []request{
			{20000, nil, ""}, {21100, nil, ""}, {22200, nil, ""}, {21300, both(clearedUses(2, 2000)), "server_clear 2: 2000"},
			{21400, both(clearedUses(3, 3000)), "server_clear 1: 1000"}, {22500, both(clearedUses(3, 3000)), ""},
		}},
		{"and is sent again", []request{
			{20000, nil, ""}, {21100, nil, ""}, {22200, nil, ""}, {21300, both(clearedUses(2, 2000)), "server_clear 2: 2000"},
			{24400, both(), "server_keep 2: -2000"}, {25500, nil, ""},
		}},
		{"a part of it", []request{
			{20000, nil, ""}, {21100, nil, ""}, {22200, nil, ""}, {20300, both(clearedUses(3, 3000)), "server_clear 3: 3000"},
			{22400, both(clearedUses(2, 2000)), "server_keep 1: -1000"}, {23500, both(clearedUses(2, 2000)), ""},
		}},
		{"less than a fall that is reported", []request{
			{20000, nil, ""}, {21100, nil, ""}, {21200, both(clearedUses(1, 1000)), "server_clear 1: 1000"}, {22300, both(clearedUses(1, 1000)), ""},
		}},
		{"more than there are", []request{
			{20000, nil, ""}, {20100, both(clearedUses(5, 1000)), "server_clear 1: 1000"}, {21200, both(clearedUses(5, 1000)), ""},
		}},
		{"more than said", []request{
			{20000, nil, ""}, {21100, nil, ""}, {22200, nil, ""}, {21000, both(clearedUses(2, 1800)), "server_clear 2: 2000"},
		}},
		{"more than the results weigh", []request{
			{20000, nil, ""}, {21100, nil, ""}, {22200, nil, ""}, {19200, both(clearedUses(3, 3000)), "server_clear 3: 3000"},
			{20300, both(clearedUses(3, 3000)), ""}, {19300, both(clearedUses(5, 5000)), "server_clear 2: 2000"}, {20400, both(clearedUses(5, 5000)), ""},
		}},
		{"and is sent again, more than it weighs", []request{
			{20000, nil, ""}, {21100, nil, ""}, {22200, nil, ""}, {19200, both(clearedUses(2, 3000)), "server_clear 2: 2000"},
			{24400, both(), "server_keep 2: -2000"}, {25500, nil, ""},
		}},
		{"of another type", []request{
			{20000, nil, ""}, {21100, both(map[string]any{"type": "clear_all_20300101", "cleared_input_tokens": 5}), ""},
		}},
		{"odd figures", []request{
			{20000, nil, ""}, {21100, both(clearedUses(-1, 10)), ""}, {22200, both(clearedUses(1, -10)), ""},
		}},
	} {
		s := newScript()
		s.version, s.model = "2.1.250", "claude-sonnet-5"
		s.user(40)
		for k, r := range tt.list {
			id := fmt.Sprint("t", k)
			s.answer(context(r.context), read(id))
			if r.applied != nil {
				s.edits(r.applied...)
			}
			s.result(id, 4000)
		}
		conv := s.load(t)
		for _, name := range []string{"recorded", "none"} {
			tl := replayed(t, conv, named(t, name), replay.Options{})
			for k, row := range mains(tl) {
				var events []string
				for _, n := range row.Events {
					ev := tl.Events[n]
					if ev.Results > 0 {
						events = append(events, fmt.Sprintf("%s %d: %.0f000", ev.Kind, ev.Results, math.Round(float64(ev.Saved)/1000)))
					} else {
						events = append(events, string(ev.Kind))
					}
				}
				want := tt.list[k]
				if name == "none" {
					want.events = ""
					want.context = row.Raw
				}
				must.Equal(t, row.Payload, want.context, tt.name)
				must.Equal(t, row.Tokens, row.Raw, tt.name, name)
				if raw := 20000 + 1100*k; row.Raw < raw-400 || row.Raw > raw+400 {
					t.Errorf("%s, %s: the raw history of request %d has %d tokens, want %d", tt.name, name, k+1, row.Raw, raw)
				}
				must.Equal(t, strings.Join(events, ", "), want.events, tt.name, name)
			}
		}
	}
}

// TestAppliedThinking: of turns with thinking the oldest lose it.
func TestAppliedThinking(t *testing.T) {
	s := newScript()
	s.version, s.model = "2.1.250", "claude-opus-5"
	thinks := map[string]any{"type": "thinking", "thinking": strings.Repeat("t", 4000), "signature": "abc"}
	for k, n := range []int{20000, 21100, 20200, 21300} {
		s.user(400)
		s.answer(context(n), thinks, text(40))
		if k >= 2 {
			s.lines[len(s.lines)-2]["message"].(map[string]any)["context_management"] = map[string]any{"applied_edits": []any{clearedThinking(2, 2000)}}
		}
	}
	tl := replayed(t, s.load(t), named(t, "recorded"), replay.Options{})
	for k, row := range mains(tl) {
		if want := 20000 + 1100*k; row.Raw < want-400 || row.Raw > want+400 {
			t.Errorf("the raw history of request %d has %d tokens, want %d", k+1, row.Raw, want)
		}
	}
	var got []string
	for _, ev := range tl.Events {
		got = append(got, fmt.Sprintf("%d %s %d: %.0f000", *ev.Request, ev.Kind, len(ev.Targets), math.Round(float64(ev.Saved)/1000)))
	}
	if want := "3 server_clear 2: 2000"; strings.Join(got, ", ") != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestAPICompaction: the block in which the API writes a summary takes the place of all before it on the recorded track,
// and no policy is sent it.
func TestAPICompaction(t *testing.T) {
	block := func(content any) map[string]any { return map[string]any{"type": "compaction", "content": content} }
	for _, tt := range []struct {
		name        string
		block       map[string]any
		alone       bool
		iterations  bool
		compactions int
		after       int // context of the request after it
	}{
		{"before the answer", block(strings.Repeat("s", 4000)), false, false, 1, 21150},
		{"before the answer, with its usage", block(strings.Repeat("s", 4000)), false, true, 1, 21150},
		{"alone, the client asks again", block(strings.Repeat("s", 4000)), true, false, 1, 21150},
		{"failed", block(nil), false, false, 0, 22400},
		{"failed, empty", block(""), false, false, 0, 22400},
	} {
		s := loop(20000, 21100, 22200)
		s.user(40)
		at := len(s.lines)
		switch u := context(21050); {
		case tt.compactions == 0:
			s.answer(context(22300), tt.block, text(40))
		case tt.alone:
			alone := context(22300)
			alone.Output = 1000
			s.answer(alone, tt.block)
		default:
			if !tt.iterations {
				u.Output = 1050
			}
			s.answer(u, tt.block, text(40))
		}
		if tt.iterations {
			for _, l := range s.lines[at:] {
				l["message"].(map[string]any)["usage"].(map[string]any)["iterations"] = []any{
					map[string]any{"type": "compaction", "input_tokens": 22400, "output_tokens": 1000},
					map[string]any{"type": "message", "input_tokens": 10, "cache_read_input_tokens": 21040, "output_tokens": 50},
				}
			}
		}
		s.user(40)
		s.answer(context(tt.after), text(40))
		conv := s.load(t)
		tl := replayed(t, conv, named(t, "recorded"), replay.Options{})
		rows := mains(tl)
		if last := rows[len(rows)-1]; tl.Totals.Compactions != tt.compactions || last.Payload != tt.after {
			t.Errorf("%s: %d compactions, want %d; the last request has %d tokens, want %d", tt.name, tl.Totals.Compactions, tt.compactions, last.Payload, tt.after)
		}
		for _, ev := range tl.Events {
			if ev.Kind == policy.KindInferred {
				t.Errorf("%s: %s", tt.name, ev.Reason)
			}
		}
		if over := rows[len(rows)-1].Overhead; over < 19400 || over > 20600 {
			t.Errorf("%s: an overhead of %d tokens", tt.name, over)
		}
		none := mains(replayed(t, conv, named(t, "none"), replay.Options{}))
		if last := none[len(none)-1]; tt.compactions > 0 && (last.Payload < 21900 || last.Payload > 23500) {
			t.Errorf("%s: the last request without a policy has %d tokens", tt.name, last.Payload)
		}
	}
}
