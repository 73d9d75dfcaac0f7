package qwen_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ctxkit/ctxkit/jsonl/session"
)

// TestChat has a chat with parallel calls, a compression that was asked for, an old branch, and lines that are not sent.
func TestChat(t *testing.T) {
	f, err := session.Load("testdata/chat.jsonl", session.LoadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	conv := f.Main
	var got []string
	for m := range conv.Messages {
		for i := range conv.Boundaries {
			if b := &conv.Boundaries[i]; b.Before == m {
				got = append(got, fmt.Sprintf("compacted %s at %d, summary %d, keeps %v", b.Trigger, b.PreTokens, b.Summary, b.Preserved))
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
		got = append(got, line)
	}
	want := []string{
		`0 prompt text "Why does the" image "{\"type\":\"ima"`,
		`1 response thinking "I look at th" text "Two files." tool_use "read_file {\"" tool_use "run_shell_co" [20000+0+0 -> 60]`,
		`2 tool_result tool_result "The brake is"`,
		`3 tool_result tool_result "exit code 1"`,
		`4 response text "It is the br" [200+20000+0 -> 10]`,
		`compacted manual at 20210, summary 5, keeps [4]`,
		`5 summary text "The mill's b"`,
		`6 prompt text "Mend it."`,
		`7 response text "Done." [1150+17000+0 -> 5]`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	if !conv.Lines.Balanced() || conv.Lines.Read != 12 || len(conv.Warnings) > 0 {
		t.Errorf("%+v %v", conv.Lines, conv.Warnings)
	}
	if conv.Title != "The stuck brake" || conv.CWD != "/srv/mill" || conv.Version != "0.24.4" || conv.Product != "qwen-code" {
		t.Errorf("%q %q %q %q", conv.Title, conv.CWD, conv.Version, conv.Product)
	}
	list, _, err := session.Discover("testdata")
	if err != nil || len(list) != 1 || list[0].ID != "77777777-0000-4000-8000-000000000007" || list[0].Product != "qwen-code" || list[0].Prompt == "" {
		t.Errorf("%+v %v", list, err)
	}
}
