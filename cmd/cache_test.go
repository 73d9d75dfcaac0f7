package cmd

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/ctxkit/ctxkit/jsonl/must"
)

// listSessions is what sessions prints of a folder.
func listSessions(t *testing.T, dir string, flags ...string) string {
	t.Helper()
	var out, said bytes.Buffer
	if code := Main(append([]string{"sessions", dir, "-f", "json"}, flags...), strings.NewReader(""), &out, &said); code != exitDone || said.Len() > 0 {
		t.Errorf("exit %d, said %q", code, said.String())
	}
	return out.String()
}

// TestCacheIsUsed changes a file where its stamp does not look: the row is the old one, and --no-cache has the new one.
func TestCacheIsUsed(t *testing.T) {
	t.Setenv(cacheVariable, t.TempDir())
	dir := t.TempDir()
	data := must.Get(os.ReadFile("../testdata/sessions/compaction.jsonl"))(t)
	path := filepath.Join(dir, "a.jsonl")
	writeFile(t, path, string(data))
	st := must.Get(os.Stat(path))(t)
	before := listSessions(t, dir)
	half := len(data) / 2
	changed := append(bytes.Clone(data[:half]), bytes.Replace(data[half:], []byte(`"model":"claude-opus-4-6"`), []byte(`"model":"claude-opus-4-5"`), 1)...)
	if len(changed) != len(data) || bytes.Equal(changed, data) {
		t.Fatal("the session has other models")
	}
	writeFile(t, path, string(changed))
	must.Do(t, os.Chtimes(path, st.ModTime(), st.ModTime()))
	if listSessions(t, dir) != before {
		t.Error("the file is read again")
	}
	if listSessions(t, dir, "--"+noCache) == before {
		t.Error("the file is not read again")
	}
}

// TestCacheOfTwoAtOnce has several commands list the same folder with one empty cache.
func TestCacheOfTwoAtOnce(t *testing.T) {
	dir := "../testdata/sessions/subagent"
	want := listSessions(t, dir)
	t.Setenv(cacheVariable, t.TempDir())
	var running sync.WaitGroup
	for range 8 {
		running.Go(func() {
			for range 3 {
				if got := listSessions(t, dir); got != want {
					t.Errorf("got %s, want %s", got, want)
				}
			}
		})
	}
	running.Wait()
	if got := listSessions(t, dir); got != want {
		t.Errorf("afterwards: got %s, want %s", got, want)
	}
}
