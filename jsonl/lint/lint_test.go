package lint_test

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ctxkit/ctxkit/jsonl/lint"
	"github.com/ctxkit/ctxkit/jsonl/session"
)

// Lines of a small session. n is the number in the uuid, under the parent's.
const clock = "2026-01-15T09:00:%02dZ"

func prompt(n, under int, more string) string {
	return fmt.Sprintf(`{"type":"user","uuid":"u%d",%s"sessionId":"s","timestamp":"`+clock+`","message":{"role":"user","content":"go"}%s}`, n, parent(under), n, more)
}

func parent(under int) string {
	if under == 0 {
		return `"parentUuid":null,`
	}
	return fmt.Sprintf(`"parentUuid":"u%d",`, under)
}

// failed is the line of a response that another agent's request did not give.
func failed(n, parent int) string {
	return strings.Replace(answer(n, parent, ""), `"role":"assistant"`, `"role":"assistant","stop_reason":"error"`, 1)
}

func answer(n, under int, content string) string {
	return fmt.Sprintf(`{"type":"assistant","uuid":"u%d",%s"sessionId":"s","timestamp":"`+clock+`","message":{"id":"m%d","role":"assistant","model":"claude-opus-4-5","content":[%s],"usage":{"input_tokens":10,"output_tokens":1}}}`,
		n, parent(under), n, n, content)
}

func call(id string) string {
	return fmt.Sprintf(`{"type":"tool_use","id":%q,"name":"Read","input":{}}`, id)
}

func answered(n, under int, id string) string {
	return fmt.Sprintf(`{"type":"user","uuid":"u%d",%s"sessionId":"s","timestamp":"`+clock+`","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":%q,"content":"x"}]}}`, n, parent(under), n, id)
}

const text = `{"type":"text","text":"done"}`

func boundary(n, under int, more string) string {
	return fmt.Sprintf(`{"type":"system","subtype":"compact_boundary","uuid":"u%d","parentUuid":null,"logicalParentUuid":"u%d","sessionId":"s","timestamp":"`+clock+`","compactMetadata":{"trigger":"auto","preTokens":1000%s}}`, n, under, n, more)
}

func attached(n, under int) string {
	return fmt.Sprintf(`{"type":"attachment","uuid":"u%d",%s"sessionId":"s","timestamp":"`+clock+`","attachment":{"type":"date","date":"2026-01-15"}}`, n, parent(under), n)
}

func compacted(n, under int) string { return prompt(n, under, `,"isCompactSummary":true`) }

func look(t *testing.T, lines ...string) *lint.Problems {
	t.Helper()
	r, err := lint.Reader("session.jsonl", strings.NewReader(strings.Join(lines, "\n")+"\n"), session.LoadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	balanced(t, r)
	return r
}

// found lists code and line of each place.
func found(r *lint.Problems) (list []string) {
	for _, f := range r.Findings {
		for _, p := range f.Places {
			list = append(list, fmt.Sprintf("%s:%d", f.Code, p.Line))
		}
	}
	return list
}

var rules = []struct {
	name  string
	lines []string
	want  string
}{
	{"sound", []string{prompt(1, 0, ""), answer(2, 1, call("a")), answered(3, 2, "a"), answer(4, 3, text)}, ""},
	{"no session", []string{`{"type":"summary","summary":"x"}`}, "no-session:0"},
	{"types nobody knows", []string{`{"type":"novelty","sessionId":"s"}`}, "no-session:0 unknown-type:1"},
	{"no JSON", []string{prompt(1, 0, ""), `{"type":`, answer(2, 1, text), `[]`}, "malformed-line:2 malformed-line:4"},
	{"rubbish behind a line", []string{prompt(1, 0, "") + "}", answer(2, 1, text)}, "malformed-line:1 fused-lines:1"},
	{"two on a line", []string{prompt(1, 0, "") + answer(2, 1, text)}, "fused-lines:1"},
	{"three on a line", []string{prompt(1, 0, "") + answer(2, 1, text) + prompt(3, 2, "")}, "fused-lines:1 fused-lines:1"},
	{"two without a message on a line", []string{prompt(1, 0, ""), strings.Repeat(`{"type":"user","uuid":"u9","parentUuid":"u1","sessionId":"s","timestamp":"2026-01-15T09:00:01Z"}`, 2), answer(2, 1, text)}, "no-message:2 no-message:2 fused-lines:2"},
	{"a uuid three times on a line", []string{prompt(1, 0, ""), strings.Repeat(answer(2, 1, text), 3)}, "duplicate-uuid:2 duplicate-uuid:2 fused-lines:2 fused-lines:2"},
	{"blank and comment", []string{prompt(1, 0, ""), "", "// note", answer(2, 1, text)}, "blank-line:2 comment-line:3"},
	{"no message", []string{prompt(1, 0, ""), `{"type":"user","uuid":"u9","parentUuid":"u1","sessionId":"s","timestamp":"2026-01-15T09:00:01Z"}`, answer(2, 1, text)}, "no-message:2"},
	{"a uuid twice", []string{prompt(1, 0, ""), answer(2, 1, text), answer(2, 1, text)}, "duplicate-uuid:3"},
	{"a circle", []string{prompt(1, 2, ""), answer(2, 1, text)}, "parent-circle:1"},
	{"its own parent", []string{prompt(1, 1, ""), answer(2, 1, text)}, "parent-circle:1 earlier-history:1"},
	{"no type", []string{prompt(1, 0, ""), `{"a":1}`, answer(2, 1, text)}, "no-type:2"},
	{"unknown types", []string{prompt(1, 0, ""), `{"type":"hologram","uuid":"u2","parentUuid":"u1","timestamp":"2026-01-15T09:00:02Z"}`, `{"type":"noise"}`, answer(3, 2, text)}, "unknown-type:2 unknown-type:3"},
	{"an unknown block", []string{prompt(1, 0, ""), answer(2, 1, `{"type":"hologram"}`)}, "unknown-block:2"},
	{"another role of a summary that a reader makes", []string{`{"type":"recorded-by"}`, strings.Replace(prompt(2, 0, ""), `"role":"user"`, `"role":"assistant"`, 1)[:1] + `"isCompactSummary":true,` + strings.Replace(prompt(2, 0, ""), `"role":"user"`, `"role":"assistant"`, 1)[1:]}, "lone-summary:2"},
	{"another role", []string{strings.Replace(prompt(1, 0, ""), `"role":"user"`, `"role":"assistant"`, 1), answer(2, 1, text)}, "wrong-role:1"},
	{"no content", []string{prompt(1, 0, ""), answer(2, 1, "")}, "empty-message:2"},
	{"a request that failed, tried again", []string{prompt(1, 0, ""), failed(2, 1), answer(3, 2, text), prompt(4, 3, "")}, ""},
	{"no uuid", []string{strings.Replace(prompt(1, 0, ""), `"uuid":"u1",`, "", 1), answer(2, 0, text)}, "no-uuid:1 second-root:2"},
	{"no timestamp", []string{prompt(1, 0, ""), strings.Replace(answer(2, 1, text), `"timestamp":"2026-01-15T09:00:02Z"`, `"timestamp":"soon"`, 1)}, "no-timestamp:2"},
	{"backwards", []string{prompt(5, 0, ""), answer(3, 5, text), prompt(4, 3, "")}, "time-backwards:2"},
	{"no usage", []string{prompt(1, 0, ""), strings.Replace(answer(2, 1, text), `,"usage":{"input_tokens":10,"output_tokens":1}`, "", 1)}, "no-usage:2"},
	{"usage of a wrong type", []string{prompt(1, 0, ""), strings.Replace(answer(2, 1, text), `"input_tokens":10`, `"input_tokens":"7"`, 1)}, "unreadable-usage:2"},
	{"usage that differs", []string{prompt(1, 0, ""), answer(2, 1, text), strings.NewReplacer(`"id":"m3"`, `"id":"m2"`, `"input_tokens":10`, `"input_tokens":11`).Replace(answer(3, 2, text))}, "usage-differs:3"},
	{"output may differ", []string{prompt(1, 0, ""), answer(2, 1, text), strings.NewReplacer(`"id":"m3"`, `"id":"m2"`, `"output_tokens":1`, `"output_tokens":7`).Replace(answer(3, 2, text))}, ""},
	{"a lost parent", []string{prompt(1, 0, ""), answer(2, 1, text), prompt(3, 9, ""), answer(4, 3, text)}, "lost-parent:3"},
	{"a lost parent off the chain", []string{prompt(1, 0, ""), prompt(2, 9, ""), answer(3, 1, text)}, "lost-parent:2 abandoned-branch:2"},
	{"a fork of another file", []string{prompt(1, 9, ""), answer(2, 1, text)}, "earlier-history:1"},
	{"two roots", []string{prompt(1, 0, ""), answer(2, 1, text), prompt(3, 0, ""), answer(4, 3, text)}, "abandoned-branch:1 abandoned-branch:2 second-root:3"},
	{"a lost leaf", []string{prompt(1, 0, ""), answer(2, 1, text), `{"type":"last-prompt","leafUuid":"u9"}`}, "lost-leaf:3"},
	{"a leaf", []string{prompt(1, 0, ""), answer(2, 1, text), `{"type":"last-prompt","leafUuid":"u9"}`, `{"type":"last-prompt","leafUuid":"u2"}`}, ""},
	{"rewound", []string{prompt(1, 0, ""), answer(2, 1, text), prompt(3, 1, ""), answer(4, 3, text)}, "abandoned-branch:2"},
	{"another session", []string{prompt(1, 0, ""), strings.Replace(answer(2, 1, text), `"sessionId":"s"`, `"sessionId":"other"`, 1), prompt(3, 2, "")}, "other-session:2"},
	{"no id", []string{prompt(1, 0, ""), answer(2, 1, call("")), answered(3, 2, ""), answer(4, 3, text)}, "no-call-id:2 no-call-id:3"},
	{"a call without a result", []string{prompt(1, 0, ""), answer(2, 1, call("a")), prompt(3, 2, ""), answer(4, 3, text)}, "unanswered-call:2"},
	{"an answer after an answer", []string{prompt(1, 0, ""), answer(2, 1, text), answer(3, 2, text), prompt(4, 3, "")}, "answer-after-answer:3"},
	{"a call that waits", []string{prompt(1, 0, ""), answer(2, 1, call("a"))}, "open-call:2"},
	{"two calls that wait", []string{prompt(1, 0, ""), answer(2, 1, call("a")+","+call("b"))}, "open-call:2 open-call:2"},
	{"a result without a call", []string{prompt(1, 0, ""), answer(2, 1, text), answered(3, 2, "a"), answer(4, 3, text)}, "orphan-result:3"},
	{"two results", []string{prompt(1, 0, ""), answer(2, 1, call("a")), answered(3, 2, "a"), answered(4, 3, "a"), answer(5, 4, text)}, "second-result:4 abandoned-branch:4"},
	{"two calls of one id", []string{prompt(1, 0, ""), answer(2, 1, call("a")), answered(3, 2, "a"), answer(4, 3, call("a")), answered(5, 4, "a"), answer(6, 5, text)}, "repeated-call:4 abandoned-branch:4 abandoned-branch:5"},
	{"a copy of a call", []string{prompt(1, 0, ""), answer(2, 1, call("a")), answered(3, 2, "a"), strings.Replace(answer(4, 3, call("a")), `"id":"m4"`, `"id":"m2"`, 1), answered(5, 4, "a"), answer(6, 5, text)}, "abandoned-branch:4 abandoned-branch:5"},
	{"two calls of one id in a message", []string{prompt(1, 0, ""), answer(2, 1, call("a")+","+call("b")+","+call("a")), answered(3, 2, "a"), answered(4, 3, "b"), answer(5, 4, text)}, "doubled-call:2"},
	{"three calls of one id in a message", []string{prompt(1, 0, ""), answer(2, 1, call("a")+","+call("a")+","+call("a")), answered(3, 2, "a"), answer(4, 3, text)}, "doubled-call:2 doubled-call:2"},
	{"two calls of one id in a message, each with its result", []string{prompt(1, 0, ""), answer(2, 1, call("a")+","+call("a")), answered(3, 2, "a"), answered(4, 3, "a"), answer(5, 4, text)}, "doubled-call:2 second-result:4 abandoned-branch:4"},
	{"two calls of one id in a message, a line each", []string{prompt(1, 0, ""), answer(2, 1, call("a")), strings.Replace(answer(3, 2, call("a")), `"id":"m3"`, `"id":"m2"`, 1), answered(4, 3, "a"), answer(5, 4, text)}, "doubled-call:3 abandoned-branch:3"},
	{"two calls of one id in a message that differ", []string{prompt(1, 0, ""), answer(2, 1, call("a")), answered(3, 2, "a"), strings.NewReplacer(`"id":"m4"`, `"id":"m2"`, `"input":{}`, `"input":{"file_path":"x"}`).Replace(answer(4, 3, call("a"))), answer(5, 4, text)}, "doubled-call:4 abandoned-branch:4"},
	{"a result first", []string{prompt(1, 0, ""), answered(3, 2, "a"), answer(2, 1, call("a")), answer(4, 3, text)}, "result-before-call:2 time-backwards:3"},
	{"an error of the API", []string{prompt(1, 0, ""), strings.Replace(answer(2, 1, text), `"type":"assistant"`, `"type":"assistant","isApiErrorMessage":true`, 1), prompt(3, 2, ""), answer(4, 3, text)}, "api-error:2"},
	{"compacted", []string{prompt(1, 0, ""), answer(2, 1, text), boundary(3, 2, ""), compacted(4, 3), answer(5, 4, text)}, ""},
	{"without a summary", []string{prompt(1, 0, ""), answer(2, 1, text), boundary(3, 2, ""), prompt(4, 3, ""), answer(5, 4, text)}, "no-summary:3"},
	{"a summary behind attachments", []string{prompt(1, 0, ""), answer(2, 1, text), boundary(3, 2, ""), attached(4, 3), prompt(5, 4, `,"isMeta":true`), attached(6, 5), compacted(7, 6), answer(8, 7, text)}, ""},
	{"two summaries behind one attachment", []string{prompt(1, 0, ""), answer(2, 1, text), boundary(3, 2, ""), attached(4, 3), compacted(5, 4), answer(6, 5, text), compacted(7, 4), answer(8, 7, text)}, "abandoned-branch:5 abandoned-branch:6"},
	{"a summary behind a prompt", []string{prompt(1, 0, ""), answer(2, 1, text), boundary(3, 2, ""), attached(4, 3), prompt(5, 4, ""), compacted(6, 5), answer(7, 6, text)}, "no-summary:3 lone-summary:6"},
	{"kept messages on a branch that was left", []string{prompt(1, 0, ""), answer(2, 1, text), boundary(3, 2, `,"preservedMessages":{"uuids":["u9"]}`), compacted(4, 3), answer(5, 4, text), prompt(6, 2, ""), answer(7, 6, text)}, "lost-preserved:3 abandoned-branch:3 abandoned-branch:4 abandoned-branch:5"},
	{"no summary on a branch that was left", []string{prompt(1, 0, ""), answer(2, 1, text), boundary(3, 2, ""), prompt(4, 3, ""), prompt(5, 2, ""), answer(6, 5, text)}, "no-summary:3 abandoned-branch:3 abandoned-branch:4"},
	{"after a lost message", []string{prompt(1, 0, ""), answer(2, 1, text), boundary(3, 9, ""), compacted(4, 3), answer(5, 4, text)}, "lost-logical-parent:3"},
	{"twice after one message", []string{prompt(1, 0, ""), answer(2, 1, text), boundary(3, 2, ""), compacted(4, 3), boundary(5, 2, ""), compacted(6, 5), answer(7, 6, text)}, "repeated-boundary:5 abandoned-branch:3 abandoned-branch:4"},
	{"kept messages", []string{prompt(1, 0, ""), answer(2, 1, text), boundary(3, 2, `,"preservedMessages":{"uuids":["u2","u8"]},"preservedSegment":{"headUuid":"u1","tailUuid":"u9"}`), compacted(4, 3), answer(5, 4, text)}, "lost-preserved:3"},
	{"no metadata", []string{prompt(1, 0, ""), answer(2, 1, text), strings.Replace(boundary(3, 2, ""), `,"compactMetadata":{"trigger":"auto","preTokens":1000}`, "", 1), compacted(4, 3), answer(5, 4, text)}, "unreadable-metadata:3"},
	{"metadata that do not read", []string{prompt(1, 0, ""), answer(2, 1, text), strings.Replace(boundary(3, 2, ""), `1000`, `"many"`, 1), compacted(4, 3), answer(5, 4, text)}, "unreadable-metadata:3"},
	{"the old form", []string{prompt(1, 0, ""), answer(2, 1, text), compacted(3, 0), answer(4, 3, text)}, "lone-summary:3"},
	{"requests on record", []string{prompt(1, 0, ""), answer(2, 1, text), `{"type":"api-request","id":5}`, `{"type":"api-request","id":"r","keep":1,"base":"q","tail":[]}`, `{"type":"api-request","id":"r"}`,
		`{"type":"api-request-blob","hash":"` + strings.Repeat("0", 64) + `","message":{"role":"user","content":"x"}}`, `{"type":"api-request-shape","shapeHash":"` + strings.Repeat("0", 64) + `","shape":{}}`, `{"type":"api-request-resumed"}`},
		"unreadable-request:3 repeated-request:5 broken-request:4 wrong-hash:6 wrong-hash:7 unused-message:7"},
	{"a record of nothing", []string{prompt(1, 0, ""), answer(2, 1, text), `{"type":"marble-origami-commit","collapseId":"1","firstArchivedUuid":"u8","lastArchivedUuid":"u9"}`}, "unused-record:3"},
}

func TestRules(t *testing.T) {
	seen := map[string]bool{"reading-stopped": true, "too-many-blocks": true, "missing-offload": true, "refused-offload": true} // see below
	for _, tt := range rules {
		t.Run(tt.name, func(t *testing.T) {
			r := look(t, tt.lines...)
			same(t, strings.Fields(tt.want), append([]string{}, found(r)...), strings.Join(tt.lines, "\n"))
		})
		for _, w := range strings.Fields(tt.want) {
			code, _, _ := strings.Cut(w, ":")
			seen[code] = true
		}
	}
	for _, r := range lint.Rules() {
		if !seen[r.Code] {
			t.Errorf("nothing shows %s", r.Code)
		}
	}
}

func TestManyBlocks(t *testing.T) {
	list := strings.TrimSuffix(strings.Repeat(text+",", 16385), ",")
	same(t, []string{"too-many-blocks:2"}, found(look(t, prompt(1, 0, ""), answer(2, 1, list))))
}

// A compressed file that is cut off, and results that were offloaded.
func TestFiles(t *testing.T) {
	dir := t.TempDir()
	stub := func(id string) string {
		return strings.Replace(answered(3, 2, id), `"content":"x"`, `"content":"<persisted-output>\nOutput too large (50KB). Full output saved to: /home/u/x.txt\n"`, 1)
	}
	write := func(name, content string) string {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	session1 := func(id string) string {
		return strings.Join([]string{prompt(1, 0, ""), answer(2, 1, call(id)), stub(id), answer(4, 3, text)}, "\n") + "\n"
	}
	var archive bytes.Buffer
	z := gzip.NewWriter(&archive)
	for _, l := range []string{prompt(1, 0, ""), answer(2, 1, text), prompt(3, 2, "")} {
		fmt.Fprintln(z, l)
		z.Flush()
	}
	write("there/tool-results/toolu_1.txt", "all of it")
	for _, tt := range []struct{ path, want string }{
		{write("there.jsonl", session1("toolu_1")), ""},
		{write("missing.jsonl", session1("toolu_1")), "missing-offload:3"},
		{write("refused.jsonl", session1("../../etc/passwd")), "refused-offload:3"},
		{write("absolute.jsonl", session1("/etc/passwd")), "refused-offload:3"},
		{write("cut.jsonl.gz", archive.String()), "reading-stopped:0"},
	} {
		r, err := lint.File(tt.path, session.LoadOptions{})
		if err != nil {
			t.Fatal(err)
		}
		same(t, strings.Fields(tt.want), append([]string{}, found(r)...), filepath.Base(tt.path))
	}
	if _, err := lint.File(filepath.Join(dir, "nowhere.jsonl"), session.LoadOptions{}); err == nil {
		t.Error("no error for a file that is not there")
	}
}

// The findings are the same at any number of workers.
func TestJobs(t *testing.T) {
	path := filepath.Join("..", "..", "testdata", "sessions", "big.jsonl")
	one, err := lint.File(path, session.LoadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	many, err := lint.File(path, session.LoadOptions{Jobs: 8})
	if err != nil {
		t.Fatal(err)
	}
	same(t, one, many, "-one +many")
}

// Whatever a file holds, looking through it ends, and its counts add up.
func FuzzLint(f *testing.F) {
	for _, tt := range rules {
		f.Add([]byte(strings.Join(tt.lines, "\n")))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := lint.Reader("f", strings.NewReader(string(data)), session.LoadOptions{})
		if err == nil {
			balanced(t, r)
		}
	})
}

// TestConvertedBlocks: what the reader of another agent's sessions makes is no problem of the file.
func TestConvertedBlocks(t *testing.T) {
	own := `{"type":"recorded-by","product":"codex","version":"0.118.0","sessionId":"s"}`
	block := answer(2, 1, `{"type":"compaction","signature":"x"}`)
	for want, lines := range map[string][]string{
		"unknown-block:2": {prompt(1, 0, ""), block}, "": {own, prompt(1, 0, ""), block},
	} {
		r, err := lint.Reader("s", strings.NewReader(strings.Join(lines, "\n")), session.LoadOptions{})
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		for _, f := range r.Findings {
			if f.Severity != lint.Note {
				got += f.Code + ":" + strconv.Itoa(f.Places[0].Line)
			}
		}
		same(t, want, got)
	}
}

// same fails a test whose result is not the one that is wanted; of says what it is of.
func same[T any](t testing.TB, want, got T, of ...any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%v: -want +got\n%s", of, diff)
	}
}
