package wire_test

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/replay/wire"
)

// writer writes lines of one version, each under the one before.
type writer struct {
	strings.Builder
	version, parent string
	n               int
}

func (w *writer) add(uuid, kind, rest string) {
	w.n++
	if !strings.Contains(rest, `"timestamp"`) {
		rest = fmt.Sprintf(`"timestamp":"2026-01-01T00:00:%02dZ",`, w.n) + rest
	}
	fmt.Fprintf(w, `{"type":%q,"uuid":%q,"parentUuid":%s,"sessionId":"s","version":%q,%s}`+"\n", kind, uuid, cmp.Or(w.parent, "null"), w.version, rest)
	w.parent = fmt.Sprintf("%q", uuid)
}

// answer is a response with some blocks.
func (w *writer) answer(uuid, model, blocks string) {
	w.add(uuid, "assistant", fmt.Sprintf(`"message":{"id":"m%s","role":"assistant","model":%q,"usage":{"input_tokens":10},"content":[%s]}`, uuid, model, blocks))
}

func (w *writer) user(uuid, text string) {
	w.add(uuid, "user", fmt.Sprintf(`"message":{"role":"user","content":%q}`, text))
}

func (w *writer) result(uuid, call, text string) {
	w.add(uuid, "user", fmt.Sprintf(`"message":{"role":"user","content":[{"tool_use_id":%q,"type":"tool_result","content":%q}]}`, call, text))
}

func (w *writer) attach(uuid, attachment string) {
	w.add(uuid, "attachment", `"attachment":`+attachment)
}

// sent are the messages behind all lines.
func (w *writer) sent(t *testing.T) []string {
	t.Helper()
	f := must.Get(session.LoadReader("test", strings.NewReader(w.String()), session.LoadOptions{}))(t)
	defer f.Close()
	body := must.Get(wire.Model(viewOf(t, f.Main)))(t)
	return lines(t, body)
}

// TestReleases: what differs between releases in what they make of the same lines. "VERSION sends TEXT" says what is in the messages.
func TestReleases(t *testing.T) {
	must.Rows(t, `
thinking of another model is not sent
	user u1 go
	answer a1 claude-sonnet-4-5 {"type":"thinking","thinking":"hm","signature":"c2ln"},{"type":"text","text":"one"}
	user u2 on
	answer a2 claude-haiku-4-5 {"type":"text","text":"two"}
	user u3 more
	2.1.150 sends "thinking":"hm"
	2.1.160 sends {"role":"assistant","content":[{"type":"text","text":"one"}]}
a plan that the model wrote, and the client, and that the client wrote into a call
	user u1 go
	answer a1 claude-sonnet-4-5 {"type":"tool_use","id":"t1","name":"ExitPlanMode","input":{"plan":"P","a":1,"planFilePath":"/p.md"}}
	result u2 t1 accepted
	2.0.30 sends "input":{"plan":"P","a":1,"planFilePath":"/p.md"}}
	2.0.76 sends "input":{"a":1}}
	2.1.300 sends "input":{"a":1}}
	2.1.305 sends "input":{"plan":"P","a":1,"planFilePath":"/p.md"}}
a tool that is named, and a text behind it
	user u1 go
	answer a1 claude-sonnet-4-5 {"type":"tool_use","id":"t1","name":"ToolSearch","input":{}}
	add u2 user "message":{"role":"user","content":[{"tool_use_id":"t1","type":"tool_result","content":[{"type":"tool_reference","tool_name":"X"}]}]}
	2.1.68 sends "tool_name":"X"}]}]}
	2.1.76 sends "tool_name":"X"}]},{"type":"text","text":"Tool loaded."}]}
a hook around a tool
	user u1 go
	answer a1 claude-sonnet-4-5 {"type":"tool_use","id":"t1","name":"Read","input":{}}
	result u2 t1 one
	attach x1 {"type":"hook_additional_context","content":["a note"],"hookName":"PostToolUse:Read","toolUseID":"t1","hookEvent":"PostToolUse"}
	attach x2 {"type":"nested_memory","path":"/m","content":{"content":"rules"}}
	2.1.225 sends "content":"one\n\n<system-reminder>\nContents of /m:\n\nrules\n</system-reminder>"},{"type":"text","text":"<system-reminder>\nPostToolUse:Read hook additional context: a note\n</system-reminder>"}]}
	2.1.240 sends "content":"one\n\n<system-reminder>\nPostToolUse:Read hook additional context: a note\n</system-reminder>\n\n<system-reminder>\nContents of /m:\n\nrules\n</system-reminder>"}]}
read back
	user u1 go
	answer a1 claude-sonnet-4-5 {"type":"tool_use","id":"t1","name":"Read","input":{}}
	result u2 t1 one
	attach x1 {"type":"hook_additional_context","content":["a note"],"hookName":"PostToolUse:Read","toolUseID":"t1","hookEvent":"PostToolUse"}
	attach x2 {"type":"nested_memory","path":"/m","content":{"content":"rules"}}
	answer a2 claude-sonnet-4-5 {"type":"text","text":"done"}
	attach x3 {"type":"hook_success","hookName":"SessionStart:resume","hookEvent":"SessionStart","content":""}
	user u3 on
	2.1.225 sends "content":"one\n\n<system-reminder>\nPostToolUse:Read hook additional context: a note\n</system-reminder>\n\n<system-reminder>\nContents of /m:\n\nrules\n</system-reminder>"}]}
a queued prompt, and with other words
	user u1 go
	answer a1 claude-sonnet-4-5 {"type":"tool_use","id":"t1","name":"Read","input":{}}
	result u2 t1 one
	attach x1 {"type":"queued_command","prompt":"be short","commandMode":"prompt"}
	2.1.119 sends one\n\n<system-reminder>\n[placeholder for queued_command: 52 characters of the client's own, on no line of the session]\nbe short\n[placeholder for queued_command: 109 characters of the client's own, on no line of the session]\n</system-reminder>
	2.1.210 sends one\n\n<system-reminder>\n[placeholder for queued_command: 52 characters of the client's own, on no line of the session]\nbe short\n[placeholder for queued_command: 230 characters of the client's own, on no line of the session]\n</system-reminder>
a server that left, and with words behind
	user u1 go
	attach x1 {"type":"mcp_instructions_delta","addedNames":[],"addedBlocks":[],"removedNames":["shop"]}
	2.1.119 sends <system-reminder>\n[placeholder for mcp_instructions_delta withdrawn: 87 characters of the client's own, on no line of the session]\nshop\n</system-reminder>
	2.1.150 sends <system-reminder>\n[placeholder for mcp_instructions_delta withdrawn: 87 characters of the client's own, on no line of the session]\nshop\n[placeholder for mcp_instructions_delta withdrawn: 118 characters of the client's own, on no line of the session]\n</system-reminder>
texts of one message end their lines
	user u1 one
	user u2 two
	2.1.77 sends "text":"one"},{"type":"text","text":"two"}
	2.1.80 sends "text":"one\n"},{"type":"text","text":"two"}
`, func(name string, steps []string) {
		told := slices.IndexFunc(steps, func(s string) bool { return s[0] == '2' })
		for _, step := range steps[told:] {
			version, want, _ := strings.Cut(step, " sends ")
			w := writer{version: version}
			for _, step := range steps[:told] {
				w.tell(t, step)
			}
			if got := strings.Join(w.sent(t), "\n"); !strings.Contains(got, want) {
				t.Errorf("%s, %s: %s is not in\n%s", name, version, want, got)
			}
		}
	})
}

// TestResultsOfOneMoment: parallel results of one moment are in the order of the calls once a new process has read them.
func TestResultsOfOneMoment(t *testing.T) {
	const at = `"timestamp":"2026-01-01T00:00:59.%03dZ","message":{"role":"user","content":[{"tool_use_id":"t%d","type":"tool_result","content":"r%d"}]}`
	must.Rows(t, `
# version | again | want
2.1.119 | false | [3, 2, 4, 1]
2.1.119 | true  | [2, 3, 4, 1]
2.1.280 | true  | [3, 2, 4, 1]
`, func(version string, again bool, want []int) {
		w := writer{version: version}
		w.user("u0", "go")
		for n := 1; n <= 4; n++ {
			w.add(fmt.Sprint("a", n), "assistant", fmt.Sprintf(`"message":{"id":"m1","role":"assistant","model":"claude-sonnet-4-5","usage":{"input_tokens":10},"content":[{"type":"tool_use","id":"t%d","name":"Bash","input":{}}]}`, n))
		}
		must.Rows(t, `
3 | 1
2 | 1
4 | 2
1 | 3
`, func(n, ms int) {
			w.parent = fmt.Sprintf("%q", fmt.Sprint("a", n))
			w.add(fmt.Sprint("r", n), "user", fmt.Sprintf(at, ms, n, n))
		})
		w.answer("a9", "claude-sonnet-4-5", `{"type":"text","text":"done"}`)
		if again {
			w.attach("x3", `{"type":"hook_success","hookName":"SessionStart:resume","hookEvent":"SessionStart","content":""}`)
		}
		w.user("u9", "on")
		var order []int
		for _, part := range strings.Split(w.sent(t)[2], `"content":"r`)[1:] {
			order = append(order, int(part[0]-'0'))
		}
		must.Equal(t, order, want, version, again)
	})
}

// TestDroppedResponse: attachments on both sides of a response that was interrupted in its thinking, which is not sent. The
// one behind it is a part of the result before it from 2.1.280 on; before that what is behind it is a message of its own.
func TestDroppedResponse(t *testing.T) {
	const reminder = `{"type":"hook_success","hookName":"Stop","content":"%d left"}`
	const wrapped = `<system-reminder>\nStop hook success: %d left\n</system-reminder>`
	result := func(text string) string {
		return `{"role":"user","content":[{"tool_use_id":"t1","type":"tool_result","content":"` + text + `"}`
	}
	first, second := fmt.Sprintf(wrapped, 1), fmt.Sprintf(wrapped, 2)
	for version, want := range map[string]string{
		"2.1.260": result(`one\n\n`+first) + `]}` + "\n" + `{"role":"user","content":[{"type":"text","text":"` + second + `\n"},{"type":"text","text":"go on"}]}`,
		"2.1.332": result(`one\n\n`+first+`\n\n`+second) + `,{"type":"text","text":"go on"}]}`,
	} {
		l := writer{version: version}
		add := l.add
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
		if got := strings.Join(l.sent(t), "\n"); !strings.Contains(got, want) {
			t.Errorf("%s: %s is not in\n%s", version, want, got)
		}
	}
}

// tell writes a line: "user UUID TEXT", "answer UUID MODEL BLOCKS", "result UUID CALL TEXT", "attach UUID ATTACHMENT" or "add UUID KIND REST".
func (w *writer) tell(t *testing.T, step string) {
	f := strings.SplitN(step, " ", 4)
	rest := strings.Join(f[2:], " ")
	switch f[0] {
	case "user":
		w.user(f[1], rest)
	case "answer":
		w.answer(f[1], f[2], f[3])
	case "result":
		w.result(f[1], f[2], f[3])
	case "attach":
		w.attach(f[1], rest)
	case "add":
		w.add(f[1], f[2], f[3])
	default:
		t.Fatalf("no step: %s", step)
	}
}
