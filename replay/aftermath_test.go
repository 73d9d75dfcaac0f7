package replay_test

import (
	"fmt"
	"testing"

	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/replay"
)

// TestAftermath counts what the requests on both sides of a compaction do, and on both sides of a request as deep in a
// session without one.
func TestAftermath(t *testing.T) {
	after := func(before, then int, compacted bool) replay.Aftermath {
		s := newScript()
		at := 20000
		s.user(40)
		for i := range before + then {
			if i == before && compacted {
				s.boundary("auto", at, 400)
				s.user(40000) // attached again: no growth before the compaction
			}
			id := fmt.Sprint("t", i)
			call := read(id)
			switch {
			case i >= before && i%2 == 0:
				call["name"], call["input"] = "Bash", map[string]any{"command": []string{"rg -n x", "go test"}[i/2%2]}
			case i < before && i%3 == 0:
				call["name"] = "Edit"
			case i < before:
				call["name"] = "Bash"
				call["input"] = map[string]any{"command": "make"}
			}
			s.answer(context(at), call)
			s.result(id, 4000)
			at += 1200
		}
		rec := must.Get(replay.NewRecord(s.load(t)))(t)
		a := must.Get(rec.Aftermath())(t)
		return a
	}
	a := after(33, 31, true)
	if c := a.Compactions[0]; a.Placebos != (replay.Aftermath{}).Placebos || c.Times != 1 || c.Edited != [2]int{10, 0} || c.Explored[0] != 0 || c.Explored[1] < 20 || c.Explored[1] > 24 || c.Grown[0] < 25000 || c.Grown[1] < 25000 || c.Grown[0] > c.Grown[1]+2000 {
		t.Errorf("around a compaction: %+v", a)
	}
	must.Equal(t, after(29, 31, true), replay.Aftermath{})
	if a := after(65, 65, false); a.Compactions != (replay.Aftermath{}).Compactions || a.Placebos[0].Times != 1 || a.Placebos[1].Times != 0 || a.Placebos[0].Edited[0] == 0 {
		t.Errorf("a placebo: %+v", a)
	}
	must.Equal(t, after(30, 30, false), replay.Aftermath{})
}
