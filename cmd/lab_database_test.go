package cmd

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/must"
)

// unpackLab writes the unpacked files of a session of the lab that match a pattern into a folder of their own.
func unpackLab(t *testing.T, session, pattern string) string {
	t.Helper()
	dir := t.TempDir()
	packed := must.Get(filepath.Glob(filepath.Join(session, pattern)))(t)
	for _, file := range packed {
		src := must.Get(jsonl.Open(file))(t)
		out := must.Get(os.Create(filepath.Join(dir, strings.TrimSuffix(filepath.Base(file), ".gz"))))(t)
		must.Get(src.WriteTo(out))(t)
		out.Close()
		src.Close()
	}
	return dir
}

// TestLabDatabases holds the timelines of sessions in OpenCode's databases against those of its exports of them.
func TestLabDatabases(t *testing.T) {
	dir := folderOf(t, "CTXKIT_LAB")
	sessions := must.Glob(t, 1, dir, "opencode-*")
	for _, session := range sessions {
		t.Run(filepath.Base(session), func(t *testing.T) {
			t.Parallel()
			db := unpackLab(t, session, "opencode.db*.gz")
			before := folderContents(t, db)
			export := filepath.Join(unpackLab(t, session, "export.json.gz"), "export.json")
			text := must.Get(os.ReadFile(export))(t)
			_, id, _ := strings.Cut(string(text), `"id": "`)
			id, _, _ = strings.Cut(id, `"`)
			one := filepath.Join(db, "opencode.db") + "#" + id
			for _, policy := range strings.Fields("recorded opencode claude-code codex none") {
				timeline := func(input string) string {
					code, out, said := ctxkit("replay", input, "-p", policy, "--format", "json")
					if code != 0 {
						t.Fatalf("%s %s: exit %d: %s", policy, input, code, said)
					}
					return strings.ReplaceAll(out, input, "INPUT")
				}
				if want, got := timeline(export), timeline(one); got != want {
					t.Errorf("%s: the timelines differ: %s", policy, firstDifference([]byte(want), []byte(got)))
				}
			}
			if after := folderContents(t, db); after != before {
				t.Error("reading has changed the folder")
			}
		})
	}
}

// folderContents are the names and bytes of the files of a folder.
func folderContents(t *testing.T, dir string) string {
	t.Helper()
	files := must.Get(os.ReadDir(dir))(t)
	var all bytes.Buffer
	for _, f := range files {
		if f.IsDir() {
			continue
		}
		text := must.Get(os.ReadFile(filepath.Join(dir, f.Name())))(t)
		all.WriteString(f.Name())
		all.Write(text)
	}
	return all.String()
}
