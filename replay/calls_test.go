package replay_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/preset"
	"github.com/ctxkit/ctxkit/replay"
)

// A call that goes out as the session's own requests do is billed for what the server has not dropped, and reads what
// the last of them left.
func TestCallsReadWhatTheSessionLeft(t *testing.T) {
	pol := named(t, "claude-code-pipeline")
	f := must.Get(session.Load(filepath.Join("..", "testdata", "sessions", "big.jsonl"), session.LoadOptions{}))(t)
	defer f.Close()
	tl := must.Get(replay.Run(f.Main, pol, replay.Options{}))(t)
	cleared, calls, main := false, 0, 0
	for i, r := range tl.Requests {
		for _, n := range r.Events {
			switch tl.Events[n].Kind {
			case policy.KindCacheEdit:
				cleared = true
			case policy.KindSummarize, policy.KindClear:
				cleared = false // what was dropped may be gone
			}
		}
		switch r.Kind {
		case "main":
			main = r.Payload - r.Cache.Uncached
		case "session_memory":
			if !cleared || r.Cache.Miss != nil {
				break
			}
			calls++
			if r.Payload >= r.Tokens {
				t.Errorf("row %d: %d tokens are sent of a view of %d, and the server has dropped some", i, r.Payload, r.Tokens)
			}
			if r.Cache.Read != main && r.Cache.Read > 0 {
				t.Errorf("row %d reads %d, the request before it left %d", i, r.Cache.Read, main)
			}
		}
	}
	if calls == 0 {
		t.Error("no upkeep of session memory came after a cache edit: nothing was tested")
	}
}

// TestClearedResultsStayCleared: a result counts once, by however many stages it was cleared, and not where it was
// given back; the input of a call is none.
func TestClearedResultsStayCleared(t *testing.T) {
	s := newScript()
	s.user(400)
	for k := range 6 {
		id := fmt.Sprint("t", k+1)
		s.answer(context(20000+k*1100), read(id))
		s.result(id, 4000)
	}
	s.tell(`answer 27000: text 40; user 400`)
	s.lines[len(s.lines)-1]["timestamp"] = "2026-02-01T13:00:00.000Z" // after a pause
	s.answer(context(27100), text(40))
	s.lines[len(s.lines)-1]["timestamp"] = "2026-02-01T13:00:01.000Z"
	conv := s.load(t)
	must.Rows(t, `
# name | yaml | want | events
deleted on the server, then cleared by the client, the deletion lifted | "microcompact_time: {keep_recent: 4}\n  - microcompact_cached: {trigger: 4, keep: 1}" | 2 | 8
a call's input is no result | clear_tool_uses: {trigger: {tool_uses: 3}, keep: 2, clear_tool_inputs: true} | 4 | 4
cut, then cleared           | "tool_result_budget: {tool_max_chars: {Read: 3000}}\n  - microcompact_time: {keep_recent: 4}" | 6 | 8
`, func(name, yaml string, want, theEvents int) {
		tl := replayed(t, conv, written(t, "name: mine\nstages:\n  - "+yaml+"\n"), replay.Options{})
		events, texts := 0, []string{}
		for _, ev := range tl.Events {
			events += ev.Results
			texts = append(texts, fmt.Sprintf("%s %d", ev.Kind, ev.Results))
		}
		if tl.Totals.Cleared != want || events != theEvents {
			t.Errorf("%s: %d results cleared, want %d; events tell of %d, want %d: %v", name, tl.Totals.Cleared, want, events, theEvents, texts)
		}
		rows := mains(tl)
		if last := rows[len(rows)-1]; tl.Totals.ClearedTokens != last.Raw-last.Payload || last.Raw == last.Payload {
			t.Errorf("%s: %d tokens cleared, the last payload is %d short of raw", name, tl.Totals.ClearedTokens, last.Raw-last.Payload)
		}
	})
}

// TestInflatedCompressionIsBilled: Gemini CLI throws a summary away that is larger than what it stands for, and has
// paid for it by then.
func TestInflatedCompressionIsBilled(t *testing.T) {
	s := newScript()
	for k := range 8 {
		s.user(400)
		s.answer(context(20000+k*300), text(400))
	}
	conv := s.load(t)
	must.Rows(t, `
# summary | calls | output | made
90000 | 2 | 180000 | 0
100   | 2 | 200    | 1
`, func(summary, calls, output, made int) {
		yaml := fmt.Sprintf("name: mine\nstages:\n  - gemini_compression: {threshold: 0.105, summary: [fixed: %d]}\n", summary)
		tl := replayed(t, conv, written(t, yaml), replay.Options{})
		own := tl.Cost().Own
		if own.Calls != calls || own.Output != output || tl.Totals.Compactions != made || !own.CostUSD.Known || own.CostUSD.Nano < int64(25000*output) {
			t.Errorf("a summary of %d: own %+v, %d compactions; want %d calls of %d out and %d compactions", summary, own, tl.Totals.Compactions, calls, output, made)
		}
		if made > 0 {
			return
		}
		for _, r := range mains(tl) {
			must.Equal(t, r.Tokens, r.Raw, r.N)
		}
	})
}

// TestUsageBelowContent: where the recorded usage cannot be that of the content no figure falls below zero, and that
// is said once.
func TestUsageBelowContent(t *testing.T) {
	if testing.Short() {
		t.Skip("many replays")
	}
	must.Rows(t, `
# recording | requests of 80, from 0, whose usage is tiny: every second score of them, or from one on | what is said. From 15 to 20 on the policy makes a call of its own
# before one of them.
fits          | 80 | false | ""
tiny          | 0  | false | contradicts the content at 80 of 80 requests, at request 1 first
tiny at times | 80 | true  | contradicts the content at 40 of 80 requests, at request 21 first: the lines weigh up to
tiny from 15  | 15 | false | contradicts the content at 65 of 80 requests, at request 16 first
tiny from 16  | 16 | false | contradicts the content at 64 of 80 requests, at request 17 first
tiny from 17  | 17 | false | contradicts the content at 63 of 80 requests, at request 18 first
tiny from 18  | 18 | false | contradicts the content at 62 of 80 requests, at request 19 first
tiny from 19  | 19 | false | contradicts the content at 61 of 80 requests, at request 20 first
tiny from 20  | 20 | false | contradicts the content at 60 of 80 requests, at request 21 first
`, func(recording string, from int, scores bool, want string) {
		usage := func(k int) int {
			if k >= from || scores && k/20%2 == 1 {
				return 30 + k%2
			}
			return 20000 + 1100*k
		}
		s := newScript()
		for k := range 40 {
			s.user(400)
			s.answer(context(usage(2*k)), read(fmt.Sprint("t", k)))
			s.result(fmt.Sprint("t", k), 8000)
			s.answer(context(usage(2*k+1)), text(40))
		}
		conv := s.load(t)
		for _, name := range presetNames(t) {
			tl := replayed(t, conv, named(t, name), replay.Options{})
			for i, q := range tl.Requests {
				if min(q.Raw, q.Tokens, q.Payload, q.Overhead, q.Used, q.Output, q.Cache.Input()) < 0 || q.Payload == 0 {
					t.Errorf("%s under %s: row %d is zero or less: %+v", recording, name, i, q)
					break
				}
			}
			if tot := tl.Totals; min(tot.Payload, tot.OwnInput, tot.ModelInput, tot.ModelMean) < 0 {
				t.Errorf("%s under %s: totals %+v", recording, name, tot)
			}
			var told []string
			for _, w := range tl.Warnings {
				if strings.Contains(w.Message, "contradicts") || strings.Contains(w.Message, "does not fit") {
					told = append(told, w.Message)
				}
			}
			if want == "" && len(told) > 0 || want != "" && (len(told) != 1 || !strings.Contains(told[0], want)) {
				t.Errorf("%s under %s: told %q, want %q once", recording, name, told, want)
			}
		}
	})
}

// TestRecordedCompactionCall: the request for a recorded summary holds what Claude Code's policies say it holds: the
// view as it was before a microcompaction at the same request, the prompt, and from 2.1.86 on the session's prefix.
func TestRecordedCompactionCall(t *testing.T) {
	must.Rows(t, `
# version | prompt | session
2.1.20  | 1257 | false
2.1.85  | 1286 | false
2.1.86  | 1395 | true
2.1.210 | 1590 | true
`, func(version string, prompt int, session bool) {
		s := loop(20000, 40000, 60000, 80000)
		s.version = version
		for _, l := range s.lines {
			l["version"] = version
		}
		s.line("system", map[string]any{"subtype": "microcompact_boundary", "microcompactMetadata": map[string]any{
			"trigger": "auto", "preTokens": 3000, "tokensSaved": 1000, "compactedToolIds": []string{"t1"},
		}})
		s.tell(`boundary auto 80100 400; user 40; answer 30000: text 40`)
		conv := s.load(t)
		before := 0 // the view just before the microcompaction
		for k, tl := range map[string]*replay.Timeline{
			"usage":     replayed(t, conv, named(t, "recorded"), replay.Options{}),
			"heuristic": replayed(t, conv, named(t, "recorded"), replay.Options{Counter: "heuristic"}),
		} {
			cleared, call := 0, replay.Request{}
			for _, ev := range tl.Events {
				if ev.Kind == policy.KindClear {
					cleared += ev.Saved
				}
				if ev.Kind == policy.KindSummarize {
					before = ev.Before
				}
			}
			for _, r := range tl.Requests {
				if r.Kind == "compaction" {
					call = r
				}
			}
			want := before + cleared + prompt
			if over := mains(tl)[4].Overhead; session {
				want += over
			}
			if cleared == 0 || call.Payload != want || (call.Overhead > 0) != session {
				t.Errorf("%s, %s: the call sends %d tokens, want %d; %d cleared", version, k, call.Payload, want, cleared)
			}
		}
	})
}

// TestHiddenMicrocompaction: what a client says it saved of results that are before the start of the file is its
// estimate: it weighs what the session's results weigh at that.
func TestHiddenMicrocompaction(t *testing.T) {
	s := loop(100000, 101500, 103000, 104500)
	s.version = "2.1.17"
	s.lines[0]["parentUuid"] = "before"
	s.line("system", map[string]any{"subtype": "microcompact_boundary", "microcompactMetadata": map[string]any{
		"trigger": "auto", "preTokens": 50000, "tokensSaved": 20000, "compactedToolIds": []string{"gone"},
	}})
	s.tell(`user 40; answer 75000: text 40`)
	conv := s.load(t)
	if !conv.Messages[0].Is(session.Earlier) {
		t.Fatal("the file does not begin in mid-conversation")
	}
	for _, name := range []string{"recorded", "none"} {
		rows := mains(replayed(t, conv, named(t, name), replay.Options{Overhead: policy.Overhead{Given: true, Tokens: 18800}}))
		if fell := rows[3].Payload - rows[4].Payload; fell < 26000 || fell > 31000 {
			t.Errorf("%s: the view falls by %d tokens, want 20,000 times what results weigh of their estimate", name, fell)
		}
	}
}

// TestFirstRoundKept: a compaction that keeps the first round of a turn sends it with the prompt; of later rounds the one that it
// keeps is left out.
func TestFirstRoundKept(t *testing.T) {
	for _, first := range []bool{true, false} {
		s := newScript().tell(`version 2.1.332; user 40; answer 40000: text 400; user 40`)
		used := 40200
		if !first {
			s.answer(context(used), read("t0"))
			s.result("t0", 400)
			used += 400
		}
		s.answer(context(used), read("t1"))
		head := s.last
		s.result("t1", 8000)
		tail := s.last
		s.boundary("auto", used+2000, 400)
		s.lines[len(s.lines)-2]["compactMetadata"].(map[string]any)["preservedSegment"] = map[string]any{"headUuid": head, "anchorUuid": s.last, "tailUuid": tail}
		s.answer(context(used+2100), text(40))
		for _, l := range s.lines {
			l["version"] = s.version
		}
		var before, call replay.Request
		for _, r := range replayed(t, s.load(t), named(t, "recorded"), replay.Options{}).Requests {
			if r.Kind != "main" {
				call = r
			} else if call.Kind == "" {
				before = r
			}
		}
		if over := call.Payload - before.Payload; (over > 3000) != first {
			t.Errorf("first %v: the call sends %d tokens more than the request before", first, over)
		}
	}
}

// TestLaterCompactionCall: from 2.1.86 on the request for a summary reads the whole request before it, what an earlier
// compaction sent again included, and is not sent what stays behind the summary; before it has its own prompt and reads nothing.
func TestLaterCompactionCall(t *testing.T) {
	must.Rows(t, `
# version | keeps | reads | prompt
2.1.20  | false | false | 1257
2.1.51  | false | false | 1286
2.1.70  | false | false | 1286
2.1.85  | false | false | 1286
2.1.86  | false | true  | 1395
2.1.119 | false | true  | 1395
2.1.210 | true  | true  | 1590
2.1.332 | true  | true  | 1590
`, func(version string, keeps, reads bool, prompt int) {
		s := newScript()
		s.version = version
		for n := range 3 { // with 20,000 tokens on no line after each compaction
			for k := range 3 {
				id := fmt.Sprint("t", n, k)
				s.user(40)
				s.answer(context(40000+1100*k), read(id))
				s.result(id, 4000)
			}
			s.answer(context(43300), text(400))
			last := s.last
			if n == 2 {
				break
			}
			s.boundary("auto", 43400, 400)
			if keeps {
				s.lines[len(s.lines)-2]["compactMetadata"].(map[string]any)["preservedSegment"] = map[string]any{
					"headUuid": last, "anchorUuid": s.last, "tailUuid": last,
				}
			}
		}
		for _, l := range s.lines {
			l["version"] = version
		}
		conv := s.load(t)
		for _, tl := range []*replay.Timeline{
			replayed(t, conv, named(t, "recorded"), replay.Options{}),
			replayed(t, conv, named(t, release(t, version)), replay.Options{CompactAt: []int{5, 9}}),
		} {
			var before replay.Request
			calls := 0
			for _, r := range tl.Requests {
				if r.Kind == "main" {
					before = r
					continue
				}
				calls++
				want := 0
				if reads {
					want = before.Payload
				}
				if off := want - r.Cache.Read; off < 0 || off > 10 || !reads && r.Cache.Write5m != r.Payload || reads && r.Cache.Uncached < prompt-300 {
					t.Errorf("%s, %s: call %d: %+v, want %d read", version, tl.Policy, calls, r.Cache, want)
				}
				if over := r.Payload - before.Payload; reads && keeps != (over <= prompt+10) {
					t.Errorf("%s, %s: call %d sends %d tokens more than the request before", version, tl.Policy, calls, over)
				}
			}
			must.Equal(t, calls, 2, version, tl.Policy)
		}
	})
}

// release is the built-in policy of a version of Claude Code.
func release(t *testing.T, version string) string {
	reg := must.Get(registry())(t)
	chosen := must.Get(preset.New(reg).For("claude-code@"+version, preset.Client{}))(t)
	return chosen.Policy
}
