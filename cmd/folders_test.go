package cmd

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ctxkit/ctxkit/jsonl/must"
)

// TestUnreadableSessionsAreSaid holds that every command over a folder says which sessions of it cannot be read, also
// when it is quiet, and that it ends with the code of an input that failed.
func TestUnreadableSessionsAreSaid(t *testing.T) {
	t.Setenv("CTXKIT_CACHE", "off")
	sample := must.Get(os.ReadFile("../testdata/sessions/rewind.jsonl"))(t)
	t.Chdir(t.TempDir())
	for _, dir := range []string{"p/folder.jsonl", "elsewhere"} {
		must.Do(t, os.MkdirAll(dir, 0o755))
	}
	for _, name := range []string{"p/good.jsonl", "elsewhere/out.jsonl"} {
		writeFile(t, name, string(sample))
	}
	for link, to := range map[string]string{"p/lost.jsonl": "nowhere.jsonl", "p/out.jsonl": "../elsewhere/out.jsonl", "p/circle.jsonl": "circle.jsonl"} {
		if err := os.Symlink(to, link); err != nil {
			t.Skipf("no links here: %v", err)
		}
	}
	policy := []string{"--policy", "opencode"}
	needs := map[string][]string{
		"cost": policy, "regret": policy, "replay": policy, "export": {"-o", "tables"},
		"sweep": {"--policy", "opencode", "--vary", "opencode_prune.protect=1000"},
	}
	tried := 0
	for _, c := range newRoot(newSystem(strings.NewReader(""), &bytes.Buffer{}, &bytes.Buffer{})).Commands() {
		if !strings.Contains(c.Use, "INPUT...") && c.Name() != "sessions" && c.Name() != "resume" || c.Name() == "explore" {
			continue
		}
		args := append([]string{c.Name(), "p", "-q"}, needs[c.Name()]...)
		var out, said bytes.Buffer
		code := Main(args, strings.NewReader(""), &out, &said)
		if c.Name() == "export" {
			table, _ := os.ReadFile("tables/sessions.parquet")
			out.Write(table)
		}
		if code != exitNotDone || out.Len() == 0 {
			t.Errorf("%q: exit %d, %d bytes of output", args, code, out.Len())
		}
		for _, want := range []string{"p/folder.jsonl: it is not a regular file", "p/lost.jsonl: ", "p/circle.jsonl: ", "p/out.jsonl: it is a link to a place outside"} {
			if strings.Count(said.String(), filepath.FromSlash(want)) != 1 {
				t.Errorf("%q does not say %q once, but %q", args, want, said.String())
			}
		}
		tried++
	}
	if tried < 12 {
		t.Errorf("%d commands over folders", tried)
	}
	if _, out, _ := ctxkit("compare", "p", "-p", "none", "-f", "json"); !strings.Contains(strings.Join(strings.Fields(out), ""), `"inputs":5,"failed_inputs":4`) {
		t.Errorf("the inputs are not counted: %.400s", out)
	}
}
