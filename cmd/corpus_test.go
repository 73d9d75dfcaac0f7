package cmd

import (
	"bytes"
	"cmp"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/policy/preset"
	"github.com/ctxkit/ctxkit/policy/stage"
	"github.com/ctxkit/ctxkit/replay"
)

// TestCorpus replays real sessions under every built-in policy: exit 0, every line accounted for, JSON as the schema
// says, and a table that fits. Each session takes its turn under three of the policies; CTXKIT_LONG=1 has each under
// all, as the replays themselves are in TestCorpusEveryPolicy.
func TestCorpus(t *testing.T) {
	corpus := folderOf(t, "CTXKIT_CORPUS")
	all := sessionFiles(t, corpus)
	schema := must.Get(jsonschema.NewCompiler().Compile("../docs/schemas/replay.v1.json"))(t)
	reg := must.Get(stage.Registry())(t)
	names := preset.Names(reg)
	turn := max(len(names)/3, 1)
	if long() {
		turn = 1
	}
	for p, name := range names {
		t.Run(name, func(t *testing.T) {
			var files []string
			for i, file := range all {
				if (i+p)%turn == 0 {
					files = append(files, file)
				}
			}
			out := mustRun(t, append([]string{"replay", "-q", "-p", name, "-f", "json", "--agent", "all"}, files...)...)
			var doc struct{ Sessions []json.RawMessage }
			must.Do(t, json.Unmarshal(out, &doc))
			if len(doc.Sessions) < len(files) {
				t.Fatalf("%d conversations of %d files", len(doc.Sessions), len(files))
			}
			for _, raw := range doc.Sessions {
				checkTimeline(t, schema, raw)
			}
		})
	}
	t.Run("table", func(t *testing.T) {
		out := mustRun(t, append(strings.Fields("replay -q -p recorded --all"), every(4, all)...)...)
		for line := range strings.Lines(string(out)) {
			if n := len([]rune(strings.TrimSuffix(line, "\n"))); n > 100 {
				t.Errorf("%d columns: %s", n, line)
			}
		}
	})
}

// TestCorpusBacktest holds every real session against its record: the bars hold. Of every fourth one, with CTXKIT_LONG=1 of
// all, with subagents, the JSON is as the schema says, and the bytes are the same at any number of jobs. Of a subagent with two
// requests a single break decides the cost, so the bars are of the sessions alone.
func TestCorpusBacktest(t *testing.T) {
	corpus := folderOf(t, "CTXKIT_CORPUS")
	schema := must.Get(jsonschema.NewCompiler().Compile("../docs/schemas/backtest.v1.json"))(t)
	files := sessionFiles(t, corpus)
	mustRun(t, append(strings.Fields("backtest -q --strict"), files...)...)
	args := append(strings.Fields("backtest -q --agent all --explain -f json"), every(4, files)...)
	out := mustRun(t, append(args, "--jobs", "1")...)
	if !bytes.Equal(out, mustRun(t, append(args, "--jobs", "4")...)) {
		t.Error("other bytes with other --jobs")
	}
	doc := must.Get(jsonschema.UnmarshalJSON(bytes.NewReader(out)))(t)
	if err := schema.Validate(doc); err != nil {
		t.Error(err)
	}
	var result struct{ Explain []json.RawMessage }
	if err := json.Unmarshal(out, &result); err != nil || len(result.Explain) != 20 {
		t.Errorf("%d breaks are explained, want the worst 20 (%v)", len(result.Explain), err)
	}
}

// folderOf is the folder that a variable names. Without one the test is skipped.
func folderOf(t *testing.T, variable string) string {
	t.Helper()
	dir := os.Getenv(variable)
	if dir == "" {
		t.Skip(variable + " is not set")
	}
	return dir
}

// every takes of each n files the one of middle size; with CTXKIT_LONG=1 all.
func every(n int, files []string) (some []string) {
	if long() {
		return files
	}
	size := func(file string) int64 {
		info, err := os.Stat(file)
		if err != nil {
			return 0
		}
		return info.Size()
	}
	for group := range slices.Chunk(slices.Clone(files), n) {
		slices.SortStableFunc(group, func(x, y string) int { return cmp.Compare(size(x), size(y)) })
		some = append(some, group[(len(group)-1)/2])
	}
	return some
}

func sessionFiles(t *testing.T, corpus string) []string {
	t.Helper()
	var files []string
	for _, pattern := range []string{"*.jsonl.gz", "project/*.jsonl"} {
		found := must.Glob(t, 1, corpus, pattern)
		files = append(files, found...)
	}
	return files
}

func mustRun(t *testing.T, args ...string) []byte {
	t.Helper()
	code, out, said := ctxkit(args...)
	if code != exitDone || said != "" {
		t.Fatalf("exit %d, said %s", code, said)
	}
	return []byte(out)
}

func checkTimeline(t *testing.T, schema *jsonschema.Schema, raw []byte) {
	t.Helper()
	var tl replay.Timeline
	must.Do(t, json.Unmarshal(raw, &tl))
	if err := tl.CheckValid(); err != nil {
		t.Errorf("%s %s: %v", tl.File, tl.Agent, err)
	}
	doc := must.Get(jsonschema.UnmarshalJSON(bytes.NewReader(raw)))(t)
	if err := schema.Validate(doc); err != nil {
		t.Errorf("%s %s: %v", tl.File, tl.Agent, err)
	}
}

// TestCorpusOffloads holds that every offloaded result of a real project folder whose file is there is read back,
// byte for byte, and a missing one is told.
func TestCorpusOffloads(t *testing.T) {
	corpus := folderOf(t, "CTXKIT_CORPUS")
	files := must.Glob(t, 1, corpus, "project", "*.jsonl")
	readBack := 0
	for _, file := range files {
		code, out, said := ctxkit("view", file, "--as", "raw", "-f", "json")
		if code != exitDone {
			t.Fatalf("%s: exit %d: %s", file, code, said)
		}
		shown := results(t, []byte(out))
		recorded := must.Get(os.ReadFile(file))(t)
		for line := range bytes.Lines(recorded) {
			var e struct{ Message json.RawMessage }
			if json.Unmarshal(line, &e) != nil {
				continue
			}
			for id, stub := range results(t, []byte(`{"messages":[`+string(e.Message)+`]}`)) {
				if !strings.HasPrefix(stub, "<persisted-output>") {
					continue
				}
				whole, err := os.ReadFile(filepath.Join(strings.TrimSuffix(file, ".jsonl"), "tool-results", id+".txt"))
				switch {
				case err != nil: // of another name, or not there
					if shown[id] == stub && !strings.Contains(said, id) {
						t.Errorf("%s: %s is missing and not told", file, id)
					}
				case shown[id] != strings.ToValidUTF8(string(whole), "\ufffd"):
					t.Errorf("%s: %s is not read back: %.80q", file, id, shown[id])
				default:
					readBack++
				}
			}
		}
	}
	if readBack < 5 {
		t.Errorf("only %d results were read back", readBack)
	}
}

// results are the tool results of a list of messages that are strings, by id.
func results(t *testing.T, body []byte) map[string]string {
	t.Helper()
	var b struct {
		Messages []struct{ Content json.RawMessage }
	}
	found := map[string]string{}
	if json.Unmarshal(body, &b) != nil {
		return found
	}
	for _, m := range b.Messages {
		var blocks []struct {
			ID      string `json:"tool_use_id"`
			Content json.RawMessage
		}
		if json.Unmarshal(m.Content, &blocks) != nil {
			continue
		}
		for _, bl := range blocks {
			var text string
			if bl.ID != "" && json.Unmarshal(bl.Content, &text) == nil {
				found[bl.ID] = text
			}
		}
	}
	return found
}
