package cmd

import (
	"bytes"
	"compress/flate"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/report/golden"
)

// pageRuns are command lines that write a page or a picture of a session.
func pageRuns(file string) [][]string {
	return [][]string{
		{"replay", file, "-p", "claude-code-2.1.19", "--set", "window.context=60000", "-f", "html"},
		{"replay", file, "-p", "recorded", "-f", "html"},
		{"replay", file, file, "-p", "opencode", "-f", "html"},
		{"replay", file, "-p", "claude-code-2.1.19", "--set", "window.context=60000", "-f", "svg"},
		{"stats", file, "-f", "html"},
		{"stats", file, file, "-p", "opencode", "-f", "html"},
		{"compare", file, "-p", "recorded", "-p", "opencode", "-f", "html"},
		{"compare", file, "-p", "recorded", "-p", "opencode", "--by", "project", "-f", "html"},
		{"sweep", file, "-p", "opencode", "--vary", "opencode_prune.protect=1000,2000", "-f", "html"},
		{"sweep", file, "-p", "opencode", "--vary", "opencode_prune.protect=1000,2000", "-f", "svg"},
	}
}

// written runs a command line and returns its output.
func written(t *testing.T, args ...string) []byte {
	t.Helper()
	code, out, said := ctxkit(append(args, "-q")...)
	if code != exitDone || out == "" {
		t.Fatalf("%q: exit code %d: %s", args, code, said)
	}
	return []byte(out)
}

var (
	pageTexts  = regexp.MustCompile(`<script type="text/plain" class="texts" data-first="\d+">(.*?)</script>`)
	pageScript = regexp.MustCompile(`(?s)<script>.*?</script>|<style>.*?</style>`)
	pageJSON   = regexp.MustCompile(`(?s)<script type="application/json" id="data">(.*?)</script>`)
)

// unfolded is a page with its texts as they are shown, and without its script and style.
func unfolded(t *testing.T, page []byte) []byte {
	t.Helper()
	var texts bytes.Buffer
	for _, m := range pageTexts.FindAllSubmatch(page, -1) {
		packed := must.Get(base64.StdEncoding.DecodeString(string(m[1])))(t)
		plain := must.Get(io.ReadAll(flate.NewReader(bytes.NewReader(packed))))(t)
		var list []string
		must.Do(t, json.Unmarshal(plain, &list))
		for _, text := range list {
			texts.WriteString(text + "\n")
		}
	}
	return append(pageScript.ReplaceAll(pageTexts.ReplaceAll(page, nil), nil), texts.Bytes()...)
}

// nonsense are words that no program has, one for each field of namedSession.
type nonsense struct{ list []string }

func (n *nonsense) word() string {
	const letters = "bdfgklmnprstvz"
	i := len(n.list)*7919 + 104729
	w := "qo"
	for range 5 {
		w += string(letters[i%len(letters)]) + string("aeiou"[i/3%5])
		i = i/len(letters) + 31*i
	}
	n.list = append(n.list, w)
	return w
}

// namedSession is a session with a word of its own in every field.
func namedSession(t *testing.T) ([]byte, []string) {
	t.Helper()
	n := &nonsense{}
	w := n.word
	id, cwd, branch := w(), "/home/"+w()+"/"+w(), w()
	var b bytes.Buffer
	count := 0
	line := func(kind string, rest map[string]any) {
		m := map[string]any{"type": kind, "uuid": fmt.Sprintf("%s-%d", id, count), "sessionId": id, "version": "2.1.19", "cwd": cwd, "gitBranch": branch,
			"timestamp": fmt.Sprintf("2026-01-15T09:%02d:00.000Z", count%60), "slug": branch}
		if count > 0 {
			m["parentUuid"] = fmt.Sprintf("%s-%d", id, count-1)
		}
		for k, v := range rest {
			m[k] = v
		}
		js := must.Get(json.Marshal(m))(t)
		b.Write(append(js, '\n'))
		count++
	}
	say := func(role string, content ...any) map[string]any {
		m := map[string]any{"role": role, "content": content}
		if role == "assistant" {
			m["id"], m["model"], m["stop_reason"] = w(), "claude-"+w(), w()
			m["usage"] = map[string]any{"input_tokens": 1000 * count, "output_tokens": 10, "cache_read_input_tokens": 900 * count}
		}
		return map[string]any{"message": m}
	}
	text := func() map[string]any { return map[string]any{"type": "text", "text": w() + " " + w()} }
	fmt.Fprintf(&b, `{"type":"summary","summary":%q,"leafUuid":"%s-1"}`+"\n", w(), id)
	for range 12 {
		call, tool := w(), "mcp__"+w()+"__"+w()
		line("user", say("user", text()))
		line("assistant", say("assistant", map[string]any{"type": "thinking", "thinking": w(), "signature": w()},
			map[string]any{"type": "tool_use", "id": call, "name": tool, "input": map[string]any{w(): w(), "file_path": "/" + w() + "/" + w() + ".go"}}))
		line("user", say("user", map[string]any{"type": "tool_result", "tool_use_id": call, "content": strings.Repeat(w()+" "+w()+"\n", 900)}))
		line("attachment", map[string]any{"attachment": map[string]any{"type": w(), "content": w(), "filename": "/" + w()}})
		line("assistant", say("assistant", text(), map[string]any{"type": w(), "x": w()}))
	}
	line("system", map[string]any{"subtype": "compact_boundary", "content": w(), "compactMetadata": map[string]any{"trigger": "auto", "preTokens": 50000}})
	line("user", map[string]any{"isCompactSummary": true, "message": map[string]any{"role": "user", "content": w() + " " + w()}})
	line("assistant", say("assistant", text()))
	line(w(), map[string]any{"content": w()})
	b.WriteString("{\"broken\": \"" + w() + "\n")
	return b.Bytes(), n.list
}

// TestNoText holds that no word of a transcript is in a page or a picture with --no-text: of a session with a word of
// its own in every field, and of all real ones.
func TestNoText(t *testing.T) {
	text, words := namedSession(t)
	file := filepath.Join(t.TempDir(), words[0]+".jsonl")
	must.Do(t, os.WriteFile(file, text, 0o644))
	for _, args := range pageRuns(file) {
		shown := bytes.ToLower(unfolded(t, written(t, args...)))
		hidden := bytes.ToLower(unfolded(t, written(t, append(slices.Clone(args), "--no-text")...)))
		with := 0
		for _, w := range words {
			if bytes.Contains(shown, []byte(w)) {
				with++
			}
			if i := bytes.Index(hidden, []byte(w)); i >= 0 {
				t.Errorf("%q --no-text has %q: %s", args, w, hidden[max(i-80, 0):min(i+40, len(hidden))])
			}
		}
		if full := args[0] == "replay" && args[len(args)-1] == "html" && len(slices.DeleteFunc(slices.Clone(args), func(a string) bool { return a != file })) == 1; with == 0 && args[0] != "sweep" || full && with < 100 {
			t.Errorf("%q has %d words of the transcript: nothing to leave out", args, with)
		}
	}
}

var (
	pageString = regexp.MustCompile(`"((?:[^"\\]|\\.)*)"`)
	plainWord  = regexp.MustCompile(`[A-Za-z][A-Za-z_]{3,}`)
)

// TestNoTextCorpus holds that pages of different real sessions with --no-text have the same words but for those of
// policies, stages and the program: no word is of one session alone.
func TestNoTextCorpus(t *testing.T) {
	dir := folderOf(t, "CTXKIT_CORPUS")
	files := must.Glob(t, 1, dir, "*.jsonl*")
	wordsOf := func(file string) map[string]bool {
		set := map[string]bool{}
		page := written(t, "replay", file, "-p", "recorded", "-f", "html", "--no-text")
		for _, s := range pageString.FindAllSubmatch(pageJSON.FindSubmatch(page)[1], -1) {
			for _, w := range plainWord.FindAll(s[1], -1) {
				set[string(w)] = true
			}
		}
		return set
	}
	in := map[string]int{}
	some := every(8, files)
	for _, file := range some {
		for w := range wordsOf(file) {
			in[w]++
		}
	}
	for w, n := range in {
		// What is in one page alone must be a word of the program's own sources.
		if n == 1 && !ownWord(t, w) {
			t.Errorf("the word %q is in the page of one session of %d alone", w, len(some))
		}
	}
	if len(in) < 50 || len(some) < 5 {
		t.Errorf("%d words in %d pages", len(in), len(some))
	}
}

// ownWord reports whether a word is in the sources of the packages that make results.
func ownWord(t *testing.T, word string) bool {
	t.Helper()
	found := false
	for _, dir := range []string{"../policy", "../replay", "../report", "../jsonl"} {
		must.Do(t, filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
			if err != nil || found || e.IsDir() || !slices.Contains([]string{".go", ".yaml", ".json"}, filepath.Ext(path)) || strings.HasSuffix(path, "_test.go") {
				return err
			}
			text, err := os.ReadFile(path)
			found = found || bytes.Contains(text, []byte(word))
			return err
		}))
	}
	return found
}

// TestPageSize holds that the page of a session of 2,000 requests is smaller than 5 MB, and the same at any number of
// jobs.
func TestPageSize(t *testing.T) {
	file := filepath.Join(t.TempDir(), "long.jsonl")
	var said bytes.Buffer
	if code := Main([]string{"synth", "--requests", "2000", "--seed", "7", "-o", file}, strings.NewReader(""), io.Discard, &said); code != exitDone {
		t.Fatalf("exit code %d: %s", code, said.Bytes())
	}
	page := written(t, "replay", file, "-p", "opencode", "-f", "html", "--jobs", "1")
	if again := written(t, "replay", file, "-p", "opencode", "-f", "html", "--jobs", "8"); !bytes.Equal(page, again) {
		t.Error("the page depends on the number of jobs")
	}
	requests := bytes.Count(bytes.SplitN(bytes.SplitN(page, []byte(`"n":[`), 2)[1], []byte("]"), 2)[0], []byte(",")) + 1
	if len(page) > 5_000_000 || requests < 2000 {
		t.Errorf("%d bytes for %d requests", len(page), requests)
	}
	t.Logf("%d bytes for %d requests", len(page), requests)
}

// TestDocsPicture makes the picture of the README anew.
func TestDocsPicture(t *testing.T) {
	golden.Check(t, "../docs/timeline.svg", written(t, "replay", "../testdata/sessions/big.jsonl", "--policy", "opencode", "--format", "svg"))
	readme, err := os.ReadFile("../README.md")
	if err != nil || !bytes.Contains(readme, []byte("](docs/timeline.svg)")) {
		t.Errorf("the README does not show docs/timeline.svg: %v", err)
	}
}
