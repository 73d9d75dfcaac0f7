package opencode_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ncruces/go-sqlite3"

	"github.com/ctxkit/ctxkit/jsonl/internal/outline"
	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/report/golden"
)

// Tables as OpenCode 1.18.33 and 2.0.26 make them, without what is not read.
const (
	tablesOne = `CREATE TABLE session (id text PRIMARY KEY, project_id text NOT NULL, parent_id text, slug text NOT NULL, directory text NOT NULL,
 title text NOT NULL, version text NOT NULL, permission text, time_created integer NOT NULL, time_updated integer NOT NULL);
 CREATE TABLE message (id text PRIMARY KEY, session_id text NOT NULL, time_created integer NOT NULL, time_updated integer NOT NULL, data text NOT NULL);
 CREATE TABLE part (id text PRIMARY KEY, message_id text NOT NULL, session_id text NOT NULL, time_created integer NOT NULL, time_updated integer NOT NULL, data text NOT NULL);
 CREATE INDEX part_message_id_id_idx ON part (message_id, id);`
	tablesTwo = `CREATE TABLE session_v2 (id text PRIMARY KEY, project_id text, parent_id text, fork_session_id text, directory text, title text, version text,
 cost real, tokens_input integer, model text, time_created integer, time_updated integer);
 CREATE TABLE session_message (id text PRIMARY KEY, session_id text, type text, seq integer, time_created integer, time_updated integer, data text);`
)

// tester writes databases.
type tester struct {
	*testing.T
	conn *sqlite3.Conn
}

func newDatabase(t *testing.T, path, statements string) tester {
	t.Helper()
	conn := must.Get(sqlite3.Open(path))(t)
	w := tester{t, conn}
	w.add(statements)
	return w
}

func (w tester) add(statement string, values ...any) {
	w.Helper()
	if len(values) == 0 {
		if err := w.conn.Exec(statement); err != nil {
			w.Fatal(err)
		}
		return
	}
	stmt, _, err := w.conn.Prepare(statement)
	if err != nil {
		w.Fatal(err)
	}
	defer stmt.Close()
	for i, v := range values {
		switch v := v.(type) {
		case string:
			err = stmt.BindText(i+1, v)
		case int64:
			err = stmt.BindInt64(i+1, v)
		}
		if err != nil {
			w.Fatal(err)
		}
	}
	if err := stmt.Exec(); err != nil {
		w.Fatal(err)
	}
}

// one adds a session of 1.x from the text of an export, with another id for its parent.
func (w tester) one(text, id, parent string) {
	w.Helper()
	var doc struct {
		Info     map[string]any
		Messages []struct {
			Info  map[string]any
			Parts []map[string]any
		}
	}
	if err := json.Unmarshal([]byte(text), &doc); err != nil {
		w.Fatal(err)
	}
	without := func(v map[string]any, names ...string) string {
		for _, n := range names {
			delete(v, n)
		}
		b, err := json.Marshal(v)
		if err != nil {
			w.Fatal(err)
		}
		return string(b)
	}
	at := func(v any) int64 { return int64(v.(map[string]any)["created"].(float64)) }
	var up any
	if parent != "" {
		up = parent
	}
	w.add("INSERT INTO session (id, project_id, parent_id, slug, directory, title, version, time_created, time_updated) VALUES (?, 'p', ?, 'slug', ?, ?, ?, ?, ?)",
		id, up, doc.Info["directory"], doc.Info["title"], doc.Info["version"], at(doc.Info["time"]), at(doc.Info["time"]))
	for _, m := range doc.Messages {
		name, when := m.Info["id"].(string)+parent, at(m.Info["time"])
		w.add("INSERT INTO message VALUES (?, ?, ?, ?, ?)", name, id, when, when, without(m.Info, "id", "sessionID"))
		for _, p := range m.Parts {
			w.add("INSERT INTO part VALUES (?, ?, ?, ?, ?, ?)", p["id"].(string)+parent, name, id, when, when, without(p, "id", "sessionID", "messageID"))
		}
	}
}

const (
	mainID  = "ses_2a0001ffe001AbCdEfGhIjKlMn"
	childID = "ses_2a0002ffe002AbCdEfGhIjKlMn"
)

// TestDatabase has a session in a database of 1.x, which is testdata/opencode.db: it is as the export, with a subagent's.
func TestDatabase(t *testing.T) {
	path := filepath.Join(t.TempDir(), "opencode.db")
	w := newDatabase(t, path, tablesOne)
	w.one(read(t, export), mainID, "")
	w.one(read(t, export), childID, mainID)
	w.conn.Close()
	if kept := filepath.Join("testdata", "opencode.db"); golden.Update() {
		must.Do(t, os.WriteFile(kept, []byte(read(t, path)), 0o644))
	} else if _, err := os.Stat(kept); err != nil {
		t.Errorf("%v: make it with -update", err)
	}
	conv := load(t, path+"#"+mainID)
	outline.Same(t, wantShape, shape(t, conv))
	a := conv.Lines
	must.Say(t, "true 70 0", a.Balanced(), a.Read, len(conv.Warnings))
	must.Equal(t, load(t, path).SessionID, mainID)
	must.Equal(t, load(t, path+"#"+childID).Agent, childID)
	agents, _, err := session.Subagents(path + "#" + mainID)
	if err != nil || len(agents) != 1 || agents[0].Path != path+"#"+childID {
		t.Errorf("subagents %+v: %v", agents, err)
	}
	list, warnings, err := session.Discover(path)
	if err != nil || len(warnings) > 0 || len(list) != 1 || list[0].ID != mainID || len(list[0].Subagents) != 1 {
		t.Fatalf("%+v, %v, %v", list, warnings, err)
	}
	if i := list[0]; i.Product != "opencode" || i.Title != "Why the mill stops" || i.Project != "/srv/mill" || i.Prompt == "" || i.Size == 0 || i.Created.IsZero() {
		t.Errorf("%+v", i)
	}
}

// TestDatabaseRows has rows that cannot be read.
func TestDatabaseRows(t *testing.T) {
	path := filepath.Join(t.TempDir(), "opencode.db")
	w := newDatabase(t, path, tablesOne)
	w.one(read(t, export), mainID, "")
	w.add("INSERT INTO message VALUES ('msg_zz', '" + mainID + "', 9999999999999, 1, '{\"role\":')")
	w.add("INSERT INTO part VALUES ('prt_zz', (SELECT id FROM message ORDER BY time_created LIMIT 1), '" + mainID + "', 1, 1, '[]')")
	w.conn.Close()
	conv := load(t, path+"#"+mainID)
	outline.Same(t, wantShape, shape(t, conv))
	a := conv.Lines
	must.Say(t, "true 72 2", a.Balanced(), a.Read, a.SetAside["unreadable in the database"])
	must.Say(t, "2 true true", len(conv.Warnings), strings.Contains(fmt.Sprint(conv.Warnings), "msg_zz"), strings.Contains(fmt.Sprint(conv.Warnings), "prt_zz"))
	must.Fail(session.Load(path+"#ses_none", session.LoadOptions{}))(t, "no session of the database has that id")
	w = newDatabase(t, path, "ALTER TABLE part RENAME COLUMN data TO content")
	w.conn.Close()
	must.Fail(session.Load(path+"#"+mainID, session.LoadOptions{}))(t, `"1.4.3"`)
}

// TestTwo has a session of 2.x, in its database and as the export of it.
func TestTwo(t *testing.T) {
	path := filepath.Join(t.TempDir(), "opencode.db")
	w := newDatabase(t, path, tablesOne+tablesTwo)
	w.one(read(t, export), "ses_old", "")
	w.add(`INSERT INTO session_v2 VALUES ('ses_two', 'p', NULL, NULL, '/srv/mill', 'The mill again', '2.0.26', 0, 0, NULL, 1000, 2000)`)
	rows := []struct{ kind, data string }{
		{"user", `{"time":{"created":1000},"text":"Why does it stop?","files":[]}`},
		{"system", `{"time":{"created":1001},"text":"The date is another."}`},
		{"assistant", `{"time":{"created":1002,"completed":1010},"agent":"build","model":{"id":"claude-sonnet-4-5","providerID":"anthropic"},"finish":"tool-calls",` +
			`"tokens":{"input":10,"output":20,"reasoning":5,"cache":{"read":1000,"write":50}},"cost":0.01,"content":[{"type":"reasoning","text":"hm","time":{"created":1003}},` +
			`{"type":"text","text":"I look."},{"type":"tool","id":"c1","name":"shell","executed":false,"time":{"created":1004,"ran":1005,"completed":1006},` +
			`"state":{"status":"completed","input":{"command":"ls"},"content":[{"type":"text","text":"brake.txt"},{"type":"file","uri":"data:image/png;base64,iVBO","mime":"image/png"}]}},` +
			`{"type":"tool","id":"c2","name":"read","time":{"created":1004},"state":{"status":"error","input":{"path":"x"},"error":{"type":"unknown","message":"no such file"}}}]}`},
		{"compaction", `{"time":{"created":1020},"status":"failed","reason":"auto","error":{"type":"x","message":"y"}}`},
		{"compaction", `{"time":{"created":1030,"completed":1040},"status":"completed","reason":"auto","summary":"It is the brake.","recent":"[User]: Why","tokens":{"input":900,"output":70,"reasoning":0,"cache":{"read":100,"write":0}}}`},
		{"idle", `{"time":{"created":1050},"outcome":"succeeded"}`},
		{"shell", `{"time":{"created":1060},"shellID":"s","command":"pwd","status":"exited","output":{"output":"/srv/mill"}}`},
		{"user", `{"time":{"created":1070},"text":"Go on."}`},
		{"assistant", `{"time":{"created":1080,"completed":1090},"model":{"id":"claude-sonnet-4-5","providerID":"anthropic"},"finish":"stop","tokens":{"input":300,"output":9,"reasoning":0,"cache":{"read":0,"write":0}},"content":[{"type":"text","text":"Done."}]}`},
	}
	for i, r := range rows {
		w.add("INSERT INTO session_message VALUES (?, 'ses_two', ?, ?, 1, 1, ?)", fmt.Sprintf("msg_%02d", i), r.kind, int64(i*3), r.data)
	}
	w.add("INSERT INTO session_message VALUES ('msg_bad', 'ses_two', 'user', 99, 1, 1, 'no JSON')")
	w.conn.Close()
	conv := load(t, path+"#ses_two")
	want := []string{
		"prompt text(Why does it )",
		"attachment system(The date is )",
		"response [10 50 1000 25/5 $10000000] thinking(hm) text(I look.) tool_use(shell) tool_use(read)",
		"tool_result tool_result(brake.txt)",
		"tool_result tool_result!({\"type\":\"unk)",
		"compacted auto, kept [], sent 1000 + 70",
		"summary recorded text(<conversatio)",
		"meta text(pwd /srv/mil)",
		"prompt stopped text(Go on.)",
		"response [300 0 0 9/0 $0] text(Done.)",
	}
	outline.Same(t, want, shape(t, conv))
	must.Say(t, "true 2.0.26 /srv/mill The mill again", conv.Lines.Balanced(), conv.Version, conv.CWD, conv.Title)
	list, _, err := session.Discover(path)
	must.Say(t, "<nil> 2", err, len(list))
}

// TestCase11: a failed or running compaction counts for nothing; one by the provider counts where the next response is of the
// same provider and model, else all before it is sent.
func TestCase11(t *testing.T) {
	must.Rows(t, `
# provider | want
""     | ["prompt text(one)", "response [1 0 0 1/0 $0] text(two)", "prompt queued text(four)", "compacted auto, kept [], sent 5 + 1", "summary recorded text(<conversatio)", "response [1 0 0 1/0 $0] text(six)", "attachment system(seven)", "prompt queued text(eight)"]
openai | ["prompt text(one)", "response [1 0 0 1/0 $0] text(two)", "prompt queued text(four)", "compacted auto, kept [], sent 5 + 1", "summary recorded text(four) compaction({\"type\":\"com)", "response [1 0 0 1/0 $0] text(six)", "attachment system(seven)", "prompt queued text(eight)"]
azure  | ["prompt text(one)", "response [1 0 0 1/0 $0] text(two)", "prompt queued text(four)", "response [1 0 0 1/0 $0] text(six)", "attachment system(seven)", "prompt queued text(eight)"]
`, func(provider string, want []string) {
		said := `{"type":"assistant","time":{"created":1000,"completed":1001},"model":{"id":"gpt-6-sol","providerID":"openai"},"finish":"stop","tokens":{"input":1,"output":1},"content":[{"type":"text","text":"%s"}],"id":"%[1]s"}`
		asked := `{"type":"user","time":{"created":1000},"text":"%s","id":"%[1]s"}`
		compacted := `"summary":"five","recent":""`
		if provider != "" {
			compacted = `"summary":"","recent":"","providerContext":{"version":1,"provenance":{"providerID":"` + provider +
				`","modelID":"sol"},"messages":[{"role":"user","content":[{"type":"text","text":"four"}]},{"role":"assistant","content":[{"type":"compaction","encrypted":"AAAA"}]}]}`
		}
		messages := []string{
			fmt.Sprintf(asked, "one"), fmt.Sprintf(said, "two"), `{"type":"compaction","status":"failed","reason":"auto","time":{"created":1000},"id":"three"}`, fmt.Sprintf(asked, "four"),
			`{"type":"compaction","status":"completed","reason":"auto","tokens":{"input":5,"output":1},"time":{"created":1000},"id":"five",` + compacted + `}`,
			fmt.Sprintf(said, "six"), `{"type":"system","time":{"created":1000},"text":"seven","id":"seven"}`, fmt.Sprintf(asked, "eight"),
			`{"type":"compaction","status":"running","reason":"auto","time":{"created":1000},"id":"nine"}`,
		}
		path := filepath.Join(t.TempDir(), "session.json")
		must.Do(t, os.WriteFile(path, []byte(`{"info":{"id":"ses_a","time":{"created":1000}},"messages":[`+strings.Join(messages, ",")+`]}`), 0o600))
		conv := load(t, path)
		outline.Same(t, want, shape(t, conv), provider)
		if !conv.Lines.Balanced() {
			t.Errorf("%+v", conv.Lines)
		}
	})
}

// TestUnknownTypes: a part or a message of a type that no release has is warned of once, with the type.
func TestUnknownTypes(t *testing.T) {
	for _, text := range []string{
		`{"info":{"id":"ses_a"},"messages":[{"type":"user","time":{"created":1},"text":"one","id":"a"},{"type":"hologram","time":{"created":1},"id":"b"},{"type":"hologram","time":{"created":1},"id":"c"},{"type":"idle","time":{"created":1},"id":"d"}]}`,
		`{"info":{"id":"ses_a"},"messages":[{"info":{"id":"a","role":"user","time":{"created":1}},"parts":[{"type":"text","text":"one"},{"type":"hologram"},{"type":"hologram"},{"type":"snapshot"}]}]}`,
	} {
		path := filepath.Join(t.TempDir(), "session.json")
		must.Do(t, os.WriteFile(path, []byte(text), 0o600))
		conv := load(t, path)
		if len(conv.Warnings) != 1 || !strings.Contains(conv.Warnings[0].Message, ` of the unknown type "hologram": `) || !conv.Lines.Balanced() {
			t.Errorf("%s: %+v", text, conv.Warnings)
		}
	}
}

// TestLast: a session that is one document, or a tree of files, was last used at its own last time.
func TestLast(t *testing.T) {
	dir := t.TempDir()
	must.Do(t, os.WriteFile(filepath.Join(dir, "one.json"), []byte(read(t, export)), 0o600))
	list, _, err := session.Discover(dir)
	if err != nil || len(list) != 1 {
		t.Fatalf("%+v, %v", list, err)
	}
	conv := load(t, filepath.Join(dir, "one.json"))
	last := list[0].Created
	for i := range conv.Messages {
		if at := conv.Messages[i].Time; at.After(last) {
			last = at
		}
	}
	if off := list[0].Last.Sub(last); off < 0 || off > time.Second || !list[0].Used().Equal(list[0].Last) { // lines without a message are later
		t.Errorf("last used %s, want %s", list[0].Last, last)
	}
}
