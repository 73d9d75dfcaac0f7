package preset_test

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v4"

	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/preset"
	"github.com/ctxkit/ctxkit/policy/stage"
)

func registry(t *testing.T) policy.Registry {
	t.Helper()
	reg, err := stage.Registry()
	if err != nil {
		t.Fatal(err)
	}
	return reg
}

// A number below a parameter's least is refused by the schema as it is by the reader.
func TestSchemaBounds(t *testing.T) {
	reg := registry(t)
	schema := compiled(t, reg)
	tried := 0
	for _, d := range reg.Definitions() {
		for _, p := range d.Parameters() {
			least, err := strconv.Atoi(p.Min)
			if err != nil || p.Form != "" || p.Type == "a duration" {
				continue
			}
			tried++
			for _, value := range []string{strconv.Itoa(least - 1), p.Default} {
				text := fmt.Sprintf("stages: [%s: {%s: %s}]", d.Name, p.Name, value)
				var v any
				if err := yaml.Load([]byte(text), &v); err != nil {
					t.Fatal(err)
				}
				_, err := policy.Decode("p.yaml", []byte(text), reg, nil)
				if valid := schema.Validate(v); valid == nil != (err == nil) || (err == nil) != (value == p.Default) {
					t.Errorf("%s: the reader says %v, the schema %v", text, err, valid)
				}
			}
		}
	}
	if tried == 0 {
		t.Error("no parameter has a least value")
	}
}

// compiled is the schema of policies.
func compiled(t *testing.T, reg policy.Registry) *jsonschema.Schema {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(policy.Schema(reg)))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("policy.json", doc); err != nil {
		t.Fatal(err)
	}
	schema, err := c.Compile("policy.json")
	if err != nil {
		t.Fatal(err)
	}
	return schema
}

// Every built-in policy reads, says where it comes from, has nothing odd in it, fits the schema and survives being
// written out.
func TestPresets(t *testing.T) {
	reg := registry(t)
	schema := compiled(t, reg)
	date := regexp.MustCompile(`(?m)^date: .*\n`) // a timestamp in YAML, which JSON has not
	for _, name := range preset.Names(reg) {
		t.Run(name, func(t *testing.T) {
			p, err := preset.Load(name, reg)
			if err != nil {
				t.Fatal(err)
			}
			if p.Name != name || p.File != "" || p.About == "" || p.Source == "" || p.Date == "" {
				t.Errorf("name %q, file %q, about %q, source %q, date %q", p.Name, p.File, p.About, p.Source, p.Date)
			}
			for _, f := range policy.Lint(p) {
				t.Error(f)
			}
			written := policy.Marshal(p)
			again, err := policy.Decode(name, written, reg, nil)
			if err != nil {
				t.Fatalf("%v\n%s", err, written)
			}
			for _, f := range policy.Lint(again) { // every default spelled out is nothing odd
				t.Error(f)
			}
			if changes := policy.Diff(p, again); len(changes) > 0 {
				t.Errorf("reads back with changes %v", changes)
			}
			text, _, err := preset.Read(name, reg)
			if err != nil {
				t.Fatal(err)
			}
			for _, text := range [][]byte{text, written} {
				var v any
				if err := yaml.Load(date.ReplaceAll(text, nil), &v); err != nil {
					t.Fatal(err)
				}
				if err := schema.Validate(v); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

func TestAliases(t *testing.T) {
	reg, err := stage.Registry()
	if err != nil {
		t.Fatal(err)
	}
	aliases := preset.Aliases(reg)
	if len(aliases) == 0 {
		t.Fatal("no aliases")
	}
	names := map[string]bool{}
	for _, n := range preset.Names(reg) {
		names[n] = true
	}
	for alias, name := range aliases {
		if names[alias] || !names[name] {
			t.Errorf("alias %s of %s: the one must not be a policy, the other must", alias, name)
		}
	}
	p, err := preset.Load("opencode", registry(t))
	if err != nil || p.Name != "opencode-1.1.36" {
		t.Errorf("opencode: got %v, %v", p, err)
	}
}

// The figures of the analyses of Claude Code 2.1.19 and 2.1.x, for a window of 200,000.
func TestThresholds(t *testing.T) {
	first := map[string]int{"output reserve": 32000, "effective window": 168000, "warning threshold": 135000, "blocking limit": 197000, "microcompaction": 135000, "auto-compact threshold": 155000}
	later := map[string]int{"output reserve": 20000, "effective window": 180000, "warning threshold": 147000, "blocking limit": 197000, "microcompaction": 147000, "auto-compact threshold": 167000}
	for name, want := range map[string]map[string]int{"claude-code-2.1.19": first, "claude-code-2.1": later, "claude-code-2.1.119": later} {
		p, err := preset.Load(name, registry(t))
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]int{}
		for _, l := range p.Limits(policy.Circumstances{Window: 200000, MaxOutput: 64000}).List {
			got[l.Name] = l.Tokens
		}
		if !maps.Equal(got, want) {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
}

func TestUnknown(t *testing.T) {
	for name, want := range map[string]string{
		"opencod":   `unknown policy "opencod": did you mean opencode`,
		"claude":    `unknown policy "claude": did you mean `,
		"recordet":  `unknown policy "recordet": did you mean recorded? `,
		"":          `unknown policy "": use one of `,
		"index":     `unknown policy "index": `,
		"../preset": "reading policy ../preset: ",
		"./no.yaml": "reading policy ./no.yaml: no such file or directory: check the path",
		"no.yml":    "reading policy no.yml: no such file or directory: check the path",
	} {
		if _, err := preset.Load(name, registry(t)); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", name, err, want)
		}
	}
	if _, err := preset.Load(t.TempDir()+"/", registry(t)); err == nil {
		t.Error("a folder was read as a policy")
	}
}

// A file extends a built-in policy, by alias, and other files by their place.
func TestFiles(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	write("base.yaml", "extends: opencode\nset: {opencode_prune.protect: 1}\n")
	path := write("sub/mine.yaml", "extends: ../base.yaml\nset: {opencode_prune.minimum: 2}\n")
	p, err := preset.Load(path, registry(t))
	if err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]string{"opencode_prune.protect": "1", "opencode_prune.minimum": "2", "opencode_prune.turns": "2"} {
		if got, err := p.Get(key); err != nil || got != want {
			t.Errorf("%s: got %s, %v", key, got, err)
		}
	}
	if p.Name != "mine" || p.File != path {
		t.Errorf("name %q, file %q", p.Name, p.File)
	}
	if at := p.Position("opencode_prune").File; at != "opencode-1.1.36" {
		t.Errorf("the stage is said to stand in %q", at)
	}

	a, b := write("a.yaml", "extends: b.yaml\n"), write("b.yaml", "extends: a.yaml\n")
	want := b + ":1:10: extends: " + a + " extends itself (" + a + " -> " + b + " -> " + a + "): break the circle"
	if _, err := preset.Load(a, registry(t)); err == nil || err.Error() != want {
		t.Errorf("got %v\nwant %s", err, want)
	}
	lost := write("lost.yaml", "extends: nowhere.yaml\n")
	want = lost + ":1:10: extends: reading policy " + filepath.Join(dir, "nowhere.yaml") + ": no such file"
	if _, err := preset.Load(lost, registry(t)); err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("got %v\nwant %s", err, want)
	}
	large := write("large.yaml", strings.Repeat("# nothing here\n", 100000))
	if _, err := preset.Load(large, registry(t)); err == nil || !strings.Contains(err.Error(), "too long for a policy") {
		t.Errorf("got %.100s", err)
	}
}

func TestVersions(t *testing.T) {
	for name, want := range map[string]string{
		"claude-code":               "claude-code-pipeline",
		"claude-code@2.1.19":        "claude-code-2.1.19",
		"claude-code@2.1.20":        "claude-code-2.1.19",
		"claude-code@2.1.21":        "claude-code-2.1",
		"claude-code@2.1.36":        "claude-code-2.1",
		"claude-code@2.1.37":        "claude-code-2.1.37",
		"claude-code@2.1.118":       "claude-code-2.1.37",
		"claude-code@2.1.119":       "claude-code-2.1.119",
		"claude-code@3":             "claude-code-2.1.119",
		"claude-code@1.0.48-beta.1": "claude-code-2.1.19",
		"opencode@1.14.19":          "opencode-1.1.36",
		"opencode@1.18.34":          "opencode-1.18",
	} {
		if got, err := preset.Canonical(name, registry(t)); err != nil || got != want {
			t.Errorf("%s: got %s, %v, want %s", name, got, err, want)
		}
	}
	for name, want := range map[string]string{
		"claude-code@recorded-version": "claude-code@recorded-version stands for the version that recorded a session: name a session, or a version such as claude-code@2.1.14",
		"claude-code@":                 `"" is no version of claude-code: write it as claude-code@2.1.14`,
		"claude-code@new":              `"new" is no version of claude-code`,
		"claude-cod@2.1":               `no versions of "claude-cod" are known: did you mean claude-code? the others are opencode`,
	} {
		if _, err := preset.Load(name, registry(t)); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", name, err, want)
		}
	}
	// Every policy the index names is there.
	for _, product := range preset.Versioned(registry(t)) {
		for _, v := range []string{"0", "1", "2.0", "2.1.30", "99"} {
			if p, err := preset.Load(product+"@"+v, registry(t)); err != nil {
				t.Errorf("%s@%s: %v, %v", product, v, p, err)
			}
		}
	}
	if len(preset.Versioned(registry(t))) == 0 {
		t.Error("no versions")
	}
}
