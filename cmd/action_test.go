package cmd

import (
	"encoding/xml"
	"errors"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"

	"github.com/ctxkit/ctxkit/jsonl/must"
)

// action is a composite action for GitHub's workflows.
type action struct {
	Name        string
	Description string
	Author      string
	Branding    map[string]string
	Inputs      map[string]struct{ Description, Default string }
	Runs        struct {
		Using string
		Steps []struct {
			Name  string
			Shell string
			Env   map[string]string
			Run   string
		}
	}
}

// readAction reads action.yml, and fails on a key that this test does not know and on an expression in a script: what
// an input holds would be part of the script.
func readAction(t *testing.T) *action {
	t.Helper()
	text := must.Get(os.ReadFile("../action.yml"))(t)
	var a action
	must.Do(t, yaml.Load(text, &a, yaml.WithKnownFields()))
	if a.Runs.Using != "composite" || len(a.Runs.Steps) == 0 {
		t.Fatalf("a %q action of %d steps", a.Runs.Using, len(a.Runs.Steps))
	}
	for _, s := range a.Runs.Steps {
		if s.Shell != "bash" || strings.Contains(s.Run, "${{") {
			t.Errorf("step %s: shell %q; its script may hold no expression: %s", s.Name, s.Shell, s.Run)
		}
	}
	return &a
}

// workflow is a job that uses the action.
type workflow struct {
	action    *action
	workspace string // the job's working folder
	source    string // where the action was checked out
	temp      string
	path      []string // added by the step that builds
}

// result is what a job shows of the action.
type result struct {
	code    int // of the step that failed, else 0
	log     string
	summary string
	path    []string // of the steps before
}

// run runs the steps as the runner does, until one fails; the first one, which takes no inputs, once.
func (w *workflow) run(t *testing.T, inputs map[string]string) result {
	t.Helper()
	var r result
	pathFile := filepath.Join(w.temp, "path")
	writeFile(t, pathFile, "")
	for i, s := range w.action.Runs.Steps {
		if r.path = w.path; i == 0 && w.path != nil {
			continue
		}
		script, summary := filepath.Join(w.temp, "script.sh"), filepath.Join(w.temp, "summary")
		for path, text := range map[string]string{script: s.Run, summary: ""} {
			writeFile(t, path, text)
		}
		env := append(os.Environ(), "CI=true", "GITHUB_ACTIONS=true", "GITHUB_WORKSPACE="+w.workspace, "GITHUB_ACTION_PATH="+w.source,
			"GITHUB_PATH="+pathFile, "GITHUB_STEP_SUMMARY="+summary, "RUNNER_TEMP="+w.temp)
		for _, name := range slices.Sorted(maps.Keys(s.Env)) {
			if name == "CGO_ENABLED" || name == "GOFLAGS" {
				continue // built as this test is, which the build cache has: half a minute less
			}
			env = append(env, name+"="+w.value(t, s.Env[name], inputs))
		}
		env = append(env, "PATH="+strings.Join(append(slices.Clone(r.path), os.Getenv("PATH")), string(os.PathListSeparator)))
		c := exec.Command("bash", "--noprofile", "--norc", "-e", "-o", "pipefail", script)
		c.Dir, c.Env = w.workspace, env
		out, err := c.CombinedOutput()
		r.log += string(out)
		if text, err := os.ReadFile(summary); err != nil {
			t.Fatal(err)
		} else {
			r.summary += string(text)
		}
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			r.code = exit.ExitCode()
			return r
		}
		if err != nil {
			t.Fatal(err)
		}
		text := must.Get(os.ReadFile(pathFile))(t)
		w.path = strings.Fields(string(text))
	}
	return r
}

// value is what a variable of a step is set to: a text, or an input.
func (w *workflow) value(t *testing.T, text string, inputs map[string]string) string {
	t.Helper()
	m := regexp.MustCompile(`^\$\{\{ inputs\.([a-z]+) \}\}$`).FindStringSubmatch(text)
	if m == nil {
		if strings.Contains(text, "${{") {
			t.Fatalf("%s: the test knows no such expression", text)
		}
		return text
	}
	input, ok := w.action.Inputs[m[1]]
	if !ok {
		t.Fatalf("%s: the action has no such input", text)
	}
	if v, ok := inputs[m[1]]; ok {
		return v
	}
	return input.Default
}

// TestAction runs the steps of action.yml on checks that pass, fail and cannot be done, and with inputs that a shell
// would obey.
func TestAction(t *testing.T) {
	a := readAction(t)
	must.BeCI(t)
	if runtime.GOOS == "windows" {
		t.Skip("bash may be that of another system")
	}
	if _, err := exec.LookPath("bash"); err != nil {
		t.Skip("no bash")
	}
	w := &workflow{action: a, workspace: t.TempDir(), temp: t.TempDir(), source: filepath.Join(t.TempDir(), "v1.2.3")}
	root := must.Get(filepath.Abs(".."))(t)
	must.Do(t, os.Symlink(root, w.source))
	session := must.Get(os.ReadFile("../testdata/sessions/snip.jsonl"))(t)
	hostile := "`touch owned`$(touch owned)\"'; touch owned; #.yaml"
	check := func(saved string) string {
		return "version: 1\nsessions: [a.jsonl]\ncases:\n  - policy: none\n    expect: {tokens_saved: " + saved + "}\n"
	}
	for name, text := range map[string]string{
		"a.jsonl": string(session), "ctxkit.yaml": check("0"), "worse.yaml": check("5"), hostile: check("0"), "-v.yaml": check("0"),
	} {
		writeFile(t, filepath.Join(w.workspace, name), text)
	}
	for _, c := range []struct {
		name    string
		inputs  map[string]string
		code    int
		log     string // part of it
		summary string // part of it
	}{
		{"passes", nil, 0, "", "1 ok; passed"},
		{"fails", map[string]string{"config": "worse.yaml"}, 1, "::error file=worse.yaml", "failed"},
		{"no file", map[string]string{"config": "none.yaml"}, 2, "none.yaml", ""},
		{"arguments", map[string]string{"args": "--jobs=1\r\n\n--also\njson=more result.json\n"}, 0, "", "passed"},
		{"wrong argument", map[string]string{"args": "--jbos=1"}, 2, "--jbos", ""},
		{"name like a flag", map[string]string{"config": "-v.yaml"}, 0, "", "passed"},
		{"hostile name", map[string]string{"config": hostile}, 0, "", "passed"},
		{"hostile argument", map[string]string{"args": hostile}, 2, "takes one file", ""},
		{"hostile report", map[string]string{"junit": "$(touch owned).xml"}, 0, "", "passed"},
		{"report", map[string]string{"config": "worse.yaml", "junit": "check.xml"}, 1, "", "failed"},
	} {
		r := w.run(t, c.inputs)
		if r.code != c.code || !strings.Contains(r.log, c.log) || !strings.Contains(r.summary, c.summary) {
			t.Errorf("%s: exit %d, want %d\n%s\nsummary: %s", c.name, r.code, c.code, r.log, r.summary)
		}
	}
	for _, name := range []string{"owned", "v1.2.3/owned"} {
		if _, err := os.Stat(filepath.Join(w.workspace, name)); err == nil {
			t.Errorf("an input was run: it made %s", name)
		}
	}
	if _, err := os.Stat(filepath.Join(w.workspace, "more result.json")); err != nil {
		t.Errorf("an argument with a space: %v", err)
	}
	report := must.Get(os.ReadFile(filepath.Join(w.workspace, "check.xml")))(t)
	var suites struct {
		Failures int `xml:"failures,attr"`
	}
	if err := xml.Unmarshal(report, &suites); err != nil || suites.Failures != 1 {
		t.Errorf("%d failures, error %v in the report: %s", suites.Failures, err, report)
	}
	version, err := exec.Command(filepath.Join(w.temp, "ctxkit", "ctxkit"), "--version").Output()
	if err != nil || !strings.HasPrefix(string(version), "ctxkit v1.2.3 go") {
		t.Errorf("version %q, error %v: want that of the folder of the action", version, err)
	}
}
