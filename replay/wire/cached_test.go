package wire_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/stage"
	"github.com/ctxkit/ctxkit/policy/view"
	"github.com/ctxkit/ctxkit/replay"
	"github.com/ctxkit/ctxkit/replay/cache"
	"github.com/ctxkit/ctxkit/replay/wire"
)

// withStages is a policy of these stages.
func withStages(t *testing.T, stages string) *policy.Policy {
	t.Helper()
	reg := must.Get(stage.Registry())(t)
	pol := must.Get(policy.Decode("test", []byte("stages:\n"+stages), reg, nil))(t)
	return pol
}

// The analysis' examples, as the payload of each round: what is deleted is named before the last breakpoint, the edit
// stands first in the last user message, and an edit sent before stands where it first stood.
func TestCacheEditsExamples(t *testing.T) {
	conv := chainOf(t,
		`{"role":"user","content":"question"}`,
		`{"role":"assistant","content":[{"type":"tool_use","id":"toolu_A","name":"Read","input":{}}]}`,
		`{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_A","content":"A"}]}`,
		`{"role":"user","content":"comment"}`,
		`{"role":"user","content":"question"}`,
		`{"role":"assistant","content":[{"type":"tool_use","id":"toolu_B","name":"Read","input":{}}]}`,
		`{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_B","content":"B"}]}`,
		`{"role":"assistant","content":[{"type":"tool_use","id":"toolu_C","name":"Read","input":{}}]}`,
		`{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_C","content":"C"}]}`,
	)
	pol := withStages(t, "  - microcompact_cached: {trigger: 1, keep: 0}\n")
	pol.Cache.Breakpoints = policy.BreakpointsLastTwo
	st := must.Get(pol.Stages[0].Definition.New(pol.Stages[0].Params))(t)
	v := view.New(conv, quarters{conv}, nil)
	round := func(messages, request int) []string {
		t.Helper()
		for m := v.Joined(); m < messages; m++ {
			v.Join(m)
		}
		edits := must.Get(st.Run(&policy.Context{Moment: policy.Project, Request: request, View: v, Conv: conv}))(t)
		for _, e := range edits {
			e.Stage, e.Request = "microcompact_cached", request
			must.Get(v.Apply(e))(t)
		}
		b := must.Get(wire.RequestBody(v, pol))(t)
		return lines(t, b)
	}
	const mark = `,"cache_control":{"type":"ephemeral"}`
	user := func(blocks ...string) string { return `{"role":"user","content":[` + strings.Join(blocks, ",") + `]}` }
	use := func(id, mark string) string {
		return `{"role":"assistant","content":[{"type":"tool_use","id":"` + id + `","name":"Read","input":{}` + mark + `}]}`
	}
	result := func(id, marks string) string {
		return `{"type":"tool_result","tool_use_id":"toolu_` + id + `","content":"` + id + `"` + marks + `}`
	}
	named := func(id string) string { return result(id, `,"cache_reference":"toolu_`+id+`"`) }
	edit := func(id string) string {
		return `{"type":"cache_edits","edits":[{"type":"delete","cache_reference":"toolu_` + id + `"}]}`
	}
	said := func(text, mark string) string { return `{"type":"text","text":"` + text + `"` + mark + `}` }

	want := []string{
		user(said("question", "")), use("toolu_A", mark), user(named("A")),
		user(edit("A"), said("comment", mark)),
	}
	must.Equal(t, round(4, 2), want)
	round(7, 3) // B stands in the last message: there is nothing to delete
	want = []string{
		user(said("question", "")), use("toolu_A", ""), user(named("A")),
		user(edit("A"), said(`comment\n`, ""), said("question", "")), // pinned
		use("toolu_B", ""), user(named("B")),
		use("toolu_C", mark),
		user(edit("B"), result("C", mark)), // new
	}
	must.Equal(t, round(9, 4), want)
}

// A message is divided only where it holds what its own edit deletes.
func TestCacheEditsDivide(t *testing.T) {
	conv := chainOf(t,
		`{"role":"user","content":"question"}`,
		`{"role":"assistant","content":[{"type":"tool_use","id":"A","name":"Read","input":{}}]}`,
		`{"role":"user","content":[{"type":"tool_result","tool_use_id":"A","content":"a"}]}`,
		`{"role":"assistant","content":[{"type":"tool_use","id":"B","name":"Read","input":{}},{"type":"tool_use","id":"C","name":"Read","input":{}}]}`,
		`{"role":"user","content":[{"type":"tool_result","tool_use_id":"B","content":"b"}]}`,
		`{"role":"user","content":[{"type":"tool_result","tool_use_id":"C","content":"c"}]}`,
		`{"role":"user","content":"comment"}`,
	)
	pol := &policy.Policy{Cache: policy.Caching{Breakpoints: policy.BreakpointsNone}}
	must.Rows(t, `
# edits, and the blocks of each user message from the second on; + before what can be named
[{"kind": "cache_edit", "target": {"item": 2}, "carrier": 6}]
	+A
	cache_edits[A] B C text
[{"kind": "cache_edit", "target": {"item": 2}, "carrier": 6}, {"kind": "cache_edit", "target": {"item": 5}, "carrier": 6}]
	+A
	+B +C
	cache_edits[A C] text
[{"kind": "cache_edit", "target": {"item": 2}, "carrier": 5}, {"kind": "cache_edit", "target": {"item": 4}, "carrier": 6}]
	+A
	cache_edits[A] +B +C
	cache_edits[B] text
[{"kind": "cache_edit", "target": {"item": 4}, "carrier": 5}, {"kind": "cache_edit", "target": {"item": 5}, "carrier": 6}] # C stays with its call
	+A
	cache_edits[B] +B +C
	cache_edits[C] text
[{"kind": "cache_edit", "target": {"item": 2}, "carrier": 5}, {"kind": "cache_edit", "target": {"item": 2}, "carrier": 6}] # another carries it now
	+A
	cache_edits[A] B C text
`, func(edits string, want []string) {
		b := must.Get(wire.RequestBody(viewOf(t, conv, editsOf(t, conv, edits)...), pol))(t)
		var got []string
		for _, m := range b.Messages[1:] {
			if m.Role == session.Assistant {
				continue
			}
			var blocks []string
			for _, bl := range m.Blocks {
				s := bl.Type
				switch {
				case bl.ToolUse != "":
					s = bl.ToolUse
					if bl.CacheReference {
						s = "+" + s
					}
				case bl.Type == "cache_edits":
					var ids []string
					for _, id := range []string{"A", "B", "C"} {
						if bytes.Contains(bl.JSON, []byte(`"cache_reference":"`+id+`"`)) {
							ids = append(ids, id)
						}
					}
					s += fmt.Sprint(ids)
				}
				blocks = append(blocks, s)
			}
			got = append(got, strings.Join(blocks, " "))
		}
		must.Equal(t, got, want, edits)
	})
}

// quarters weighs four characters a token.
type quarters struct{ conv *session.Conversation }

func (w quarters) Block(m, b int) int {
	return policy.RoundQuarter(w.conv.Messages[m].Blocks[b].Text.UTF16)
}

func (w quarters) Message(m int) (n int) {
	for b := range w.conv.Messages[m].Blocks {
		n += w.Block(m, b)
	}
	return n
}

func (w quarters) Content(c *policy.Content) int { return policy.RoundQuarter(c.Length.UTF16) }

// reading is a session of n requests, two minutes apart, each but the last of which reads a file of 4,000 characters
// for a minute and a half.
func reading(t *testing.T, n int) *session.Conversation {
	t.Helper()
	var b strings.Builder
	at := time.Date(2026, 1, 25, 12, 0, 0, 0, time.UTC)
	line := 0
	write := func(kind, message string) {
		parent := "null"
		if line > 0 {
			parent = fmt.Sprintf(`"u%d"`, line-1)
		}
		fmt.Fprintf(&b, `{"type":%q,"uuid":"u%d","parentUuid":%s,"sessionId":"s","version":"2.1.30","timestamp":%q,"message":%s}`+"\n", kind, line, parent, at.Format(time.RFC3339), message)
		line++
	}
	write("user", `{"role":"user","content":"read them all"}`)
	for i := range n {
		at = at.Add(30 * time.Second)
		use := fmt.Sprintf(`{"type":"tool_use","id":"toolu_%d","name":"Read","input":{"file_path":"/p/f%d"}}`, i, i)
		if i == n-1 {
			use = `{"type":"text","text":"done"}`
		}
		write("assistant", fmt.Sprintf(`{"role":"assistant","id":"msg_%d","model":"claude-opus-4-5-20251101","content":[%s],"usage":{"input_tokens":%d,"output_tokens":20}}`, i, use, 20000+1100*i))
		at = at.Add(90 * time.Second)
		if i < n-1 {
			write("user", fmt.Sprintf(`{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_%d","content":%q}]}`, i, strings.Repeat(fmt.Sprintf("line %d\n", i), 4000/len(fmt.Sprintf("line %d\n", i)))))
		}
	}
	f := must.Get(session.LoadReader("test", strings.NewReader(b.String()), session.LoadOptions{}))(t)
	t.Cleanup(func() { f.Close() })
	return f.Main
}

// prefixes replays a session and tells for each request but the first whether its payload begins with all of the
// payload of the request before, byte for byte. The marks are no part of what is cached: they are where the client
// says that the prefix ends, and which results it may name.
func prefixes(t *testing.T, conv *session.Conversation, pol *policy.Policy) (kept []bool, edits int) {
	t.Helper()
	rec := must.Get(replay.NewRecord(conv))(t)
	var before []byte
	must.Do(t, rec.EachView(pol, replay.Options{}, func(n int, v *view.View) bool {
		if n > len(conv.Requests) {
			return true
		}
		b := must.Get(wire.RequestBody(v, pol))(t)
		var now []byte
		for _, m := range b.Messages {
			now = append(now, m.Role.String()...)
			for _, bl := range m.Blocks {
				now = append(append(now, '\n'), bl.JSON...)
			}
			now = append(now, '\n')
		}
		if n > 1 {
			kept = append(kept, bytes.HasPrefix(now, before))
		}
		before = now
		edits = len(v.Edits())
		return true
	}))
	return kept, edits
}

// Under the cached path the payload's prefix stays the same bytes for as long as the session goes on; under the
// time-based path every clearing breaks it. The simulated cache shows the price of both.
func TestCachedPrefix(t *testing.T) {
	const requests = 70
	conv := reading(t, requests)
	cached := withStages(t, "  - microcompact_cached: {trigger: 12, keep: 5}\n")
	timed := withStages(t, "  - microcompact_time: {gap: 1m, keep_recent: 5}\n")
	none := withStages(t, "  - microcompact_time: {gap: 24h}\n")

	kept, edits := prefixes(t, conv, cached)
	for i, same := range kept {
		if !same {
			t.Errorf("cached: the prefix of request %d is not what was sent before", i+2)
		}
	}
	if len(kept) < 50 || edits != 63 { // 12 results, then every 7 more: 9 times 7
		t.Errorf("%d requests were compared, %d edits were made", len(kept), edits)
	}
	kept, edits = prefixes(t, conv, timed)
	broken := 0
	for _, same := range kept {
		if !same {
			broken++
		}
	}
	if broken != requests-1-5 || edits != broken { // each new result clears the sixth newest
		t.Errorf("by time: %d of %d prefixes are broken by %d edits", broken, len(kept), edits)
	}

	run := func(pol *policy.Policy) *replay.Timeline {
		tl := must.Get(replay.Run(conv, pol, replay.Options{}))(t)
		return tl
	}
	a, b, c := run(cached), run(timed), run(none)
	misses := func(tl *replay.Timeline) (n int, read, input int) {
		for _, r := range tl.Requests[1:] {
			if r.Cache.Miss != nil {
				n++
				if r.Cache.Miss.Kind != cache.Edited || r.Cache.Miss.Stage != "microcompact_time" {
					t.Errorf("%s: request %d misses: %s", tl.Policy, r.N, r.Cache.Miss)
				}
			}
			read += r.Cache.Read
			input += r.Cache.Input()
		}
		return n, read, input
	}
	missesA, readA, inputA := misses(a)
	missesB, readB, inputB := misses(b)
	missesC, readC, inputC := misses(c)
	if missesA != 0 || missesC != 0 || missesB != broken {
		t.Errorf("misses: cached %d, by time %d, none %d", missesA, missesB, missesC)
	}
	// Everything but what is new is read; by time nothing behind the clearing is.
	if fresh := inputA - readA; fresh > inputC-readC {
		t.Errorf("cached: %d tokens were not read, with nothing cleared %d", fresh, inputC-readC)
	}
	if freshB := inputB - readB; freshB < 3*(inputA-readA) {
		t.Errorf("by time %d tokens were not read, cached %d", freshB, inputA-readA)
	}
	if !(a.Totals.CostUSD.Nano < c.Totals.CostUSD.Nano && a.Totals.CostUSD.Nano < b.Totals.CostUSD.Nano) {
		t.Errorf("cached %v, by time %v, nothing cleared %v", a.Totals.CostUSD.Nano, b.Totals.CostUSD.Nano, c.Totals.CostUSD.Nano)
	}
	t.Logf("input tokens %d, %d, %d; not read %d, %d, %d; cost %v, %v, %v nano-USD (cached, by time, nothing cleared)",
		inputA, inputB, inputC, inputA-readA, inputB-readB, inputC-readC, a.Totals.CostUSD.Nano, b.Totals.CostUSD.Nano, c.Totals.CostUSD.Nano)
}

// TestPayloadCorpus holds of real sessions, under a policy that edits the cache, that the results of a message's calls
// follow in the message after it, and that a user message follows another only where it begins with cache edits.
func TestPayloadCorpus(t *testing.T) {
	var files []string
	for _, name := range []string{"CTXKIT_CORPUS", "CTXKIT_MORE", "CTXKIT_CODEX", "CTXKIT_AGENTS"} {
		if dir := os.Getenv(name); dir != "" {
			files = append(files, sessionsIn(t, dir)...)
		}
	}
	if len(files) == 0 {
		t.Skip("CTXKIT_CORPUS, CTXKIT_MORE, CTXKIT_CODEX and CTXKIT_AGENTS name no folder of real sessions")
	}
	pol := withStages(t, "  - microcompact_cached: {trigger: 12, keep: 5}\n")
	divided, kept := 0, 0
	for i, path := range files {
		if i%4 != 0 && os.Getenv("CTXKIT_LONG") == "" {
			continue
		}
		f, err := session.Load(path, session.LoadOptions{})
		if err != nil {
			continue // of the readers' tests
		}
		func() {
			defer f.Close()
			rec, err := replay.NewRecord(f.Main)
			if err != nil {
				t.Fatal(path, err)
			}
			every := max(1, len(f.Main.Requests)/6)
			err = rec.EachView(pol, replay.Options{}, func(n int, v *view.View) bool {
				if n%every != 0 && n < len(f.Main.Requests) {
					return true
				}
				b, err := wire.RequestBody(v, pol)
				if err != nil {
					t.Fatal(path, err)
				}
				d, k := checkPayload(t, fmt.Sprintf("%s, request %d", path, n), b)
				divided, kept = divided+d, kept+k
				return true
			})
			if err != nil {
				t.Fatal(path, err)
			}
		}()
	}
	t.Logf("%d sessions, %d messages divided, %d kept whole", len(files), divided, kept)
}

// checkPayload holds the rules of TestPayloadCorpus, and counts the messages that are divided by cache edits and those
// that hold what they delete.
func checkPayload(t *testing.T, at string, b *wire.Body) (divided, kept int) {
	t.Helper()
	calls := map[string]int{} // the message of each
	for m := range b.Messages {
		msg := &b.Messages[m]
		edits, own := false, map[string]bool{}
		for i, bl := range msg.Blocks {
			switch {
			case bl.Type == "cache_edits":
				edits = edits || i == 0
				for id := range own {
					t.Errorf("%s: message %d: the edits stand behind the result of %s", at, m, id)
				}
			case bl.Type == "tool_use":
				var call struct{ ID string }
				if err := json.Unmarshal(bl.JSON, &call); err != nil {
					t.Fatal(at, err)
				}
				calls[call.ID] = m
			case bl.Type == "tool_result" && bl.ToolUse != "":
				own[bl.ToolUse] = true
				if in, ok := calls[bl.ToolUse]; ok && in != m-1 {
					t.Errorf("%s: the result of %s is in message %d, its call in %d", at, bl.ToolUse, m, in)
				}
			}
		}
		if edits && len(msg.Blocks) > 0 {
			for id := range own {
				if bytes.Contains(msg.Blocks[0].JSON, []byte(`"cache_reference":`+fmt.Sprintf("%q", id))) {
					kept++
					break
				}
			}
		}
		if m > 0 && msg.Role == b.Messages[m-1].Role {
			divided++
			if len(own) > 0 || !edits && msg.Role != session.User { // what is behind a dropped response begins a message of the user
				t.Errorf("%s: messages %d and %d are both of the %s", at, m-1, m, msg.Role)
			}
		}
	}
	return divided, kept
}
