package replay_test

import (
	"fmt"
	"testing"

	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/replay"
)

// TestRereads counts a file that is read again soon after a recorded compaction, once, and no other.
func TestRereads(t *testing.T) {
	record := func(compacted bool, then ...string) (*replay.Record, replay.Rereads) {
		s := newScript()
		at, plain := 20000, false
		reads := func(paths ...string) {
			for _, path := range paths {
				id := fmt.Sprint("t", len(s.lines))
				call := read(id)
				in := map[string]any{"file_path": path}
				if plain = !plain; !plain { // the other way is to read the input again
					in["pages"] = "1"
				}
				call["input"] = in
				s.answer(context(at), call)
				s.result(id, 4000)
				at += 1200
			}
		}
		s.user(40)
		reads("a.go", "b.go", "c.go")
		if compacted {
			s.boundary("auto", at, 400)
		}
		reads(then...)
		s.answer(context(at), text(40))
		rec := must.Get(replay.NewRecord(s.load(t)))(t)
		again := must.Get(rec.Rereads())(t)
		return rec, again
	}
	if _, got := record(false, "a.go", "b.go"); got != (replay.Rereads{}) {
		t.Errorf("without a compaction: %+v", got)
	}
	rec, got := record(true, "a.go", "new.go", "new.go", "a.go", "b.go")
	weight := 0
	for m := range rec.Conv.Messages { // the results are alike
		if msg := &rec.Conv.Messages[m]; len(msg.Blocks) > 0 && msg.Blocks[0].Text.Bytes == 4000 {
			weight = max(weight, rec.Cal.Block(m, 0))
		}
	}
	if got.Files != 2 || got.Tokens < weight || got.Tokens > 2*weight || got.Carried < 4*got.Tokens/2 || got.Carried > 5*got.Tokens {
		t.Errorf("of results of up to %d: %+v", weight, got) // a.go is carried by 5 more requests, b.go by 1
	}
	var late []string
	for i := range 30 {
		late = append(late, fmt.Sprint(i))
	}
	if _, got := record(true, append(late[:29:29], "a.go")...); got.Files != 1 {
		t.Errorf("in the 30th request: %+v", got)
	}
	if _, got := record(true, append(late, "a.go")...); got.Files != 0 {
		t.Errorf("in the 31st request: %+v", got)
	}
}
