package replay_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/replay"
)

// compactedByTheAPI is a tool loop whose fifth request the API compacted within: 182,000 tokens in and 3,500 out,
// then 24,000 and 1,000.
func compactedByTheAPI() *script {
	s := newScript().tell(`version 2.1.139; user 40`)
	for i, n := range []int{20500, 61000, 101500, 142000} {
		id := fmt.Sprintf("t%d", i+1)
		s.answer(context(n), read(id))
		s.result(id, 120000)
	}
	s.answer(jsonl.Usage{Input: 24000, Output: 1000}, map[string]any{"type": "compaction", "content": strings.Repeat("s", 12000)}, text(3000), read("t5"))
	for _, l := range s.lines[len(s.lines)-3:] {
		l["message"].(map[string]any)["usage"].(map[string]any)["iterations"] = []any{
			map[string]any{"type": "compaction", "input_tokens": 2000, "cache_read_input_tokens": 180000, "output_tokens": 3500},
			map[string]any{"type": "message", "input_tokens": 24000, "output_tokens": 1000},
		}
	}
	s.tell(`result t5 4000; answer 26300: text 40`)
	return s
}

// TestIterations: a compaction of the API's own is a call, billed beside the request it happened within; the
// request's context is what was left of it.
func TestIterations(t *testing.T) {
	conv := compactedByTheAPI().load(t)
	tl := replayed(t, conv, named(t, "recorded"), replay.Options{})
	rows := mains(tl)
	fifth, sixth := &rows[4], &rows[5]
	if want := (replay.Samplings{Iterations: 2, Input: 26000, CacheRead: 180000, Output: 4500}); fifth.Recorded.Billed == nil || *fifth.Recorded.Billed != want {
		t.Errorf("billed %+v, want %+v", fifth.Recorded.Billed, want)
	}
	if fifth.Recorded.Input != 24000 || fifth.Recorded.Output != 1000 || sixth.Recorded.Billed != nil {
		t.Errorf("recorded %+v and %+v", *fifth.Recorded, *sixth.Recorded)
	}
	must.Say(t, "24000 26300 20500", fifth.Tokens, sixth.Tokens, fifth.Overhead)
	if near := fifth.Overhead - sixth.Overhead; near < -2000 || near > 2000 {
		t.Errorf("overhead %d, then %d", fifth.Overhead, sixth.Overhead)
	}
	if fifth.Used < 170000 {
		t.Errorf("used before the compaction is %d", fifth.Used)
	}
	own := tl.Cost().Own
	must.Say(t, "1 182000 3500", own.Calls, own.Input.Input(), own.Output)
	if len(tl.Events) != 1 || tl.Events[0].Kind != policy.KindSummarize || *tl.Events[0].Request != 5 || tl.Events[0].Detail["pre_tokens"] != 182000 {
		t.Errorf("events %+v", tl.Events)
	}

	// A policy that compacts nothing is not billed for it, and its overhead is that of the record.
	none := replayed(t, conv, named(t, "none"), replay.Options{})
	raw := mains(none)
	if none.Cost().Own.Calls != 0 || raw[4].Overhead != fifth.Overhead || raw[4].Tokens < 170000 || raw[4].Output != 1000 || len(none.Events) != 0 {
		t.Errorf("none: %+v, events %+v", raw[4], none.Events)
	}
}
