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
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
)

// inputCommands are the command lines of all commands that read sessions, without the input.
func inputCommands(t *testing.T) (list [][]string) {
	t.Helper()
	var walk func(c *cobra.Command, words []string)
	walk = func(c *cobra.Command, words []string) {
		for _, sub := range c.Commands() {
			walk(sub, append(words[:len(words):len(words)], sub.Name()))
		}
		if !strings.Contains(c.Use, " INPUT") {
			return
		}
		switch c.Name() {
		case "check":
			return // its inputs are in a file
		case "sweep":
			words = append(words, "-p", "opencode", "--vary", "opencode_prune.protect=1000,2000")
		case "cost", "diff", "regret", "replay", "view":
			words = append(words, "-p", "opencode")
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
		"events.jsonl": `{"type":"text","timestamp":1,"sessionID":"s","part":{"type":"text"}}` + "\n", "data.db": "SQLite format 3\x00\x10\x00",
	} {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		for _, words := range inputCommands(t) {
			var out, said bytes.Buffer
			args := slices.Concat(words, []string{file})
			code := Main(args, strings.NewReader(""), &out, &said)
			if code != exitNotDone || out.Len() > 0 || !strings.Contains(said.String(), name+": it looks like ") {
				t.Errorf("%q: exit code %d, wrote %.200q, said %.300q", args, code, out.String(), said.String())
			}
		}
	}
}

// foreignFiles are hand-made sessions of other agents and, where there are some, real ones.
func foreignFiles(t *testing.T) (files []string) {
	t.Helper()
	add := func(dir string) {
		err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
			name := strings.TrimSuffix(e.Name(), ".gz")
			if err == nil && !e.IsDir() && (strings.HasSuffix(name, ".jsonl") || strings.HasSuffix(name, ".json")) {
				files = append(files, path)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, agent := range agents()[1:] {
		add(filepath.Join("..", "jsonl", agent, "testdata"))
	}
	for _, name := range []string{"CTXKIT_CODEX", "CTXKIT_AGENTS"} {
		if dir := os.Getenv(name); dir == "" {
			t.Logf("%s is not set: no real sessions of these agents", name)
		} else {
			add(dir)
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
		var said bytes.Buffer
		if code := Main([]string{"convert", file, "-o", converted}, strings.NewReader(""), io.Discard, &said); code != exitDone {
			t.Fatalf("%s: exit code %d: %s", file, code, said.String())
		}
		for _, policy := range []string{"none", "opencode", "claude-code"} {
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
		filepath.Join("..", "jsonl", "codex", "testdata", "rollout.jsonl"): 5, filepath.Join("..", "jsonl", "opencode", "testdata", "export.json"): 4,
		filepath.Join("..", "testdata", "sessions", "compaction.jsonl"): 4,
	} {
		var result struct {
			Groups []struct{ Policies []struct{ Policy string } }
		}
		ctxkitJSON(t, &result, "compare", file, "--no-regret")
		if len(result.Groups) != 1 || len(result.Groups[0].Policies) != want {
			t.Errorf("%s: %+v, want %d policies", file, result, want)
		}
	}
}

// timelineOf is what replay prints of a session, without the places in its file.
func timelineOf(t *testing.T, file, policy string) any {
	t.Helper()
	var out, said bytes.Buffer
	if code := Main([]string{"replay", file, "-q", "-p", policy, "-f", "json"}, strings.NewReader(""), &out, &said); code != exitDone {
		t.Fatalf("%s under %s: exit code %d: %s", file, policy, code, said.String())
	}
	var v any
	if err := json.Unmarshal(out.Bytes(), &v); err != nil {
		t.Fatal(err)
	}
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
