package kimi_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ctxkit/ctxkit/jsonl/internal/outline"
	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/jsonl/session"
)

// TestJournal has a session with what the client keeps beside it, and as one document: a command, a response that was asked
// for again, calls, a subagent, a compaction, a response that was interrupted, and a context that was cleared.
func TestJournal(t *testing.T) {
	folder, _ := filepath.Glob("testdata/share/sessions/*/*")
	for _, path := range []string{"testdata/session.jsonl", filepath.Join(folder[0], "wire.jsonl")} {
		f := outline.Load(t, path)
		conv := f.Main
		want := []string{
			`0 prompt text "Why does the brake stick?" image "{\"type\":\"image\",\"source\":{\"data\":\"iVBORw0KGgo=\",\"media_type\":\"image/png\",\"type\":\"base64\"}}"`,
			`1 response thinking "I look at both." text "Two files." tool_use "ReadFile {\"path\":\"brake.md\"}" tool_use "Shell {\"command\":\"make\"}" [12000+0+0 -> 60]`,
			`2 tool_result tool_result "<system>1 line read.</system>\n\nThe brake is dry."`,
			`3 tool_result tool_result "<system>ERROR: Command failed with exit code 2.</system>\n\nexit code 2"`,
			`4 response tool_use "Agent {\"prompt\":\"Find the oil.\"}" [300+12000+0 -> 20]`,
			`5 tool_result tool_result "In the shed."`,
			`6 prompt text "Be quick."`,
			`compacted auto at 12300, summary 7, keeps [4 5 6]`,
			`7 summary text "<system>Here is the summary.</system>" text "The brake of the mill sticks."`,
			`8 response text "Oil it." [900+0+0 -> 10]`,
			`9 prompt text "Mend it."`,
			`10 prompt text "What is the time?"`,
			`11 response text "Noon." [8000+0+0 -> 3]`,
		}
		must.Equal(t, outline.Of(t, conv), want, path)
		aside := map[session.Reason]int{
			"interrupted": 1, "a response that failed": 2, "not sent: a command": 1, "not sent: said by a command": 2, "not sent: CompactionBegin": 1,
		}
		must.Equal(t, conv.Lines.SetAside, aside, path)
		if len(conv.Warnings) > 0 || len(f.Sidechains) != 1 || len(f.Sidechains[0].Messages) != 2 {
			t.Errorf("%s: %v, %d subagents", path, conv.Warnings, len(f.Sidechains))
		}
		if conv.Product != "kimi-cli" || conv.CWD != "/srv/mill" || conv.SessionID != "77777777-0000-4000-8000-000000000007" || len(conv.Snips) != 1 {
			t.Errorf("%s: %q %q %q %v", path, conv.Product, conv.CWD, conv.SessionID, conv.Snips)
		}
	}
}

// TestSummaryMissing: a compaction whose summary is null in the document has an empty one.
func TestSummaryMissing(t *testing.T) {
	text := must.Get(os.ReadFile("testdata/session.jsonl"))(t)
	path := filepath.Join(t.TempDir(), "session.jsonl")
	must.Do(t, os.WriteFile(path, []byte(strings.Replace(string(text), `"summaries": [`, `"summaries": [null,`, 1)), 0o600))
	if list := outline.Of(t, outline.Load(t, path).Main); !slices.Contains(list, "7 summary") {
		t.Errorf("%q", list)
	}
}

// TestFolder lists the sessions of the client's folder, once each, and names the journal where a context is asked for.
func TestFolder(t *testing.T) {
	list, warnings, err := session.Discover("testdata/share/sessions")
	if err != nil || len(warnings) > 0 || len(list) != 1 || list[0].ID != "77777777-0000-4000-8000-000000000007" || list[0].Prompt == "" || list[0].Last.IsZero() {
		t.Errorf("%+v %v %v", list, warnings, err)
	}
	folder, _ := filepath.Glob("testdata/share/sessions/*/*")
	must.Fail(session.Load(filepath.Join(folder[0], "context.jsonl"), session.LoadOptions{}))(t, "name the wire.jsonl next to it")
}
