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
func pageRuns(file string) (list [][]string) {
	for line := range strings.Lines(`replay file -p claude-code-2.1.19 --set window.context=60000 -f html
replay file -p recorded -f html
replay file file -p opencode -f html
replay file -p claude-code-2.1.19 --set window.context=60000 -f svg
stats file -f html
stats file file -p opencode -f html
compare file -p recorded -p opencode -f html
compare file -p recorded -p opencode --by project -f html
sweep file -p opencode --vary opencode_prune.protect=1000,2000 -f html
sweep file -p opencode --vary opencode_prune.protect=1000,2000 -f svg`) {
		list = append(list, strings.Fields(strings.ReplaceAll(line, "file", file)))
	}
	return list
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
	kept := map[string]string{}
	word := func(name string) string { // an empty name has a new one each time
		if name == "" {
			return n.word()
		}
		if kept[name] == "" {
			kept[name] = n.word()
		}
		return kept[name]
	}
	id, cwd, branch := word("id"), "/home/"+n.word()+"/"+n.word(), n.word()
	const turn = `
user       | [{"type":"text","text":"‹› ‹›"}]
assistant  | [{"type":"thinking","thinking":"‹›","signature":"‹›"},{"type":"tool_use","id":"‹callN›","name":"mcp__‹›__‹›","input":{"‹›":"‹›","file_path":"/‹›/‹›.go"}}]
user       | [{"type":"tool_result","tool_use_id":"‹callN›","content":"‹resultN*1800›"}]
attachment | {"attachment":{"type":"‹›","content":"‹›","filename":"/‹›"}}
assistant  | [{"type":"text","text":"‹› ‹›"},{"type":"‹›","x":"‹›"}]`
	text := ""
	for round := range 12 {
		text += regexp.MustCompile(`N([*›])`).ReplaceAllString(turn, fmt.Sprintf("_%d$1", round))
	}
	lines := sessionLines(t, text+`
system     | {"subtype":"compact_boundary","content":"‹›","compactMetadata":{"trigger":"auto","preTokens":50000}}
user       | {"isCompactSummary":true,"message":{"role":"user","content":"‹› ‹›"}}
assistant  | [{"type":"text","text":"‹› ‹›"}]
‹›         | {"content":"‹›"}
`, word, func(kind string, count int, line map[string]any) {
		for key, value := range map[string]string{"sessionId": id, "version": "2.1.19", "cwd": cwd, "gitBranch": branch, "slug": branch} {
			line[key] = value
		}
		line["uuid"], line["timestamp"] = fmt.Sprintf("%s-%d", id, count), fmt.Sprintf("2026-01-15T09:%02d:00.000Z", count%60)
		if count > 0 {
			line["parentUuid"] = fmt.Sprintf("%s-%d", id, count-1)
		}
		if kind == "assistant" {
			message := line["message"].(map[string]any)
			message["id"], message["model"], message["stop_reason"] = n.word(), "claude-"+n.word(), n.word()
			message["usage"] = map[string]any{"input_tokens": 1000 * count, "output_tokens": 10, "cache_read_input_tokens": 900 * count}
		}
	})
	title := fmt.Sprintf(`{"type":"summary","summary":%q,"leafUuid":"%s-1"}`+"\n", n.word(), id)
	return slices.Concat([]byte(title), lines, []byte("{\"broken\": \""+n.word()+"\n")), n.list
}

// TestNoText holds that no word of a transcript is in a page or a picture with --no-text: of a session with a word of
// its own in every field, and of all real ones.
func TestNoText(t *testing.T) {
	text, words := namedSession(t)
	file := filepath.Join(t.TempDir(), words[0]+".jsonl")
	writeFile(t, file, string(text))
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
	for _, dir := range strings.Fields("../policy ../replay ../report ../jsonl") {
		must.Do(t, filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
			if err != nil || found || e.IsDir() || !slices.Contains(strings.Fields(".go .yaml .json"), filepath.Ext(path)) || strings.HasSuffix(path, "_test.go") {
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
