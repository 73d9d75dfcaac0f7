package cmd

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/ctxkit/ctxkit/policy/preset"
	"github.com/ctxkit/ctxkit/replay"
)

// TestCorpus replays every real session under every built-in policy: exit 0,
// every line accounted for, JSON as the schema says, and a table that fits.
func TestCorpus(t *testing.T) {
	corpus := os.Getenv("CTXKIT_CORPUS")
	if corpus == "" {
		t.Skip("CTXKIT_CORPUS is not set")
	}
	files := sessionFiles(t, corpus)
	schema, err := jsonschema.NewCompiler().Compile(filepath.Join("..", "docs", "schemas", "replay.v1.json"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range preset.Names() {
		t.Run(name, func(t *testing.T) {
			out := mustRun(t, append([]string{"replay", "-q", "-p", name, "-f", "json", "--agent", "all"}, files...)...)
			var all struct{ Sessions []json.RawMessage }
			if err := json.Unmarshal(out, &all); err != nil {
				t.Fatal(err)
			}
			if len(all.Sessions) < len(files) {
				t.Fatalf("%d conversations of %d files", len(all.Sessions), len(files))
			}
			for _, raw := range all.Sessions {
				checkTimeline(t, schema, raw)
			}
		})
	}
	t.Run("table", func(t *testing.T) {
		out := mustRun(t, append([]string{"replay", "-q", "-p", "recorded", "--all"}, files...)...)
		for line := range strings.Lines(string(out)) {
			if n := len([]rune(strings.TrimSuffix(line, "\n"))); n > 100 {
				t.Errorf("%d columns: %s", n, line)
			}
		}
	})
}

func sessionFiles(t *testing.T, corpus string) []string {
	t.Helper()
	var files []string
	for _, pattern := range []string{"*.jsonl.gz", "project/*.jsonl"} {
		found, err := filepath.Glob(filepath.Join(corpus, pattern))
		if err != nil || len(found) == 0 {
			t.Fatalf("no session in %s: %v", corpus, err)
		}
		files = append(files, found...)
	}
	return files
}

func mustRun(t *testing.T, args ...string) []byte {
	t.Helper()
	var out, said bytes.Buffer
	if code := Main(args, strings.NewReader(""), &out, &said); code != exitDone || said.Len() > 0 {
		t.Fatalf("exit %d, said %s", code, said.String())
	}
	return out.Bytes()
}

func checkTimeline(t *testing.T, schema *jsonschema.Schema, raw []byte) {
	t.Helper()
	var tl replay.Timeline
	if err := json.Unmarshal(raw, &tl); err != nil {
		t.Fatal(err)
	}
	if err := tl.CheckValid(); err != nil {
		t.Errorf("%s %s: %v", tl.File, tl.Agent, err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	if err := schema.Validate(doc); err != nil {
		t.Errorf("%s %s: %v", tl.File, tl.Agent, err)
	}
}
