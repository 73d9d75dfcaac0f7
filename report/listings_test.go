package report

import (
	"bytes"
	"path/filepath"
	"testing"
	"time"
	"unicode"

	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/report/golden"
)

func sampleSessions() []session.FileInfo {
	at := time.Date(2026, 1, 15, 9, 0, 0, 0, time.FixedZone("somewhere", 5*3600))
	return []session.FileInfo{
		{ID: "aaaaaaaa-0000-4000-8000-000000000001", Path: "p/aaaaaaaa-0000-4000-8000-000000000001.jsonl", Folder: "p", Project: "/home/dev/harbor", Branch: "main", Version: "2.1.29",
			Title: "Harbor exploration", Created: at, Last: at.Add(time.Hour), Changed: at, Size: 123456, Standing: session.Listed,
			Subagents: []session.Subagent{{ID: "a1b2c3d", Path: "p/x/subagents/agent-a1b2c3d.jsonl", Size: 99, Type: "Explore"}}, ToolResults: 2},
		{ID: "bbbbbbbb-0000-4000-8000-000000000002", Folder: "p", Title: "Gone", Created: at, Standing: session.Missing, Why: "there is no such file"},
		{ID: "cccccccc-0000-4000-8000-000000000003", Path: "p/c.jsonl.gz", Folder: "p", Prompt: "整理一下文档目录，然后把所有的测试都跑一遍再看看结果怎么样", Size: 12_345_678, Created: at.Add(time.Hour), Standing: session.Stale, Why: "the index ends at 1, the file at 2"},
		{ID: "dddddddd-0000-4000-8000-000000000004", Path: "=p/d.jsonl", Folder: "p", Prompt: "\x1b[31mred\u202e|`x`\nINJECTED", Size: 3_000_000_000, Standing: session.Unlisted},
	}
}

func samplePolicies() []PolicyInfo {
	return []PolicyInfo{
		{Name: "none", About: "Nothing is ever compacted.", Source: "the conversation as it was", Date: "2026-01-25", Stages: []string{}},
		{Name: "opencode-1.1.36", Product: "opencode", Version: "1.1.36", From: "2026-01-25", About: "Prunes | compacts.", Source: "OpenCode 1.1.36", Date: "2026-01-25", Truth: "oracle", Stages: []string{"opencode_prune", "opencode_compaction"}},
	}
}

func TestListings(t *testing.T) {
	for format, ext := range map[Format]string{FormatTable: "txt", FormatJSON: "json", FormatCSV: "csv", FormatMarkdown: "md"} {
		var s, p bytes.Buffer
		if err := Sessions(&s, sampleSessions(), Layout{Format: format}); err != nil {
			t.Fatal(err)
		}
		if err := Policies(&p, samplePolicies(), Layout{Format: format}); err != nil {
			t.Fatal(err)
		}
		golden.Check(t, filepath.Join("testdata", "sessions."+ext), s.Bytes())
		golden.Check(t, filepath.Join("testdata", "policies."+ext), p.Bytes())
		for _, r := range s.String() {
			if r != '\n' && (unicode.IsControl(r) || unicode.Is(unicode.Cf, r)) {
				t.Errorf("%s: %U in the output", format, r)
			}
		}
	}
	if err := Sessions(&bytes.Buffer{}, nil, Layout{Format: "xml"}); err == nil {
		t.Error("no error for a format that is not there")
	}
}

func TestLongListingsSayWhatTheyHide(t *testing.T) {
	list := make([]session.FileInfo, 250)
	for i := range list {
		list[i] = session.FileInfo{ID: "s", Path: "s.jsonl"}
	}
	var b bytes.Buffer
	if err := Sessions(&b, list, Layout{Hints: Hints{All: "this shows them"}}); err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(b.Bytes(), []byte("(50 more sessions hidden: this shows them, json and csv contain them)")) {
		t.Errorf("the end is %q", b.String()[b.Len()-100:])
	}
}
