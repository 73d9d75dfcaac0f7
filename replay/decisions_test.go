package replay_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/replay"
	"github.com/ctxkit/ctxkit/replay/cache"
)

// script writes a small session, each line under the one before.
type script struct {
	lines   []map[string]any
	last    string // uuid of the line written last
	said    int    // responses
	version string
	model   string
}

func newScript() *script { return &script{version: "2.1.50", model: "claude-opus-4-6"} }

func (s *script) line(kind string, fields map[string]any) map[string]any {
	l := map[string]any{
		"type": kind, "uuid": fmt.Sprintf("l%d", len(s.lines)+1), "parentUuid": nil, "sessionId": "s1", "isSidechain": false, "version": s.version,
		"timestamp": fmt.Sprintf("2026-02-01T10:%02d:%02d.000Z", len(s.lines)/60, len(s.lines)%60),
	}
	if s.last != "" {
		l["parentUuid"] = s.last
	}
	for k, v := range fields {
		l[k] = v
	}
	s.last = l["uuid"].(string)
	s.lines = append(s.lines, l)
	return l
}

// user says n characters.
func (s *script) user(n int) {
	s.line("user", map[string]any{"message": map[string]any{"role": "user", "content": strings.Repeat("u", n)}})
}

// answer is a response, a line a block, to a request of that much context.
func (s *script) answer(u jsonl.Usage, blocks ...map[string]any) {
	s.said++
	var stop any = "end_turn"
	if session.CompareVersions(s.version, "2.1.70") < 0 { // that did not write it
		stop = nil
	}
	for _, b := range blocks {
		s.line("assistant", map[string]any{"message": map[string]any{
			"id": fmt.Sprintf("m%d", s.said), "role": "assistant", "model": s.model, "content": []any{b}, "stop_reason": stop,
			"usage": map[string]any{"input_tokens": u.Input, "cache_creation_input_tokens": u.CacheWrite, "cache_read_input_tokens": u.CacheRead, "output_tokens": u.Output},
		}})
	}
}

// result is what the call named id came to, n characters.
func (s *script) result(id string, n int) {
	s.line("user", map[string]any{"message": map[string]any{"role": "user", "content": []any{
		map[string]any{"type": "tool_result", "tool_use_id": id, "content": strings.Repeat("r", n)},
	}}})
}

// boundary is a recorded compaction with a summary of n characters.
func (s *script) boundary(trigger string, preTokens, n int) {
	s.line("system", map[string]any{
		"subtype": "compact_boundary", "parentUuid": nil, "logicalParentUuid": s.last,
		"compactMetadata": map[string]any{"trigger": trigger, "preTokens": preTokens},
	})
	s.line("user", map[string]any{"isCompactSummary": true, "message": map[string]any{"role": "user", "content": strings.Repeat("s", n)}})
}

func (s *script) load(t testing.TB) *session.Conversation {
	t.Helper()
	var text strings.Builder
	enc := json.NewEncoder(&text)
	for _, l := range s.lines {
		must.Do(t, enc.Encode(l))
	}
	f := must.Get(session.LoadReader("script", strings.NewReader(text.String()), session.LoadOptions{}))(t)
	t.Cleanup(func() { f.Close() })
	return f.Main
}

// context is a usage of n tokens in and 50 out.
func context(n int) jsonl.Usage { return jsonl.Usage{Input: 10, CacheRead: n - 10, Output: 50} }

func text(n int) map[string]any {
	return map[string]any{"type": "text", "text": strings.Repeat("t", n)}
}

// read calls Read; name and input are 28 characters: 7 tokens by the client's estimate.
func read(id string) map[string]any {
	return map[string]any{"type": "tool_use", "id": id, "name": "Read", "input": map[string]any{"file_path": "12345.go"}}
}

// loop is a tool loop: the contexts of its requests, and after each but the last a Read with a result of 4,000
// characters.
func loop(contexts ...int) *script {
	s := newScript()
	s.user(40)
	for i, n := range contexts {
		if i == len(contexts)-1 {
			s.answer(context(n), text(40))
			continue
		}
		id := fmt.Sprintf("t%d", i+1)
		s.answer(context(n), read(id))
		s.result(id, 4000)
	}
	return s
}

// acts is a stage that does as told.
type acts func(c *policy.Context) []policy.Edit

func (a acts) Run(c *policy.Context) ([]policy.Edit, error) { return a(c), nil }

// acting is a policy of one stage that does as told at the moments.
func acting(moments policy.Moment, a acts) *policy.Policy {
	return &policy.Policy{Name: "acting", Window: policy.DefaultWindow(), Cache: policy.DefaultCaching(), Stages: []policy.StageConfig{{
		Definition: policy.Definition{Name: "acts", Moments: moments, New: func(any) (policy.Stage, error) { return a, nil }},
	}}}
}

func replayed(t testing.TB, conv *session.Conversation, p *policy.Policy, opt replay.Options) *replay.Timeline {
	t.Helper()
	tl := must.Get(replay.Run(conv, p, opt))(t)
	must.Do(t, tl.CheckValid())
	return tl
}

// mains is the main rows of a timeline.
func mains(tl *replay.Timeline) []replay.Request {
	var out []replay.Request
	for i := range tl.Requests {
		if q := tl.Requests[i]; q.Kind == "main" {
			out = append(out, q)
		}
	}
	return out
}

// clearing is the edit that leaves n characters of the first result.
func clearing(c *policy.Context, n int) []policy.Edit {
	content := policy.NewContent(jsonl.KindToolResult, strings.Repeat("c", n))
	return []policy.Edit{{Kind: policy.KindClear, Target: c.View.Results()[0].Target, New: &content, Reason: "told to"}}
}

// TestUsed is decision 2: where a policy has changed nothing, used is the last response's total and the client's
// estimate of what came after.
func TestUsed(t *testing.T) {
	s := newScript().tell(`
user 40
answer {"input": 7, "cacheWrite": 993, "cacheRead": 19000, "output": 123}: text 40, read t1, read t2
result t1 4002
result t2 400
answer 21500: text 40
`)
	s.line("user", map[string]any{"isMeta": true, "message": map[string]any{"role": "user", "content": strings.Repeat("m", 80)}})
	s.tell(`user 402; answer 22000: text 40`)
	conv := s.load(t)
	must.Rows(t, `
after_last  | [0, 21224, 21671]
# The first line of a response is not counted again, the others are.
after_first | [0, 21238, 21671]
`, func(tail string, want []int) {
		p := &policy.Policy{Name: "nothing", Window: policy.DefaultWindow()}
		p.Window.Tail = tail
		for i, q := range mains(replayed(t, conv, p, replay.Options{})) {
			if i > 0 && q.Used != want[i] {
				t.Errorf("%s: request %d: used %d, want %d", tail, q.N, q.Used, want[i])
			}
		}
	})
}

// A client that counts a response whole does so where the file has only the beginning of its output.
func TestUsedWholeAnswer(t *testing.T) {
	s := newScript().tell(`
user 40
answer {"input": 7, "cacheWrite": 993, "cacheRead": 19000, "output": 1}: text 4000, read t1
result t1 400
answer 21300: text 40
`)
	conv := s.load(t)
	for answer, want := range map[string]func(output int) int{
		"recorded": func(int) int { return 20000 + 1 + 100 },
		"whole":    func(output int) int { return 20000 + output + 100 },
	} {
		p := &policy.Policy{Name: "nothing", Window: policy.DefaultWindow()}
		p.Window.Answer = answer
		q := mains(replayed(t, conv, p, replay.Options{}))
		if output := q[0].Output; !q[0].Estimated || output < 800 || q[1].Used != want(output) {
			t.Errorf("%s: used %d with %d of output, want %d", answer, q[1].Used, output, want(output))
		}
	}
}

// TestUsedAfterEdit is decision 2: an edit moves used by what it took, to the token, from the next response on. Until
// then the client counts from a response that was made without it.
func TestUsedAfterEdit(t *testing.T) {
	conv := loop(20000, 21200, 22400, 23600, 24800).load(t)
	plain := mains(replayed(t, conv, &policy.Policy{Name: "nothing", Window: policy.DefaultWindow()}, replay.Options{}))
	for _, at := range []int{2, 3, 4} {
		tl := replayed(t, conv, acting(policy.Prepare, func(c *policy.Context) []policy.Edit {
			if c.Request != at {
				return nil
			}
			return clearing(c, 40)
		}), replay.Options{})
		if len(tl.Events) != 1 || tl.Events[0].Saved < 900 {
			t.Fatalf("events %+v", tl.Events)
		}
		for i, q := range mains(tl) {
			want := plain[i].Used
			if q.N > at {
				want -= tl.Events[0].Saved
			}
			must.Equal(t, q.Used, want, at, q.N)
		}
	}

	// What is edited as it joins counts as it stands.
	tl := replayed(t, conv, acting(policy.Ingest, func(c *policy.Context) []policy.Edit {
		if len(c.View.Results()) > 1 {
			return nil
		}
		return clearing(c, 40)
	}), replay.Options{})
	if got, want := mains(tl)[1].Used, 20050+10; got != want {
		t.Errorf("edited as it joined: used %d, want %d", got, want)
	}

	// And what is taken out does not count at all.
	tl = replayed(t, conv, acting(policy.Ingest, func(c *policy.Context) []policy.Edit {
		if len(c.View.Results()) > 1 {
			return nil
		}
		return []policy.Edit{{Kind: policy.KindRemove, Items: c.Joined, Reason: "told to"}}
	}), replay.Options{})
	if got, want := mains(tl)[1].Used, 20050; got != want {
		t.Errorf("taken out as it joined: used %d, want %d", got, want)
	}
}

// TestUsedAfterCompaction is decision 2: right after a compaction there is no response to count from, and what the
// stages of the next request read is the estimate of the list times 4/3, rounded up. The row of that request shows
// used as it was before the compaction.
func TestUsedAfterCompaction(t *testing.T) {
	conv := loop(20000, 21200, 22400, 23600).load(t)
	must.Rows(t, `
3    | 4
4    | 6
5    | 7
3000 | 4000
3001 | 4002
3002 | 4003
`, func(summary, want int) {
		saw := map[int]int{}
		tl := replayed(t, conv, acting(policy.Respond|policy.Prepare, func(c *policy.Context) []policy.Edit {
			if c.Moment == policy.Prepare {
				saw[c.Request] = c.Used
				return nil
			}
			if c.Request != 3 {
				return nil
			}
			return []policy.Edit{{
				Kind: policy.KindSummarize, Reason: "told to", Call: &policy.Call{Kind: "compaction", Prefix: "own"},
				Insert: []policy.Synthetic{{Role: "user", Summary: true, Contents: []policy.Content{{Kind: jsonl.KindText, Tokens: summary}}}},
			}}
		}), replay.Options{})
		rows := mains(tl)
		must.Equal(t, saw[3], want, summary)
		if got, want := rows[2].Used, 21250+1000; got != want {
			t.Errorf("a summary of %d tokens: the row says %d used, want %d", summary, got, want)
		}
		// The next request has a response to count from again.
		if want := 22450 + 1000 + rows[2].Tokens - 22400; saw[4] != want || rows[3].Used != want {
			t.Errorf("a summary of %d tokens: used %d and %d at the next request, want %d", summary, saw[4], rows[3].Used, want)
		}
	})
}

// TestCutAgain: a block that was cut may be cut again where the view is made anew at that request, and nowhere else.
func TestCutAgain(t *testing.T) {
	conv := loop(20000, 21200, 22400, 23600).load(t)
	for _, rebuilt := range []bool{true, false} {
		tl := replayed(t, conv, acting(policy.Prepare, func(c *policy.Context) []policy.Edit {
			if c.Request < 2 || c.Request > 3 {
				return nil
			}
			content := policy.NewContent(jsonl.KindText, fmt.Sprint("cut at ", c.Request))
			content.Partial = true
			cut := policy.Edit{Kind: policy.KindTruncate, Reason: "told to", New: &content}
			if c.Request == 3 && rebuilt {
				return []policy.Edit{{Kind: policy.KindSummarize, Reason: "told to", Keep: c.View.IDs()}, cut}
			}
			return []policy.Edit{cut}
		}), replay.Options{})
		if want := map[bool]int{true: 0, false: 1}[rebuilt]; tl.Totals.Violations != want {
			t.Errorf("rebuilt %t: %d violations, want %d", rebuilt, tl.Totals.Violations, want)
		}
	}
}

// TestFurtherCall: each call an edit needs is a row of its own, in order, and one that says nothing of its output
// writes the summary again.
func TestFurtherCall(t *testing.T) {
	conv := loop(20000, 21200, 22400).load(t)
	tl := replayed(t, conv, acting(policy.Prepare, func(c *policy.Context) []policy.Edit {
		if c.Request != 2 {
			return nil
		}
		return []policy.Edit{{
			Kind: policy.KindSummarize, Reason: "told to",
			Call: &policy.Call{Kind: "compaction", Input: 700, Prefix: "own", Then: &policy.Call{Kind: "compaction", Input: 900, Output: 40, Prefix: "own",
				Then: &policy.Call{Kind: "compaction", Input: 950, Prefix: "own"}}},
			Insert: []policy.Synthetic{{Role: "user", Summary: true, Contents: []policy.Content{{Kind: jsonl.KindText, Tokens: 30}}}},
		}}
	}), replay.Options{})
	var got [][3]int
	for _, r := range tl.Requests {
		if r.Kind == "compaction" {
			got = append(got, [3]int{r.N, r.Tokens, r.Output})
		}
	}
	must.Equal(t, got, [][3]int{{2, 700, 30}, {2, 900, 40}, {2, 950, 30}})
	must.Say(t, "1 6", tl.Totals.Compactions, tl.Totals.Calls)
}

// TestSummaryReuse is decision 8: a recorded summary is used once, and by a compaction that comes up to 10 requests
// after it.
func TestSummaryReuse(t *testing.T) {
	recorded := func(boundaries ...int) *session.Conversation { // before these of 16 requests
		s := newScript()
		for n := 1; n <= 16; n++ {
			if slices.Contains(boundaries, n) {
				s.boundary("auto", 24000, 400)
			}
			s.user(40)
			s.answer(context(20000+100*n), text(40))
		}
		return s.load(t)
	}
	must.Rows(t, `
# name | requests with a boundary before them | with a compaction | the boundary that it takes its summary from, from 1; 0: none
before it              | [3]    | [2]      | [1]
at it                  | [3]    | [3]      | [1]
right after it         | [3]    | [4]      | [1]
10 requests after it   | [3]    | [13]     | [1]
11 requests after it   | [3]    | [14]     | [0]
before and at it       | [3]    | [2, 3]   | [1, 0]
before and after it    | [3]    | [2, 5]   | [1, 0]
twice after it         | [3]    | [5, 6]   | [1, 0]
one each               | [3, 6] | [3, 6]   | [1, 2]
the one that was passed comes first | [3, 6] | [5, 6] | [1, 2]
both before the first  | [3, 6] | [1, 2]   | [1, 0]
both behind the second | [3, 6] | [13, 14] | [1, 2]
10 requests after the second | [3, 6] | [16] | [2]
`, func(name string, boundaries, at, from []int) {
		conv := recorded(boundaries...)
		tl := replayed(t, conv, compacting(t), replay.Options{CompactAt: at})
		if len(tl.Events) != len(from) {
			t.Fatalf("%d events, want %d", len(tl.Events), len(from))
		}
		for i, ev := range tl.Events {
			want := "summary: a placeholder of 103 tokens"
			if n := from[i]; n > 0 {
				want = fmt.Sprintf("summary: recorded, line %d", conv.Boundaries[n-1].Line)
			}
			if *ev.Request != at[i] || !strings.HasSuffix(ev.Reason, want) {
				t.Errorf("%s, before request %d: %s, want %s", name, *ev.Request, ev.Reason, want)
			}
		}
	})

	// With the summary comes what was sent with it; a late one keeps what was said since, too: a prompt and an answer
	// a request, and the next prompt.
	for at, want := range map[int]int{3: 2, 4: 2 + 3, 5: 2 + 5} {
		q := mains(replayed(t, recorded(3), compacting(t), replay.Options{CompactAt: []int{at}}))[at-1]
		must.Equal(t, q.Messages, want, at)
	}
}

// TestSummaryLate: the same where the policy compacts by itself, at a threshold it reaches late.
func TestSummaryLate(t *testing.T) {
	for late, want := range map[int]string{10: "recorded, line ", 11: "a placeholder of 103 tokens"} {
		s := newScript()
		for n := 1; n <= 16; n++ {
			if n == 3 {
				s.boundary("auto", 24000, 400)
			}
			s.user(40)
			size := 20000 + 100*n
			if n >= 3+late-1 { // seen at the next request
				size += 40000
			}
			s.answer(context(size), text(40))
		}
		p := named(t, "claude-code-2.1.19")
		// The threshold is 45,000 below the window.
		tl := replayed(t, s.load(t), p, replay.Options{Window: 100000})
		if len(tl.Events) == 0 {
			t.Fatalf("%d requests late: no compaction", late)
		}
		if ev := tl.Events[0]; *ev.Request != 3+late || !strings.Contains(ev.Reason, want) {
			t.Errorf("%d requests late: request %d, %s; want %s", late, *ev.Request, ev.Reason, want)
		}
	}
}

// TestLastResponse is decision 11: what a policy knows of the previous response is the simulated split of the
// counterfactual total, whatever was recorded.
func TestLastResponse(t *testing.T) {
	must.Rows(t, `
# name | u | edit
a recorded hit | {"input": 7, "cacheWrite": 193, "cacheRead": 22200, "output": 50} | false
a recorded miss | {"input": 7, "cacheWrite": 22393, "output": 50} | false
a recorded hit where the policy edits | {"input": 7, "cacheWrite": 193, "cacheRead": 22200, "output": 50} | true
nothing cached | {"input": 22400, "output": 50} | true
`, func(name string, u jsonl.Usage, edit bool) {
		s := newScript().tell(`
user 40
answer 20000: read t1
result t1 4000
answer 21200: read t2
result t2 4000
`)
		s.answer(u, read("t3"))
		s.tell(`result t3 4000; answer 23600: text 40`)
		var last policy.Response
		tl := replayed(t, s.load(t), acting(policy.Prepare, func(c *policy.Context) []policy.Edit {
			switch {
			case c.Request == 4:
				last = c.Last
			case c.Request == 3 && edit:
				return clearing(c, 40)
			}
			return nil
		}), replay.Options{})
		total, row := 22400, tl.Requests[2]
		if edit {
			total -= tl.Events[0].Saved
		}
		if last.Usage.Context() != total || !last.Known || last.Usage.Output != 50 {
			t.Errorf("%s: %+v, want %d in all", name, last.Usage, total)
		}
		if got := last.Usage.CacheRead; got != row.Cache.Read || (got == 21200) == edit || got < 14000 {
			t.Errorf("%s: the policy is told of %d read from the cache, the simulation has %d", name, got, row.Cache.Read)
		}
		if (row.Cache.Miss != nil) != edit || edit && (row.Cache.Miss.Kind != cache.Edited || row.Cache.Miss.Stage != "acts" || row.Cache.Miss.Message != tl.Events[0].Targets[0].Message) {
			t.Errorf("%s: missed by %v", name, row.Cache.Miss)
		}
	})
}

// TestLostAtBoundary is decision 5: a result that was lost at a boundary weighs what preTokens says beyond what is
// known, and the client's arithmetic comes to preTokens there.
func TestLostAtBoundary(t *testing.T) {
	s := newScript().tell(`
user 40
answer 20000: read t1
result t1 4000
answer 21200: read t2, read t3
result t2 2000
boundary auto 30000 400
answer 20500: text 40
`)
	conv := s.load(t)
	rec := must.Get(replay.NewRecord(conv))(t)
	lost := -1
	for m := range conv.Messages {
		if conv.Messages[m].Lost {
			lost = m
		}
	}
	if lost < 0 {
		t.Fatal("nothing is lost")
	}
	if got, want := rec.Cal.Message(lost), 30000-21250-500; got != want {
		t.Errorf("the lost result weighs %d, want %d", got, want)
	}
	tl := replayed(t, conv, named(t, "recorded"), replay.Options{})
	must.Equal(t, mains(tl)[2].Used, 30000)
}

// TestFallOfContext is decision 3: a fall of more than 2,000 tokens that no line explains is told, and every view
// shares it.
func TestFallOfContext(t *testing.T) {
	must.Rows(t, `
# name | fell | model | reason
2,000          | 2000 | ""            | ""
2,001          | 2001 | ""            | no line says why
a model switch | 5000 | claude-opus-5 | model switch from claude-opus-4-6 to claude-opus-5
a small fall at a model switch | 2000 | claude-opus-5 | ""
`, func(theName string, fell int, model, reason string) {
		t.Run(theName, func(t *testing.T) {
			s := loop(20000, 21200, 22400)
			if model != "" {
				s.model = model
			}
			s.user(40)
			s.answer(context(22400-fell), text(40))
			s.user(40)
			s.answer(context(22500-fell), text(40))
			conv := s.load(t)
			recorded := replayed(t, conv, named(t, "recorded"), replay.Options{})
			switch {
			case reason == "" && len(recorded.Events) > 0:
				t.Errorf("events %+v", recorded.Events)
			case reason == "":
			case len(recorded.Events) != 1:
				t.Errorf("events %+v, want one", recorded.Events)
			default:
				ev := recorded.Events[0]
				if ev.Kind != policy.KindInferred || *ev.Request != 4 || ev.Saved != 0 || ev.Detail["fell"] != fell || !strings.Contains(ev.Reason, reason) {
					t.Errorf("event %+v", ev)
				}
			}
			for _, name := range []string{"recorded", "none", "opencode"} {
				for _, q := range mains(replayed(t, conv, named(t, name), replay.Options{})) {
					if want := q.Recorded.Input + q.Recorded.CacheWrite + q.Recorded.CacheRead; q.Tokens != want || q.Raw != want {
						t.Errorf("%s, request %d: %d of raw %d, recorded %d", name, q.N, q.Tokens, q.Raw, want)
					}
				}
			}
		})
	})
}

// TestUnrecordedMicrocompaction is decision 3: what the client's rule clears leaves the record alone, not the views
// of policies; with clients that made none it is a fall as any other.
func TestUnrecordedMicrocompaction(t *testing.T) {
	for _, version := range []string{"2.1.20", "2.1.25"} {
		s := newScript()
		s.version = version
		s.user(40)
		for i, n := range []int{20000, 55000, 90000, 125000, 139000} {
			id := fmt.Sprintf("t%d", i+1)
			s.answer(context(n), read(id))
			s.result(id, []int{100000, 100000, 100000, 40000, 4000}[i])
		}
		s.tell(`answer 71000: text 40; user 40; answer 71100: text 40`)
		conv := s.load(t)
		inferred := version == "2.1.20"
		recorded := replayed(t, conv, named(t, "recorded"), replay.Options{})
		saved, cleared := 0, 0
		for _, ev := range recorded.Events {
			saved += ev.Saved
			cleared += ev.Results
			if *ev.Request != 6 || ev.Recorded != nil {
				t.Errorf("%s: event %+v", version, ev)
			}
		}
		// Two of three 25,000 leave 36,000 of 86,000: the target is 40,000.
		if want := map[bool]int{true: 2, false: 0}[inferred]; cleared != want || (saved > 0) != inferred {
			t.Errorf("%s: %d results cleared, %d tokens, want %d results", version, cleared, saved, want)
		}
		none := mains(replayed(t, conv, named(t, "none"), replay.Options{}))
		for i, q := range mains(recorded) {
			want := q.Tokens
			if q.N >= 6 {
				want += saved
			}
			must.Equal(t, none[i].Tokens, want, version, q.N)
			if got := q.Recorded.Input + q.Recorded.CacheRead; q.Tokens != got {
				t.Errorf("%s, request %d: %d tokens, recorded %d", version, q.N, q.Tokens, got)
			}
		}
	}
}

// stages lists the definitions of all stages.
func stages(t testing.TB) []policy.Definition {
	t.Helper()
	reg := must.Get(registry())(t)
	return reg.Definitions()
}

// tell writes the steps of a text, one a line or parted by "; ": "user N", "says TEXT", "result ID N", "boundary TRIGGER TOKENS N",
// "version V", "model M", "answer CONTEXT: BLOCKS", of text N, thinks N, read ID and use ID TOOL, where the context is a number of
// tokens or a usage as JSON, "restarted", or "line KIND FIELDS" with the fields as JSON.
func (s *script) tell(steps string) *script {
	number := func(text string) int {
		n, err := strconv.Atoi(text)
		if err != nil {
			panic(err)
		}
		return n
	}
	object := func(text string, into any) {
		d := json.NewDecoder(strings.NewReader(text))
		d.DisallowUnknownFields()
		if err := d.Decode(into); err != nil {
			panic(text)
		}
	}
	for step := range strings.SplitSeq(strings.ReplaceAll(strings.TrimSpace(steps), "\n", "; "), "; ") {
		verb, rest, _ := strings.Cut(strings.TrimSpace(step), " ")
		word, more, _ := strings.Cut(rest, " ")
		switch verb {
		case "user":
			s.user(number(rest))
		case "says":
			s.line("user", map[string]any{"message": map[string]any{"role": "user", "content": rest}})
		case "result":
			s.result(word, number(more))
		case "boundary":
			tokens, n, _ := strings.Cut(more, " ")
			s.boundary(word, number(tokens), number(n))
		case "version":
			s.version = rest
		case "model":
			s.model = rest
		case "answer":
			i := strings.LastIndex(rest, ": ")
			sent, list := rest[:i], rest[i+2:]
			var u jsonl.Usage
			if sent[0] == '{' {
				object(sent, &u)
			} else {
				u = context(number(sent))
			}
			var blocks []map[string]any
			for one := range strings.SplitSeq(list, ", ") {
				switch f := strings.Fields(one); f[0] {
				case "text":
					blocks = append(blocks, text(number(f[1])))
				case "thinks":
					blocks = append(blocks, thought(number(f[1])))
				case "read":
					blocks = append(blocks, read(f[1]))
				case "use":
					blocks = append(blocks, use(f[1], f[2]))
				default:
					panic(one)
				}
			}
			s.answer(u, blocks...)
		case "restarted":
			s.line("assistant", map[string]any{"message": map[string]any{
				"role": "assistant", "model": "<synthetic>", "content": []any{map[string]any{"type": "text", "text": "No response requested."}},
			}})
		case "line":
			var fields map[string]any
			object(more, &fields)
			s.line(word, fields)
		default:
			panic(step)
		}
	}
	return s
}

// compacting is the policy of the stage autocompact alone.
func compacting(t *testing.T) *policy.Policy {
	p := &policy.Policy{Name: "autocompact", Window: policy.DefaultWindow()}
	for _, d := range stages(t) {
		if d.Name == "autocompact" {
			p.Stages = append(p.Stages, policy.StageConfig{Definition: d, Params: d.Params})
		}
	}
	return p
}
