package cmd

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ctxkit/ctxkit/jsonl"
)

// unpackLab writes the unpacked files of a session of the lab that match a pattern into a folder of their own.
func unpackLab(t *testing.T, session, pattern string) string {
	t.Helper()
	dir := t.TempDir()
	packed, err := filepath.Glob(filepath.Join(session, pattern))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range packed {
		src, err := jsonl.Open(file)
		if err != nil {
			t.Fatal(err)
		}
		out, err := os.Create(filepath.Join(dir, strings.TrimSuffix(filepath.Base(file), ".gz")))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := src.WriteTo(out); err != nil {
			t.Fatal(err)
		}
		out.Close()
		src.Close()
	}
	return dir
}

// TestLabDatabases holds the timelines of sessions in OpenCode's databases against those of its exports of them.
func TestLabDatabases(t *testing.T) {
	dir := os.Getenv("CTXKIT_LAB")
	if dir == "" {
		t.Skip("CTXKIT_LAB names no folder")
	}
	sessions, err := filepath.Glob(filepath.Join(dir, "opencode-*"))
	if err != nil || len(sessions) == 0 {
		t.Fatalf("%d sessions: %v", len(sessions), err)
	}
	for _, session := range sessions {
		t.Run(filepath.Base(session), func(t *testing.T) {
			t.Parallel()
			db := unpackLab(t, session, "opencode.db*.gz")
			before := folderContents(t, db)
			export := filepath.Join(unpackLab(t, session, "export.json.gz"), "export.json")
			text, err := os.ReadFile(export)
			if err != nil {
				t.Fatal(err)
			}
			_, id, _ := strings.Cut(string(text), `"id": "`)
			id, _, _ = strings.Cut(id, `"`)
			one := filepath.Join(db, "opencode.db") + "#" + id
			for _, policy := range []string{"recorded", "opencode", "claude-code", "codex", "none"} {
				timeline := func(input string) string {
					var out, said bytes.Buffer
					if code := Main([]string{"replay", input, "-p", policy, "--format", "json"}, strings.NewReader(""), &out, &said); code != 0 {
						t.Fatalf("%s %s: exit %d: %s", policy, input, code, said.String())
					}
					return strings.ReplaceAll(out.String(), input, "INPUT")
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
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var all bytes.Buffer
	for _, f := range files {
		if f.IsDir() {
			continue
		}
		text, err := os.ReadFile(filepath.Join(dir, f.Name()))
		if err != nil {
			t.Fatal(err)
		}
		all.WriteString(f.Name())
		all.Write(text)
	}
	return all.String()
}
