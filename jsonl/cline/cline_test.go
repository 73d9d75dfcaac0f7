package cline_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ctxkit/ctxkit/jsonl/session"
)

func outline(t *testing.T, path string) (conv *session.Conversation, out []string) {
	t.Helper()
	f, err := session.Load(path, session.LoadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	conv = f.Main
	for m := range conv.Messages {
		for i := range conv.Boundaries {
			if b := &conv.Boundaries[i]; b.Before == m {
				out = append(out, fmt.Sprintf("compacted %s, summary %d, keeps %v", b.Trigger, b.Summary, b.Preserved))
			}
		}
		msg := &conv.Messages[m]
		line := fmt.Sprintf("%d %s", m, msg.Class)
		for b := range msg.Blocks {
			text, err := conv.Text(m, b)
			if err != nil {
				t.Fatal(err)
			}
			line += fmt.Sprintf(" %s %.12q", msg.Blocks[b].Type, strings.TrimSpace(msg.Blocks[b].Name+" "+text))
		}
		if msg.HasUsage {
			u := msg.Usage
			line += fmt.Sprintf(" [%d+%d+%d -> %d]", u.Input, u.CacheRead, u.CacheWrite, u.Output)
		}
		out = append(out, line)
	}
	if !conv.Lines.Balanced() || len(conv.Warnings) > 0 {
		t.Errorf("%s: %+v %v", path, conv.Lines, conv.Warnings)
	}
	return conv, out
}

// TestTask has a task of Cline, which leaves out old messages, from its folder and as one document.
func TestTask(t *testing.T) {
	want := []string{
		`0 prompt text "<task>\nWhy d" text "<environment"`,
		`1 response text "I look." tool_use "read_file {\"" [12+0+9000 -> 30]`,
		`2 tool_result tool_result "The brake is"`,
		`3 response text "It is the br" [20+9000+300 -> 10]`,
		`compacted auto, summary -1, keeps [0 1]`,
		`4 prompt text "<feedback>\nM"`,
		`5 response text "Done." [15+9000+20 -> 5]`,
	}
	for _, path := range []string{"testdata/task/api_conversation_history.json", "testdata/cline.json"} {
		conv, got := outline(t, path)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: -want +got\n%s", path, diff)
		}
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
	conv, got := outline(t, "testdata/roo.json")
	want := []string{
		`0 prompt text "<task>\nWhy d" text "<environment"`,
		`1 response text "I look." tool_use "read_file {\"" [12+0+9000 -> 30]`,
		`2 tool_result tool_result "The brake is"`,
		`3 response text "It is the br" [20+9000+300 -> 10]`,
		`compacted unknown, summary 4, keeps []`,
		`4 summary text "The brake is"`,
		`5 prompt text "<feedback>\nM"`,
		`6 response text "Done." [15+9000+20 -> 5]`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	if conv.Product != "roo-code" || conv.Model != "claude-sonnet-4-5" {
		t.Errorf("%q %q", conv.Product, conv.Model)
	}
}

// TestRefused has folders that are not read, and what is said of them.
func TestRefused(t *testing.T) {
	for _, tt := range []struct{ name, history, window, file, want string }{
		{"no history", "", `[{"ts":1,"type":"say","say":"text"}]`, "ui_messages.json", "name the api_conversation_history.json next to it"},
		{"no window", `[{"role":"user","content":"x"}]`, "", "api_conversation_history.json", "a list of API messages"},
		{"a version", `{"version":2,"messages":[]}`, `[{"ts":1,"type":"say","say":"text"}]`, "api_conversation_history.json", "history has version 2"},
		{"empty", `[]`, `[]`, "api_conversation_history.json", "a JSON array"},
	} {
		dir := t.TempDir()
		for name, text := range map[string]string{"api_conversation_history.json": tt.history, "ui_messages.json": tt.window} {
			if text == "" {
				continue
			}
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := session.Load(filepath.Join(dir, tt.file), session.LoadOptions{}); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
}
