package session_test

import (
	"testing"

	"github.com/ctxkit/ctxkit/jsonl"
)

// TestCallsOfOneID: a tool_use has the name that its line gives it, also where another one has its id, and a result the
// name of the first, also where it comes before it.
func TestCallsOfOneID(t *testing.T) {
	named := func(id, name string) map[string]any {
		b := call(id)
		b["name"] = name
		return b
	}
	conv := load(t,
		result("r0", "", "t2"), assistant("a1", "r0", "m1", named("t1", "Read")), assistant("a2", "a1", "m2", named("t1", "Bash")),
		result("r1", "a2", "t1"), assistant("a3", "r1", "m3", named("t2", "Grep")),
	)
	got := map[string]string{}
	for m := range conv.Messages {
		for b := range conv.Messages[m].Blocks {
			if bl := &conv.Messages[m].Blocks[b]; bl.Kind == jsonl.KindToolUse {
				got[conv.Messages[m].UUID()] = bl.Name()
			}
		}
	}
	for uuid, want := range map[string]string{"a1": "Read", "a3": "Grep"} {
		if got[uuid] != want {
			t.Errorf("the tool of %s is %q, want %q (%v)", uuid, got[uuid], want, got)
		}
	}
	if name := got["a2"]; name != "" && name != "Bash" { // the second call of an id is a copy, and may be left out
		t.Errorf("the tool of a2 is %q", name)
	}
}
