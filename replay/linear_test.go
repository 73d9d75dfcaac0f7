package replay_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/replay"
)

// rounds is a session of n rounds of a prompt, a call, its result and an answer. Every 20 rounds the recorded usage falls
// as by a microcompaction of which there is no line.
func rounds(t testing.TB, n int) *session.Conversation {
	t.Helper()
	var b strings.Builder
	parent, context := "null", 130_000
	line := func(id, kind, rest string) {
		fmt.Fprintf(&b, `{"type":%q,"uuid":%q,"parentUuid":%s,"sessionId":"s","version":"2.1.19","cwd":"/w","timestamp":"2026-01-15T09:00:00.000Z",%s}`+"\n", kind, id, parent, rest)
		parent = fmt.Sprintf("%q", id)
	}
	answer := func(id, content string) {
		line(id, "assistant", fmt.Sprintf(`"message":{"id":"m%s","role":"assistant","model":"claude-opus-4-5-20251101","usage":{"input_tokens":3,"cache_read_input_tokens":%d,"output_tokens":20},"content":[%s]}`, id, context, content))
	}
	said := strings.Repeat("word ", 2000)
	for i := range n {
		if context += 1500; i%20 == 0 {
			context = 130_000
		}
		line(fmt.Sprintf("p%d", i), "user", fmt.Sprintf(`"message":{"role":"user","content":"do step %d"}`, i))
		answer(fmt.Sprintf("c%d", i), fmt.Sprintf(`{"type":"tool_use","id":"t%d","name":"Read","input":{"file_path":"/w/f%d.go"}}`, i, i))
		line(fmt.Sprintf("r%d", i), "user", fmt.Sprintf(`"message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t%d","content":"%d %s"}]}`, i, i, said))
		answer(fmt.Sprintf("a%d", i), fmt.Sprintf(`{"type":"text","text":"done with %d"}`, i))
	}
	f := must.Get(session.LoadReader("rounds", strings.NewReader(b.String()), session.LoadOptions{Jobs: 1}))(t)
	t.Cleanup(func() { f.Close() })
	return f.Main
}

// allocated is how many bytes a piece of work takes from the heap.
func allocated(work func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	work()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// The edits of a record, and the memory of replays under policies that never shorten this session, grow with the session. What
// is copied or listed anew at each request, or named at each fall of the usage, would be four times as much for twice
// the session.
func TestMemoryDoubles(t *testing.T) {
	const n, most = 400, 2.6
	var records [2]*replay.Record
	var edits [2]int // of inferred microcompactions
	double := func(what string, work func(i int) error) {
		var took [2]uint64
		for i := range took {
			took[i] = allocated(func() {
				must.Do(t, work(i))
			})
		}
		if ratio := float64(took[1]) / float64(took[0]); ratio > most {
			t.Errorf("%s: %.2f times the memory for twice the session (%d bytes)", what, ratio, took[1])
		}
	}
	convs := [2]*session.Conversation{rounds(t, n), rounds(t, 2*n)}
	for i := range convs {
		records[i] = must.Get(replay.NewRecord(convs[i]))(t)
		for _, e := range records[i].Edits() {
			if e.Kind != policy.KindInferred && e.Trigger == "inferred" {
				edits[i]++
			}
		}
	}
	if edits[0] < n/2 || float64(edits[1]) > 2.2*float64(edits[0]) {
		t.Errorf("%d edits by inferred microcompactions, %d in twice the session", edits[0], edits[1])
	}
	for _, name := range []string{"none", "opencode-1.1.57", "langchain-clear-tool-uses"} {
		double(name, func(i int) error {
			_, err := records[i].Replay(named(t, name), replay.Options{})
			return err
		})
	}
}
