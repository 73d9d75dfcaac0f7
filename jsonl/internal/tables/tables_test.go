package tables_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/ncruces/go-sqlite3"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/report/golden"
)

// Tables as Goose's schema 15 and Crush 0.90 make them, without what is not read, and a session with a subagent's.
const (
	gooseRows = `CREATE TABLE schema_version (version INTEGER PRIMARY KEY);
CREATE TABLE sessions (id TEXT PRIMARY KEY, name TEXT, description TEXT, session_type TEXT, working_dir TEXT, created_at TIMESTAMP, updated_at TIMESTAMP,
 extension_data TEXT, provider_name TEXT, model_config_json TEXT, parent_session_id TEXT);
CREATE TABLE messages (id INTEGER PRIMARY KEY AUTOINCREMENT, message_id TEXT, session_id TEXT NOT NULL, role TEXT NOT NULL, content_json TEXT NOT NULL,
 created_timestamp INTEGER NOT NULL, metadata_json TEXT);
CREATE TABLE usage_ledger (id INTEGER PRIMARY KEY AUTOINCREMENT, session_id TEXT, created_timestamp INTEGER, model TEXT, input_tokens INTEGER, output_tokens INTEGER,
 total_tokens INTEGER, cache_read_tokens INTEGER, cache_write_tokens INTEGER, cost REAL, is_compaction INTEGER DEFAULT 0);
INSERT INTO sessions VALUES ('20261120_1', 'The mill', '', 'user', '/home/u/mill', '2026-11-20 10:00:00', '2026-11-20T10:30:00+00:00', '{}', 'anthropic', '{"model_name":"claude-sonnet-4-5","context_limit":200000}', NULL);
INSERT INTO sessions VALUES ('20261120_2', 'Look', '', 'sub_agent', '/home/u/mill', '2026-11-20 10:01:00', '2026-11-20 10:02:00', '{}', 'anthropic', NULL, '20261120_1');
INSERT INTO sessions VALUES ('20261120_3', 'Empty', '', 'user', '/', '2026-11-20 11:00:00', NULL, '{}', NULL, NULL, NULL);
INSERT INTO messages (message_id, session_id, role, content_json, created_timestamp, metadata_json) VALUES
 ('u1', '20261120_1', 'user', '[{"type":"text","text":"Why does the mill stop?"}]', 1795255200, '{"userVisible":true,"agentVisible":false}'),
 ('a1', '20261120_1', 'assistant', '[{"type":"thinking","thinking":"look","signature":"c2ln"},{"type":"text","text":"I look."}]', 1795255205, '{"userVisible":true,"agentVisible":false}'),
 ('a1', '20261120_1', 'assistant', '[{"type":"toolRequest","id":"t1","toolCall":{"status":"success","value":{"name":"developer__shell","arguments":{"command":"ls"}}}},{"type":"toolRequest","id":"t2","toolCall":{"status":"success","value":{"name":"developer__shell","arguments":{"command":"cat"}}}}]', 1795255206, '{"userVisible":true,"agentVisible":false}'),
 ('r1', '20261120_1', 'user', '[{"type":"toolResponse","id":"t1","toolResult":{"status":"success","value":{"content":[{"type":"text","text":"a.go"}],"isError":false}}},{"type":"toolResponse","id":"t2","toolResult":{"status":"error","error":"no file"}}]', 1795255207, '{"userVisible":true,"agentVisible":false}'),
 ('u2', '20261120_1', 'user', '[{"type":"text","text":"And now?"}]', 1795255300, '{"userVisible":false,"agentVisible":false}'),
 ('s1', '20261120_1', 'user', '[{"type":"text","text":"The brake is stuck."}]', 1795255305, '{"userVisible":false,"agentVisible":true}'),
 ('s2', '20261120_1', 'assistant', '[{"type":"text","text":"Go on."}]', 1795255305, '{"userVisible":false,"agentVisible":true}'),
 ('u3', '20261120_1', 'user', '[{"type":"text","text":"And now?"}]', 1795255305, '{"userVisible":true,"agentVisible":true}'),
 ('n1', '20261120_1', 'assistant', '[{"type":"systemNotification","notificationType":"inlineMessage","msg":"compacted"}]', 1795255305, NULL),
 ('a2', '20261120_1', 'assistant', '[{"type":"text","text":"It turns."},{"type":"image","data":"aGk=","mimeType":"image/png"}]', 1795255310, NULL),
 ('x1', '20261120_1', 'user', 'no JSON', 1795255310, NULL),
 ('u9', '20261120_2', 'user', '[{"type":"text","text":"Look."}]', 1795255260, NULL),
 ('a9', '20261120_2', 'assistant', '[{"type":"text","text":"Seen."}]', 1795255261, NULL);
INSERT INTO usage_ledger (session_id, created_timestamp, model, input_tokens, output_tokens, cache_read_tokens, cache_write_tokens, cost, is_compaction) VALUES
 ('20261120_1', 1795255206, 'claude-sonnet-4-5', 9000, 40, 8000, 900, 0.5, 0), ('20261120_1', 1795255305, 'claude-haiku-4-5', 9100, 70, 0, 0, NULL, 1),
 ('20261120_1', 1795255310, 'claude-sonnet-4-5', 5000, 6, NULL, NULL, NULL, 0);`

	crushRows = `CREATE TABLE sessions (id TEXT PRIMARY KEY, parent_session_id TEXT, title TEXT NOT NULL, message_count INTEGER, prompt_tokens INTEGER, completion_tokens INTEGER,
 cost REAL, updated_at INTEGER, created_at INTEGER, summary_message_id TEXT);
CREATE TABLE messages (id TEXT PRIMARY KEY, session_id TEXT NOT NULL, role TEXT NOT NULL, parts BLOB NOT NULL, model TEXT, created_at INTEGER, updated_at INTEGER,
 finished_at INTEGER, provider TEXT, is_summary_message INTEGER DEFAULT 0);
INSERT INTO sessions VALUES ('c-1', NULL, 'The mill', 6, 900, 40, 0.5, 1795255400, 1795255200, 'm-5'), ('c-2', 'c-1', 'Look', 1, 0, 0, 0, 1795255300, 1795255250, NULL);
INSERT INTO messages (id, session_id, role, parts, model, created_at) VALUES
 ('m-1', 'c-1', 'user', '[{"type":"text","data":{"text":"Why does the mill stop?"}},{"type":"finish","data":{"reason":"stop","time":0}}]', NULL, 1795255200),
 ('m-2', 'c-1', 'assistant', '[{"type":"reasoning","data":{"thinking":"look","signature":"c2ln"}},{"type":"text","data":{"text":"I look."}},{"type":"tool_call","data":{"id":"t1","name":"bash","input":"{\"command\":\"ls\"}","finished":true}},{"type":"finish","data":{"reason":"tool_use","time":1795255205}}]', 'claude-sonnet-4-5', 1795255205),
 ('m-3', 'c-1', 'tool', '[{"type":"tool_result","data":{"tool_call_id":"t1","name":"bash","content":"a.go","is_error":false}}]', NULL, 1795255206),
 ('m-4', 'c-1', 'assistant', '[{"type":"text","data":{"text":"The brake."}}]', 'claude-sonnet-4-5', 1795255207),
 ('m-5', 'c-1', 'assistant', '[{"type":"text","data":{"text":"The brake is stuck."}}]', 'claude-sonnet-4-5', 1795255300),
 ('m-6', 'c-1', 'user', '[{"type":"text","data":{"text":"And now?"}},{"type":"shell_command","data":{"command":"ls","output":"a.go","exit_code":1}},{"type":"binary","data":{"Path":"a.png","MIMEType":"image/png","Data":"aGk="}}]', NULL, 1795255310),
 ('m-7', 'c-1', 'user', '[]', NULL, 1795255311), ('m-8', 'c-1', 'pet', '[{"type":"text","data":{"text":"woof"}}]', NULL, 1795255311), ('m-9', 'c-2', 'user', '[{"type":"text","data":{"text":"Look."}}]', NULL, 1795255250);`
)

func create(t *testing.T, statements string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), ".crush", "sessions.db")
	if err := os.Mkdir(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	conn, err := sqlite3.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.Exec(statements); err != nil {
		t.Fatal(err)
	}
	return path
}

// shape is a conversation as a list.
func shape(t *testing.T, conv *session.Conversation) (out []string) {
	t.Helper()
	out = append(out, fmt.Sprintf("%s %s %s %s", conv.Product, conv.SessionID, conv.CWD, conv.Title))
	for m := range conv.Messages {
		for i := range conv.Boundaries {
			if b := &conv.Boundaries[i]; b.Before == m {
				said := fmt.Sprintf("compacted, summary %d, attached %v", b.Summary, b.Attached)
				if b.Usage != nil {
					said += fmt.Sprintf(" [%d -> %d]", b.Usage.Input, b.Usage.Output)
				}
				out = append(out, said)
			}
		}
		msg := &conv.Messages[m]
		line := fmt.Sprintf("%d %s %s", m, msg.Class, msg.Time.Format("15:04:05"))
		for b := range msg.Blocks {
			text, err := conv.Text(m, b)
			if err != nil {
				t.Fatal(err)
			}
			line += fmt.Sprintf(" %s %q", msg.Blocks[b].Type, strings.TrimSpace(msg.Blocks[b].Name+" "+text))
		}
		if msg.HasUsage {
			line += fmt.Sprintf(" [%d+%d+%d -> %d, %d nano]", msg.Usage.Input, msg.Usage.CacheRead, msg.Usage.CacheWrite, msg.Usage.Output, msg.Usage.Nano)
		}
		out = append(out, line)
	}
	return out
}

// TestDatabases reads a session of each client, whose document is in testdata.
func TestDatabases(t *testing.T) {
	for name, tt := range map[string]struct {
		rows, id, child string
		want            []string
		aside           map[session.Reason]int
	}{
		"goose": {gooseRows, "20261120_1", "20261120_2", []string{
			"goose 20261120_1 /home/u/mill The mill",
			`0 prompt 10:00:00 text "Why does the mill stop?"`,
			`1 response 10:00:05 thinking "look" text "I look." tool_use "developer__shell {\"command\":\"ls\"}" tool_use "developer__shell {\"command\":\"cat\"}" [100+8000+900 -> 40, 500000000 nano]`,
			`2 tool_result 10:00:07 tool_result "a.go" tool_result "no file"`,
			"compacted, summary 3, attached [4] [9100 -> 70]",
			`3 summary 10:01:45 text "The brake is stuck."`,
			`4 attachment 10:01:45 continue "Go on."`,
			`5 prompt 10:01:45 text "And now?"`,
			`6 response 10:01:50 text "It turns." image "{\"type\":\"image\",\"source\":{\"data\":\"aGk=\",\"media_type\":\"image/png\",\"type\":\"base64\"}}" [5000+0+0 -> 6, 0 nano]`,
		}, map[session.Reason]int{"a message without content": 2, "a prompt that stands behind the summary as well": 1}},
		"crush": {crushRows, "c-1", "c-2", []string{
			"crush c-1  The mill",
			`0 prompt 10:00:00 text "Why does the mill stop?"`,
			`1 response 10:00:05 thinking "look" text "I look." tool_use "bash {\"command\":\"ls\"}"`,
			`2 tool_result 10:00:06 tool_result "a.go"`,
			`3 response 10:00:07 text "The brake."`,
			"compacted, summary 4, attached []",
			`4 summary 10:01:40 text "The brake is stuck."`,
			`5 prompt 10:01:50 text "And now?" text "$ ls\na.go\n(exit code 1)" image "{\"type\":\"image\",\"source\":{\"data\":\"aGk=\",\"media_type\":\"image/png\",\"type\":\"base64\"}}"`,
		}, map[session.Reason]int{"a message of an unknown role": 1, "a message without content": 1}},
	} {
		path := create(t, tt.rows)
		list, warnings, err := session.Discover(path)
		if err != nil || len(warnings) > 0 || len(list) != 1 || list[0].ID != tt.id || list[0].Product != name || len(list[0].Subagents) != 1 || list[0].Subagents[0].ID != tt.child {
			t.Fatalf("%s: %+v, %v, %v", name, list, warnings, err)
		}
		if i := &list[0]; i.Prompt != "Why does the mill stop?" || i.Created.Format("15:04") != "10:00" || !i.Last.After(i.Created) || i.Size == 0 || filepath.Base(i.Project) == ".crush" || i.Project == "" {
			t.Errorf("%s: %+v", name, i)
		}
		f, err := session.Load(path+"#"+tt.id, session.LoadOptions{})
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if diff := cmp.Diff(tt.want, shape(t, f.Main)); diff != "" {
			t.Errorf("%s: -want +got\n%s", name, diff)
		}
		if diff := cmp.Diff(tt.aside, f.Main.Lines.SetAside); diff != "" || !f.Main.Lines.Balanced() {
			t.Errorf("%s: %+v: -want +got\n%s", name, f.Main.Lines, diff)
		}
		src, err := session.Open(path+"#"+tt.id, jsonl.InputLimits{})
		if err != nil {
			t.Fatal(err)
		}
		defer src.Close()
		text, _ := src.Head(1 << 20)
		golden.Check(t, filepath.Join("testdata", name+".jsonl"), text)
	}
}

// TestManySubagents: those of a session with four times as many take four times as long to find, not sixteen times.
func TestManySubagents(t *testing.T) {
	if testing.Short() {
		t.Skip("measures time")
	}
	took := func(n, times int) time.Duration {
		rows := strings.Builder{}
		rows.WriteString(crushRows)
		for i := range n {
			fmt.Fprintf(&rows, "INSERT INTO sessions VALUES ('s-%d', 'c-1', 'Look', 1, 0, 0, 0, 1795255300, %d, NULL);", i, i)
		}
		path := create(t, "BEGIN;"+rows.String()+"COMMIT;") + "#c-1"
		start := time.Now()
		for range times {
			list, _, err := session.Subagents(path)
			if err != nil || len(list) != n+1 {
				t.Fatal(len(list), err)
			}
		}
		return time.Since(start)
	}
	var four, one time.Duration
	for range 5 { // a measurement can be off
		if four, one = took(500, 4), took(2000, 1); one <= 2*four {
			return
		}
	}
	t.Errorf("%s for four times 500 subagents, %s for 2,000", four, one)
}

// TestRefused: tables that are almost a client's are a message that says whose, and a session that is not there is too.
func TestRefused(t *testing.T) {
	for want, statements := range map[string]string{
		"a version of Goose that is not known":   strings.ReplaceAll(gooseRows, "content_json", "content_blob"),
		"a version of Crush that is not known":   strings.ReplaceAll(crushRows, "parts", "pieces"),
		"no session of the database has that id": crushRows,
	} {
		if _, err := session.Load(create(t, statements)+"#nothing", session.LoadOptions{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}

// TestDamaged has damaged databases of each client, 2,000 with CTXKIT_DAMAGED set: none panics or hangs, and each row that is
// read is used or set aside.
func TestDamaged(t *testing.T) {
	n := 100
	if os.Getenv("CTXKIT_DAMAGED") != "" {
		n = 2000
	}
	for _, tt := range []struct{ path, id string }{
		{create(t, gooseRows), "20261120_1"}, {create(t, crushRows), "c-1"},
		{filepath.Join("..", "opencode", "testdata", "opencode.db"), "ses_2a0001ffe001AbCdEfGhIjKlMn"},
	} {
		base, err := os.ReadFile(tt.path)
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(t.TempDir(), "damaged.db")
		r := rand.New(rand.NewPCG(3, 4))
		read := 0
		for range n {
			b := bytes.Clone(base)
			for range 1 + r.IntN(20) {
				at := r.IntN(len(b))
				switch b[at] = byte(r.Uint32()); r.IntN(8) {
				case 0: // a piece elsewhere
					copy(b[r.IntN(len(b)):], b[at:min(len(b), at+r.IntN(200))])
				case 1:
					clear(b[at:min(len(b), at+r.IntN(4096))])
				}
			}
			if r.IntN(4) == 0 {
				b = b[:r.IntN(len(b))]
			}
			if err := os.WriteFile(path, b, 0o600); err != nil {
				t.Fatal(err)
			}
			ids := []string{tt.id}
			list, _, _ := session.Discover(path)
			for i := range list {
				ids = append(ids, list[i].ID)
			}
			for _, id := range ids {
				f, err := session.Load(path+"#"+id, session.LoadOptions{})
				if err != nil {
					if !strings.Contains(err.Error(), "damaged.db") {
						t.Fatalf("error %v names no file", err)
					}
					continue
				}
				read++
				for _, conv := range f.Conversations() {
					if !conv.Lines.Balanced() {
						t.Fatalf("%s: %+v", tt.path, conv.Lines)
					}
				}
				f.Close()
			}
		}
		t.Logf("%s: %d damaged databases, %d sessions read of them", filepath.Base(tt.path), n, read)
	}
}
