package replay_test

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/replay"
	"github.com/ctxkit/ctxkit/replay/diff"
)

// TestSegmentRecorded: the segment of a recorded compaction is the one that its boundary names.
func TestSegmentRecorded(t *testing.T) {
	const file = "../testdata/sessions/preserved.jsonl"
	text := must.Get(os.ReadFile(file))(t)
	m := regexp.MustCompile(`"preservedSegment":\{"headUuid":"([^"]*)","anchorUuid":"([^"]*)","tailUuid":"([^"]*)"\}`).FindStringSubmatch(string(text))
	if m == nil {
		t.Fatal("no boundary has a preservedSegment")
	}
	want := replay.Segment{Head: m[1], Anchor: m[2], Tail: m[3]}
	tl := replayed(t, load(t, file).Main, named(t, "recorded"), replay.Options{})
	found := 0
	for _, e := range tl.Events {
		if e.Kept == nil {
			continue
		}
		if found++; *e.Kept != want {
			t.Errorf("event %d: %+v, the boundary names %+v", e.N, *e.Kept, want)
		}
	}
	must.Equal(t, found, 1)
}

// TestSegmentKept: head and tail are the kept messages, the anchor is the summary; a compaction that keeps nothing has
// no segment.
func TestSegmentKept(t *testing.T) {
	conv := load(t, "../testdata/sessions/big.jsonl").Main
	rec := must.Get(replay.NewRecord(conv))(t)
	memory := "stages: [session_memory: {min_tokens: 5000, max_tokens: 20000}, autocompact]"
	for _, text := range []string{memory, "stages: [autocompact: {summary: [fixed: 5000]}]"} {
		p := written(t, text)
		tl := must.Get(rec.Replay(p, replay.Options{}))(t)
		v := must.Get(rec.ViewAt(p, replay.Options{}, len(conv.Requests)+1))(t)
		uuids := map[string]int{}
		for m := range conv.Messages {
			uuids[conv.Messages[m].UUID] = m
		}
		kept, marked := 0, 0
		for _, e := range tl.Events {
			if e.Kind != policy.KindSummarize {
				continue
			}
			if e.Kept == nil {
				if e.Detail["kept_messages"] > 0 {
					t.Errorf("event %d keeps %d messages and has no segment", e.N, e.Detail["kept_messages"])
				}
				continue
			}
			kept++
			head, okHead := uuids[e.Kept.Head]
			tail, okTail := uuids[e.Kept.Tail]
			if n := e.Detail["kept_messages"]; !okHead || !okTail || head > tail || tail-head+1 < n || n == 0 || !strings.HasPrefix(e.Kept.Anchor, "synthetic-") {
				t.Errorf("event %d: %+v, %d messages", e.N, *e.Kept, n)
			}
		}
		for _, m := range diff.Marks(v) {
			if m.Head != "" {
				marked++
			}
		}
		if want := text == memory; (kept > 0) != want || marked != kept {
			t.Errorf("%s: %d segments, %d marks", text, kept, marked)
		}
	}
}
