package session_test

import (
	"testing"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/session"
)

// TestCallsOfOneID: a tool_use has the name that its line gives it, also where one of another conversation has its id, and
// a result that of its own conversation's, also where it comes before the call.
func TestCallsOfOneID(t *testing.T) {
	named := func(id, name string) line { return call(id).with("name", name) }
	f := loadText(t, file(
		transcript(`result r0 - t2`), assistant("a1", "r0", "m1", named("t1", "Read")), transcript(`result r1 a1 t1`), assistant("a3", "r1", "m3", named("t2", "Grep")),
		transcript(`user s1 - look isSidechain=true`), side(assistant("s2", "s1", "m4", named("t1", "Bash"))),
		transcript(`result s3 s2 t1 isSidechain=true`),
	), session.LoadOptions{})
	got := map[string]string{}
	for _, conv := range f.Conversations() {
		for m := range conv.Messages {
			for b := range conv.Messages[m].Blocks {
				switch bl := &conv.Messages[m].Blocks[b]; bl.Kind {
				case jsonl.KindToolUse:
					got[conv.Messages[m].UUID] = bl.Name
				case jsonl.KindToolResult:
					got[conv.Messages[m].UUID] = conv.ToolName(bl.ID)
				}
			}
		}
	}
	same(t, map[string]string{"a1": "Read", "r1": "Read", "a3": "Grep", "r0": "Grep", "s2": "Bash", "s3": "Bash"}, got)
}
