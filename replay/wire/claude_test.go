package wire_test

import (
	"cmp"
	"fmt"
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

// TestReleases: what differs between releases in what they make of the same lines.
func TestReleases(t *testing.T) {
	const call = `{"type":"tool_use","id":"%s","name":"%s","input":{%s}}`
	foreign := func(w *writer) {
		w.user("u1", "go")
		w.answer("a1", "claude-sonnet-4-5", `{"type":"thinking","thinking":"hm","signature":"c2ln"},{"type":"text","text":"one"}`)
		w.user("u2", "on")
		w.answer("a2", "claude-haiku-4-5", `{"type":"text","text":"two"}`)
		w.user("u3", "more")
	}
	plan := func(w *writer) {
		w.user("u1", "go")
		w.answer("a1", "claude-sonnet-4-5", fmt.Sprintf(call, "t1", "ExitPlanMode", `"plan":"# P","a":1,"planFilePath":"/p.md"`))
		w.result("u2", "t1", "accepted")
	}
	found := func(w *writer) {
		w.user("u1", "go")
		w.answer("a1", "claude-sonnet-4-5", fmt.Sprintf(call, "t1", "ToolSearch", ""))
		w.add("u2", "user", `"message":{"role":"user","content":[{"tool_use_id":"t1","type":"tool_result","content":[{"type":"tool_reference","tool_name":"X"}]}]}`)
	}
	hook := func(again bool) func(w *writer) {
		return func(w *writer) {
			w.user("u1", "go")
			w.answer("a1", "claude-sonnet-4-5", fmt.Sprintf(call, "t1", "Read", ""))
			w.result("u2", "t1", "one")
			w.attach("x1", `{"type":"hook_additional_context","content":["a note"],"hookName":"PostToolUse:Read","toolUseID":"t1","hookEvent":"PostToolUse"}`)
			w.attach("x2", `{"type":"nested_memory","path":"/m","content":{"content":"rules"}}`)
			if again {
				w.answer("a2", "claude-sonnet-4-5", `{"type":"text","text":"done"}`)
				w.attach("x3", `{"type":"hook_success","hookName":"SessionStart:resume","hookEvent":"SessionStart","content":""}`)
				w.user("u3", "on")
			}
		}
	}
	const memory, note = `<system-reminder>\nContents of /m:\n\nrules\n</system-reminder>`, `<system-reminder>\nPostToolUse:Read hook additional context: a note\n</system-reminder>`
	queued := func(w *writer) {
		w.user("u1", "go")
		w.answer("a1", "claude-sonnet-4-5", fmt.Sprintf(call, "t1", "Read", ""))
		w.result("u2", "t1", "one")
		w.attach("x1", `{"type":"queued_command","prompt":"be short","commandMode":"prompt"}`)
	}
	around := func(before, behind int) string {
		return fmt.Sprintf(`one\n\n<system-reminder>\n[placeholder for queued_command: %d characters of the client's own, on no line of the session]\nbe short\n[placeholder for queued_command: %d characters of the client's own, on no line of the session]\n</system-reminder>`, before, behind)
	}
	gone := func(w *writer) {
		w.user("u1", "go")
		w.attach("x1", `{"type":"mcp_instructions_delta","addedNames":[],"addedBlocks":[],"removedNames":["shop"]}`)
	}
	withdrawn := func(behind string) string {
		return `<system-reminder>\n[placeholder for mcp_instructions_delta withdrawn: 87 characters of the client's own, on no line of the session]\nshop` + behind + `\n</system-reminder>`
	}
	commands := func(w *writer) {
		w.user("u1", "one")
		w.user("u2", "two")
	}
	for _, tt := range []struct {
		name, version string
		lines         func(w *writer)
		want          string
	}{
		{"thinking of another model", "2.1.150", foreign, `"thinking":"hm"`},
		{"is not sent", "2.1.160", foreign, `{"role":"assistant","content":[{"type":"text","text":"one"}]}`},
		{"a plan that the model wrote", "2.0.30", plan, `"input":{"plan":"# P","a":1,"planFilePath":"/p.md"}}`},
		{"and the client", "2.0.76", plan, `"input":{"a":1}}`},
		{"a tool that is named", "2.1.68", found, `"tool_name":"X"}]}]}`},
		{"a text behind it", "2.1.76", found, `"tool_name":"X"}]},{"type":"text","text":"Tool loaded."}]}`},
		{"the plan that the client wrote into a call", "2.1.300", plan, `"input":{"a":1}}`},
		{"stays", "2.1.305", plan, `"input":{"plan":"# P","a":1,"planFilePath":"/p.md"}}`},
		{"a hook around a tool", "2.1.225", hook(false), `"content":"one\n\n` + memory + `"},{"type":"text","text":"` + note + `"}]}`},
		{"read back", "2.1.225", hook(true), `"content":"one\n\n` + note + `\n\n` + memory + `"}]}`},
		{"a hook around a tool, later", "2.1.240", hook(false), `"content":"one\n\n` + note + `\n\n` + memory + `"}]}`},
		{"a queued prompt", "2.1.119", queued, around(52, 109)},
		{"with other words", "2.1.210", queued, around(52, 230)},
		{"a server that left", "2.1.119", gone, withdrawn("")},
		{"with words behind", "2.1.150", gone, withdrawn(`\n[placeholder for mcp_instructions_delta withdrawn: 118 characters of the client's own, on no line of the session]`)},
		{"texts of one message", "2.1.77", commands, `"text":"one"},{"type":"text","text":"two"}`},
		{"end their lines", "2.1.80", commands, `"text":"one\n"},{"type":"text","text":"two"}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := writer{version: tt.version}
			tt.lines(&w)
			if got := strings.Join(w.sent(t), "\n"); !strings.Contains(got, tt.want) {
				t.Errorf("%s: %s is not in\n%s", tt.version, tt.want, got)
			}
		})
	}
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
