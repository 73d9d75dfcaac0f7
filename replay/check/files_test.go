package check

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ctxkit/ctxkit/jsonl/must"
)

func write(t *testing.T, dir string, names ...string) {
	t.Helper()
	for _, name := range names {
		path := filepath.Join(dir, filepath.FromSlash(name))
		must.Do(t, os.MkdirAll(filepath.Dir(path), 0o755))
		must.Do(t, os.WriteFile(path, []byte(name), 0o644))
	}
}

func TestFiles(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "repo/a.jsonl", "repo/b.jsonl", "repo/x.txt", "repo/p/a.jsonl", "repo/p/q/c.jsonl", "repo/p/a/subagents/agent-1.jsonl", "repo/p/a/tool-results/t.jsonl", "out.jsonl")
	repo := filepath.Join(dir, "repo")
	must.Rows(t, `
a.jsonl        | a.jsonl
./a.jsonl      | a.jsonl
*.jsonl        | a.jsonl b.jsonl
[ab].jsonl     | a.jsonl b.jsonl
?.jsonl        | a.jsonl b.jsonl
*/*.jsonl      | p/a.jsonl
**/*.jsonl     | a.jsonl b.jsonl p/a.jsonl p/q/c.jsonl
p/**/c.jsonl   | p/q/c.jsonl
p/**           | p/a.jsonl p/q/c.jsonl
**/a/*/*.jsonl | p/a/subagents/agent-1.jsonl p/a/tool-results/t.jsonl
../out.jsonl   | ../out.jsonl
../*.jsonl     | ../out.jsonl
c.jsonl        | ! "c.jsonl" matches no file
*.json         | ! "*.json" matches no file
a.jsonl/*      | ! "a.jsonl/*" matches no file
no/*/where     | ! "no/*/where" matches no file
p              | ! "p" is a folder: name its files, such as p/*.jsonl
[a.jsonl       | ! "[a.jsonl" is no pattern
`, func(pattern, want string) {
		got, err := Files(repo, pattern)
		if wrong, ok := strings.CutPrefix(want, "! "); ok {
			if err == nil || !strings.Contains(err.Error(), wrong) {
				t.Errorf("%s: %q, %v; want %s", pattern, got, err, wrong)
			}
			return
		}
		if err != nil || !slices.Equal(got, strings.Fields(want)) {
			t.Errorf("%s: %q, %v; want %s", pattern, got, err, want)
		}
	})
	whole := filepath.Join(repo, "*.jsonl")
	if got, err := Files(repo, whole); err != nil || len(got) != 2 || !filepath.IsAbs(got[0]) {
		t.Errorf("%s: %q, %v", whole, got, err)
	}
}

// TestInput holds that the hash changes with whatever changes a replay.
func TestInput(t *testing.T) {
	hash := func(t *testing.T, dir string, agents bool) string {
		t.Helper()
		h := must.Get(Input(filepath.Join(dir, "s.jsonl"), agents))(t)
		return h
	}
	fresh := func(t *testing.T) string {
		dir := t.TempDir()
		write(t, dir, "s.jsonl", "s/tool-results/a.txt", "s/session-memory/summary.md", "s/subagents/agent-1.jsonl", "s/other/x", "t/tool-results/b.txt")
		return dir
	}
	main, all := hash(t, fresh(t), false), hash(t, fresh(t), true)
	if main == all || main != hash(t, fresh(t), false) {
		t.Error("not a hash of the content alone")
	}
	must.Rows(t, `
s.jsonl                     | both
s/tool-results/a.txt        | both
s/tool-results/new.txt      | both
s/session-memory/summary.md | both
s/subagents/agent-1.jsonl   | all
s/other/x                   | ""
t/tool-results/b.txt        | ""
`, func(name, counts string) {
		dir := fresh(t)
		must.Do(t, os.WriteFile(filepath.Join(dir, filepath.FromSlash(name)), []byte("changed"), 0o644))
		must.Equal(t, hash(t, dir, false) != main, counts == "both", name)
		must.Equal(t, hash(t, dir, true) != all, counts != "", name)
	})
	dir := fresh(t)
	sub := filepath.Join(dir, "s", "subagents", "agent-1.jsonl")
	before := must.Get(Input(sub, false))(t)
	write(t, dir, "s/tool-results/more.txt")
	if after, err := Input(sub, false); err != nil || after == before {
		t.Errorf("a subagent's results do not count: %v", err)
	}
	if _, err := Input(filepath.Join(dir, "none.jsonl"), false); err == nil {
		t.Error("a file that is not there has a hash")
	}
	write(t, dir, "plain")
	if _, err := Input(filepath.Join(dir, "plain"), false); err != nil {
		t.Errorf("a file without an ending: %v", err)
	}
}
