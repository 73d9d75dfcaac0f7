package cmd

import (
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"

	"github.com/ctxkit/ctxkit/jsonl/must"
)

// recipe is a piece of YAML that other programs read: a workflow, or what the documentation shows of one.
type recipe struct {
	name string
	text string
}

// recipes are the workflows, the action, the hooks for pre-commit, and the YAML blocks of docs/ci.md.
func recipes(t *testing.T) []recipe {
	t.Helper()
	files := must.Glob(t, 1, "../.github/workflows/*.yml")
	var list []recipe
	for _, name := range append(files, "../.pre-commit-hooks.yaml", "../action.yml") {
		text := must.Get(os.ReadFile(name))(t)
		list = append(list, recipe{name, string(text)})
	}
	page := must.Get(os.ReadFile("../docs/ci.md"))(t)
	for _, m := range regexp.MustCompile("(?s)```(yaml|sh)\n(.*?)```").FindAllStringSubmatch(string(page), -1) {
		text := m[2]
		if m[1] == "sh" { // its lines are commands as a workflow's are
			text = "run: |\n  " + strings.ReplaceAll(text, "\n", "\n  ")
		}
		list = append(list, recipe{"docs/ci.md", text})
	}
	return list
}

// TestRecipes holds that what CI systems and pre-commit are given can be read by them, runs commands that exist, and
// asks for no more than reading, but for the release.
func TestRecipes(t *testing.T) {
	commands, workflows := 0, 0
	for _, r := range recipes(t) {
		var root any
		if err := yaml.Load([]byte(r.text), &root); err != nil {
			t.Errorf("%s: %v", r.name, err)
			continue
		}
		walkYAML(root, "", func(key, text string) {
			for line := range strings.Lines(text) {
				if args, ok := ctxkitArgs(line); ok {
					commands++
					if err := parses(args); err != nil {
						t.Errorf("%s: %s: %v", r.name, strings.TrimSpace(line), err)
					}
				}
			}
			if key == "uses" && text != "ctxkit/ctxkit@main" && !regexp.MustCompile(`@v\d+\.\d+\.\d+$`).MatchString(text) {
				t.Errorf("%s: %s: name the version in full", r.name, text)
			}
			if strings.Contains(text, "secrets.") {
				t.Errorf("%s: %s: a fork has no secrets", r.name, text)
			}
		})
		m, ok := root.(map[string]any)
		if !ok || m["jobs"] == nil {
			continue
		}
		workflows++
		if p, ok := m["permissions"].(map[string]any); !ok || len(p) != 1 || p["contents"] != "read" {
			t.Errorf("%s: permissions %v: want contents: read", r.name, m["permissions"])
		}
		for name, job := range m["jobs"].(map[string]any) {
			j := job.(map[string]any)
			var may map[string]any // beyond reading
			if filepath.Base(r.name) == "release.yml" {
				may = map[string]any{"contents": "write", "packages": "write"}
			}
			if p, _ := j["permissions"].(map[string]any); j["runs-on"] == nil || !maps.Equal(p, may) {
				t.Errorf("%s: job %s: runs-on %v, permissions %v", r.name, name, j["runs-on"], j["permissions"])
			}
			for _, s := range j["steps"].([]any) {
				step := s.(map[string]any)
				if (step["run"] == nil) == (step["uses"] == nil) {
					t.Errorf("%s: job %s: a step runs a command or uses an action: %v", r.name, name, step)
				}
			}
		}
	}
	if commands < 8 || workflows < 4 {
		t.Errorf("%d commands in %d workflows: more are there", commands, workflows)
	}
}

// walkYAML visits every text, with the key that it is a value of.
func walkYAML(v any, key string, visit func(key, text string)) {
	switch x := v.(type) {
	case string:
		visit(key, x)
	case []any:
		for _, e := range x {
			walkYAML(e, key, visit)
		}
	case map[string]any:
		for k, e := range x {
			walkYAML(e, k, visit)
		}
	}
}

// ctxkitArgs are the arguments of a shell line that runs ctxkit: its words, as far as the first operator.
func ctxkitArgs(line string) ([]string, bool) {
	words := strings.Fields(line)
	if len(words) < 2 || filepath.Base(words[0]) != "ctxkit" {
		return nil, false
	}
	args := []string{}
	for _, w := range words[1:] {
		if strings.ContainsAny(w, "|;&<>") {
			break
		}
		args = append(args, strings.Trim(w, `"'`))
	}
	return args, true
}

// parses reports what is wrong with a command line, short of running it.
func parses(args []string) error {
	cmd, rest, err := newRoot(&system{in: strings.NewReader(""), out: &lineWriter{w: io.Discard}, err: io.Discard}).Find(args)
	if err != nil {
		return err
	}
	if cmd.HasSubCommands() {
		return unknownCommand(cmd, strings.Join(rest, " "))
	}
	return cmd.ParseFlags(rest)
}

// TestRecipesAreRead holds the test above: a wrong command line is one.
func TestRecipesAreRead(t *testing.T) {
	for _, line := range []string{"ctxkit chek", "ctxkit policy", "ctxkit policy lnt x.yaml", "ctxkit check --fromat github", "ctxkit check --jobs many"} {
		args, ok := ctxkitArgs(line)
		if !ok || parses(args) == nil {
			t.Errorf("%s: nothing is wrong with it", line)
		}
	}
	if args, ok := ctxkitArgs(`ctxkit check --also "markdown=$SUMMARY" | tee log`); !ok || len(args) != 3 || parses(args) != nil {
		t.Errorf("%q, %v", args, parses(args))
	}
}
