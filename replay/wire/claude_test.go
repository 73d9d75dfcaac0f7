package wire_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/replay/wire"
)

// TestDroppedResponse: attachments on both sides of a response that was interrupted in its thinking, which is not sent. The
// one behind it is a part of the result before it from 2.1.280 on.
func TestDroppedResponse(t *testing.T) {
	const reminder = `{"type":"hook_success","hookName":"Stop","content":"%d left"}`
	const wrapped = `<system-reminder>\nStop hook success: %d left\n</system-reminder>`
	result := func(text string) string {
		return `{"role":"user","content":[{"tool_use_id":"t1","type":"tool_result","content":"` + text + `"}`
	}
	first, second := fmt.Sprintf(wrapped, 1), fmt.Sprintf(wrapped, 2)
	for version, want := range map[string]string{
		"2.1.260": result(`one\n\n`+first) + `,{"type":"text","text":"` + second + `\n"},{"type":"text","text":"go on"}]}`,
		"2.1.332": result(`one\n\n`+first+`\n\n`+second) + `,{"type":"text","text":"go on"}]}`,
	} {
		var b strings.Builder
		parent := "null"
		add := func(uuid, kind, rest string) {
			fmt.Fprintf(&b, `{"type":%q,"uuid":%q,"parentUuid":%s,"sessionId":"s","version":%q,%s}`+"\n", kind, uuid, parent, version, rest)
			parent = fmt.Sprintf("%q", uuid)
		}
		attach := func(uuid string, n int) {
			rest := `"attachment":` + fmt.Sprintf(reminder, n)
			if version == "2.1.332" {
				rest += `,"rendered":[{"content":"` + fmt.Sprintf(wrapped, n) + `"}],"renderedRole":"user"`
			}
			add(uuid, "attachment", rest)
		}
		add("u1", "user", `"message":{"role":"user","content":"go"}`)
		add("a1", "assistant", `"message":{"id":"m1","role":"assistant","model":"claude-sonnet-4-5","usage":{"input_tokens":10},"content":[{"type":"tool_use","id":"t1","name":"Bash","input":{}}]}`)
		add("u2", "user", `"message":{"role":"user","content":[{"tool_use_id":"t1","type":"tool_result","content":"one"}]}`)
		attach("x1", 1)
		add("a2", "assistant", `"message":{"id":"m2","role":"assistant","model":"claude-sonnet-4-5","usage":{"input_tokens":10},"content":[{"type":"thinking","thinking":"","signature":""}]}`)
		add("u3", "user", `"message":{"role":"user","content":"go on"}`)
		attach("x2", 2)
		f, err := session.LoadReader("test", strings.NewReader(b.String()), session.LoadOptions{})
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		body, err := wire.Model(viewOf(t, f.Main))
		if err != nil {
			t.Fatal(err)
		}
		if got := lines(t, body); !slices.Contains(got, want) {
			t.Errorf("%s: %s is not in\n%s", version, want, strings.Join(got, "\n"))
		}
	}
}
