package replay_test

import (
	"encoding/json"
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
	must.Rows(t, `
# A step a request: its context, what it says is cleared, results and tokens, and the event of the record before it. Each result adds 1,100.
cleared once, and so from there on
	20000
	21100
	22200
	23300
	22400 cleared 2 2000 -> server_clear 2: 2000
	23500 cleared 2 2000
the set grows
	20000
	21100
	22200
	21300 cleared 2 2000 -> server_clear 2: 2000
	21400 cleared 3 3000 -> server_clear 1: 1000
	22500 cleared 3 3000
and is sent again
	20000
	21100
	22200
	21300 cleared 2 2000 -> server_clear 2: 2000
	24400 nothing -> server_keep 2: -2000
	25500
a part of it
	20000
	21100
	22200
	20300 cleared 3 3000 -> server_clear 3: 3000
	22400 cleared 2 2000 -> server_keep 1: -1000
	23500 cleared 2 2000
less than a fall that is reported
	20000
	21100
	21200 cleared 1 1000 -> server_clear 1: 1000
	22300 cleared 1 1000
more than there are
	20000
	20100 cleared 5 1000 -> server_clear 1: 1000
	21200 cleared 5 1000
more than said
	20000
	21100
	22200
	21000 cleared 2 1800 -> server_clear 2: 2000
more than the results weigh
	20000
	21100
	22200
	19200 cleared 3 3000 -> server_clear 3: 3000
	20300 cleared 3 3000
	19300 cleared 5 5000 -> server_clear 2: 2000
	20400 cleared 5 5000
and is sent again, more than it weighs
	20000
	21100
	22200
	19200 cleared 2 3000 -> server_clear 2: 2000
	24400 nothing -> server_keep 2: -2000
	25500
of another type
	20000
	21100 other
odd figures
	20000
	21100 cleared -1 10
	22200 cleared 1 -10
`, func(name string, steps []string) {
		s := newScript().tell("version 2.1.250; model claude-sonnet-5; user 40")
		contexts, events := make([]int, len(steps)), make([]string, len(steps))
		for k, step := range steps {
			step, events[k], _ = strings.Cut(step, " -> ")
			applied, results, tokens := "", 0, 0
			_, _ = fmt.Sscan(step, &contexts[k], &applied, &results, &tokens)
			id := fmt.Sprint("t", k)
			s.answer(context(contexts[k]), read(id))
			switch applied {
			case "cleared":
				s.edits(clearedUses(results, tokens))
			case "other":
				s.edits(map[string]any{"type": "clear_all_20300101", "cleared_input_tokens": 5})
			case "nothing":
				s.edits()
			case "":
			default:
				t.Fatalf("no step: %s", step)
			}
			s.result(id, 4000)
		}
		conv := s.load(t)
		for _, pol := range []string{"recorded", "none"} {
			tl := replayed(t, conv, named(t, pol), replay.Options{})
			for k, row := range mains(tl) {
				var got []string
				for _, n := range row.Events {
					ev := tl.Events[n]
					if ev.Results > 0 {
						got = append(got, fmt.Sprintf("%s %d: %.0f000", ev.Kind, ev.Results, math.Round(float64(ev.Saved)/1000)))
					} else {
						got = append(got, string(ev.Kind))
					}
				}
				payload, want := contexts[k], events[k]
				if pol == "none" {
					payload, want = row.Raw, ""
				}
				must.Equal(t, row.Payload, payload, name)
				must.Equal(t, row.Tokens, row.Raw, name, pol)
				if raw := 20000 + 1100*k; row.Raw < raw-400 || row.Raw > raw+400 {
					t.Errorf("%s, %s: the raw history of request %d has %d tokens, want %d", name, pol, k+1, row.Raw, raw)
				}
				must.Equal(t, strings.Join(got, ", "), want, name, pol)
			}
		}
	})
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
	must.Rows(t, `
# name | the summary: null where it failed, or so many characters | alone | iterations | compactions | context of the request after it
before the answer                 | 4000 | false | false | 1 | 21150
before the answer, with its usage | 4000 | false | true  | 1 | 21150
alone, the client asks again      | 4000 | true  | false | 1 | 21150
failed                            | null | false | false | 0 | 22400
failed, empty                     | 0    | false | false | 0 | 22400
`, func(name string, summary *int, isAlone, iterations bool, compactions, after int) {
		var content any
		if summary != nil {
			content = strings.Repeat("s", *summary)
		}
		block := map[string]any{"type": "compaction", "content": content}
		s := loop(20000, 21100, 22200)
		s.user(40)
		at := len(s.lines)
		switch u := context(21050); {
		case compactions == 0:
			s.answer(context(22300), block, text(40))
		case isAlone:
			alone := context(22300)
			alone.Output = 1000
			s.answer(alone, block)
		default:
			if !iterations {
				u.Output = 1050
			}
			s.answer(u, block, text(40))
		}
		if iterations {
			for _, l := range s.lines[at:] {
				l["message"].(map[string]any)["usage"].(map[string]any)["iterations"] = json.RawMessage(`[{"type": "compaction", "input_tokens": 22400, "output_tokens": 1000},
					{"type": "message", "input_tokens": 10, "cache_read_input_tokens": 21040, "output_tokens": 50}]`)
			}
		}
		s.user(40)
		s.answer(context(after), text(40))
		conv := s.load(t)
		tl := replayed(t, conv, named(t, "recorded"), replay.Options{})
		rows := mains(tl)
		last := rows[len(rows)-1]
		must.Both(tl.Totals.Compactions, last.Payload)(t, compactions, after, name)
		for _, ev := range tl.Events {
			if ev.Kind == policy.KindInferred {
				t.Errorf("%s: %s", name, ev.Reason)
			}
		}
		if last.Overhead < 19400 || last.Overhead > 20600 {
			t.Errorf("%s: an overhead of %d tokens", name, last.Overhead)
		}
		none := mains(replayed(t, conv, named(t, "none"), replay.Options{}))
		if last := none[len(none)-1]; compactions > 0 && (last.Payload < 21900 || last.Payload > 23500) {
			t.Errorf("%s: the last request without a policy has %d tokens", name, last.Payload)
		}
	})
}
