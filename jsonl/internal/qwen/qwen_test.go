package qwen_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ctxkit/ctxkit/jsonl/internal/outline"
	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/jsonl/session"
)

// TestChat has a chat with parallel calls, a compression that was asked for, one with an open call, an old branch, and
// lines that are not sent.
func TestChat(t *testing.T) {
	conv := outline.Load(t, "testdata/chat.jsonl").Main
	want := []string{
		`0 prompt text "Why does the mill stop?" image "{\"type\":\"image\",\"source\":{\"data\":\"iVBORw0KGgo=\",\"media_type\":\"image/png\",\"type\":\"base64\"}}"`,
		`1 response thinking "I look at the log." text "Two files." tool_use "read_file {\"file_path\":\"/srv/mill/log.txt\"}" tool_use "run_shell_command {\"command\":\"false\"}" [20000+0+0 -> 60]`,
		`2 tool_result tool_result "The brake is stuck."`,
		`3 tool_result tool_result "exit code 1"`,
		`4 response text "It is the brake." [200+20000+0 -> 10]`,
		`compacted manual at 20210, summary 5, keeps [4]`,
		`5 summary text "The mill's brake is stuck."`,
		`6 summary text "Understood."`,
		`7 prompt text "Mend it."`,
		`8 response text "Done." [1150+17000+0 -> 5]`,
		`9 prompt text "Oil it."`,
		`10 response tool_use "run_shell_command {\"command\":\"oil\"}" [18200+0+0 -> 7]`,
		`11 tool_result tool_result "oiled"`,
		`compacted auto at 18207, summary 12, keeps [10 11]`,
		`12 summary text "The brake is mended."`,
		`13 summary text "Understood."`,
		`14 response text "Oiled." [950+0+0 -> 3]`,
	}
	must.Equal(t, outline.Of(t, conv), want)
	for i, want := range [][]int{{5, 6, 4}, {12, 13, 10, 11}} {
		if got := conv.Boundaries[i].Kept(); !cmp.Equal(got, want) {
			t.Errorf("compaction %d keeps %v, want %v", i, got, want)
		}
	}
	must.Rows(t, `
# i | answers
5  | false
6  | true
13 | true
`, func(i int, answers bool) {
		must.Equal(t, conv.Messages[i].Is(session.AsAssistant), answers, i)
	})
	must.Say(t, "17 0", conv.Lines.Read, len(conv.Warnings))
	must.Say(t, "The stuck brake /srv/mill 0.24.4 qwen-code", conv.Title, conv.CWD, conv.Version, conv.Product)
	list, _, err := session.Discover("testdata")
	if err != nil || len(list) != 1 || list[0].ID != "77777777-0000-4000-8000-000000000007" || list[0].Product != "qwen-code" || list[0].Prompt == "" {
		t.Errorf("%+v %v", list, err)
	}
}
