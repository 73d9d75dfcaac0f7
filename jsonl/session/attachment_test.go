package session_test

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/jsonl/session"
)

// TestAttachments: what of an attachment is sent: its text, and the length of the words around it.
func TestAttachments(t *testing.T) {
	must.Rows(t, `
# payload | text | around
{"content":[],"itemCount":0,"type":"task_reminder"} | ""                             | 516
{"content":[{"blocks":[],"description":"Write it all", "id":"1", "status":"completed", "subject":"Write"},{"id":"12", "status":"pending", "subject":"Test"}],"itemCount":2,"type":"task_reminder"} | "\n\nHere are the existing tasks:\n\n#1. [completed] Write\n#12. [pending] Test" | 516
{"content":[{"activeForm":"Writing", "content":"Write", "status":"in_progress"}],"type":"todo_reminder"} | "\n\nHere are the existing contents of your todo list:\n\n[1. [in_progress] Write]" | 516
{"content":[{"id":7}],"type":"task_reminder"} | ""                             | 516
{"files":[{"diagnostics":[{"code":"Undeclared", "message":"undefined: x", "range":{"start":{"character":3,"line":9}},"severity":"Error", "source":"compiler"},{"code":{"value":"v"},"message":"odd", "severity":"none"}],"uri":"/src/a.go"}],"type":"diagnostics"} | "<new-diagnostics>The following new diagnostic issues were detected:\n\na.go:\n  ✘ [Line 10:4] undefined: x [Undeclared] (compiler)\n  ● [Line 1:1] odd [map[value:v]]</new-diagnostics>" | 37
{"files":[{"diagnostics":[{"message":"{é*5000}"}],"uri":"a.go"}],"type":"diagnostics"} | "<new-diagnostics>The following new diagnostic issues were detected:\n\na.go:\n  ● [Line 1:1] {é*3967}…[truncated]</new-diagnostics>" | 37
{"files":"odd", "type":"diagnostics"} | "\"odd\""                      | 37
{"filename":"a.go", "snippet":"1\tpackage a", "type":"edited_text_file"} | "1\tpackage a"                 | 404
{"displayPath":"a.go", "filename":"a.go", "type":"compact_file_reference"} | ""                             | 185
{"content":{"file":{"content":"package a", "filePath":"a.go"},"type":"text"},"filename":"a.go", "type":"file"} | package a                      | 517
{"content":{"file":{"base64":"aa"},"type":"image"},"filename":"a.go", "type":"file"} | ""                             | 104
{"planFilePath":"/p.md", "reminderType":"full", "type":"plan_mode"} | /p.md                          | 4722
{"planFilePath":"/p.md", "reminderType":"sparse", "type":"plan_mode"} | /p.md                          | 314
{"planFilePath":"/p.md", "type":"plan_mode_exit"} | ""                             | 137
{"planExists":true,"planFilePath":"/p.md", "type":"plan_mode_exit"} | /p.md                          | 197
{"type":"auto_mode_exit"}        | ""                             | 232
{"newDate":"2026-01-02", "type":"date_change"} | 2026-01-02                     | 157
{"filename":"a.go", "type":"opened_file_in_ide"} | a.go                           | 128
{"commandMode":"prompt", "prompt":"and the tests", "type":"queued_command"} | and the tests                  | 200
{"commandMode":"prompt", "prompt":[{"text":"and", "type":"text"},{"text":"this", "type":"text"}],"type":"queued_command"} | "and\nthis"                    | 200
{"text":"<total_tokens>1</total_tokens>", "type":"total_tokens_reminder"} | <total_tokens>1</total_tokens> | 37
{"content":"- one: a skill", "names":["one"],"type":"skill_listing"} | - one: a skill                 | 103
{"addedLines":[],"addedNames":["A", "B"],"type":"deferred_tools_delta"} | "A\nB"                         | 188
{"addedLines":["- a: one", "- b: two"],"addedTypes":["a"],"type":"agent_listing_delta"} | "- a: one\n- b: two"           | 216
{"content":["one", "two"],"type":"hook_additional_context"} | "one\ntwo"                     | 63
{"content":"", "stdout":"much of it", "type":"hook_success"} | ""                             | 0
{"content":"for the screen only", "type":"hook_system_message"} | ""                             | 0
{"allowedTools":["Read"],"type":"command_permissions"} | ""                             | 0
{"content":"漢字 🙂", "type":"novelty"} | 漢字 🙂                           | 37
{"content":"odd", "type":7}          | ""                             | 0
`, func(payload line, text string, around int) {
		conv := load(t, transcript(`user u1 - hello`), attachment("x1", "u1", "").with("attachment", payload).with("version", "2.1.119"), transcript(`said a1 x1 m1`))
		wantShape(t, conv, strings.Replace("u1 x1 a1", "x1", map[bool]string{true: "x1~", false: "x1"}[conv.Messages[1].Is(session.Queued)], 1))
		got, err := conv.Text(1, 0)
		if err != nil {
			t.Errorf("%v: %v", payload, err)
		}
		kind, _ := payload["type"].(string)
		if kind == "" {
			return // it is enough that it loads
		}
		same(t, kind, conv.Messages[1].Attachment, payload)
		sent := conv.Messages[1].Blocks[0].Text.UTF16
		if kind == "hook_system_message" {
			same(t, 0, sent, payload)
			return
		}
		want := len([]rune(text)) + strings.Count(text, "🙂")
		if got != text || sent != want+around {
			t.Errorf("%v: text %q, %d units; want %q, %d", payload, got, sent, text, want+around)
		}
	})
}

// TestReminderWeights: what hooks said and notices of tasks weigh with the words and tags that they are sent with.
func TestReminderWeights(t *testing.T) {
	must.Rows(t, `
# version | text | members | around
2.1.332 | no                   | {"hookText":true,"hookTextLead":"A hook said:"} | 50
2.1.332 | no                   | {"ownNote":true} | 37
2.1.332 | no                   | null                 | 0
2.1.200 | <task-notification>x | null                 | 0
2.1.210 | <task-notification>x | null                 | 494
2.1.240 | <task-notification>x | null                 | 531
`, func(version, text string, members line, around int) {
		meta := user("u1", "", text).with("isMeta", true).with("version", version)
		for name, value := range members {
			meta = meta.with(name, value)
		}
		same(t, len(text)+around, load(t, meta).Messages[0].Blocks[0].Text.UTF16, version, text, members)
	})
}

// TestUnreadableReminders: what a line says that cannot be read is named, and displaces nothing.
func TestUnreadableReminders(t *testing.T) {
	const rendered = "<system-reminder>\nsome text\n</system-reminder>"
	note := attachment("x1", "u1", "").with("version", "2.1.332").with("rendered", []any{line{"content": rendered}}).with("renderedInHumanTurn", "odd")
	for _, tt := range []struct {
		lines []any
		want  string
	}{
		{[]any{user("u1", "", "go").with("version", "2.1.332"), note}, "renderedInHumanTurn"},
		{transcript(`user u1 - no version=2.1.332 isMeta=true hookText=yes`), "hookText"},
	} {
		conv := load(t, tt.lines...)
		if len(conv.Warnings) != 1 || !strings.Contains(conv.Warnings[0].Message, tt.want) || conv.Warnings[0].Line != len(tt.lines) {
			t.Errorf("%v: warnings %v, want one of %s", tt.lines, conv.Warnings, tt.want)
		}
		if len(tt.lines) == 2 && conv.Messages[1].Blocks[0].Text.UTF16 != len(rendered) {
			t.Errorf("%d units, want those of rendered", conv.Messages[1].Blocks[0].Text.UTF16)
		}
	}
}

// TestText: the texts of blocks are fetched as they were written.
func TestText(t *testing.T) {
	conv := load(t,
		transcript(`
user u1 - "quotes \" and\n漢字 🙂"
assistant a1 u1 m1 thinking; assistant a2 a1 m1 {"data":"xyz","type":"redacted_thinking"}; called a3 a2 m1 t1; called a4 a3 m1 t2; called a5 a4 m1 t3
user r1 a5 [{"content":[{"text":"one","type":"text"},{"source":{},"type":"image"},{"text":"two","type":"text"}],"tool_use_id":"t1","type":"tool_result"},{"tool_use_id":"t2","type":"tool_result"},{"content":"","is_error":true,"tool_use_id":"t3","type":"tool_result"}]
assistant a6 r1 m2 {"type":"novelty","x":1}
`),
	)
	checkTexts(t, conv)
	must.Rows(t, `
# message | block | want
0 | 0 | "quotes \" and\n漢字 🙂"
1 | 0 | hm
1 | 2 | {"file_path":"t1.go"}
2 | 0 | "one\n\ntwo"
2 | 1 | ""
2 | 2 | ""
3 | 0 | {"type":"novelty","x":1}
`, func(message, block int, want string) {
		must.Both(conv.Text(message, block))(t, want, nil, message, block)
	})
	same(t, "Read", conv.ToolName("t1"), "tool")
	m, b, ok := conv.ToolUse("t2")
	must.Say(t, "1 3 true", m, b, ok)
	must.Say(t, "true false", conv.Messages[2].Blocks[2].IsError, conv.Messages[2].Blocks[0].IsError)
}

// TestJobs: the number of workers changes nothing.
func TestJobs(t *testing.T) {
	text := written(fuzzed())
	want := loadText(t, text, session.LoadOptions{Jobs: 1})
	got := loadText(t, text, session.LoadOptions{Jobs: 8})
	must.Say(t, "true true true", reflect.DeepEqual(got.Main.Messages, want.Main.Messages), reflect.DeepEqual(got.Main.Warnings, want.Main.Warnings), reflect.DeepEqual(got.Main.Lines, want.Main.Lines))
}

// TestRendered holds the words that stand beside an attachment (2.1.280 and later), and that one without them is not sent.
func TestRendered(t *testing.T) {
	words := []any{line{"content": "<system-reminder>\nfirst\n</system-reminder>"}, line{"content": "second"}}
	f := load(t,
		object(`{"message":{"content":"go","role":"user"},"parentUuid":null,"type":"user","uuid":"u1","version":"2.1.300"}`),
		line{"type": "attachment", "uuid": "a1", "parentUuid": "u1", "version": "2.1.300", "attachment": object(`{"content":"other","type":"file"}`), "rendered": words, "renderedRole": "user", "renderedBesideToolResult": true},
		object(`{"attachment":{"text":"not sent","type":"prompt_snapshot"},"parentUuid":"a1","type":"attachment","uuid":"a2","version":"2.1.300"}`),
	)
	m := f.Messages
	if len(m) != 3 {
		t.Fatalf("%d messages", len(m))
	}
	list, err := f.Reminders(1, 0)
	if want := []string{"<system-reminder>\nfirst\n</system-reminder>", "second"}; err != nil || !slices.Equal(list, want) {
		t.Errorf("%q, %v; want %q", list, err, want)
	}
	if got, want := m[1].Blocks[0].Sent, (session.Sent{Recorded: true, Beside: true}); got != want {
		t.Errorf("sent %+v, want %+v", got, want)
	}
	same(t, 0, m[2].Blocks[0].Text.UTF16)
}

// TestRenderedInTurn: words that an attachment has only right behind what a person typed, or behind attachments of that.
func TestRenderedInTurn(t *testing.T) {
	words := func(text string) any { return []any{line{"content": text}} }
	notice := func(uuid, parent string) line {
		return attachment(uuid, parent, "").with("attachment", object(`{"commandMode":"task-notification","prompt":"done","type":"queued_command"}`)).
			with("rendered", words("done, of itself")).with("renderedInHumanTurn", words("done, beside a message"))
	}
	result := user("u2", "a1", "").with("message", object(`{"content":[{"content":"one","tool_use_id":"t1","type":"tool_result"}],"role":"user"}`))
	for name, tt := range map[string]struct {
		lines []any
		want  string
	}{
		"behind a prompt":       {[]any{user("u1", "", "go"), notice("x1", "u1")}, "done, beside a message"},
		"behind its attachment": {[]any{user("u1", "", "go"), notice("x0", "u1"), system("y1", "x0", "turn_duration"), notice("x1", "y1")}, "done, beside a message"},
		"behind a result":       {[]any{user("u1", "", "go"), said("a1", "u1", "m1"), result, notice("x1", "u2")}, "done, of itself"},
		"behind a response":     {[]any{user("u1", "", "go"), said("a1", "u1", "m1"), notice("x1", "a1")}, "done, of itself"},
		"of the client":         {[]any{user("u1", "", "go").with("isMeta", true), notice("x1", "u1")}, "done, of itself"},
		"without a parent":      {[]any{user("u1", "", "go"), notice("x1", "gone")}, "done, of itself"},
	} {
		conv := load(t, by("2.1.332", tt.lines...)...)
		last := len(conv.Messages) - 1
		list, err := conv.Reminders(last, 0)
		if err != nil || !slices.Equal(list, []string{tt.want}) || conv.Messages[last].Blocks[0].Text.UTF16 != len(tt.want) {
			t.Errorf("%s: %q, %v; want %q", name, list, err, tt.want)
		}
	}
}

// TestPlacedTexts: kinds whose text is in other members than most, and a kind that nobody knows, which is named once.
func TestPlacedTexts(t *testing.T) {
	must.Rows(t, `
{"messages":[{"from":"bob", "text":"the words"},{"from":"al", "text":"more"}],"type":"teammate_mailbox"} | "the words\nmore"
{"messages":[{"content":"the words", "from":"bob"}],"type":"teammate_mailbox"} | the words
{"messages":[{"from":"bob", "message":"the words"},{},7],"more":"and others", "type":"teammate_mailbox"} | the words
{"skills":[{"content":"the words", "name":"s"},{"content":"more", "name":"t"}],"type":"invoked_skills"} | "the words\nmore"
{"memories":[{"content":"the words", "path":"/m"},{"path":"/n"}],"type":"relevant_memories"} | the words
{"planContent":"the words", "planFilePath":"/p", "type":"plan_file_reference"} | the words
{"content":{"contents":[{"text":"the words", "uri":"u"},{"blob":"AAAA", "uri":"v"}]},"server":"s", "type":"mcp_resource"} | the words
{"description":"the words", "taskId":"t", "type":"task_status"} | the words
{"deltaSummary":"more", "description":"the words", "taskId":"t", "type":"task_status"} | "the words\nmore"
{"deltaSummary":null,"description":7,"taskId":"t", "type":"task_status"} | ""
{"response":{"systemMessage":"the words"},"type":"async_hook_response"} | the words
{"response":{"hookSpecificOutput":{"additionalContext":"more"},"systemMessage":"the words"},"type":"async_hook_response"} | "the words\nmore"
{"response":"the words", "type":"async_hook_response"} | the words
{"banner":"the words", "toolUseID":"t", "type":"read_truncation_notice"} | the words
{"blockingError":{"blockingError":"more", "command":"the words"},"type":"hook_blocking_error"} | "the words\nmore"
{"count":7,"deep":{"words":["the words", "word"]},"type":"of_tomorrow"} | the words
{"a":"in order", "b":"the words", "type":"of_tomorrow"} | "in order\nthe words"
`, func(theAttachment line, theWant string) {
		conv := load(t, by("2.1.200", transcript(`user u1 - go`), attachment("a1", "u1", "").with("attachment", theAttachment), attachment("a2", "a1", "").with("attachment", theAttachment))...)
		got, err := conv.Text(1, 0)
		if n := conv.Messages[1].Blocks[0].Text.UTF16; err != nil || got != theWant || n < len(got) {
			t.Errorf("%v: %q, %d units, %v; want %q", theAttachment, got, n, err, theWant)
		}
		named := 0
		for _, w := range conv.Warnings {
			if strings.Contains(w.Message, "of_tomorrow") && w.Line == 2 {
				named++
			}
		}
		if want := map[bool]int{true: 1}[theAttachment["type"] == "of_tomorrow"]; named != want || len(conv.Warnings) != want {
			t.Errorf("%v: named %d times, want %d: %v", theAttachment, named, want, conv.Warnings)
		}
	})
}

// TestRenderedOdd: words that an attachment was sent as that do not read, or are of another attachment, are named.
func TestRenderedOdd(t *testing.T) {
	words := func(text any) any { return []any{line{"content": text}} }
	file := object(`{"content":{"file":{"content":"\n\npackage a\nvar x int\n"},"type":"text"},"type":"file"}`)
	for _, tt := range []struct {
		name       string
		attachment line
		rendered   any
		sent       string // what counts
		warned     string
	}{
		{"the same", object(`{"text":"the words","type":"model"}`), words("<system-reminder>\nthe words\n</system-reminder>"), "<system-reminder>\nthe words\n</system-reminder>", ""},
		{"numbered", file, words("3\tpackage a\n4\tvar x int"), "3\tpackage a\n4\tvar x int", ""},
		{"without a text of its own", object(`{"date":"2026-01-15","type":"date"}`), words("the day"), "the day", ""},
		{"in blocks", object(`{"text":"the words","type":"model"}`), words([]any{text("so: "), text("the words")}), "so: \nthe words", ""},
		{"other words", object(`{"text":"the words","type":"model"}`), words("something else"), "something else", "contradict"},
		{"another list", object(`{"addedLines":["- one","- two"],"type":"novelty"}`), words("- three"), "- three", "contradict"},
		{"none", object(`{"text":"the words","type":"model"}`), []any{}, "", ""},
		{"null", object(`{"text":"the words","type":"model"}`), nil, "", ""},
		{"a text", object(`{"text":"the words","type":"model"}`), "the words", "the words", "unreadable"},
		{"no messages", object(`{"text":"the words","type":"model"}`), []any{7}, "the words", "unreadable"},
		{"a content of another type", object(`{"text":"the words","type":"model"}`), words(7), "the words", "unreadable"},
		{"without a content", object(`{"text":"the words","type":"model"}`), []any{line{}}, "the words", "unreadable"},
		{"a picture alone", line{"type": "file"}, words([]any{line{"type": "image"}}), "", ""},
		{"a message alone", object(`{"text":"the words","type":"model"}`), line{"content": "x"}, "the words", "unreadable"},
	} {
		f := load(t, by("2.1.300", transcript(`user u1 - go`), attachment("a1", "u1", "").with("attachment", tt.attachment).with("rendered", tt.rendered))...)
		list, err := f.Reminders(1, 0)
		if got := strings.Join(list, "\n"); err != nil || !strings.Contains(got, tt.sent) || tt.sent == "" && got != "" || (f.Messages[1].Blocks[0].Text.UTF16 > 0) != (tt.sent != "") {
			t.Errorf("%s: sent %q, %v; want %q", tt.name, got, err, tt.sent)
		}
		var told []string
		for _, w := range f.Warnings {
			told = append(told, w.Message)
			must.Equal(t, w.Line, 2, tt.name, w)
		}
		if all := strings.Join(told, "; "); (all == "") != (tt.warned == "") || !strings.Contains(all, tt.warned) {
			t.Errorf("%s: told %q, want %q", tt.name, all, tt.warned)
		}
	}
}

// TestForeignAttachments: another agent's attachments are sent whatever its version is. Of a kind that no agent has, a
// finding names no more than its start.
func TestForeignAttachments(t *testing.T) {
	by := object(`{"product":"copilot-cli","sessionId":"s","type":"recorded-by","version":"2026.1"}`)
	x := attachment("x1", "u1", "note").with("version", "2026.1").with("attachment", object(`{"content":"be brief","type":"note"}`))
	conv := load(t, by, transcript(`user u1 - hello version="2026.1"`), x)
	if n := conv.Messages[len(conv.Messages)-1].Blocks[0].Text.UTF16; n == 0 {
		t.Error("an attachment of version 2026.1 of another agent weighs nothing")
	}
	conv = load(t, transcript(`user u1 - hello`), attachment("x1", "u1", "").with("attachment", line{"type": strings.Repeat("k", 100), "deep": line{"text": "some words"}}))
	if len(conv.Warnings) != 1 || len(conv.Warnings[0].Message) > 150 {
		t.Errorf("%v", conv.Warnings)
	}
}
