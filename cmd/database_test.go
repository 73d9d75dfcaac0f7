package cmd

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ncruces/go-sqlite3"

	"github.com/ctxkit/ctxkit/jsonl/must"
)

// TestDatabases: a session of a database is named by the file, the file and an id, or an id, and listed by default.
func TestDatabases(t *testing.T) {
	home := t.TempDir()
	dir := filepath.Join(home, "opencode")
	db := filepath.Join(dir, "opencode.db")
	text := must.Get(os.ReadFile(filepath.Join("..", "jsonl", "internal", "opencode", "testdata", "opencode.db")))(t)
	export := must.Get(os.ReadFile(filepath.Join("..", "jsonl", "internal", "opencode", "testdata", "export.json")))(t)
	old := filepath.Join(dir, "storage", "session", "p", "ses_2a0001ffe001AbCdEfGhIjKlMn.json")
	for name, text := range map[string][]byte{db: text, old: export, filepath.Join(dir, "other.db"): []byte("SQLite format 3\x00"),
		filepath.Join(home, "gone.db-wal"): {}, filepath.Join(home, "tasks", "1", "ui_messages.json"): []byte("[]")} {
		must.Do(t, os.MkdirAll(filepath.Dir(name), 0o755))
		must.Do(t, os.WriteFile(name, text, 0o600))
	}
	other := must.Get(sqlite3.Open(filepath.Join(home, "unknown.db")))(t)
	must.Do(t, other.Exec("CREATE TABLE a (b)"))
	must.Do(t, other.Close())
	before := folderContents(t, dir)
	t.Setenv("XDG_DATA_HOME", home)
	t.Setenv("CLAUDE_CONFIG_DIR", filepath.Join(home, "none"))
	const id = "ses_2a0001ffe001AbCdEfGhIjKlMn"
	for _, tt := range []struct {
		args string
		code int
		want string // in what is written or said
	}{
		{"sessions", 0, "1 session, "},
		{"sessions", 0, "also in " + db + "#" + id},
		{"sessions " + db, 0, "Why the mill stops"},
		{"sessions --source opencode -f json", 0, `"session": "` + id + `"`},
		{"replay -p opencode ses_2a0001", 0, "session " + id},
		{"replay -p opencode last", 0, "session " + id},
		{"replay -p opencode " + db, 0, "session " + id},
		{"replay -p opencode " + db + "#ses_2a0001", 0, "session " + id},
		{"replay -p opencode " + db + "#ses_2a0002", 0, "session ses_2a0002"},
		{"replay -p opencode " + db + "#ses_2a", 2, "2 sessions have an id that begins so"},
		{"replay -p opencode " + db + "#nothing", 2, "has that id"},
		{"replay -p opencode " + filepath.Join(dir, "other.db"), 2, "pages have 0 bytes"},
		{"replay -p opencode " + filepath.Join(home, "unknown.db"), 2, "without the tables of an agent"},
		{"sessions " + filepath.Join(home, "unknown.db"), 2, "without the tables of an agent"},
		{"replay -p opencode " + filepath.Join(home, "gone.db"), 2, "only changes to it in its -wal"},
		{"sessions " + filepath.Join(home, "gone.db"), 2, "only changes to it in its -wal"},
		{"replay -p recorded " + filepath.Join(home, "tasks"), 2, "lost without api_conversation_history.json"},
		{"replay -p opencode " + id + " --agent all", 0, "ses_2a0002"},
		{"compare -p recorded -p opencode " + dir, 2, "other.db"},
		{"stats " + db, 0, id},
		{"lint " + db, 0, ""},
		{"anonymize " + db + "#" + id + " -o " + filepath.Join(home, "out.json"), 0, ""},
		{"replay -p opencode " + filepath.Join(home, "out.json"), 0, "session "},
		{"convert " + db + "#" + id + " -o " + filepath.Join(home, "out.jsonl"), 0, ""},
		{"replay -p opencode " + filepath.Join(home, "out.jsonl"), 0, "session " + id},
		{"convert " + db + "#" + id + " -o " + db, 2, "is a session as well"},
	} {
		code, out, said := ctxkit(strings.Fields(tt.args)...)
		if all := out + said; code != tt.code || !strings.Contains(all, tt.want) {
			t.Errorf("%s: exit %d\n%.800s", tt.args, code, all)
		}
	}
	if folderContents(t, dir) != before {
		t.Error("reading has changed the folder")
	}
}

// TestDatabaseNamed: a database that OPENCODE_DB names is a default, and a session in one is checked.
func TestDatabaseNamed(t *testing.T) {
	dir := t.TempDir()
	db := must.Get(filepath.Abs(filepath.Join("..", "jsonl", "internal", "opencode", "testdata", "opencode.db")))(t)
	t.Setenv("XDG_DATA_HOME", dir)
	t.Setenv("CLAUDE_CONFIG_DIR", filepath.Join(dir, "none"))
	t.Setenv("OPENCODE_DB", db)
	file := filepath.Join(dir, "ctxkit-check.yaml")
	text := "version: 1\nbaseline: base.json\ncases:\n- name: mill\n  policy: opencode\n  sessions: ['" + db + "#ses_2a0001ffe001AbCdEfGhIjKlMn']\n"
	must.Do(t, os.WriteFile(file, []byte(text), 0o600))
	for args, want := range map[string]string{"sessions": "Why the mill stops", "check --update --force " + file: "1 replay in 1 case: 1 ok"} {
		if code, out, said := ctxkit(strings.Fields(args)...); code != 0 || !strings.Contains(out+said, want) {
			t.Errorf("%s: exit %d\n%.800s%.800s", args, code, out, said)
		}
	}
}
