package pi_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/internal/outline"
	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/jsonl/session"
)

func TestVersion1(t *testing.T) {
	f := outline.Load(t, "testdata/v1.jsonl")
	conv := f.Main
	want := []string{
		`0 prompt text "list the files"`,
		`1 response thinking "ls it is" text "I list them." tool_use "bash {\"command\":\"ls\"}" [10+0+5000 -> 40, 32300000 nano]`,
		`2 tool_result tool_result "a.go\nb.go"`,
		`3 response text "Two files." [12+5000+60 -> 9, 3100000 nano]`,
		`compacted unknown at 5081, summary 4, keeps [3]`,
		`4 summary text "The conversation history before this point was compacted into the following summary:\n\n<summary>\nThe user asked for the files: a.go, b.go.\n</summary>"`,
		"5 meta text \"Ran `false`\\n(no output)\\n\\nCommand exited with code 1\"",
		`6 prompt text "go on"`,
		`7 response`,
		`8 prompt text "go on, please" image "{\"type\":\"image\",\"source\":{\"data\":\"aGk=\",\"media_type\":\"image/png\",\"type\":\"base64\"}}"`,
		`9 response text "Done." [3+4000+300 -> 5, 4000000 nano]`,
	}
	outline.Same(t, want, outline.Of(t, conv))
	must.Say(t, "pi anthropic 11111111-0000-4000-8000-000000000001 /home/u/shop claude-opus-4-5", conv.Product, conv.Provider, conv.SessionID, conv.CWD, conv.Model)
	outline.Same(t, map[session.Reason]int{"malformed": 1, "metadata: model_change": 1}, conv.Lines.SetAside, "set aside")
	if len(conv.Warnings) != 1 || conv.Warnings[0].Line != 9 || conv.Warnings[0].Code != session.CodeMalformed {
		t.Errorf("warnings %+v", conv.Warnings)
	}
}

func TestVersion3(t *testing.T) {
	f := outline.Load(t, "testdata/v3.jsonl")
	conv := f.Main
	want := []string{
		`0 prompt text "count the lines"`,
		`1 response tool_use "read {\"path\":\"a.go\"}" tool_use "bash {\"command\":\"wc -l b.go\"}" [2000+1024+0 -> 50, 6000000 nano]`,
		`2 tool_result tool_result "package a"`,
		`3 tool_result tool_result "no such file"`,
		`4 response text "One line." [200+3072+0 -> 7, 1400000 nano]`,
		`5 meta text "The following is a summary of a branch that this conversation came back from:\n\n<summary>\nA wrong turn was tried.</summary>"`,
		`6 meta text "Remember the tests."`,
		`7 prompt text "the right turn"`,
		`8 response thinking "" text "Right." [400+3072+0 -> 60, 2700000 nano]`,
		`compacted unknown at 3532, summary 9, keeps [6 7 8]`,
		`9 summary text "The conversation history before this point was compacted into the following summary:\n\n<summary>\nLines were counted.\n</summary>"`,
		`10 prompt text "and now?"`,
		`11 response text "Nothing." [2600+0+0 -> 4, 6600000 nano]`,
	}
	outline.Same(t, want, outline.Of(t, conv))
	if conv.Title != "Counting lines" || conv.Messages[3].Blocks[0].IsError != true || conv.Boundaries[0].Trigger != "unknown" {
		t.Errorf("title %q, boundary %+v", conv.Title, conv.Boundaries[0])
	}
	aside := map[session.Reason]int{
		"metadata: model_change": 1, "metadata: thinking_level_change": 1, "metadata: custom": 1, "metadata: session_info": 1,
		"metadata: label": 1, "abandoned branch": 3, "a command that the user kept from the model": 1,
	}
	outline.Same(t, aside, conv.Lines.SetAside, "set aside")
}

// TestFailed: what a request wrote that failed is not sent again, and is a request only if it cost tokens.
func TestFailed(t *testing.T) {
	message := func(id, parent, rest string) string {
		return fmt.Sprintf(`{"type":"message","id":%q,"parentId":%q,"timestamp":"2026-11-20T10:00:00.000Z","message":{%s}}`, id, parent, rest) + "\n"
	}
	said := func(text, stop string, tokens int) string {
		return fmt.Sprintf(`"role":"assistant","content":[{"type":"text","text":%q}],"stopReason":%q,"usage":{"input":%d}`, text, stop, tokens)
	}
	session := func(version int) string {
		return fmt.Sprintf(`{"type":"session","version":%d,"id":"s","timestamp":"2026-11-20T10:00:00.000Z","cwd":"/"}`, version) + "\n" +
			message("a", "", `"role":"user","content":"go"`) + message("b", "a", said("half of", "error", 0)) +
			`{"type":"context_edit","id":"c","parentId":"b","timestamp":"2026-11-20T10:00:00.000Z","targetId":"b","replacement":null}` + "\n" +
			message("d", "c", said("half", "aborted", 7)) + message("e", "d", said("done", "stop", 9)) +
			`{"type":"context_edit","id":"f","parentId":"e","timestamp":"2026-11-20T10:00:00.000Z","targetId":"a","replacement":null}` + "\n"
	}
	must.Rows(t, `
# version | want
2 | ["0 prompt text \"go\"", "1 response text \"half of\"", "2 response text \"half\" [7+0+0 -> 0]", "3 response text \"done\" [9+0+0 -> 0]"]
3 | ["0 prompt text \"go\"", "1 response [7+0+0 -> 0]", "2 response text \"done\" [9+0+0 -> 0]"]
`, func(version int, want []string) {
		path := filepath.Join(t.TempDir(), "session.jsonl")
		must.Do(t, os.WriteFile(path, []byte(session(version)), 0o600))
		conv := outline.Load(t, path).Main
		outline.Same(t, want, outline.Of(t, conv), version)
		if removed := len(conv.Snips); len(conv.Warnings) > 0 || removed != 4-version { // of b, which version 3 does not send
			t.Errorf("version %d: warnings %+v, %d removals", version, conv.Warnings, removed)
		}
	})
}

// TestEdits: an extension leaves a message out from there on, or sends another text in its place; on its own branch alone.
func TestEdits(t *testing.T) {
	conv := outline.Load(t, "testdata/edits.jsonl").Main
	var got []string
	for _, s := range conv.Snips {
		got = append(got, fmt.Sprintf("%v are left out from request %d on", s.Messages, s.Request))
	}
	for _, c := range conv.Collapses {
		got = append(got, fmt.Sprintf("%d to %d are %q from request %d on", c.From, c.To, c.Content, c.Request))
	}
	for _, r := range conv.Replaced {
		got = append(got, fmt.Sprintf("%d is %q from request %d on", r.Message, r.Text, r.Request))
	}
	want := []string{`[3] are left out from request 3 on`, `0 to 0 are "begin" from request 3 on`, `2 is "short" from request 3 on`, `2 is "shorter" from request 4 on`}
	outline.Same(t, want, got)
	must.Say(t, "0 2", len(conv.Warnings), conv.Lines.SetAside["metadata: context_edit"])
}

// TestMany: compactions that keep all there is are read in linear time, up to a limit, which costs no message.
func TestMany(t *testing.T) {
	const lines = 3000
	var text strings.Builder
	text.WriteString(`{"type":"session","id":"s","timestamp":"2026-04-24T10:00:00.000Z","cwd":"/"}` + "\n")
	for i := range lines {
		if i%3 == 2 {
			fmt.Fprintf(&text, `{"type":"compaction","timestamp":"2026-04-24T10:00:00.000Z","summary":"s","firstKeptEntryIndex":1,"tokensBefore":5}`+"\n")
		} else {
			fmt.Fprintf(&text, `{"type":"message","timestamp":"2026-04-24T10:00:00.000Z","message":{"role":"user","content":"m%d"}}`+"\n", i)
		}
	}
	must.Rows(t, `
# most | kept
0      | 1000
100000 | 250
`, func(most int64, kept int) {
		f := must.Get(session.LoadReader("s", strings.NewReader(text.String()), session.LoadOptions{Limits: jsonl.InputLimits{Entries: most}}))(t)
		n := 0
		for i := range f.Main.Boundaries {
			if len(f.Main.Boundaries[i].Preserved) > 0 {
				n++
			}
		}
		if n < kept || most > 0 && n > kept+20 || len(f.Main.Messages) != lines || f.Stopped != nil || most == 0 && len(f.Main.Warnings) > 0 || most > 0 && len(f.Main.Warnings) == 0 {
			t.Errorf("limit %d: %d compactions keep messages, %d messages, stopped by %v, %d warnings", most, n, len(f.Main.Messages), f.Stopped, len(f.Main.Warnings))
		}
		f.Close()
	})
}

// TestOdd reads files that are damaged, or unusual.
func TestOdd(t *testing.T) {
	const head = `{"type":"session","version":3,"id":"s","timestamp":"2026-04-24T10:00:00.000Z","cwd":"/"}` + "\n"
	message := func(id, parent, role, rest string) string {
		return fmt.Sprintf(`{"type":"message","id":%q,"parentId":%s,"timestamp":"2026-04-24T10:00:00.000Z","message":{"role":%q,%s}}`+"\n", id, parent, role, rest)
	}
	text := func(s string) string { return fmt.Sprintf(`"content":%q`, s) }
	for _, tt := range []struct {
		name, in string
		want     []string
		warning  string
	}{
		{"the first line is lost", message("a", "null", "user", text("one")) + message("b", `"a"`, "assistant", text("two")), []string{`0 prompt text "one"`, `1 response text "two"`}, ""},
		{"reordered", head + message("b", `"a"`, "assistant", text("two")) + message("a", "null", "user", text("one")), []string{`0 prompt text "one"`}, ""},
		{"a parent is lost", head + message("a", `"x"`, "user", text("one")) + message("b", `"y"`, "assistant", text("two")), []string{`0 meta text ""`, `1 prompt text "one"`, `2 response text "two"`}, "the conversation began before this file"},
		{"a circle", head + message("a", `"b"`, "user", text("one")) + message("b", `"a"`, "assistant", text("two")), []string{`0 prompt text "one"`, `1 response text "two"`}, "the parents form a cycle: treated as the first line"},
		{"an id twice", head + message("a", "null", "user", text("one")) + message("a", "null", "user", text("two")), []string{`0 prompt text "one"`}, "an earlier line has the uuid a: line set aside"},
		{"it keeps from nowhere", head + message("a", "null", "user", text("one")) + `{"type":"compaction","id":"c","parentId":"a","summary":"s","firstKeptEntryId":"zz"}` + "\n" + message("b", `"c"`, "user", text("two")), []string{`0 prompt text "one"`, "compacted unknown at 0, summary 1, keeps []", `1 summary text "The conversation history before this point was compacted into the following summary:\n\n<summary>\ns\n</summary>"`, `2 prompt text "two"`}, "the compaction kept what follows an entry that is not before it: no message is kept"},
		{"a compaction is kept from before another", head + message("a", "null", "user", text("one")) + message("b", `"a"`, "user", text("two")) + `{"type":"compaction","id":"c","parentId":"b","summary":"s","firstKeptEntryId":"b"}` + "\n" + message("d", `"c"`, "user", text("three")) + `{"type":"compaction","id":"e","parentId":"d","summary":"t","firstKeptEntryId":"a"}` + "\n" + message("f", `"e"`, "user", text("four")), []string{`0 prompt text "one"`, `1 prompt text "two"`, "compacted unknown at 0, summary 2, keeps [1]", `2 summary text "The conversation history before this point was compacted into the following summary:\n\n<summary>\ns\n</summary>"`, `3 prompt text "three"`, "compacted unknown at 0, summary 4, keeps [0 1 3]", `4 summary text "The conversation history before this point was compacted into the following summary:\n\n<summary>\nt\n</summary>"`, `5 prompt text "four"`}, ""},
		{"a newer version", strings.Replace(head, `"version":3`, `"version":4`, 1) + message("a", "null", "user", text("one")), []string{`0 prompt text "one"`}, "version 4 of the format is newer than what is read, 3"},
		{"it goes on from another entry", head + message("a", "null", "user", text("one")) + message("b", `"a"`, "user", text("two")) + `{"type":"leaf","id":"c","parentId":"b","targetId":"a"}`, []string{`0 prompt text "one"`}, ""},
		{"it goes on from nowhere", head + message("a", "null", "user", text("one")) + `{"type":"leaf","id":"c","parentId":"a","targetId":"zz"}`, []string{`0 prompt text "one"`}, ""},
		{"a field of another type", head + `{"type":"message","id":5,"parentId":null,"message":{"role":"user","content":"one"}}`, []string{`0 prompt text "one"`}, "a field is not of its type: the readable part of the line is used"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "session.jsonl")
			must.Do(t, os.WriteFile(path, []byte(tt.in), 0o600))
			f := outline.Load(t, path)
			outline.Same(t, tt.want, outline.Of(t, f.Main))
			said := ""
			for _, w := range f.Main.Warnings {
				said += w.Message + "\n"
			}
			if !strings.Contains(said, tt.warning) || tt.warning == "" && len(f.Main.Warnings) > 0 {
				t.Errorf("warnings %q, want %q", said, tt.warning)
			}
		})
	}
}

// TestCompactionUsage: newer versions record what the request that summarised used.
func TestCompactionUsage(t *testing.T) {
	path := filepath.Join(t.TempDir(), "session.jsonl")
	in := `{"type":"session","version":3,"id":"s","timestamp":"2026-04-24T10:00:00.000Z","cwd":"/"}` + "\n" +
		`{"type":"message","id":"a","parentId":null,"message":{"role":"user","content":"one"}}` + "\n" +
		`{"type":"compaction","id":"c","parentId":"a","summary":"s","firstKeptEntryId":"a","tokensBefore":9000,"usage":{"input":100,"output":20,"cacheRead":8900,"cacheWrite":0,"cost":{"total":0.5}}}`
	must.Do(t, os.WriteFile(path, []byte(in), 0o600))
	b := outline.Load(t, path).Main.Boundaries
	if len(b) != 1 || b[0].Usage == nil || b[0].Usage.Input != 100 || b[0].Usage.CacheRead != 8900 || b[0].Usage.Output != 20 {
		t.Errorf("boundaries %+v", b)
	}
}

// TestCorpus compares each request's usage with the file's, and the recorded compactions.
func TestCorpus(t *testing.T) {
	folder := os.Getenv("CTXKIT_AGENTS")
	if folder == "" {
		t.Skip("CTXKIT_AGENTS is not set")
	}
	paths, err := filepath.Glob(filepath.Join(folder, "pi", "*.jsonl*"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("no sessions: %v", err)
	}
	for _, path := range paths {
		t.Run(filepath.Base(path), func(t *testing.T) {
			conv := outline.Load(t, path).Main
			var usages []jsonl.Usage
			var before []int
			version := 0
			src := must.Get(jsonl.Open(path))(t)
			defer src.Close()
			text, _ := src.Head(64 << 20)
			lines := bufio.NewScanner(strings.NewReader(string(text)))
			lines.Buffer(nil, 64<<20)
			for lines.Scan() {
				var l struct {
					Type         string
					TokensBefore int
					Version      int
					Message      struct {
						Role       string
						StopReason string
						Usage      struct {
							Input, Output, CacheRead, CacheWrite int
							Cost                                 struct{ Total float64 }
						}
					}
				}
				must.Do(t, json.Unmarshal(lines.Bytes(), &l))
				version = max(version, l.Version)
				failed := version >= 3 && (l.Message.StopReason == "error" || l.Message.StopReason == "aborted") && l.Message.Usage.Input+l.Message.Usage.Output+l.Message.Usage.CacheRead+l.Message.Usage.CacheWrite == 0
				if u := l.Message.Usage; l.Message.Role == "assistant" && !failed {
					usages = append(usages, jsonl.Usage{Input: u.Input, CacheWrite: u.CacheWrite, CacheRead: u.CacheRead, Output: u.Output, Nano: int64(u.Cost.Total*1e9 + 0.5)})
				} else if l.Type == "compaction" {
					before = append(before, l.TokensBefore)
				}
			}
			if len(conv.Requests) != len(usages) { // none of these has a branch
				t.Fatalf("%d requests, the file has %d", len(conv.Requests), len(usages))
			}
			for k, q := range conv.Requests {
				if m := &conv.Messages[q.Message]; m.Usage != usages[k] || m.HasUsage != (usages[k].Context() > 0) {
					t.Errorf("request %d: %+v, the file has %+v", k+1, m.Usage, usages[k])
				}
			}
			var got []int
			for i := range conv.Boundaries {
				if b := &conv.Boundaries[i]; b.Summary < 0 || len(b.Preserved) == 0 {
					t.Errorf("line %d: summary %d, preserved %v", b.Line, b.Summary, b.Preserved)
				}
				got = append(got, conv.Boundaries[i].PreTokens)
			}
			outline.Same(t, before, got, "compactions: -file +read")
		})
	}
}

// TestCharges: what is billed beside the answers of the live branch: those of others, cache warming, summaries, and the
// operations of extensions. A fork repeats the calls of its parent under the same ids.
func TestCharges(t *testing.T) {
	const when = `"timestamp":"2026-11-21T09:00:0`
	entry := func(n int, id, parent, rest string) string {
		if parent != "null" {
			parent = `"` + parent + `"`
		}
		return fmt.Sprintf(`{"id":%q,"parentId":%s,%s%d.000Z",%s}`+"\n", id, parent, when, n, rest)
	}
	used := func(write, hour, out int) string {
		return fmt.Sprintf(`"usage":{"input":10,"output":%d,"cacheRead":7,"cacheWrite":%d,"cacheWrite1h":%d,"cost":{"total":0.5}}`, out, write, hour)
	}
	said := func(n int, id, parent, response string, usage string) string {
		return entry(n, id, parent, fmt.Sprintf(`"type":"message","message":{"role":"assistant","model":"m1","content":"ok","stopReason":"stop","responseId":%q,%s}`, response, usage))
	}
	asked := func(n int, id, parent string) string {
		return entry(n, id, parent, `"type":"message","message":{"role":"user","content":"go"}`)
	}
	head := `{"type":"session","version":3,"id":"s","cwd":"/",` + when + `0.000Z"}` + "\n"
	lines := head + asked(0, "a", "null") + said(1, "b", "a", "msg_1", used(5000, 0, 50)) +
		entry(2, "c", "b", `"type":"usage","kind":"cache_warm","model":"m2",`+used(0, 0, 0)) +
		entry(3, "d", "c", `"type":"usage","kind":"title",`+used(0, 0, 9)) +
		entry(4, "e", "d", `"type":"usage","kind":"nothing"`) +
		asked(4, "f", "d") + said(5, "g", "f", "", used(300, 200, 4)) +
		entry(6, "h", "b", `"type":"branch_summary","summary":"tried",`+used(0, 0, 30)) +
		entry(6, "i", "h", `"type":"branch_summary","summary":"",`+used(0, 0, 31)) +
		asked(7, "j", "i") + said(8, "k", "j", "msg_3", used(20, 20, 5)) +
		entry(9, "l", "k", `"type":"compaction","summary":"all","firstKeptEntryId":"l",`+used(0, 0, 70))
	path := filepath.Join(t.TempDir(), "session.jsonl")
	must.Do(t, os.WriteFile(path, []byte(lines), 0o600))
	var got []string
	conv := outline.Load(t, path).Main
	for _, q := range conv.Charges {
		got = append(got, fmt.Sprintf("%d %s %s %s %d out, %d 1h, %d nano, of %s", q.Line, q.Kind, q.ID, q.Model, q.Usage.Output, q.Usage.Write1h, q.Usage.Nano, q.Time.Format("05")))
	}
	const at = "@2026-11-21T09:00:0"
	want := []string{
		"3 request msg_1 m1 50 out, 0 1h, 500000000 nano, of 01",
		"4 warming c" + at + "2Z m2 0 out, 0 1h, 500000000 nano, of 02",
		"5 other d" + at + "3Z m1 9 out, 0 1h, 500000000 nano, of 03",
		"8 branch g" + at + "5Z m1 4 out, 200 1h, 500000000 nano, of 05",
		"9 summary h" + at + "6Z m1 30 out, 0 1h, 500000000 nano, of 06",
		"10 summary i" + at + "6Z m1 31 out, 0 1h, 500000000 nano, of 06",
		"12 request msg_3 m1 5 out, 20 1h, 500000000 nano, of 08",
		"13 compaction l" + at + "9Z m1 70 out, 0 1h, 500000000 nano, of 09",
	}
	outline.Same(t, want, got)
	outline.Same(t, map[session.Reason]int{"metadata: usage": 1, "abandoned branch": 2}, conv.Lines.SetAside, "set aside")
}
