package cmd

import (
	"bytes"
	"encoding/json"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"

	"github.com/ctxkit/ctxkit/jsonl/must"
)

// inputCommands are the command lines of all commands that read sessions, without the input.
func inputCommands(t *testing.T) (list [][]string) {
	t.Helper()
	var walk func(c *cobra.Command, words []string)
	walk = func(c *cobra.Command, words []string) {
		for _, sub := range c.Commands() {
			walk(sub, append(words[:len(words):len(words)], sub.Name()))
		}
		if !strings.Contains(c.Use, " INPUT") && c.Name() != "resume" {
			return
		}
		switch c.Name() {
		case "check":
			return // its inputs are in a file
		case "sweep":
			words = append(words, "-p", "opencode", "--vary", "opencode_prune.protect=1000,2000")
		case "cost", "diff", "regret", "replay", "view":
			words = append(words, "-p", "opencode")
		case "export":
			words = append(words, "-p", "opencode", "-o", filepath.Join(t.TempDir(), "tables"))
		}
		list = append(list, words)
	}
	walk(newRoot(newSystem(strings.NewReader(""), io.Discard, io.Discard)), nil)
	if len(list) < 12 {
		t.Fatalf("%d commands that read sessions: %q", len(list), list)
	}
	return list
}

// TestRefusedEverywhere: no command gives a report of a file that is no session.
func TestRefusedEverywhere(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"empty.jsonl": "", "text.txt": "Dear all,\nhello\n", "blank.jsonl": "\n\n", "random.jsonl": "\x93\x01\xfe\x00\x7f\x1b\xff\x80\xc3\x28\n\x00",
		"messages.json": `[{"role":"user","content":"hello"}]`, "trajectory.json": `{"trajectory":[],"history":[],"info":{}}`,
		"events.jsonl":   `{"type":"text","timestamp":1,"sessionID":"s","part":{"type":"text"}}` + "\n",
		"unrelated.json": `{"name":"mill","version":"1.0.0"}`,
	} {
		file := filepath.Join(dir, name)
		writeFile(t, file, text)
		for _, words := range inputCommands(t) {
			code, out, said := ctxkit(append(words, file)...)
			if code != exitNotDone || out != "" || strings.Count(said, name+": it looks like ") != 1 {
				t.Errorf("%q %s: exit code %d, wrote %.200q, said %.300q", words, name, code, out, said)
			}
		}
	}
}

// TestNothingToReport: no command gives a report of another agent's session without a request.
func TestNothingToReport(t *testing.T) {
	dir := t.TempDir()
	head := func(n int, path ...string) string {
		text := must.Get(os.ReadFile(filepath.Join(append(strings.Fields(".. jsonl internal"), path...)...)))(t)
		return strings.Join(strings.SplitAfter(string(text), "\n")[:n], "")
	}
	for name, text := range map[string]string{
		"rollout.jsonl": head(1, "codex", "testdata", "rollout.jsonl"), "copilot.jsonl": head(2, "copilot", "testdata", "events.jsonl"),
		"export.json": `{"info":{"id":"ses_1","directory":"/srv","title":"t","version":"1.4.3","time":{"created":1}},"messages":[]}`,
	} {
		file := filepath.Join(dir, name)
		writeFile(t, file, text)
		for _, words := range inputCommands(t) {
			switch words[0] {
			case "lint", "convert", "anonymize": // what there is
				if name != "export.json" || words[0] == "lint" {
					continue
				}
			}
			want := "no request"
			if name == "export.json" {
				want = "without messages"
			}
			code, out, said := ctxkit(append(words, file)...)
			if code != exitNotDone || out != "" && words[0] != "convert" || !strings.Contains(said, want) && !strings.Contains(said, "no policy of Copilot CLI is built in") {
				t.Errorf("%q %s: exit code %d, wrote %.200q, said %.300q", words, name, code, out, said)
			}
		}
	}
}

// TestListedSessions: sessions lists no file that is none.
func TestListedSessions(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"text.jsonl": "Dear all,\n", "empty.jsonl": ""} {
		writeFile(t, filepath.Join(dir, name), text)
	}
	code, out, said := ctxkit("sessions", dir)
	if code != exitDone || strings.Contains(out, "text") || strings.Contains(out, "empty") ||
		!strings.Contains(said, "text.jsonl: not read: it looks like text") || !strings.Contains(said, "empty.jsonl: not read: it looks like an empty file") {
		t.Errorf("exit code %d, wrote %q, said %q", code, out, said)
	}
}

// foreignFiles are hand-made sessions of other agents, documents on one line, too, and, where there are some, real ones: of
// each four of an agent one, with CTXKIT_LONG=1 all.
func foreignFiles(t *testing.T) (files []string) {
	t.Helper()
	add := func(dir string, take func(files []string) []string) {
		var list []string
		must.Do(t, filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
			name := strings.TrimSuffix(e.Name(), ".gz")
			if err == nil && !e.IsDir() && (strings.HasSuffix(name, ".jsonl") || strings.HasSuffix(name, ".json")) {
				list = append(list, path)
			}
			return err
		}))
		for _, path := range take(list) {
			files = append(files, path)
			if filepath.Ext(path) == ".json" {
				var line bytes.Buffer
				must.Do(t, json.Compact(&line, must.Get(os.ReadFile(path))(t)))
				files = append(files, filepath.Join(t.TempDir(), filepath.Base(path)))
				writeFile(t, files[len(files)-1], line.String())
			}
		}
	}
	all := func(files []string) []string { return files }
	some := func(files []string) []string { return every(4, files) }
	for _, reader := range strings.Fields("codex copilot gemini opencode pi") { // folders, not products
		add(filepath.Join("..", "jsonl", "internal", reader, "testdata"), all)
	}
	for variable, pattern := range map[string]string{"CTXKIT_CODEX": "", "CTXKIT_AGENTS": "*"} {
		if dir := os.Getenv(variable); dir == "" {
			t.Logf("%s is not set: no real sessions of these agents", variable)
		} else {
			for _, folder := range must.Glob(t, 1, dir, pattern) {
				add(folder, some)
			}
		}
	}
	return files
}

// TestConverted: a converted session replays as its original.
func TestConverted(t *testing.T) {
	files := foreignFiles(t)
	for i, file := range files {
		if testing.Short() && i >= 10 {
			break
		}
		converted := filepath.Join(t.TempDir(), "converted.jsonl")
		if code, _, said := ctxkit("convert", file, "-o", converted); code != exitDone {
			t.Fatalf("%s: exit code %d: %s", file, code, said)
		}
		if code, _, said := ctxkit("replay", file, "-q", "-p", "none"); code != exitDone && strings.Contains(said, "no request") {
			continue // the API answered none
		}
		for _, policy := range strings.Fields("none opencode claude-code claude-code@2.1.330") {
			one := timelineOf(t, file, policy)
			if diff := cmp.Diff(one, timelineOf(t, converted, policy)); diff != "" {
				t.Errorf("%s under %s: -original +converted\n%.2000s", file, policy, diff)
			}
		}
	}
	t.Logf("%d sessions", len(files))
}

// TestComparedWithOwn: sessions of a client are compared with its own policy, too.
func TestComparedWithOwn(t *testing.T) {
	for file, want := range map[string]int{
		"../jsonl/internal/codex/testdata/rollout.jsonl": 5, "../jsonl/internal/opencode/testdata/export.json": 4,
		"../testdata/sessions/compaction.jsonl": 4,
	} {
		var result any
		ctxkitJSON(t, &result, "compare", file, "--no-regret")
		must.Equal(t, len(at(result, "groups").([]any)), 1, file)
		must.Equal(t, len(at(result, "groups.0.policies").([]any)), want, file)
	}
}

// timelineOf is what replay prints of a session, without the places in its file.
func timelineOf(t *testing.T, file, policy string) any {
	t.Helper()
	code, out, said := ctxkit("replay", file, "-q", "-p", policy, "-f", "json")
	if code != exitDone {
		t.Fatalf("%s under %s: exit code %d: %s", file, policy, code, said)
	}
	var v any
	must.Do(t, json.Unmarshal([]byte(out), &v))
	return withoutPlaces(v)
}

func withoutPlaces(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for key, inner := range v {
			switch key {
			case "file", "line", "path", "lines", "warnings", "set_aside", "inputs":
				delete(v, key)
			default:
				v[key] = withoutPlaces(inner)
			}
		}
	case []any:
		for i := range v {
			v[i] = withoutPlaces(v[i])
		}
	case string:
		return lineNumber.ReplaceAllString(v, "line N")
	}
	return v
}

// lineNumber is a place in a reason.
var lineNumber = regexp.MustCompile(`\bline \d+`)

// TestOwnPolicy: sessions of a client with built-in policies are replayed, compared and scored under its own.
func TestOwnPolicy(t *testing.T) {
	for _, x := range []struct{ client, file, own string }{
		{"gemini-cli", "internal/gemini/testdata/chat.json", "gemini-cli"}, {"gemini-cli", "internal/gemini/testdata/chat.jsonl", "gemini-cli"},
		{"pi", "internal/pi/testdata/v3.jsonl", "pi"}, {"opencode", "internal/opencode/testdata/export.json", "opencode"}, {"copilot", "internal/copilot/testdata/events.jsonl", "copilot"},
	} {
		data := must.Get(os.ReadFile(filepath.Join("..", "jsonl", filepath.FromSlash(x.file))))(t)
		file := filepath.Join(t.TempDir(), filepath.Base(x.file)) // beside no other of its id
		writeFile(t, file, string(data))
		var listed, compared any
		ctxkitJSON(t, &listed, "resume", file, "-q")
		must.Say(t, x.client+" <nil>", at(listed, "sessions.0.client"), at(listed, "sessions.1"))
		if code, out, said := ctxkit(file); code != 0 || !strings.HasSuffix(strings.SplitN(said, "\n", 2)[0], "ctxkit replay "+file) {
			t.Errorf("%s: exit %d: %s%s", x.file, code, out, said)
		}
		ctxkitJSON(t, &compared, "compare", file, "-q", "--no-regret")
		if !slices.ContainsFunc(at(compared, "groups.0.policies").([]any), func(p any) bool { return at(p, "policy") == x.own }) {
			t.Errorf("compare %s: %+v", x.file, compared)
		}
		code, out, said := ctxkit("backtest", file, "-q")
		if code != 0 || !strings.Contains(out, "compactions: "+x.own+" against the record") {
			t.Errorf("backtest %s: exit %d: %s%s", x.file, code, out, said)
		}
	}
	file := "../jsonl/internal/copilot/testdata/events.jsonl"
	if code, _, said := ctxkit("backtest", file, "-p", "claude-code"); code != 0 {
		t.Errorf("exit %d under a policy that is named: %s", code, said)
	}
}

// TestUnknownVersion: a warning names no client version where none is recorded.
func TestUnknownVersion(t *testing.T) {
	line := func(n int, text string) string { return strings.ReplaceAll(text, "N", strconv.Itoa(n)) }
	entry := `{"type":"message","id":"aN","timestamp":"2026-01-01T00:00:0N.000Z","message":{"role":"assistant","provider":"openai","model":"MODEL",` +
		`"content":[{"type":"text","text":"ok"}],"usage":{"input":10,"output":2,"cacheRead":0,"cacheWrite":0,"totalTokens":12},"stopReason":"stop","timestamp":1}}`
	user := `{"type":"message","id":"uN","timestamp":"2026-01-01T00:00:0N.000Z","message":{"role":"user","content":"go","timestamp":1}}`
	text := strings.Join([]string{
		`{"type":"session","id":"s","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/srv"}`,
		line(1, user), strings.ReplaceAll(line(2, entry), "MODEL", "gpt-4.1"), line(3, user), strings.ReplaceAll(line(4, entry), "MODEL", "gpt-5"),
	}, "\n") + "\n"
	text = strings.ReplaceAll(text, "gpt-5", "gpt-5-mini")
	var out, said bytes.Buffer
	code := Main(strings.Fields("replay - -p none"), strings.NewReader(text), &out, &said)
	all := strings.Join(strings.Fields(out.String()+said.String()), " ")
	if code != exitDone || !strings.Contains(all, "tokens, not 1047576 (gpt-5-mini)") {
		t.Errorf("exit code %d: %s", code, all)
	}
}

// TestNewerThanKnown: every command says once that the client is newer than those that were read, and where nothing states
// the model's window.
func TestNewerThanKnown(t *testing.T) {
	text := must.Get(os.ReadFile("../testdata/sessions/rewind.jsonl"))(t)
	text = regexp.MustCompile(`"version":"[^"]*"`).ReplaceAll(text, []byte(`"version":"99.1.0"`))
	text = regexp.MustCompile(`"model":"claude[^"]*"`).ReplaceAll(text, []byte(`"model":"claude-opus-99"`))
	dir := t.TempDir()
	file := filepath.Join(dir, "new.jsonl")
	config := filepath.Join(dir, "ctxkit.yaml")
	for name, content := range map[string][]byte{file: text, config: []byte("version: 1\nsessions: [new.jsonl]\ncases: [{policy: claude-code}]\n")} {
		writeFile(t, name, string(content))
	}
	silent := map[string]bool{"anonymize": true, "convert": true, "lint": true} // no rule of a client acts in them
	list := [][]string{{"check", config}, {"sessions", dir}, {"backtest", file, "-p", "claude-code"}, {"compare", file, "-p", "recorded", "-p", "claude-code"}}
	for _, words := range inputCommands(t) {
		for i, w := range words {
			words[i] = strings.ReplaceAll(strings.ReplaceAll(w, "opencode_prune.protect=1000,2000", "threshold=90k,100k"), "opencode", "claude-code")
		}
		if !silent[words[0]] {
			list = append(list, append(words, file))
		}
	}
	for _, words := range list {
		code, out, said := ctxkit(words...)
		if code == exitNotDone {
			t.Errorf("%q: exit code %d: %s", words, code, said)
			continue
		}
		all := strings.Join(strings.Fields(out+said), " ")
		if n := strings.Count(all, "claude-code 99.1.0 is newer than any that was read"); n != 1 {
			t.Errorf("%q says %d times that the client is newer:\n%s", words, n, all)
		}
		if n := strings.Count(all, "the window is assumed"); n != 1 && words[0] != "sessions" {
			t.Errorf("%q says %d times that the window is assumed:\n%s", words, n, all)
		}
	}
}
