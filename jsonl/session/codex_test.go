package session_test

import (
	"bytes"
	"compress/gzip"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/jsonl/session"
)

// codexRoot is the folder of real rollouts.
func codexRoot(t *testing.T) string {
	root := os.Getenv("CTXKIT_CODEX")
	if root == "" {
		t.Skip("CTXKIT_CODEX is not set")
	}
	return root
}

// counted are the token counts of a rollout that are a request's: those of the session itself that change the total.
func counted(t *testing.T, path string) (n int) {
	f := must.Get(os.Open(path))(t)
	defer f.Close()
	z := must.Get(gzip.NewReader(f))(t)
	own, copied, total := "", false, -1
	for dec := json.NewDecoder(z); ; {
		var r struct {
			Type    string
			Payload struct {
				Type, ID string
				Turn     string `json:"turn_id"`
				Forked   string `json:"forked_from_id"`
				Info     *struct {
					Total struct {
						Tokens int `json:"total_tokens"`
					} `json:"total_token_usage"`
				}
			}
		}
		if err := dec.Decode(&r); err == io.EOF {
			return n
		} else if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		p := &r.Payload
		switch {
		case r.Type == "session_meta" && own == "":
			own, copied = p.ID, p.Forked != ""
		case p.Type == "task_started" && p.Turn > own:
			copied = false
		case p.Type == "token_count" && p.Info != nil && p.Info.Total.Tokens != total:
			total = p.Info.Total.Tokens
			if !copied {
				n++
			}
		}
	}
}

// Requests are the distinct token counts, recorded compactions those of the list with their sizes, and every line is
// used or set aside.
func TestCodexCorpus(t *testing.T) {
	root := codexRoot(t)
	f, err := os.Open(filepath.Join(root, "recorded-compactions.tsv"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r := csv.NewReader(f)
	r.Comma = '\t'
	rows, err := r.ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	want := map[string][]string{}
	column := func(row []string, name string) string { return row[slices.Index(rows[0], name)] }
	for _, row := range rows[1:] {
		if column(row, "rule") != "copied-from-parent" {
			file := column(row, "file")
			want[file] = append(want[file], fmt.Sprint(column(row, "line"), " ", column(row, "last_total_tokens"), " ", column(row, "post_total"), " ", column(row, "next_input")))
		}
	}
	files, err := filepath.Glob(filepath.Join(root, "*.jsonl.gz"))
	if err != nil || len(files) == 0 {
		t.Fatal(err, len(files))
	}
	for _, path := range files {
		s, err := session.Load(path, session.LoadOptions{})
		if err != nil {
			t.Error(err)
			continue
		}
		c, name := s.Main, filepath.Base(path)
		same(t, len(c.Requests), counted(t, path), name)
		for _, q := range c.Requests {
			m := &c.Messages[q.Message]
			if !m.HasUsage || m.Model == "" || m.Window < 200000 {
				t.Errorf("%s: line %d: usage %t, model %q, window %d", name, m.Line, m.HasUsage, m.Model, m.Window)
			}
		}
		var got []string
		for i := range c.Boundaries {
			b := &c.Boundaries[i]
			next := 0
			if b.Request <= len(c.Requests) {
				next = c.Messages[c.Requests[b.Request-1].Message].Usage.Context()
			}
			got = append(got, fmt.Sprint(b.Line, " ", b.PreTokens, " ", b.PostTokens, " ", next))
			if b.Trigger != "auto" || b.Summary < 0 || len(b.Preserved) == 0 {
				t.Errorf("%s: line %d: %s, summary %d, %d preserved", name, b.Line, b.Trigger, b.Summary, len(b.Preserved))
			}
			for _, a := range b.Attached {
				same(t, "context", c.Messages[a].Attachment, name, b.Line)
			}
		}
		must.Equal(t, got, want[name], name)
		if !c.Lines.Balanced() || c.Product != "codex" || c.Version == "" || c.Provider != "openai" || c.SessionID == "" {
			t.Errorf("%s: %+v, %s %s of %s, session %q", name, c.Lines, c.Product, c.Version, c.Provider, c.SessionID)
		}
		lost := 0
		for i := range c.Messages {
			if c.Messages[i].Lost {
				lost++
			}
		}
		if lost > 0 || len(c.Warnings) > 0 {
			t.Errorf("%s: %d results lost, warnings %v", name, lost, c.Warnings)
		}
		s.Close()
	}
}

// A rollout reads alike plain, gzipped and as zstd; texts are found.
func TestCodexCompressed(t *testing.T) {
	plain := must.Get(os.ReadFile("../internal/codex/testdata/rollout.jsonl"))(t)
	var gz, zst bytes.Buffer
	g := gzip.NewWriter(&gz)
	z := must.Get(zstd.NewWriter(&zst))(t)
	for _, w := range []io.WriteCloser{g, z} {
		must.Get(w.Write(plain))(t)
		must.Do(t, w.Close())
	}
	dir := t.TempDir()
	for i, content := range [][]byte{plain, gz.Bytes(), zst.Bytes()} {
		path := filepath.Join(dir, "rollout-"+strconv.Itoa(i))
		must.Do(t, os.WriteFile(path, content, 0o600))
		s := must.Get(session.Load(path, session.LoadOptions{}))(t)
		c := s.Main
		if len(c.Requests) != 6 || len(c.Boundaries) != 2 || c.Title != "A small fix" || !c.Lines.Balanced() {
			t.Errorf("%s: %d requests, %d compactions, title %q, %+v", path, len(c.Requests), len(c.Boundaries), c.Title, c.Lines)
		}
		var prompts []string
		for m := range c.Messages {
			if c.Messages[m].Class == session.ClassPrompt {
				text := must.Get(c.Text(m, 0))(t)
				prompts = append(prompts, fmt.Sprint(text, " ", c.Messages[m].Is(session.Queued)))
			}
		}
		if want := []string{"list the files false", "fix it false", "thanks false", "go on false"}; !slices.Equal(prompts, want) {
			t.Errorf("%s: prompts %q", path, prompts)
		}
		windows := []int{}
		for _, q := range c.Requests {
			windows = append(windows, c.Messages[q.Message].Window)
		}
		if want := []int{272000, 272000, 272000, 272000, 272000, 200000}; !slices.Equal(windows, want) {
			t.Errorf("%s: windows %v", path, windows)
		}
		if b := c.Boundaries[1]; b.Trigger != "manual" || len(b.Preserved) != 2 {
			t.Errorf("%s: %+v", path, b)
		}
		if n := len(c.Messages[c.Boundaries[0].Summary].Blocks); n != 1 || c.Messages[c.Boundaries[0].Summary].Blocks[0].Kind != jsonl.KindUnknown {
			t.Errorf("%s: a summary of %d blocks", path, n)
		}
		s.Close()
	}
}

// A rollback at the end of a file leaves what was before it, and a fork's parent is no request.
func TestCodexEnds(t *testing.T) {
	content := must.Get(os.ReadFile("../internal/codex/testdata/rollout.jsonl"))(t)
	lines := bytes.SplitAfter(content, []byte("\n"))
	at := slices.IndexFunc(lines, func(l []byte) bool { return bytes.Contains(l, []byte("thread_rolled_back")) })
	s := must.Get(session.LoadReader("rolled back", bytes.NewReader(bytes.Join(lines[:at+1], nil)), session.LoadOptions{}))(t)
	defer s.Close()
	if c := s.Main; len(c.Requests) != 3 {
		t.Errorf("%d requests", len(c.Requests))
	}
	s = must.Get(session.Load("../internal/codex/testdata/fork.jsonl", session.LoadOptions{}))(t)
	defer s.Close()
	if c := s.Main; len(c.Requests) != 1 || len(c.Boundaries) != 0 || c.Requests[0].Message != 6 {
		t.Errorf("%+v, %d compactions", c.Requests, len(c.Boundaries))
	}
}

// A record that shares its line with the one before was written by another process: the client was started again. Nothing
// else about the session is another, and the response that the first process did not end is none.
func TestCodexTornLine(t *testing.T) {
	content := must.Get(os.ReadFile("../internal/codex/testdata/rollout.jsonl"))(t)
	must.Rows(t, `
# name | before | line | request | n
between responses         | "\"type\": \"task_started\", \"turn_id\": \"01900000-0000-7000-8000-000000000103\"" | 38 | 4 | 6
in a response             | "\"call_id\": \"call_5\", \"output\"" | 44 | 4 | 6
before the first response | "\"type\": \"user_message\", \"message\": \"list the files\"" | 0  | 0 | 6
as it is                  | "" | 0  | 0 | 6
`, func(name, before string, line, request, n int) {
		torn := slices.Clone(content)
		if at := bytes.LastIndexByte(content[:bytes.Index(content, []byte(before))], '\n'); at >= 0 {
			torn = slices.Delete(torn, at, at+1)
		}
		s := must.Get(session.LoadReader(name, bytes.NewReader(torn), session.LoadOptions{}))(t)
		defer s.Close()
		m := s.Main
		if !m.Lines.Balanced() || len(m.Requests) != n || len(m.Boundaries) != 2 {
			t.Errorf("%s: %+v, %d requests, %d compactions", name, m.Lines, len(m.Requests), len(m.Boundaries))
		}
		var got []string
		for _, r := range m.Restarts {
			got = append(got, fmt.Sprint(r.Line, " ", r.Request, " ", r.Sign == session.SignTorn, " ", len(r.Left)))
		}
		want := []string{fmt.Sprint(line, " ", request, " true 0"), "68 7 true 0"} // the recording has one at its end
		if line == 0 {
			want = want[1:]
		}
		if before == "" {
			want = []string{"69 7 true 0"}
		}
		must.Equal(t, got, want, name)
	})
}

// A session that names the one that started it is its subagent.
func TestForeignParent(t *testing.T) {
	content, err := os.ReadFile("../internal/codex/testdata/fork.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	must.Do(t, os.WriteFile(filepath.Join(dir, "rollout-2026.jsonl"), content, 0o600))
	found, _, err := session.Discover(dir)
	if err != nil || len(found) != 1 || found[0].Parent != "01900000-0000-7000-8000-00000000000a" {
		t.Errorf("%+v, %v", found, err)
	}
}

// TestCodexOrder: what a compaction leaves stands in the recorded order, with each of its texts as a message, and its own
// response is no request.
func TestCodexOrder(t *testing.T) {
	must.Rows(t, `
# name | kept | usage | triggers
local  | ["list the files|<skills_instructions>\nlist\n</skills_instructions>|<permissions instructions>\nall\n</permissions instructions>|\u0023 AGENTS.md instructions for /srv\n\n<INSTRUCTIONS>\nshort\n</INSTRUCTIONS>|<environment_context>\n  <cwd>/srv</cwd>\n</environment_context>|count them|Another language model started to solve this problem and produced a summary of its thinking process. Use it:\nTwo files were listed.", "list the files|count them|Another language model started to solve this problem and produced a summary of its thinking process. Use it:\nAll is counted."] | [{"Input":1040,"Output":10},{"Input":750,"Output":6}] | auto manual
server | ["list the files|<skills_instructions>\nlist\n</skills_instructions>|<permissions instructions>\nall\n</permissions instructions>|\u0023 AGENTS.md instructions for /srv\n\n<INSTRUCTIONS>\nshort\n</INSTRUCTIONS>|<environment_context>\n  <cwd>/srv</cwd>\n</environment_context>|count them|{\"type\":\"compaction\",\"signature\":\"QUJDRA==\"}"] | [{"CacheRead":1000,"Input":40,"Output":10}] | auto
`, func(name string, theKept []string, usage []jsonl.Usage, theTriggers string) {
		conv := loadFile(t, "../internal/codex/testdata/"+name+".jsonl", session.LoadOptions{})
		if len(conv.Requests) != 3 || len(conv.Boundaries) != len(theKept) {
			t.Fatalf("%s: %d requests, %d compactions", name, len(conv.Requests), len(conv.Boundaries))
		}
		triggers := []string{}
		for i := range conv.Boundaries {
			b := &conv.Boundaries[i]
			triggers = append(triggers, b.Trigger)
			var kept []string
			for _, m := range b.Kept() {
				for k := range conv.Messages[m].Blocks {
					text := must.Get(conv.Text(m, k))(t)
					kept = append(kept, text)
				}
			}
			same(t, theKept[i], strings.Join(kept, "|"), name)
			if b.Usage == nil || *b.Usage != usage[i] {
				t.Errorf("%s: usage %+v, want %+v", name, b.Usage, usage[i])
			}
		}
		same(t, theTriggers, strings.Join(triggers, " "), name)
	})
}
