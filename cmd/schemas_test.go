package cmd

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/spf13/cobra"

	"github.com/ctxkit/ctxkit/jsonl/must"
)

// jsonExamples are the lines that commands that print JSON are tried with: jsonLines, with the files that they name.
func jsonExamples(t *testing.T) []string {
	t.Helper()
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		writeFile(t, path, text)
		return path
	}
	const big, compaction = "../testdata/sessions/big.jsonl", "../testdata/sessions/compaction.jsonl"
	sessions := "../testdata/sessions"
	if !long() { // without the large ones
		from := sessions
		sessions = filepath.Join(t.TempDir(), "sessions")
		must.Do(t, os.CopyFS(sessions, os.DirFS(from)))
		for _, name := range []string{"big.jsonl", "big-2.1.139.jsonl"} {
			must.Do(t, os.Remove(filepath.Join(sessions, name)))
		}
	}
	odd := write("odd.yaml", "window: {context: 200000, auto_compact: false}\nstages: [autocompact, snip: {ids: [abc123@3]}]\n")
	hostileFile := write("hostile.jsonl", string(hostileSession(t, 0)))
	rows := write("all.rows", string(mustRun(t, "compare", sessions, "-q", "-f", "rows")))
	empty := write("empty.jsonl", `{"type":"summary","summary":"A title","leafUuid":"u1"}`)
	script := must.Get(os.ReadFile("testdata/script/requests.txtar"))(t)
	_, rest, _ := strings.Cut(string(script), "-- session.jsonl --\n")
	session, _, _ := strings.Cut(rest, "-- bodies.ndjson --\n")
	onRecord := write("requests.jsonl", session)
	files := map[string]string{
		"big": big, "compaction": compaction, "sessions": sessions, "hostile": hostileFile, "empty": empty, "onRecord": onRecord, "odd": odd, "rows": rows, "dir": dir,
		"bodies": write("bodies.ndjson", `{"answer":{"id":"msg_01SscvDV17vWCLtazf7MLaee"},"messages":[{"role":"user","content":"x"}]}`),
		"mine":   write("mine.json", `{"models": [{"id": "mine", "input": 1, "output": 2}]}`),
	}
	return strings.Split(os.Expand(strings.TrimSpace(jsonLines), func(name string) string { return files[name] }), "\n")
}

const jsonLines = `
anonymize --check $compaction
anonymize --check $hostile
anonymize --check $empty
backtest $big
backtest $big --counters
backtest $onRecord --payload
backtest $compaction --payload --requests $bodies
check ../testdata/check/threshold/ctxkit.yaml
compare $compaction $big
compare $sessions --by version -p none
compare $empty $hostile
cost $big -p opencode
cost $sessions -p claude-code-pipeline --agent all
diff $compaction -p opencode
lint $sessions
lint $hostile
merge $rows
policy diff opencode none
policy diff none none
policy diff claude-code-pipeline $odd
policy lint $odd
policy lint none claude-code-pipeline opencode
policy list
prices
prices --prices $mine
regret $big $compaction -p three-layer
regret $empty -p none
replay $big -p claude-code-pipeline
replay $sessions -p opencode --agent all --regret
replay $hostile -p three-layer
resume $sessions
resume $big
resume $dir
sessions $sessions
sessions $sessions/subagent
sessions $dir
stats $big
stats $onRecord
stats $sessions --agent all
stats $hostile -p three-layer
stats $empty
sweep $big -p opencode --vary opencode_prune.protect=20000,40000
thresholds
thresholds --policy none
thresholds --policy opencode-1.18 --model claude-opus-4-6
thresholds --policy claude-code-2.1.19 --window 1M --set window.pct_override=50
thresholds --policy gemini-cli
validate $sessions --agent all
validate $big -p claude-code@2.1.30
view $big --as transcript
why $big
why $onRecord
why $sessions --agent all
why $sessions -p three-layer
why $hostile -p gemini-cli --window 20k
why $compaction -p gemini-cli --window 20k
why $empty
`

// runBy is the longest of the names of commands that a line begins with.
func runBy(line string, names []string) (name string) {
	for _, n := range names {
		if strings.HasPrefix(line+" ", n+" ") && len(n) > len(name) {
			name = n
		}
	}
	return name
}

// bySchema fails the test if a document is not by its schema; schemas are those compiled so far, by file.
func bySchema(t *testing.T, schemas map[string]*jsonschema.Schema, file string, document io.Reader, args []string) {
	t.Helper()
	if schemas[file] == nil {
		schemas[file] = schemaOf(t, file)
	}
	v, err := jsonschema.UnmarshalJSON(document)
	if err == nil {
		err = schemas[file].Validate(v)
	}
	if err != nil {
		t.Errorf("%q: %v", args, err)
	}
}

// TestEveryJSONHasASchema runs every command that prints JSON, and holds what it prints against the schema that its
// "schema" names.
func TestEveryJSONHasASchema(t *testing.T) {
	t.Parallel()
	examples := jsonExamples(t)
	schemas := map[string]*jsonschema.Schema{}
	names, tried := jsonCommands(newRoot(newSystem(strings.NewReader(""), &bytes.Buffer{}, &bytes.Buffer{}))), map[string]bool{}
	for _, line := range examples {
		tried[runBy(line, names)] = true
		args := append(strings.Fields(line), "--format", "json")
		var out, said bytes.Buffer
		if code := Main(args, strings.NewReader(""), &out, &said); code == exitNotDone {
			t.Fatalf("%q: %s", args, said.Bytes())
		}
		var doc struct {
			Schema string `json:"schema"`
		}
		if err := json.Unmarshal(out.Bytes(), &doc); err != nil {
			t.Fatalf("%q: %v", args, err)
		}
		product, version, ok := strings.Cut(strings.TrimPrefix(doc.Schema, "ctxkit."), "/")
		if !ok {
			t.Errorf("%q: the schema is %q", args, doc.Schema)
			continue
		}
		file := product + "." + version + ".json"
		bySchema(t, schemas, file, &out, args)
	}
	for _, name := range names {
		if !tried[name] {
			t.Errorf("%s prints JSON, and is tried with nothing here", name)
		}
	}
	if tried[""] {
		t.Error("a line is of a command that prints no JSON")
	}
	// That of a baseline is of a file that check writes, those of a program and of rows of lines; their own tests hold them.
	published, err := filepath.Glob("../docs/schemas/*.json")
	if err != nil || len(published) != len(schemas)+3 {
		t.Errorf("%d schemas are published, %d are of what commands print, one of a baseline, one of a program, one of rows: %v", len(published), len(schemas), err)
	}
}

// jsonCommands are the commands that have json among their formats.
func jsonCommands(c *cobra.Command) []string {
	var names []string
	if slices.Contains(formatsOf(c), "json") {
		_, name, _ := strings.Cut(c.CommandPath(), " ")
		names = append(names, name)
	}
	for _, sub := range c.Commands() {
		names = append(names, jsonCommands(sub)...)
	}
	return names
}

// TestStrictSchemas holds what validators in strict mode want: a required key is named among the properties beside it,
// and a value has one type, or null.
func TestStrictSchemas(t *testing.T) {
	files, err := filepath.Glob("../docs/*.schema.json")
	more, errMore := filepath.Glob("../docs/schemas/*.json")
	if err != nil || errMore != nil || len(files) != 2 || len(more) == 0 {
		t.Fatalf("%q, %q, %v, %v", files, more, err, errMore)
	}
	for _, file := range append(files, more...) {
		data := must.Get(os.ReadFile(file))(t)
		var root any
		if err := json.Unmarshal(data, &root); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		checkStrict(t, file+": #", root)
	}
}

func checkStrict(t *testing.T, at string, v any) {
	switch x := v.(type) {
	case []any:
		for i, e := range x {
			checkStrict(t, fmt.Sprintf("%s/%d", at, i), e)
		}
	case map[string]any:
		properties, _ := x["properties"].(map[string]any)
		if required, ok := x["required"].([]any); ok {
			for _, key := range required {
				if properties[key.(string)] == nil {
					t.Errorf("%s: %s is required and no property", at, key)
				}
			}
		}
		if types, ok := x["type"].([]any); ok {
			if types = slices.DeleteFunc(types, func(t any) bool { return t == "null" }); len(types) > 1 {
				t.Errorf("%s: types %v", at, types)
			}
		}
		for key, e := range x {
			if key != "enum" && key != "const" && key != "default" {
				checkStrict(t, at+"/"+key, e)
			}
		}
	}
}

// TestCorpusJSON holds what commands print of recorded sessions against the schemas: of every seventh session one command
// line, of each in turn; with CTXKIT_LONG=1 all of all.
func TestCorpusJSON(t *testing.T) {
	var files, folders []string
	for _, name := range strings.Fields("CORPUS MORE CODEX AGENTS") {
		if dir := os.Getenv("CTXKIT_" + name); dir != "" {
			list, _, err := Inputs([]string{dir})
			if err != nil {
				t.Fatal(err)
			}
			files, folders = append(files, list...), append(folders, dir)
		}
	}
	if len(files) == 0 || testing.Short() {
		t.Skip("CTXKIT_CORPUS and the others name no folder of sessions")
	}
	lines := strings.Split(`why FILE
stats FILE
resume FILE
replay FILE -p recorded
cost FILE -p opencode
lint FILE
regret FILE -p three-layer
compare FILE -p recorded -p claude-code
backtest FILE
sessions FILE
diff FILE -p opencode
view FILE --as transcript
anonymize FILE --check
backtest FILE --payload
backtest FILE --counters
sweep FILE -p opencode --vary opencode_prune.protect=20000,40000
why FILE -p gemini-cli`, "\n")
	schemas := map[string]*jsonschema.Schema{}
	valid := 0
	try := func(args ...string) {
		t.Helper()
		var out bytes.Buffer
		if code := Main(append(args, "-q", "-f", "json"), strings.NewReader(""), &out, &bytes.Buffer{}); code == exitNotDone && out.Len() == 0 {
			return // nothing to say of this session
		}
		var doc struct{ Schema string }
		if err := json.Unmarshal(out.Bytes(), &doc); err != nil {
			t.Errorf("%q: %v", args, err)
			return
		}
		if doc.Schema == "" {
			t.Errorf("%q names no schema: %.200s", args, out.Bytes())
			return
		}
		name := strings.Replace(strings.TrimPrefix(doc.Schema, "ctxkit."), "/", ".", 1) + ".json"
		bySchema(t, schemas, name, &out, args)
		valid++
	}
	for _, dir := range folders {
		try("resume", dir)
		try("sessions", dir)
	}
	for i, file := range files {
		for k, line := range lines {
			if long() || i%7 == 0 && (i/7)%len(lines) == k {
				args := strings.Fields(line)
				args[1] = file
				try(args...)
			}
		}
	}
	t.Logf("%d outputs of %d sessions fit their schemas", valid, len(files))
	if valid == 0 {
		t.Error("no output was looked at")
	}
}
