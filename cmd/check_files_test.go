package cmd

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ctxkit/ctxkit/jsonl/must"
)

// checkFolder lays out a check that passes, with its baseline, and goes there.
func checkFolder(t *testing.T) {
	t.Helper()
	sample := must.Get(os.ReadFile(filepath.Join("..", "testdata", "sessions", "rewind.jsonl")))(t)
	t.Chdir(t.TempDir())
	t.Setenv("CI", "")
	for name, text := range map[string]string{
		"ctxkit.yaml":                "version: 1\nsessions: s/*.jsonl\nbaseline: base.json\nprices: prices.json\ncases:\n  - policy: policies/team.yaml\n",
		"policies/team.yaml":         "extends: ./base.yaml\n",
		"policies/base.yaml":         "extends: opencode\n",
		"prices.json":                `{"unit": "USD per million tokens", "models": [{"id": "claude-opus-4-8", "input": 5, "cache_write_5m": 6.25, "cache_write_1h": 10, "cache_read": 0.5, "output": 25, "context": 1000000, "max_output": 128000, "min_cacheable": 1024, "tokenizer": "new", "image_tier": "high"}]}`,
		"s/rewind.jsonl":             string(sample),
		"s/rewind/tool-results/r.md": "a result",
		"notes.json":                 `{"schema": "notes/v1"}`,
		"list.json":                  "[1, 2]",
		"empty.json":                 "",
	} {
		must.Do(t, os.MkdirAll(filepath.Dir(name), 0o755))
		must.Do(t, os.WriteFile(name, []byte(text), 0o644))
	}
	if code, _, said := ctxkit("check", "--update"); code != exitDone {
		t.Fatalf("exit %d: %s", code, said)
	}
}

// ctxkit runs a command line that reads no input.
func ctxkit(args ...string) (code int, out, said string) {
	var printed, errs bytes.Buffer
	code = Main(args, strings.NewReader(""), &printed, &errs)
	return code, printed.String(), errs.String()
}

// contents are the files under the working folder.
func contents(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := fs.WalkDir(os.DirFS("."), ".", func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		if st, err := os.Stat(name); err == nil && st.IsDir() { // a link to one
			return nil
		}
		text, err := os.ReadFile(name)
		all[name] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// TestCheckKeepsItsFiles holds that a check writes over nothing that it reads, however that is spelled, and that it
// says so before it does anything.
func TestCheckKeepsItsFiles(t *testing.T) {
	checkFolder(t)
	for link, to := range map[string]string{"hard.xml": "s/rewind.jsonl", "hard.json": "base.json"} {
		must.Do(t, os.Link(to, link))
	}
	if err := os.Symlink("ctxkit.yaml", "soft.xml"); err != nil {
		t.Skipf("no links here: %v", err)
	}
	must.Do(t, os.Symlink("s", "sessions"))
	before := contents(t)
	for _, c := range []struct{ args, want string }{
		{"-o ctxkit.yaml", "ctxkit.yaml: is the configuration as well: name another file for the output"},
		{"-o soft.xml", "soft.xml: is the configuration as well"},
		{"--also json=./s/../ctxkit.yaml", "flag --also: ./s/../ctxkit.yaml: is the configuration as well"},
		{"-o policies/team.yaml", "policies/team.yaml: is a policy as well"},
		{"-o policies/base.yaml", "policies/base.yaml: is a policy as well"},
		{"--also junit=prices.json", "prices.json: is the table of prices as well"},
		{"--also junit=fresh.xml --also json=base.json", "base.json: is the baseline as well"},
		{"--also json=hard.json", "hard.json: is the baseline as well"},
		{"--update -o base.json", "base.json: is the baseline as well"},
		{"-o s/rewind.jsonl", "s/rewind.jsonl: is a session as well"},
		{"-o hard.xml", "hard.xml: is a session as well"},
		{"-o s/rewind/tool-results/r.md", "s/rewind/tool-results/r.md: belongs to session s/rewind.jsonl"},
		{"--also json=sessions/rewind/subagents.json", "sessions/rewind/subagents.json: belongs to session s/rewind.jsonl"},
		{"-o same.xml --also json=./same.xml", "flag --also: ./same.xml: is written already: name another file"},
		{"--also junit=notes.json --also json=s/../notes.json", "flag --also: s/../notes.json: is written already"},
	} {
		code, _, said := ctxkit(append([]string{"check"}, strings.Fields(c.args)...)...)
		if code != exitNotDone || !strings.Contains(said, c.want) {
			t.Errorf("%s: exit %d, said %q, want %q", c.args, code, said, c.want)
		}
		if after := contents(t); !sameFiles(before, after) {
			t.Fatalf("%s: the files are others now: %v", c.args, names(after))
		}
	}
	if code, _, said := ctxkit("check", "s"); code != exitNotDone || !strings.Contains(said, "s: is a folder: name the file, such as s"+string(filepath.Separator)+"ctxkit.yaml") {
		t.Errorf("exit %d: %s", code, said)
	}
	if code, _, said := ctxkit("check", "-o", "out.txt", "--also", "json=out.json"); code != exitDone {
		t.Errorf("exit %d: %s", code, said)
	}
}

func sameFiles(a, b map[string]string) bool {
	if len(a) != len(b) {
		return false
	}
	for name, text := range a {
		if other, ok := b[name]; !ok || other != text {
			return false
		}
	}
	return true
}

func names(files map[string]string) []string {
	var list []string
	for name := range files {
		list = append(list, name)
	}
	return sorted(list)
}

// TestUpdateKeepsOtherFiles holds that --update replaces baselines and nothing else, and that a baseline is no other
// file of the check.
func TestUpdateKeepsOtherFiles(t *testing.T) {
	checkFolder(t)
	must.Do(t, os.Mkdir("folder", 0o755))
	before := contents(t)
	config := before["ctxkit.yaml"]
	for _, c := range []struct{ baseline, want string }{
		{"s/rewind.jsonl", "ctxkit.yaml:3:11: baseline: s/rewind.jsonl is a session as well: name another file"},
		{"./s/../ctxkit.yaml", "ctxkit.yaml:3:11: baseline: ctxkit.yaml is the configuration as well: name another file"},
		{"policies/base.yaml", "policies/base.yaml is a policy as well"},
		{"prices.json", "prices.json is the table of prices as well"},
		{"s/rewind/base.json", "s/rewind/base.json belongs to session s/rewind.jsonl"},
		{"notes.json", "notes.json: is no baseline, and is not overwritten: name another file after \"baseline:\", or move it away"},
		{"list.json", "list.json: is no baseline"},
		{"empty.json", "empty.json: is no baseline"},
		{"folder", "folder: is a folder: name a file"},
	} {
		text := strings.Replace(config, "base.json", c.baseline, 1)
		must.Do(t, os.WriteFile("ctxkit.yaml", []byte(text), 0o644))
		before["ctxkit.yaml"] = text
		code, _, said := ctxkit("check", "--update")
		if code != exitNotDone || !strings.Contains(said, c.want) {
			t.Errorf("%s: exit %d, said %q, want %q", c.baseline, code, said, c.want)
		}
		if code, _, said := ctxkit("check"); code != exitNotDone || strings.Contains(said, "--update") {
			t.Errorf("%s: exit %d, said %q: --update does not help", c.baseline, code, said)
		}
		if after := contents(t); !sameFiles(before, after) {
			t.Fatalf("%s: the files are others now: %v", c.baseline, names(after))
		}
	}
	must.Do(t, os.WriteFile("ctxkit.yaml", []byte(config), 0o644))
	// What was a baseline may be made anew, whatever became of it.
	for name, text := range map[string]string{
		"another schema": `{"schema": "ctxkit.baseline/v9", "new": 1}`,
		"a merge":        strings.Replace(before["base.json"], `"tool"`, "<<<<<<< ours\n  \"tool\"", 1),
		"cut off":        before["base.json"][:200],
	} {
		must.Do(t, os.WriteFile("base.json", []byte(text), 0o644))
		if code, _, said := ctxkit("check"); code != exitNotDone || !strings.Contains(said, "ctxkit check --update") {
			t.Errorf("%s: exit %d, said %q", name, code, said)
		}
		if code, _, said := ctxkit("check", "--update"); code != exitDone {
			t.Errorf("%s: exit %d, said %q", name, code, said)
		}
		if after := contents(t); after["base.json"] != before["base.json"] {
			t.Errorf("%s: the baseline is another than before", name)
		}
	}
}

// TestCheckTellsSettings holds that a change of the settings is told as one, and not as ctxkit's.
func TestCheckTellsSettings(t *testing.T) {
	checkFolder(t)
	before := contents(t)
	for _, c := range []struct{ file, old, new, want string }{
		{"prices.json", `"cache_read": 0.5`, `"cache_read": 5`, "the settings have changed since the baseline was made: prices: file with content hash "},
		{"ctxkit.yaml", "prices: prices.json\n", "", "-> built-in"},
		{"ctxkit.yaml", "prices:", "regret: false\nprices:", "made: regret: on -> not set"},
	} {
		must.Do(t, os.WriteFile(c.file, []byte(strings.ReplaceAll(before[c.file], c.old, c.new)), 0o644))
		if code, out, errs := ctxkit("check", "-f", "json"); code != exitCheckFailed || !strings.Contains(out, c.want) || strings.Contains(out, "itself") {
			t.Errorf("%s: exit %d, %s\n%s", c.new, code, errs, out)
		}
		must.Do(t, os.WriteFile(c.file, []byte(before[c.file]), 0o644))
	}
}
