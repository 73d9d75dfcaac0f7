package replay_test

import (
	"testing"

	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/replay"
	"github.com/ctxkit/ctxkit/replay/tokens"
)

// TestOutput: a response is billed by its recorded output tokens where these are
// right, and by what it weighs where the client wrote down those it began with,
// or none.
func TestOutput(t *testing.T) {
	must.Rows(t, `
# what | version | output | chars | counter | least | most | estimated
recorded                     | 2.1.139 | 900  | 400  | usage     | 900  | 900  | false
recorded before the fault    | 2.1.11  | 900  | 400  | usage     | 900  | 900  | false
a client that wrote the first | 2.1.29  | 1    | 4000 | usage     | 800  | 2500 | true
by another counter           | 2.1.29  | 1    | 4000 | heuristic | 1000 | 1000 | true
never below what is recorded | 2.1.29  | 5000 | 400  | heuristic | 5000 | 5000 | true
too few to hold the text     | 2.1.5   | 1    | 4000 | heuristic | 1000 | 1000 | true
`, func(what, version string, output, chars int, counter string, least, most int, estimated bool) {
		s := newScript()
		s.version = version
		s.user(400)
		u := context(20000)
		u.Output = output
		s.answer(u, text(chars))
		tl := replayed(t, s.load(t), named(t, "none"), replay.Options{Counter: counter})
		r, bill := tl.Requests[0], tl.Cost().Main
		if r.Output < least || r.Output > most || r.Estimated != estimated || (bill.Estimated == 1) != estimated {
			t.Errorf("%s: %d tokens, estimated %v (%d of the bill), want %d to %d", what, r.Output, r.Estimated, bill.Estimated, least, most)
		}
		if r.Recorded.Output != output || bill.Output != r.Output {
			t.Errorf("%s: %d recorded, %d billed", what, r.Recorded.Output, bill.Output)
		}
	})
}

// TestOutputWithoutUsage: what no line says is not nothing.
func TestOutputWithoutUsage(t *testing.T) {
	s := newScript().tell(`version 2.1.139; user 400; answer {}: text 4000`)
	for _, l := range s.lines {
		delete(l["message"].(map[string]any), "usage")
	}
	tl := replayed(t, s.load(t), named(t, "none"), replay.Options{Counter: tokens.NameHeuristic})
	if r := tl.Requests[0]; r.Output != 1000 || !r.Estimated || r.Recorded != nil {
		t.Errorf("%+v", r)
	}
}
