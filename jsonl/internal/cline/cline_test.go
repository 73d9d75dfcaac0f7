package cline_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ctxkit/ctxkit/jsonl/internal/outline"
	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/jsonl/session"
)

func load(t *testing.T, path string) (*session.Conversation, []string) {
	t.Helper()
	conv := outline.Load(t, path).Main
	if len(conv.Warnings) > 0 {
		t.Errorf("%s: %v", path, conv.Warnings)
	}
	return conv, outline.Of(t, conv)
}

// TestTask has a task of Cline, which leaves out old messages, from its folder and as one document.
func TestTask(t *testing.T) {
	want := []string{
		`0 prompt text "<task>\nWhy does the mill stop?\n</task>" text "<environment_details>\n# Current Working Directory (/srv/mill) Files\nlog.txt\n</environment_details>"`,
		`1 response text "I look." tool_use "read_file {\"path\":\"log.txt\"}" [12+0+9000 -> 30, 10000000 nano]`,
		`2 tool_result tool_result "` + strings.Repeat("The brake is stuck. ", 29) + `The brake is stuck."`,
		`3 response text "It is the brake." [20+9000+300 -> 10, 10000000 nano]`,
		`compacted auto at 0, summary -1, keeps [0 1]`,
		`4 prompt text "<feedback>\nMend it.\n</feedback>"`,
		`5 response text "Done." [15+9000+20 -> 5, 10000000 nano]`,
	}
	for _, path := range []string{"testdata/task/api_conversation_history.json", "testdata/cline.json"} {
		conv, got := load(t, path)
		outline.Same(t, want, got, path)
		if conv.Product != "cline" || conv.CWD != "/srv/mill" || conv.Model != "claude-sonnet-4-5" {
			t.Errorf("%s: %q %q %q", path, conv.Product, conv.CWD, conv.Model)
		}
	}
	list, _, err := session.Discover("testdata/task")
	if err != nil || len(list) != 1 || list[0].ID != "task" || list[0].Product != "cline" {
		t.Errorf("%+v %v", list, err)
	}
}

// TestRoo has a task of Roo Code with a summary.
func TestRoo(t *testing.T) {
	conv, got := load(t, "testdata/roo.json")
	want := []string{
		`0 prompt text "<task>\nWhy does the mill stop?\n</task>" text "<environment_details>\n# Current Working Directory (/srv/mill) Files\nlog.txt\n</environment_details><model>claude-sonnet-4-5</model>"`,
		`1 response text "I look." tool_use "read_file {\"path\":\"log.txt\"}" [12+0+9000 -> 30, 10000000 nano]`,
		`2 tool_result tool_result "` + strings.Repeat("The brake is stuck. ", 29) + `The brake is stuck."`,
		`3 response text "It is the brake." [20+9000+300 -> 10, 10000000 nano]`,
		`compacted unknown at 0, summary 4, keeps []`,
		`4 summary text "The brake is stuck."`,
		`5 prompt text "<feedback>\nMend it.\n</feedback>"`,
		`6 response text "Done." [15+9000+20 -> 5, 10000000 nano]`,
	}
	outline.Same(t, want, got)
	must.Say(t, "roo-code claude-sonnet-4-5", conv.Product, conv.Model)
}

// TestCLI has a session of the CLI with what is next to it: results that are JSON, a message that is only shown, and the last
// compaction.
func TestCLI(t *testing.T) {
	want := []string{
		`0 prompt text "Why does the mill stop?"`,
		`1 response thinking "look" text "I look." tool_use "read_files {\"files\":[{\"path\":\"brake.md\"}]}" tool_use "run_commands {\"commands\":[\"false\"]}" [100+8000+900 -> 40, 500000000 nano]`,
		`2 tool_result tool_result "[{\"query\":\"brake.md\",\"result\":\"1 | The brake is stuck.\",\"success\":true}]"`,
		`3 tool_result tool_result "exit code 1"`,
		`4 response text "The brake." [0+9000+200 -> 9]`,
		`5 prompt text "Mend it." image "{\"type\":\"image\",\"source\":{\"data\":\"aGk=\",\"media_type\":\"image/png\",\"type\":\"base64\"}}"`,
		`compacted unknown at 0, summary 6, keeps [4 5]`,
		`6 summary text "Context summary:\n\nThe brake is stuck."`,
		`7 response text "Done." [700+0+0 -> 5]`,
	}
	for _, path := range []string{"testdata/cli/1795000000000_mill/1795000000000_mill.messages.json", "testdata/cli.json"} {
		conv, got := load(t, path)
		outline.Same(t, want, got, path)
		if conv.Product != "cline" || conv.Version != "3.0.65" || conv.CWD != "/srv/mill" || conv.Model != "claude-sonnet-4-5" || conv.SessionID != "1795000000000_mill" ||
			!cmp.Equal(conv.Lines.SetAside, map[session.Reason]int{"not sent: shown to the user": 1}) {
			t.Errorf("%s: %q %q %q %q %q %v", path, conv.Product, conv.Version, conv.CWD, conv.Model, conv.SessionID, conv.Lines.SetAside)
		}
	}
	list, warnings, err := session.Discover("testdata/cli")
	if err != nil || len(warnings) > 0 || len(list) != 2 || list[0].ID != "1795000000000_mill" || list[1].Parent != "1795000000000_mill" {
		t.Errorf("%+v %v %v", list, warnings, err)
	}
}

// TestEarlierCompaction: a compaction before the newest shows in the tokens alone.
func TestEarlierCompaction(t *testing.T) {
	text := must.Get(os.ReadFile("testdata/cli.json"))(t)
	f := must.Get(session.LoadReader("s.json", strings.NewReader(strings.ReplaceAll(string(text), `"source_message_count":6`, `"source_message_count":2`)), session.LoadOptions{}))(t)
	defer f.Close()
	if w := f.Main.Warnings; len(w) != 1 || !strings.Contains(w[0].Message, "falls from 9200 to 700 tokens") {
		t.Errorf("%v", w)
	}
}

// TestRefused has folders that are not read, and what is said of them.
func TestRefused(t *testing.T) {
	must.Rows(t, `
# name | history | window | file | want
no history | ""                          | [{"ts":1,"type":"say","say":"text"}] | ui_messages.json | name the api_conversation_history.json next to it
no window  | [{"role":"user","content":"x"}] | "" | api_conversation_history.json | a list of API messages
a version  | {"version":2,"messages":[]} | [{"ts":1,"type":"say","say":"text"}] | api_conversation_history.json | history has version 2
empty      | []                          | [] | api_conversation_history.json | a JSON array
`, func(theName, history, window, file, want string) {
		dir := t.TempDir()
		for name, text := range map[string]string{"api_conversation_history.json": history, "ui_messages.json": window} {
			if text == "" {
				continue
			}
			must.Do(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
		}
		must.Fail(session.Load(filepath.Join(dir, file), session.LoadOptions{}))(t, want, theName)
	})
}
