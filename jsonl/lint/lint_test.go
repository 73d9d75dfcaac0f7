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

	"github.com/ctxkit/ctxkit/jsonl/lint"
	"github.com/ctxkit/ctxkit/jsonl/must"
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

func look(t *testing.T, lines ...string) *lint.Problems {
	t.Helper()
	r := must.Get(lint.Reader("session.jsonl", strings.NewReader(strings.Join(lines, "\n")+"\n"), session.LoadOptions{}))(t)
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

type rule struct {
	name, want string
	lines      []string
}

// rules reads testdata/rules.txt: "# " and the name of a case, "- " and a finding of it, and the lines of a session.
func rules(t testing.TB) (list []rule) {
	t.Helper()
	data := must.Get(os.ReadFile("testdata/rules.txt"))(t)
	for _, text := range strings.Split(string(data), "# ")[1:] {
		var r rule
		for i, l := range strings.Split(strings.TrimSuffix(text, "\n"), "\n") {
			if finding, ok := strings.CutPrefix(l, "- "); ok {
				r.want += " " + finding
			} else if i == 0 {
				r.name = l
			} else {
				r.lines = append(r.lines, l)
			}
		}
		list = append(list, r)
	}
	return list
}

func TestRules(t *testing.T) {
	seen := map[string]bool{"reading-stopped": true, "too-many-blocks": true, "missing-offload": true, "refused-offload": true} // see below
	for _, tt := range rules(t) {
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
		must.Do(t, os.MkdirAll(filepath.Dir(path), 0o755))
		must.Do(t, os.WriteFile(path, []byte(content), 0o644))
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
		r := must.Get(lint.File(tt.path, session.LoadOptions{}))(t)
		same(t, strings.Fields(tt.want), append([]string{}, found(r)...), filepath.Base(tt.path))
	}
	if _, err := lint.File(filepath.Join(dir, "nowhere.jsonl"), session.LoadOptions{}); err == nil {
		t.Error("no error for a file that is not there")
	}
}

// The findings are the same at any number of workers.
func TestJobs(t *testing.T) {
	path := filepath.Join("..", "..", "testdata", "sessions", "big.jsonl")
	one := must.Get(lint.File(path, session.LoadOptions{}))(t)
	many := must.Get(lint.File(path, session.LoadOptions{Jobs: 8}))(t)
	same(t, one, many, "-one +many")
}

// Whatever a file holds, looking through it ends, and its counts add up.
func FuzzLint(f *testing.F) {
	for _, tt := range rules(f) {
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
		r := must.Get(lint.Reader("s", strings.NewReader(strings.Join(lines, "\n")), session.LoadOptions{}))(t)
		got := ""
		for _, f := range r.Findings {
			if f.Severity != lint.Note {
				got += f.Code + ":" + strconv.Itoa(f.Places[0].Line)
			}
		}
		same(t, want, got)
	}
}

// same fails a test whose result is not the one that is wanted; of says what it belongs to.
func same[T any](t testing.TB, want, got T, of ...any) {
	t.Helper()
	must.Equal(t, got, want, of)
}
