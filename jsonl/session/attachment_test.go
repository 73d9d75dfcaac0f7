package session_test

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/ctxkit/ctxkit/jsonl/session"
)

// TestAttachments: what of an attachment is sent: its text, and the length of the words around it.
func TestAttachments(t *testing.T) {
	for _, tt := range []struct {
		payload line
		text    string
		around  int // units beside the text
	}{
		{line{"type": "task_reminder", "content": []any{}, "itemCount": 0}, "", 516},
		{
			line{"type": "task_reminder", "content": []any{
				line{"id": "1", "subject": "Write", "description": "Write it all", "status": "completed", "blocks": []any{}},
				line{"id": "12", "subject": "Test", "status": "pending"},
			}, "itemCount": 2}, "\n\nHere are the existing tasks:\n\n#1. [completed] Write\n#12. [pending] Test", 516,
		},
		{
			line{"type": "todo_reminder", "content": []any{line{"content": "Write", "status": "in_progress", "activeForm": "Writing"}}},
			"\n\nHere are the existing contents of your todo list:\n\n[1. [in_progress] Write]", 516,
		},
		{line{"type": "task_reminder", "content": []any{line{"id": 7}}}, "", 516},
		{
			line{"type": "diagnostics", "files": []any{line{"uri": "/src/a.go", "diagnostics": []any{
				line{"message": "undefined: x", "severity": "Error", "range": line{"start": line{"line": 9, "character": 3}}, "source": "compiler", "code": "Undeclared"},
				line{"message": "odd", "severity": "none", "code": line{"value": "v"}},
			}}}},
			"<new-diagnostics>The following new diagnostic issues were detected:\n\na.go:\n" +
				"  ✘ [Line 10:4] undefined: x [Undeclared] (compiler)\n  ● [Line 1:1] odd [map[value:v]]</new-diagnostics>", 37,
		},
		{
			line{"type": "diagnostics", "files": []any{line{"uri": "a.go", "diagnostics": []any{line{"message": strings.Repeat("é", 5000)}}}}},
			"<new-diagnostics>The following new diagnostic issues were detected:\n\na.go:\n  ● [Line 1:1] " + strings.Repeat("é", 3967) + "…[truncated]</new-diagnostics>", 37,
		},
		{line{"type": "diagnostics", "files": "odd"}, `"odd"`, 37},
		{line{"type": "edited_text_file", "filename": "a.go", "snippet": "1\tpackage a"}, "1\tpackage a", 404},
		{line{"type": "compact_file_reference", "filename": "a.go", "displayPath": "a.go"}, "", 185},
		{line{"type": "file", "filename": "a.go", "content": line{"type": "text", "file": line{"filePath": "a.go", "content": "package a"}}}, "package a", 517},
		{line{"type": "file", "filename": "a.go", "content": line{"type": "image", "file": line{"base64": "aa"}}}, "", 104},
		{line{"type": "plan_mode", "reminderType": "full", "planFilePath": "/p.md"}, "/p.md", 4722},
		{line{"type": "plan_mode", "reminderType": "sparse", "planFilePath": "/p.md"}, "/p.md", 314},
		{line{"type": "plan_mode_exit", "planFilePath": "/p.md"}, "", 137},
		{line{"type": "plan_mode_exit", "planFilePath": "/p.md", "planExists": true}, "/p.md", 197},
		{line{"type": "auto_mode_exit"}, "", 232},
		{line{"type": "date_change", "newDate": "2026-01-02"}, "2026-01-02", 157},
		{line{"type": "opened_file_in_ide", "filename": "a.go"}, "a.go", 128},
		{line{"type": "queued_command", "prompt": "and the tests", "commandMode": "prompt"}, "and the tests", 200},
		{line{"type": "queued_command", "prompt": []any{text("and"), text("this")}, "commandMode": "prompt"}, "and\nthis", 200},
		{line{"type": "total_tokens_reminder", "text": "<total_tokens>1</total_tokens>"}, "<total_tokens>1</total_tokens>", 37},
		{line{"type": "skill_listing", "content": "- one: a skill", "names": []any{"one"}}, "- one: a skill", 103},
		{line{"type": "deferred_tools_delta", "addedNames": []any{"A", "B"}, "addedLines": []any{}}, "A\nB", 188},
		{line{"type": "agent_listing_delta", "addedTypes": []any{"a"}, "addedLines": []any{"- a: one", "- b: two"}}, "- a: one\n- b: two", 216},
		{line{"type": "hook_additional_context", "content": []any{"one", "two"}}, "one\ntwo", 63},
		{line{"type": "hook_success", "content": "", "stdout": "much of it"}, "", 0},
		{line{"type": "hook_system_message", "content": "for the screen only"}, "", 0},
		{line{"type": "command_permissions", "allowedTools": []any{"Read"}}, "", 0},
		{line{"type": "novelty", "content": "漢字 🙂"}, "漢字 🙂", 37},
		{line{"type": 7, "content": "odd"}, "", 0},
	} {
		conv := load(t, transcript(`user u1 - hello`), attachment("x1", "u1", "").with("attachment", tt.payload).with("version", "2.1.119"), transcript(`said a1 x1 m1`))
		wantShape(t, conv, strings.Replace("u1 x1 a1", "x1", map[bool]string{true: "x1~", false: "x1"}[conv.Messages[1].Is(session.Queued)], 1))
		got, err := conv.Text(1, 0)
		if err != nil {
			t.Errorf("%v: %v", tt.payload, err)
		}
		kind, _ := tt.payload["type"].(string)
		if kind == "" {
			continue // it is enough that it loads
		}
		same(t, kind, conv.Messages[1].Attachment, tt.payload)
		sent := conv.Messages[1].Blocks[0].Text.UTF16
		if kind == "hook_system_message" {
			same(t, 0, sent, tt.payload)
			continue
		}
		want := len([]rune(tt.text)) + strings.Count(tt.text, "🙂")
		if got != tt.text || sent != want+tt.around {
			t.Errorf("%v: text %q, %d units; want %q, %d", tt.payload, got, sent, tt.text, want+tt.around)
		}
	}
}

// TestReminderWeights: what hooks said and notices of tasks weigh with the words and tags that they are sent with.
func TestReminderWeights(t *testing.T) {
	for _, tt := range []struct {
		version, text string
		members       line
		around        int
	}{
		{"2.1.332", "no", line{"hookText": true, "hookTextLead": "A hook said:"}, 50},
		{"2.1.332", "no", line{"ownNote": true}, 37},
		{"2.1.332", "no", nil, 0},
		{"2.1.200", "<task-notification>x", nil, 0},
		{"2.1.210", "<task-notification>x", nil, 494},
		{"2.1.240", "<task-notification>x", nil, 531},
	} {
		meta := user("u1", "", tt.text).with("isMeta", true).with("version", tt.version)
		for name, value := range tt.members {
			meta = meta.with(name, value)
		}
		same(t, len(tt.text)+tt.around, load(t, meta).Messages[0].Blocks[0].Text.UTF16, tt.version, tt.text, tt.members)
	}
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
	for _, tt := range []struct {
		message, block int
		want           string
	}{
		{0, 0, "quotes \" and\n漢字 🙂"}, {1, 0, "hm"}, {1, 2, `{"file_path":"t1.go"}`}, {2, 0, "one\n\ntwo"}, {2, 1, ""}, {2, 2, ""}, {3, 0, `{"type":"novelty","x":1}`},
	} {
		if got, err := conv.Text(tt.message, tt.block); got != tt.want || err != nil {
			t.Errorf("message %d, block %d: %q, %v; want %q", tt.message, tt.block, got, err, tt.want)
		}
	}
	same(t, "Read", conv.ToolName("t1"), "tool")
	if m, b, ok := conv.ToolUse("t2"); m != 1 || b != 3 || !ok {
		t.Errorf("t2 stands in message %d, block %d, %v", m, b, ok)
	}
	if !conv.Messages[2].Blocks[2].IsError || conv.Messages[2].Blocks[0].IsError {
		t.Error("is_error was not read")
	}
}

// TestJobs: the number of workers changes nothing.
func TestJobs(t *testing.T) {
	text := written(fuzzed())
	want := loadText(t, text, session.LoadOptions{Jobs: 1})
	got := loadText(t, text, session.LoadOptions{Jobs: 8})
	if !reflect.DeepEqual(got.Main.Messages, want.Main.Messages) || !reflect.DeepEqual(got.Main.Warnings, want.Main.Warnings) || !reflect.DeepEqual(got.Main.Lines, want.Main.Lines) {
		t.Error("8 workers read another conversation than one")
	}
}

// TestRendered holds the words that stand beside an attachment (2.1.280 and later), and that one without them is not sent.
func TestRendered(t *testing.T) {
	words := []any{line{"content": "<system-reminder>\nfirst\n</system-reminder>"}, line{"content": "second"}}
	f := load(t,
		line{"type": "user", "uuid": "u1", "parentUuid": nil, "version": "2.1.300", "message": line{"role": "user", "content": "go"}},
		line{"type": "attachment", "uuid": "a1", "parentUuid": "u1", "version": "2.1.300", "attachment": line{"type": "file", "content": "other"}, "rendered": words, "renderedRole": "user", "renderedBesideToolResult": true},
		line{"type": "attachment", "uuid": "a2", "parentUuid": "a1", "version": "2.1.300", "attachment": line{"type": "prompt_snapshot", "text": "not sent"}},
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
		return attachment(uuid, parent, "").with("attachment", line{"type": "queued_command", "commandMode": "task-notification", "prompt": "done"}).
			with("rendered", words("done, of itself")).with("renderedInHumanTurn", words("done, beside a message"))
	}
	result := user("u2", "a1", "").with("message", line{"role": "user", "content": []any{line{"type": "tool_result", "tool_use_id": "t1", "content": "one"}}})
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
	for _, tt := range []struct {
		attachment line
		want       string
	}{
		{line{"type": "teammate_mailbox", "messages": []any{line{"from": "bob", "text": "the words"}, line{"from": "al", "text": "more"}}}, "the words\nmore"},
		{line{"type": "teammate_mailbox", "messages": []any{line{"from": "bob", "content": "the words"}}}, "the words"},
		{line{"type": "teammate_mailbox", "messages": []any{line{"from": "bob", "message": "the words"}, line{}, 7}, "more": "and others"}, "the words"},
		{line{"type": "invoked_skills", "skills": []any{line{"name": "s", "content": "the words"}, line{"name": "t", "content": "more"}}}, "the words\nmore"},
		{line{"type": "relevant_memories", "memories": []any{line{"path": "/m", "content": "the words"}, line{"path": "/n"}}}, "the words"},
		{line{"type": "plan_file_reference", "planFilePath": "/p", "planContent": "the words"}, "the words"},
		{line{"type": "mcp_resource", "server": "s", "content": line{"contents": []any{line{"uri": "u", "text": "the words"}, line{"uri": "v", "blob": "AAAA"}}}}, "the words"},
		{line{"type": "task_status", "taskId": "t", "description": "the words"}, "the words"},
		{line{"type": "task_status", "taskId": "t", "deltaSummary": "more", "description": "the words"}, "the words\nmore"},
		{line{"type": "task_status", "taskId": "t", "deltaSummary": nil, "description": 7}, ""},
		{line{"type": "async_hook_response", "response": line{"systemMessage": "the words"}}, "the words"},
		{line{"type": "async_hook_response", "response": line{"hookSpecificOutput": line{"additionalContext": "more"}, "systemMessage": "the words"}}, "the words\nmore"},
		{line{"type": "async_hook_response", "response": "the words"}, "the words"},
		{line{"type": "hook_blocking_error", "blockingError": line{"blockingError": "more", "command": "the words"}}, "the words\nmore"},
		{line{"type": "of_tomorrow", "deep": line{"words": []any{"the words", "word"}}, "count": 7}, "the words"},
		{line{"type": "of_tomorrow", "b": "the words", "a": "in order"}, "in order\nthe words"},
	} {
		conv := load(t, by("2.1.200", transcript(`user u1 - go`), attachment("a1", "u1", "").with("attachment", tt.attachment), attachment("a2", "a1", "").with("attachment", tt.attachment))...)
		got, err := conv.Text(1, 0)
		if n := conv.Messages[1].Blocks[0].Text.UTF16; err != nil || got != tt.want || n < len(got) {
			t.Errorf("%v: %q, %d units, %v; want %q", tt.attachment, got, n, err, tt.want)
		}
		named := 0
		for _, w := range conv.Warnings {
			if strings.Contains(w.Message, "of_tomorrow") && w.Line == 2 {
				named++
			}
		}
		if want := map[bool]int{true: 1}[tt.attachment["type"] == "of_tomorrow"]; named != want || len(conv.Warnings) != want {
			t.Errorf("%v: named %d times, want %d: %v", tt.attachment, named, want, conv.Warnings)
		}
	}
}

// TestRenderedOdd: words that an attachment was sent as that do not read, or are of another attachment, are named.
func TestRenderedOdd(t *testing.T) {
	words := func(text any) any { return []any{line{"content": text}} }
	file := line{"type": "file", "content": line{"type": "text", "file": line{"content": "\n\npackage a\nvar x int\n"}}}
	for _, tt := range []struct {
		name       string
		attachment line
		rendered   any
		sent       string // what counts
		warned     string
	}{
		{"the same", line{"type": "model", "text": "the words"}, words("<system-reminder>\nthe words\n</system-reminder>"), "<system-reminder>\nthe words\n</system-reminder>", ""},
		{"numbered", file, words("3\tpackage a\n4\tvar x int"), "3\tpackage a\n4\tvar x int", ""},
		{"without a text of its own", line{"type": "date", "date": "2026-01-15"}, words("the day"), "the day", ""},
		{"in blocks", line{"type": "model", "text": "the words"}, words([]any{text("so: "), text("the words")}), "so: \nthe words", ""},
		{"other words", line{"type": "model", "text": "the words"}, words("something else"), "something else", "contradict"},
		{"another list", line{"type": "novelty", "addedLines": []any{"- one", "- two"}}, words("- three"), "- three", "contradict"},
		{"none", line{"type": "model", "text": "the words"}, []any{}, "", ""},
		{"null", line{"type": "model", "text": "the words"}, nil, "", ""},
		{"a text", line{"type": "model", "text": "the words"}, "the words", "the words", "unreadable"},
		{"no messages", line{"type": "model", "text": "the words"}, []any{7}, "the words", "unreadable"},
		{"a content of another type", line{"type": "model", "text": "the words"}, words(7), "the words", "unreadable"},
		{"without a content", line{"type": "model", "text": "the words"}, []any{line{}}, "the words", "unreadable"},
		{"a picture alone", line{"type": "file"}, words([]any{line{"type": "image"}}), "", ""},
		{"a message alone", line{"type": "model", "text": "the words"}, line{"content": "x"}, "the words", "unreadable"},
	} {
		f := load(t, by("2.1.300", transcript(`user u1 - go`), attachment("a1", "u1", "").with("attachment", tt.attachment).with("rendered", tt.rendered))...)
		list, err := f.Reminders(1, 0)
		if got := strings.Join(list, "\n"); err != nil || !strings.Contains(got, tt.sent) || tt.sent == "" && got != "" || (f.Messages[1].Blocks[0].Text.UTF16 > 0) != (tt.sent != "") {
			t.Errorf("%s: sent %q, %v; want %q", tt.name, got, err, tt.sent)
		}
		var told []string
		for _, w := range f.Warnings {
			told = append(told, w.Message)
			if w.Line != 2 {
				t.Errorf("%s: %+v", tt.name, w)
			}
		}
		if all := strings.Join(told, "; "); (all == "") != (tt.warned == "") || !strings.Contains(all, tt.warned) {
			t.Errorf("%s: told %q, want %q", tt.name, all, tt.warned)
		}
	}
}

// TestForeignAttachments: another agent's attachments are sent whatever its version is. Of a kind that no agent has, a
// finding names no more than its start.
func TestForeignAttachments(t *testing.T) {
	by := line{"type": "recorded-by", "product": "copilot-cli", "version": "2026.1", "sessionId": "s"}
	x := attachment("x1", "u1", "note").with("version", "2026.1").with("attachment", line{"type": "note", "content": "be brief"})
	conv := load(t, by, transcript(`user u1 - hello version="2026.1"`), x)
	if n := conv.Messages[len(conv.Messages)-1].Blocks[0].Text.UTF16; n == 0 {
		t.Error("an attachment of version 2026.1 of another agent weighs nothing")
	}
	conv = load(t, transcript(`user u1 - hello`), attachment("x1", "u1", "").with("attachment", line{"type": strings.Repeat("k", 100), "deep": line{"text": "some words"}}))
	if len(conv.Warnings) != 1 || len(conv.Warnings[0].Message) > 150 {
		t.Errorf("%v", conv.Warnings)
	}
}
