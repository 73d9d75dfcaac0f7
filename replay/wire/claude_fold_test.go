package wire

import (
	"testing"

	"github.com/ctxkit/ctxkit/jsonl/must"
)

// TestFolded holds how clients write reminders into results, as the code of 2.1.332 does.
func TestFolded(t *testing.T) {
	must.Rows(t, `
"\"said\\n\""      | "\"said\\n\\none\\n\\ntwo\""
"\"\""             | "\"one\\n\\ntwo\""
[{"type":"text","text":"said\n"}] | [{"type":"text","text":"said\n\n"},{"type":"text","text":"one\n"},{"type":"text","text":"two\n"}]
[{"type":"image"}] | [{"type":"image"},{"type":"text","text":"one\n"},{"type":"text","text":"two\n"}]
`, func(result, want string) {
		got := folded([]byte(`{"type":"tool_result","content":`+result+`,"tool_use_id":"a"}`), []string{"one", "two\n"})
		must.Equal(t, string(got), `{"type":"tool_result","content":`+want+`,"tool_use_id":"a"}`, result)
	})
}
