package gemini_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/internal/outline"
	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/jsonl/session"
)

func TestDocument(t *testing.T) {
	conv := outline.Load(t, "testdata/chat.json").Main
	want := []string{
		`0 prompt text "read the file" text "@a.go"`,
		`1 response text "I read it." tool_use "read_file {\"file_path\":\"a.go\"}" tool_use "read_file {\"file_path\":\"b.go\"}" tool_use "glob {\"pattern\":\"*\"}" [7000+2000+0 -> 100]`,
		`2 tool_result tool_result "package a"`,
		`3 tool_result tool_result "not found"`,
		`4 tool_result tool_result "a.go"`,
		`5 response text "It is package a." [300+9000+0 -> 7]`,
	}
	outline.Same(t, want, outline.Of(t, conv))
	m := &conv.Messages[1]
	must.Say(t, "60 19 true 2", m.Usage.Thinking, m.Line, conv.Messages[3].Blocks[0].IsError, len(conv.Requests))
	outline.Same(t, map[session.Reason]int{"not sent: info": 1, "not sent: error": 1}, conv.Lines.SetAside, "set aside")
	if len(conv.Warnings) > 0 {
		t.Errorf("warnings %+v", conv.Warnings)
	}
}

func TestLines(t *testing.T) {
	conv := outline.Load(t, "testdata/chat.jsonl").Main
	want := []string{
		`0 prompt text "list"`,
		`1 response text "Listing." tool_use "list_directory {\"path\":\".\"}" [8000+0+0 -> 25]`,
		`2 tool_result tool_result "a.go"`,
		`3 response text "One file." [200+7900+0 -> 6]`,
		`4 prompt text "right"`,
		`5 response text "Right." [300+8000+0 -> 3]`,
	}
	outline.Same(t, want, outline.Of(t, conv))
	aside := map[session.Reason]int{"metadata: session": 1, "metadata: $set": 2, "an earlier record of the same message": 2, "a rewind": 1, "abandoned branch": 2}
	if diff := cmp.Diff(aside, conv.Lines.SetAside); diff != "" || conv.Title != "Listing files" {
		t.Errorf("title %q, set aside: -want +got\n%s", conv.Title, diff)
	}
}

// TestPictures: a picture that a tool read is sent beside its result, or within it.
func TestPictures(t *testing.T) {
	const picture = `{"inlineData":{"mimeType":"image/png","data":"iVBORw0KGgo="}}`
	call := func(id, result string) string {
		return fmt.Sprintf(`{"id":%q,"name":"read_file","args":{},"status":"success","result":[%s]}`, id, result)
	}
	text := `{"sessionId":"s","projectHash":"p"}` + "\n" + `{"id":"a","type":"user","content":"look"}` + "\n" +
		`{"id":"b","type":"gemini","content":"","thoughts":[{"subject":"","description":"hm"}],"tokens":{"input":9,"output":2},"toolCalls":[` +
		call("c1", `{"functionResponse":{"id":"c1","response":{"output":"one"}}},`+picture) + "," +
		call("c2", `{"functionResponse":{"id":"c2","response":{"output":"two"},"parts":[`+picture+`]}}`) + "]}\n" +
		`{"id":"d","type":"user","content":[{"functionResponse":{"id":"c1","response":{"output":"one"}}},` + picture + `]}` + "\n"
	path := filepath.Join(t.TempDir(), "chat.jsonl")
	must.Do(t, os.WriteFile(path, []byte(text), 0o600))
	conv := outline.Load(t, path).Main
	var got []string
	for m := range conv.Messages {
		for b := range conv.Messages[m].Blocks {
			js := must.Get(conv.BlockJSON(m, b))(t)
			got = append(got, conv.Messages[m].Class.String()+" "+string(js))
		}
	}
	const block = `{"type":"image","source":{"data":"iVBORw0KGgo=","media_type":"image/png","type":"base64"}}`
	want := []string{
		`prompt {"type":"text","text":"look"}`, `response {"type":"tool_use","id":"c1","name":"read_file","input":{}}`, `response {"type":"tool_use","id":"c2","name":"read_file","input":{}}`,
		`tool_result {"type":"tool_result","tool_use_id":"c1","content":"one"}`, "tool_result " + block,
		`tool_result {"type":"tool_result","tool_use_id":"c2","content":[{"type":"text","text":"two"},` + block + `]}`,
	}
	outline.Same(t, want, got)
}

// TestRewritten reads histories that the client has rewritten.
func TestRewritten(t *testing.T) {
	const head = `{"sessionId":"s","projectHash":"p"}` + "\n"
	record := func(id, kind, text, more string) string {
		return fmt.Sprintf(`{"id":%q,"timestamp":"2026-05-01T10:00:00Z","type":%q,"content":[{"text":%q}]%s}`, id, kind, text, more)
	}
	const used = `,"tokens":{"input":9000,"output":5,"cached":0,"total":9005}`
	one, two, three, four := record("a", "user", "one", ""), record("b", "gemini", "two", used), record("c", "user", "three", ""), record("d", "gemini", "four", used)
	set := func(list ...string) string {
		return `{"$set":{"lastUpdated":"2026-05-01T10:01:00Z","messages":[` + strings.Join(list, ",") + "]}}"
	}
	said := []string{`0 prompt text "one"`, `1 response text "two" [9000+0+0 -> 5]`, `2 prompt text "three"`, `3 response text "four" [9000+0+0 -> 5]`}
	for _, tt := range []struct {
		name    string
		lines   []string
		want    []string
		warning string
	}{
		{"compressed", []string{one, two, three, four, set(record("s", "user", "summary", ""), record("t", "gemini", "Got it.", ""), three, four), record("e", "user", "five", "")},
			append(said[:4:4], "compacted unknown at 0, summary 4, keeps [2 3]", `4 summary text "summary"`, `5 prompt text "five"`), ""},
		{"nothing is kept", []string{one, two, set(record("s", "user", "summary", "")), three}, append(said[:2:2], "compacted unknown at 0, summary 2, keeps []", `2 summary text "summary"`, `3 prompt text "three"`), ""},
		{"masked", []string{one, two, set(one, record("b", "gemini", "masked", used))}, said[:2], "the client rewrote its history here (it masked old results, or left messages out): the messages stay as they were recorded first"},
		{"recorded again", []string{one, two, record("a2", "user", "one", ""), record("b2", "gemini", "two", ""), set(record("a2", "user", "one", ""), record("b2", "gemini", "two", "")), three, four, set(record("b2", "gemini", "two", ""), three)}, said,
			strings.Repeat("the client rewrote its history here (it masked old results, or left messages out): the messages stay as they were recorded first", 2)},
		{"resumed", []string{one, two, strings.TrimSpace(head), set(one), set(one, two, `{"id":"b_response","type":"user","content":[{"functionResponse":{"id":"c","response":{"output":"o"}}}]}`), three}, append(said[:2:2], `2 prompt text "three"`),
			""},
		{"nothing else is recorded", []string{set(one, two)}, said[:2], ""},
		{"no list", []string{one, `{"$set":{"messages":5}}`}, said[:1], "the client rewrote its history here (it masked old results, or left messages out): the messages stay as they were recorded first"},
	} {
		f := must.Get(session.LoadReader("chat", strings.NewReader(head+strings.Join(tt.lines, "\n")), session.LoadOptions{}))(t)
		defer f.Close()
		outline.Same(t, tt.want, outline.Of(t, f.Main), tt.name)
		warning := ""
		for _, w := range f.Main.Warnings {
			warning += w.Message
		}
		if n := len(f.Main.Restarts); (tt.name == "resumed") != (n == 1 && f.Main.Restarts[0].Repeats) {
			t.Errorf("%s: restarts %+v", tt.name, f.Main.Restarts)
		}
		if warning != tt.warning || !f.Main.Lines.Balanced() {
			t.Errorf("%s: warning %q, lines %+v", tt.name, warning, f.Main.Lines)
		}
	}
}

// TestCut reads documents that end too early: what is whole is used.
func TestCut(t *testing.T) {
	text := must.Get(os.ReadFile("testdata/chat.json"))(t)
	for at := 120; at < len(text)-3; at += 7 {
		f := must.Get(session.LoadReader("chat", strings.NewReader(string(text[:at])), session.LoadOptions{}))(t)
		last := 1 + strings.Count(string(text[:at]), "\n")
		w := f.Main.Warnings
		if len(w) != 1 || w[0].Code != session.CodeMalformed || w[0].Line > last || w[0].Line == 0 {
			t.Errorf("cut at %d, line %d: warnings %+v", at, last, w)
		}
		if !f.Main.Lines.Balanced() {
			t.Errorf("cut at %d: %+v", at, f.Main.Lines)
		}
		f.Close()
	}
}

func TestCorpus(t *testing.T) {
	folder := os.Getenv("CTXKIT_AGENTS")
	if folder == "" {
		t.Skip("CTXKIT_AGENTS is not set")
	}
	paths, err := filepath.Glob(filepath.Join(folder, "gemini", "*.json*"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("no sessions: %v", err)
	}
	for _, path := range paths {
		t.Run(filepath.Base(path), func(t *testing.T) {
			conv := outline.Load(t, path).Main
			src := must.Get(jsonl.Open(path))(t)
			defer src.Close()
			text, _ := src.Head(64 << 20)
			var doc struct {
				Messages []struct {
					Type   string
					Tokens *struct{ Input, Output, Cached, Thoughts, Total int }
				}
			}
			must.Do(t, json.Unmarshal(text, &doc))
			k := 0
			for _, m := range doc.Messages {
				if m.Tokens == nil {
					continue
				}
				if k >= len(conv.Requests) {
					t.Fatalf("%d requests only", k)
				}
				u := conv.Messages[conv.Requests[k].Message].Usage
				if u.Context() != m.Tokens.Input || u.CacheRead != m.Tokens.Cached || u.Output != m.Tokens.Output+m.Tokens.Thoughts || u.Context()+u.Output != m.Tokens.Total {
					t.Errorf("request %d: %+v, the file has %+v", k+1, u, *m.Tokens)
				}
				k++
			}
			outline.Same(t, len(conv.Requests), k)
			outline.Same(t, len(doc.Messages), conv.Lines.Read)
		})
	}
}

// TestCharges: a response that was rewound was paid for.
func TestCharges(t *testing.T) {
	message := func(id, kind, rest string) string {
		return fmt.Sprintf(`{"id":%q,"timestamp":"2026-06-14T10:00:01.000Z","type":%q,"content":"c"%s}`+"\n", id, kind, rest)
	}
	said := func(id string, in int) string {
		return message(id, "gemini", fmt.Sprintf(`,"model":"gemini-3-pro","tokens":{"input":%d,"output":20,"cached":10,"thoughts":5,"tool":3}`, in))
	}
	text := `{"sessionId":"s","projectHash":"00"}` + "\n" + message("a", "user", "") + said("b", 100) + message("c", "user", "") + said("d", 200) + said("d", 201) +
		`{"$rewindTo":"c"}` + "\n" + message("e", "user", "") + said("f", 300)
	path := filepath.Join(t.TempDir(), "session-1.jsonl")
	must.Do(t, os.WriteFile(path, []byte(text), 0o600))
	var got []string
	conv := outline.Load(t, path).Main
	for _, q := range conv.Charges {
		got = append(got, fmt.Sprintf("%d %s %s %s %d in %d out", q.Line, q.Kind, q.ID, q.Model, q.Usage.Context(), q.Usage.Output))
	}
	outline.Same(t, []string{"3 request b gemini-3-pro 103 in 25 out", "6 branch d gemini-3-pro 204 in 25 out", "9 request f gemini-3-pro 303 in 25 out"}, got)
	outline.Same(t, 2, len(conv.Requests))
}
