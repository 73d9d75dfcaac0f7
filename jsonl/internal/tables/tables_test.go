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
	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/report/golden"
)

// rowsOf are statements for tables as Goose's schema 15 and Crush 0.90 make them, without what is not read, and of a session with a
// subagent's.
func rowsOf(t *testing.T, client string) string {
	t.Helper()
	text := must.Get(os.ReadFile(filepath.Join("testdata", client+".sql")))(t)
	return string(text)
}

func create(t *testing.T, statements string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), ".crush", "sessions.db")
	must.Do(t, os.Mkdir(filepath.Dir(path), 0o755))
	conn := must.Get(sqlite3.Open(path))(t)
	defer conn.Close()
	must.Do(t, conn.Exec(statements))
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
			text := must.Get(conv.Text(m, b))(t)
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
		"goose": {rowsOf(t, "goose"), "20261120_1", "20261120_2", []string{
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
		"crush": {rowsOf(t, "crush"), "c-1", "c-2", []string{
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
		must.Equal(t, shape(t, f.Main), tt.want, name)
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
		rows.WriteString(rowsOf(t, "crush"))
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
		"a version of Goose that is not known":   strings.ReplaceAll(rowsOf(t, "goose"), "content_json", "content_blob"),
		"a version of Crush that is not known":   strings.ReplaceAll(rowsOf(t, "crush"), "parts", "pieces"),
		"no session of the database has that id": rowsOf(t, "crush"),
	} {
		must.Fail(session.Load(create(t, statements)+"#nothing", session.LoadOptions{}))(t, want)
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
		{create(t, rowsOf(t, "goose")), "20261120_1"}, {create(t, rowsOf(t, "crush")), "c-1"},
		{filepath.Join("..", "opencode", "testdata", "opencode.db"), "ses_2a0001ffe001AbCdEfGhIjKlMn"},
	} {
		base := must.Get(os.ReadFile(tt.path))(t)
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
			must.Do(t, os.WriteFile(path, b, 0o600))
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
