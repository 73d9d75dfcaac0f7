package wire_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/replay/wire"
)

// TestAttachedBlocks: no text of an attachment of several is lost where some go to the system role.
func TestAttachedBlocks(t *testing.T) {
	file := func(w *writer) {
		w.user("u1", "go")
		w.attach("x1", `{"type":"file","filename":"/a.go","content":{"type":"text","file":{"content":"package a"}}}`)
	}
	for _, tt := range []struct {
		name, version, model string
		lines                func(w *writer)
		want                 []string
	}{
		{"a file of an older client", "2.1.260", "claude-opus-4-8", file, []string{`{"role":"user",`, "Called the Read tool", "package a"}},
		{"two messages for the system role", "2.1.332", "claude-opus-4-8", func(w *writer) {
			w.user("u1", "go")
			w.add("x1", "attachment", `"attachment":{"type":"new_kind"},"renderedRole":"system","rendered":[{"content":"first"},{"content":"second"}]`)
		}, []string{`{"role":"system","content":[{"type":"text","text":"first\n\nsecond"}]}`}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := writer{version: tt.version}
			tt.lines(&w)
			w.answer("a1", tt.model, `{"type":"text","text":"done"}`)
			got := strings.Join(w.sent(t), "\n")
			for _, want := range tt.want {
				if !strings.Contains(got, want) {
					t.Errorf("%s is not in\n%s", want, got)
				}
			}
			if tt.version == "2.1.260" && strings.Contains(got, `"role":"system"`) {
				t.Errorf("a file is sent in the system role:\n%s", got)
			}
		})
	}
}

// TestOwnReminders: reminders that older clients send and no line has: the list of skills once a process, and again after a
// compaction, and that the model has long not written down its tasks, with its tenth message. They stand before the response that the model
// gives, and not before one that the client writes itself. Their count is that of wire.Placeholders.
func TestOwnReminders(t *testing.T) {
	must.Rows(t, `
# version | lines | want
2.1.45  | paaaaaaaaaa           | todo_reminder 21
2.1.45  | paaaaaaaaa            | ""
2.1.45  | paataaaaaaaaaa        | todo_reminder 27
2.1.45  | paaTaaaaaaaaaa        | task_reminder 27
2.1.45  | paaaaaaaaaaaaaaaaaaaa | todo_reminder 21, todo_reminder 41
2.1.45  | paaaaaaaaaarp         | todo_reminder 21
2.1.76  | pa                    | skills 1
2.1.76  | parp                  | skills 3
2.1.76  | parnp                 | skills 5
2.1.100 | paaaaaaaaaaaa         | ""
`, func(version, lines, want string) {
		w := writer{version: version}
		for i, kind := range lines {
			name := map[rune]string{'a': "Read", 't': "TodoWrite", 'T': "TaskCreate"}[kind]
			switch kind {
			case 'p':
				w.user(fmt.Sprint("p", i), "go")
			case 'n':
				w.answer(fmt.Sprint("n", i), "<synthetic>", `{"type":"text","text":"No response requested."}`)
			case 'r':
				w.attach(fmt.Sprint("x", i), `{"type":"hook_success","hookName":"SessionStart:resume","hookEvent":"SessionStart","content":""}`)
			default:
				w.answer(fmt.Sprint("a", i), "claude-sonnet-4-5", fmt.Sprintf(`{"type":"thinking","thinking":"hm"},{"type":"tool_use","id":"t%d","name":%q,"input":{}}`, i, name))
				w.result(fmt.Sprint("r", i), fmt.Sprint("t", i), "one")
			}
		}
		var got []string
		for i, m := range w.sent(t) {
			for _, of := range []string{"skills", "todo_reminder", "task_reminder"} {
				if strings.Contains(m, "placeholder for "+of+":") {
					got = append(got, fmt.Sprint(of, " ", i+1))
				}
			}
		}
		must.Equal(t, strings.Join(got, ", "), want, version, lines)
		w.answer("z", "claude-sonnet-4-5", `{"type":"text","text":"done"}`)
		f := must.Get(session.LoadReader("test", strings.NewReader(w.String()), session.LoadOptions{}))(t)
		defer f.Close()
		if n, _, err := wire.Placeholders(viewOf(t, f.Main)); err != nil || n != len(got)+1 {
			t.Errorf("%s %s: %d placeholders, %v, want %d", version, lines, n, err, len(got)+1)
		}
	})
}

// TestStopsLater: what is attached of a hook at the end of a run is sent from the next prompt on by clients before 2.1.260, or
// once it is read back.
func TestStopsLater(t *testing.T) {
	const said = `Stop hook blocking error`
	must.Rows(t, `
# version | event | then | sent
2.1.240 | Stop             | ""      | false
2.1.240 | SubagentStop     | ""      | false
2.1.240 | Stop             | prompt  | true
2.1.240 | Stop             | restart | true
2.1.240 | UserPromptSubmit | ""      | true
2.1.260 | Stop             | ""      | true
`, func(version, event, then string, sent bool) {
		w := writer{version: version}
		w.user("u1", "go")
		w.answer("a1", "claude-sonnet-4-5", `{"type":"text","text":"done"}`)
		w.add("u2", "user", `"isMeta":true,"message":{"role":"user","content":"Stop hook feedback:\nno"}`)
		w.attach("x1", fmt.Sprintf(`{"type":"hook_blocking_error","hookName":"Stop","hookEvent":%q,"toolUseID":"t","blockingError":{"blockingError":"no","command":"c"}}`, event))
		w.answer("a2", "claude-sonnet-4-5", `{"type":"text","text":"really"}`)
		switch then {
		case "prompt":
			w.user("u3", "on")
		case "restart":
			w.attach("x3", `{"type":"hook_success","hookName":"SessionStart:resume","hookEvent":"SessionStart","content":""}`)
		}
		if got := strings.Join(w.sent(t), "\n"); strings.Contains(got, said) != sent || !strings.Contains(got, "Stop hook feedback") {
			t.Error(got)
		}
	})
}

// TestFilesApart: files and memories are no part of the results before them where the model takes messages of the system role,
// and two in a row are texts of several messages. A file that no result is before begins two messages.
func TestFilesApart(t *testing.T) {
	sent := func(version, model string) string {
		w := writer{version: version}
		file := func(uuid, name string) {
			w.add(uuid, "attachment", fmt.Sprintf(`"attachment":{"type":"file","filename":%q},"renderedRole":"user","rendered":[{"content":"<system-reminder>\ncalled %[1]s\n</system-reminder>"},{"content":"<system-reminder>\nresult %[1]s\n</system-reminder>"}]`, name))
		}
		w.user("u1", "go")
		w.answer("a1", model, `{"type":"tool_use","id":"t1","name":"Read","input":{}}`)
		w.result("u2", "t1", "one")
		file("x1", "A")
		w.answer("a2", model, `{"type":"text","text":"done"}`)
		file("x2", "B")
		file("x3", "C")
		w.user("u3", "on")
		w.answer("a3", model, `{"type":"text","text":"done"}`)
		return strings.ReplaceAll(strings.Join(w.sent(t), "\n"), ",\n", "\n")
	}
	const between = `]}` + "\n" + `{"role":"user","content":[`
	text := func(what, end string) string {
		return `{"type":"text","text":"<system-reminder>\n` + what + `\n</system-reminder>` + end + `"}`
	}
	for _, tt := range []struct {
		version, model string
		want           []string
	}{
		{"2.1.310", "claude-opus-4-8", []string{`"content":"one\n\n<system-reminder>\ncalled A\n`, text("called B", "") + between + text("result B", "") + "," + text("called C", "") + "," + text("result C", `\n`)}},
		{"2.1.332", "claude-sonnet-4-5", []string{`"content":"one\n\n<system-reminder>\ncalled A\n`, text("called B", "") + between + text("result B", "") + "," + text("called C", "") + "," + text("result C", `\n`)}},
		{"2.1.332", "claude-opus-4-8", []string{`"content":"one"},` + text("called A", `\n`) + "," + text("result A", ""), text("called B", "") + between + text("result B", `\n`) + "," + text("called C", `\n`) + "," + text("result C", `\n`)}},
	} {
		got := sent(tt.version, tt.model)
		for _, want := range tt.want {
			if !strings.Contains(got, want) {
				t.Errorf("%s, %s: %s is not in\n%s", tt.version, tt.model, want, got)
			}
		}
	}
}

// TestSystemTurns: which models take messages of the system role, by their ids.
func TestSystemTurns(t *testing.T) {
	must.Rows(t, `
claude-opus-4-8          | true
claude-opus-4-8@20260101 | true
claude-opus-4-8[1m]      | true
claude-sonnet-5          | true
us.anthropic.claude-opus-4-8-v1:0 | true
claude-opus-4-7          | false
claude-opus-4@20250514   | false
gpt-5-codex              | false
glm-5                    | false
`, func(model string, want bool) {
		w := writer{version: "2.1.332"}
		w.user("u1", "go")
		w.add("x1", "attachment", `"attachment":{"type":"new_kind"},"renderedRole":"system","rendered":[{"content":"first"}]`)
		w.answer("a1", model, `{"type":"text","text":"done"}`)
		must.Equal(t, strings.Contains(strings.Join(w.sent(t), "\n"), `"role":"system"`), want, model)
	})
}

// TestLeads: what a hook said, and a note of the client, are reminders with what their lines say that stands before them. What
// a person typed is not, nor are lines that say nothing of it.
func TestLeads(t *testing.T) {
	must.Rows(t, `
# members of the line | what is sent
"\"isMeta\":true,\"hookText\":true,\"hookTextLead\":\"A hook said:\"," | <system-reminder>\nA hook said:\nno\n</system-reminder>
"\"isMeta\":true,\"hookText\":true,\"hookTextLead\":7,"                | <system-reminder>\nno\n</system-reminder>
"\"isMeta\":true,\"hookText\":true,\"hookTextLead\":\"two\\nlines\","  | <system-reminder>\nno\n</system-reminder>
"\"isMeta\":true,\"ownNote\":true,"                                    | <system-reminder>\nno\n</system-reminder>
"\"isMeta\":true,"                                                     | "\"text\":\"no"
"\"hookText\":true,\"hookTextLead\":\"A hook said:\","                 | "\"text\":\"no"
`, func(members, want string) {
		l := writer{version: "2.1.332"}
		l.user("u1", "Stop hook feedback:\nwhat does this mean?")
		l.add("u2", "user", members+`"message":{"role":"user","content":"no"}`)
		if got := strings.Join(l.sent(t), "\n"); !strings.Contains(got, want) || !strings.Contains(got, `"text":"Stop hook feedback:\nwhat does this mean?\n"`) {
			t.Errorf("%s: %s", members, got)
		}
	})
}

// TestPlaceholders: the count is of the placeholders in the body of the last request.
func TestPlaceholders(t *testing.T) {
	for _, version := range []string{"2.1.119", "2.1.150", "2.1.210", "2.1.260"} {
		w := writer{version: version}
		w.user("u1", "go")
		for i, a := range []string{
			`{"type":"mcp_instructions_delta","addedNames":[],"addedBlocks":[],"removedNames":["shop"]}`,
			`{"type":"mcp_instructions_delta","addedNames":["shop"],"addedBlocks":["## shop"],"removedNames":["inn"]}`,
			`{"type":"compact_file_reference","filename":"/a.go"}`, `{"type":"plan_mode","planFilePath":"/p.md"}`, `{"type":"task_reminder","content":[]}`,
			`{"type":"file","filename":"/a.go","content":{"type":"text","file":{"content":"package a"}}}`,
			`{"type":"queued_command","prompt":"be short","commandMode":"prompt"}`,
			`{"type":"hook_success","content":"note","hookName":"Stop","hookEvent":"Stop"}`,
		} {
			w.attach(fmt.Sprint("x", i), a)
		}
		f := must.Get(session.LoadReader("test", strings.NewReader(w.String()), session.LoadOptions{}))(t)
		defer f.Close()
		want := strings.Count(strings.Join(w.sent(t), "\n"), "[placeholder for ")
		got, _, err := wire.Placeholders(viewOf(t, f.Main))
		if err != nil || got != want {
			t.Errorf("%s: %d placeholders, %v, want %d", version, got, err, want)
		}
		w.answer("a1", "claude-sonnet-4-5", `{"type":"text","text":"done"}`)
		w.attach("y1", `{"type":"plan_mode"}`)
		again := must.Get(session.LoadReader("test", strings.NewReader(w.String()), session.LoadOptions{}))(t)
		defer again.Close()
		if got, _, err := wire.Placeholders(viewOf(t, again.Main)); err != nil || got != want {
			t.Errorf("%s: %d placeholders at the last request, %v, want %d", version, got, err, want)
		}
	}
}

// TestLongMessages: a message of four times the parts takes as long as four messages, and not four times as long, as work does
// that grows with the square. Both are measured over the same time, so that a busy machine slows both.
func TestLongMessages(t *testing.T) {
	must.BeCI(t)
	for name, add := range map[string]func(w *writer, i int){
		"prompts": func(w *writer, i int) { w.user(fmt.Sprint("p", i), "on") },
		"attachments": func(w *writer, i int) {
			w.attach(fmt.Sprint("x", i), `{"type":"nested_memory","path":"/m","content":{"content":"rules"}}`)
		},
		"hooks": func(w *writer, i int) {
			w.attach(fmt.Sprint("x", i), `{"type":"hook_success","content":"note","hookName":"PostToolUse:Read","toolUseID":"t1","hookEvent":"PostToolUse"}`)
		},
		"results":                    func(w *writer, i int) { w.result(fmt.Sprint("r", i), "t1", "one") },
		"results behind attachments": nil,
	} {
		took := func(n, times int) time.Duration {
			w := writer{version: "2.1.150"}
			w.user("u1", "go")
			w.answer("a1", "claude-sonnet-4-5", `{"type":"tool_use","id":"t1","name":"Read","input":{}}`)
			w.result("u2", "t1", "one")
			if add != nil {
				for i := range n {
					add(&w, i)
				}
			} else { // attachments whose lines are above those of all results that they hang on
				above := writer{version: w.version, parent: fmt.Sprintf(`"r%d"`, n-1)}
				calls := make([]string, n)
				for i := range n {
					above.attach(fmt.Sprint("x", i), `{"type":"nested_memory","path":"/m","content":{"content":"rules"}}`)
					calls[i] = fmt.Sprintf(`{"type":"tool_use","id":"c%d","name":"Read","input":{}}`, i)
				}
				w.answer("a2", "claude-sonnet-4-5", strings.Join(calls, ","))
				for i := range n {
					w.result(fmt.Sprint("r", i), fmt.Sprint("c", i), "one")
				}
				text := above.String() + w.String()
				w.Reset()
				w.WriteString(text)
			}
			start := time.Now()
			for range times {
				w.sent(t)
			}
			return time.Since(start)
		}
		var four, one time.Duration
		for range 5 { // a measurement can be off
			if four, one = took(4_000, 4), took(16_000, 1); one <= 2*four {
				break
			}
		}
		if one > 2*four {
			t.Errorf("%s: %s for four messages of 4,000, %s for one of 16,000", name, four, one)
		}
	}
}
