package opencode_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/internal/outline"
	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/jsonl/session"
)

// export is a session made by hand with every kind of part.
const export = "testdata/export.json"

// exportUnits is how many units it has: the session's info, each message's and each part.
const exportUnits = 70

func load(t *testing.T, path string) *session.Conversation {
	t.Helper()
	f := must.Get(session.Load(path, session.LoadOptions{}))(t)
	t.Cleanup(func() { f.Close() })
	return f.Main
}

func read(t *testing.T, path string) string {
	t.Helper()
	b := must.Get(os.ReadFile(path))(t)
	return string(b)
}

func loadText(t *testing.T, text string) (*session.Conversation, error) {
	t.Helper()
	f, err := session.LoadReader("text", strings.NewReader(text), session.LoadOptions{})
	if err != nil {
		return nil, err
	}
	t.Cleanup(func() { f.Close() })
	return f.Main, nil
}

// shape is a conversation as text, a line for each message.
func shape(t *testing.T, conv *session.Conversation) []string {
	t.Helper()
	var out []string
	note := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	marks := func(before int) {
		for _, m := range conv.Micro {
			if m.Before == before {
				note("pruned %d", len(m.ToolIDs))
			}
		}
		for _, b := range conv.Boundaries {
			if b.Before == before {
				note("compacted %s, kept %v, sent %d + %d", b.Trigger, b.Preserved, b.Usage.Context(), b.Usage.Output)
			}
		}
	}
	for i := range conv.Messages {
		m := &conv.Messages[i]
		marks(i)
		line := m.Class.String()
		for _, flag := range []struct {
			on   bool
			name string
		}{{m.Is(session.Queued), "queued"}, {m.Is(session.Stopped), "stopped"}, {m.RecordOnly, "recorded"}, {m.Is(session.AsAssistant), "answers"}} {
			if flag.on {
				line += " " + flag.name
			}
		}
		if m.HasUsage {
			line += fmt.Sprintf(" [%d %d %d %d/%d $%d]", m.Usage.Input, m.Usage.CacheWrite, m.Usage.CacheRead, m.Usage.Output, m.Usage.Thinking, m.Usage.Nano)
		}
		for b := range m.Blocks {
			bl := &m.Blocks[b]
			text := must.Get(conv.Text(i, b))(t)
			if line += fmt.Sprintf(" %s", bl.Type); bl.IsError {
				line += "!"
			}
			if bl.Kind == jsonl.KindToolUse {
				text = bl.Name
			}
			line += fmt.Sprintf("(%.12s)", strings.ReplaceAll(text, "\n", " "))
		}
		out = append(out, line)
	}
	marks(len(conv.Messages))
	return out
}

// wantShape is that of the session made by hand.
var wantShape = []string{
	"prompt text(Why does the) image({\"type\":\"ima) text(Called the R) text(<path>/srv/m)",
	"response [1200 900 0 110/30 $12500000] thinking(The wheel tu) text(I read the c) tool_use(read) tool_use(bash)",
	"tool_result tool_result(1: package m)",
	"tool_result tool_result(ok)",
	"response [300 120 2100 40/0 $3000000] tool_use(grep) tool_use(edit)",
	"tool_result tool_result(mill.go:7: s)",
	"tool_result tool_result!(oldString no)",
	"prompt queued text(And the brak)",
	"response [90 0 2500 30/5 $1000000] text(The brake is)",
	"prompt stopped text(Loosen it)",
	"pruned 2",
	"prompt stopped text(Loosen it ge)",
	"response [400 0 1800 70/10 $2000000] tool_use(read) tool_use(task)",
	"tool_result tool_result(Image read s)",
	"tool_result tool_result(<task_result)",
	"response thinking() text(Half of it) tool_use(bash)",
	"tool_result tool_result!(Tool executi)",
	"compacted auto, kept [], sent 3000 + 70",
	"meta recorded text(What did we )",
	"summary recorded answers text(## Goal  Fin)",
	"attachment recorded continue(Continue if )",
	"response [700 650 0 30/0 $4000000] text(The mill tur)",
	"prompt stopped text(The followin)",
	"response [20 0 1300 10/0 $500000] tool_use(task)",
	"tool_result tool_result(nothing new)",
	"prompt queued text(Summarize th)",
	"response text(Nothing new.) tool_use(bash)",
}

func TestExport(t *testing.T) {
	conv := load(t, export)
	outline.Same(t, wantShape, shape(t, conv))
	aside := map[session.Reason]int{
		"part: step-start": 9, "part: step-finish": 7, "part: agent": 1, "part: patch": 1, "text that is not sent": 1,
		"file that is sent as text": 1, "reasoning of a summary": 1, "request that failed": 3,
	}
	outline.Same(t, aside, conv.Lines.SetAside, "set aside")
	a := conv.Lines
	must.Say(t, "true 70", a.Balanced(), a.Read)
	got := []string{conv.SessionID, conv.Agent, conv.CWD, conv.Product, conv.Provider, conv.Version, conv.Model, conv.Title}
	want := []string{"ses_2a0001ffe001AbCdEfGhIjKlMn", "", "/srv/mill", "opencode", "github-copilot", "1.4.3", "claude-sonnet-4.5", "Why the mill stops"}
	outline.Same(t, want, got)
	if len(conv.Warnings) > 0 {
		t.Errorf("warnings %v", conv.Warnings)
	}
	// Places are those of the file.
	lines := strings.Split(read(t, export), "\n")
	if at := conv.Messages[8].Line; !strings.Contains(strings.Join(lines[at-1:at+4], ""), "The brake is stuck.") {
		t.Errorf("line %d: %s", at, lines[at-1])
	}
}

// TestOwnRun: a command or subtask of the user's is run without a request, and its result is sent with the next one.
func TestOwnRun(t *testing.T) {
	must.Rows(t, `
# name | in
a command               | ["{\"id\":\"p1\",\"type\":\"text\",\"synthetic\":true,\"text\":\"The following tool was executed by the user\"}", "\"parentID\":\"m1\", "]
one of an early version | ["{\"id\":\"p1\",\"type\":\"text\",\"synthetic\":true,\"text\":\"The following tool was executed by the user\"}", ""]
a subtask               | ["{\"id\":\"p1\",\"type\":\"subtask\",\"prompt\":\"p\",\"agent\":\"general\"}", "\"parentID\":\"m1\", "]
`, func(name string, in [2]string) {
		conv := must.Get(loadText(t, `{"info":{"id":"ses_1","directory":"/","title":"t","version":"1.18.3","time":{"created":1}},"messages":[`+
			`{"info":{"id":"m1","role":"user","time":{"created":1}},"parts":[`+in[0]+`]},`+
			`{"info":{"id":"m2","role":"assistant",`+in[1]+`"time":{"created":2},"tokens":{"input":0,"output":0}},"parts":[{"id":"p2","type":"tool","callID":"c","tool":"bash","state":{"status":"completed","input":{},"output":"ok"}}]},`+
			`{"info":{"id":"m3","role":"assistant","parentID":"m1","time":{"created":3},"finish":"stop","tokens":{"input":900,"output":5}},"parts":[{"id":"p3","type":"text","text":"done"}]}]}`))(t)
		if len(conv.Requests) != 1 || conv.Requests[0].Message != 3 || len(conv.Messages) != 4 {
			t.Errorf("%s: requests %+v of %d messages", name, conv.Requests, len(conv.Messages))
		}
	})
}

// TestUnsent: user messages of which nothing is sent count before the message that follows them, as OpenCode's prune counts
// them. They are no messages.
func TestUnsent(t *testing.T) {
	said := func(id, role, more, parts string) string {
		return `{"info":{"id":"` + id + `","role":"` + role + `","time":{"created":1}` + more + `},"parts":[` + parts + `]}`
	}
	answer := `,"finish":"stop","tokens":{"input":900,"output":5}`
	ignored := `{"id":"p","type":"text","text":"cleared 3 outputs","ignored":true}`
	conv := must.Get(loadText(t, `{"info":{"id":"ses_1","directory":"/","title":"t","version":"1.18.3","time":{"created":1}},"messages":[`+strings.Join([]string{
		said("m1", "user", "", `{"id":"p1","type":"text","text":"go"},`+ignored),
		said("m2", "user", "", ignored),
		said("m3", "assistant", answer, `{"id":"p3","type":"text","text":"done"}`),
		said("m4", "user", "", ignored+","+ignored), said("m5", "user", "", ""),
		said("m6", "user", "", `{"id":"p6","type":"text","text":"next"}`),
		said("m7", "assistant", answer, `{"id":"p7","type":"text","text":"done"}`),
		said("m8", "user", "", ignored),
	}, ",")+`]}`))(t)
	var got []int
	for _, m := range conv.Messages {
		got = append(got, m.Unsent)
	}
	outline.Same(t, []int{0, 1, 2, 0}, got)
	n := conv.Lines.SetAside["text that is not sent"]
	must.Say(t, "5 true 0", n, conv.Lines.Balanced(), len(conv.Warnings))
}

// TestOtherForms has the same session on one line, as lines, glued to itself, in reverse order, and as a tree of files.
func TestOtherForms(t *testing.T) {
	text := read(t, export)
	var doc struct {
		Info     json.RawMessage
		Messages []struct {
			Info  json.RawMessage
			Parts []json.RawMessage
		}
	}
	must.Do(t, json.Unmarshal([]byte(text), &doc))
	compact := func(b json.RawMessage) string {
		var out bytes.Buffer
		must.Do(t, json.Compact(&out, b))
		return out.String()
	}
	messages := make([]string, len(doc.Messages))
	for i, m := range doc.Messages {
		parts := make([]string, len(m.Parts))
		for k, p := range m.Parts {
			parts[k] = compact(p)
		}
		messages[i] = `{"info":` + compact(m.Info) + `,"parts":[` + strings.Join(parts, ",") + "]}"
	}
	info := compact(doc.Info)
	reversed := slices.Clone(messages)
	slices.Reverse(reversed)
	for name, other := range map[string]string{
		"one line":       compact(json.RawMessage(text)),
		"lines":          `{"info":` + info + "}\n" + strings.Join(messages, "\n"),
		"glued":          text + text,
		"glued in part":  text[:strings.Index(text, "The brake is stuck")] + text,
		"reversed":       `{"info":` + info + `,"messages":[` + strings.Join(reversed, ",\n") + "]}",
		"messages first": `{"messages":[` + strings.Join(messages, ",\n") + `],"todos":[],"info":` + info + "}",
	} {
		conv, err := loadText(t, other)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		outline.Same(t, wantShape, shape(t, conv), name)
		if !conv.Lines.Balanced() {
			t.Errorf("%s: %+v", name, conv.Lines)
		}
	}

	root := t.TempDir()
	write := func(text string, path ...string) string {
		file := filepath.Join(append([]string{root, "storage"}, path...)...)
		must.Do(t, os.MkdirAll(filepath.Dir(file), 0o755))
		must.Do(t, os.WriteFile(file, []byte(text), 0o600))
		return file
	}
	id := func(b json.RawMessage) string {
		var v struct{ ID string }
		must.Do(t, json.Unmarshal(b, &v))
		return v.ID
	}
	file := write(string(doc.Info), "session", "0d0d", id(doc.Info)+".json")
	for _, m := range doc.Messages {
		write(string(m.Info), "message", id(doc.Info), id(m.Info)+".json")
		for _, p := range m.Parts {
			write(string(p), "part", id(m.Info), id(p)+".json")
		}
	}
	conv := load(t, file)
	outline.Same(t, wantShape, shape(t, conv), "tree")
	must.Equal(t, conv.Lines.Read, exportUnits, conv.Lines)

	// Of a damaged tree, each file costs itself, and nothing outside of it is read.
	outside := write(`{"role":"user"}`, "..", "secret.json")
	own := filepath.Join(root, "storage", "message", id(doc.Info))
	write("{", "message", id(doc.Info), "msg_broken.json")
	if err := os.Symlink(outside, filepath.Join(own, "msg_link.json")); err != nil {
		t.Skip("no links here")
	}
	must.Do(t, os.MkdirAll(filepath.Join(own, "msg_folder.json"), 0o755))
	conv = load(t, file)
	if diff := cmp.Diff(wantShape, shape(t, conv)); diff != "" || !conv.Lines.Balanced() {
		t.Errorf("damaged tree: %+v, -want +got\n%s", conv.Lines, diff)
	}
	n := conv.Lines.SetAside["unreadable file of the storage folder"]
	must.Say(t, "2 2", n, len(conv.Warnings))
}

// TestDamaged has damaged exports: what is whole is used.
func TestDamaged(t *testing.T) {
	text := read(t, export)
	find := func(s string) int {
		i := strings.Index(text, s)
		if i < 0 {
			t.Fatalf("no %q", s)
		}
		return i
	}
	brake := find("The brake is stuck.")
	all := wantShape
	const emptied = "response [90 0 2500 30/5 $1000000]" // the one about the brake, without its text
	unpruned := slices.DeleteFunc(slices.Concat(all[:8], []string{emptied}), func(s string) bool { return strings.HasPrefix(s, "pruned") })
	for _, tt := range []struct {
		name, text string
		want       []string
		code       session.Code
		line       bool
	}{
		{"cut in a text", text[:brake], append(unpruned, "pruned 2"), session.CodeStopped, true},
		{"cut before the messages", text[:find(`"messages"`)], nil, "", false},
		{"cut in the first message's info", text[:find(`"agent"`)], nil, "", false},
		{"a broken string", text[:brake] + "\n" + text[brake:], slices.Concat(all[:8], []string{emptied}, all[9:]), session.CodeMalformed, true},
		{"a broken beginning", "x" + text, all, session.CodeMalformed, true},
		{"rubbish behind", text + "\nrubbish\n", all, session.CodeMalformed, true},
		{"a number for a text", strings.Replace(text, `"The brake is stuck."`, "7", 1), slices.Concat(all[:8], []string{emptied}, all[9:]), session.CodeMetadata, true},
		{"another session behind", text + strings.ReplaceAll(text, "ses_2a0001", "ses_2b0001"), all, session.CodeMalformed, true},
	} {
		conv, err := loadText(t, tt.text)
		if tt.want == nil && tt.code == "" {
			if err == nil {
				t.Errorf("%s: no error", tt.name)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		outline.Same(t, tt.want, shape(t, conv), tt.name)
		if !conv.Lines.Balanced() {
			t.Errorf("%s: %+v", tt.name, conv.Lines)
		}
		if !slices.ContainsFunc(conv.Warnings, func(w session.Warning) bool { return w.Code == tt.code && (w.Line > 0) == tt.line }) {
			t.Errorf("%s: warnings %v, want code %s", tt.name, conv.Warnings, tt.code)
		}
	}
}

// TestCharges: a fork has the calls of its parent under other ids, with their times; a compaction that failed was paid for.
func TestCharges(t *testing.T) {
	said := func(id, rest string, from int) string {
		return fmt.Sprintf(`{"info":{"id":%q,"role":"assistant","modelID":"m","providerID":"p","cost":0.5,"tokens":{"input":10,"output":5,"reasoning":7,"cache":{"read":100}},"time":{"created":%d,"completed":%d},"finish":"stop"%s},"parts":[{"id":"p%s","type":"text","text":"ok"}]}`,
			id, from, from+5, rest, id)
	}
	asked := func(id, parts string) string {
		return fmt.Sprintf(`{"info":{"id":%q,"role":"user","time":{"created":1}},"parts":[%s]}`, id, parts)
	}
	export := func(id, a string) string {
		return `{"info":{"id":"` + id + `","version":"1.18.3"},"messages":[` + strings.Join([]string{
			asked(a+"1", `{"id":"x1","type":"text","text":"go"}`), said(a+"2", "", 100), asked(a+"3", `{"id":"x2","type":"compaction","auto":true}`),
			said(a+"4", `,"summary":true,"error":{"name":"APIError"}`, 200), asked(a+"5", `{"id":"x3","type":"text","text":"go"}`), said(a+"6", "", 300),
		}, ",\n") + "]}"
	}
	var lists [2][]string
	for i, text := range []string{export("s1", "a"), export("s2", "b")} {
		conv := must.Get(loadText(t, text))(t)
		for _, q := range conv.Charges {
			lists[i] = append(lists[i], fmt.Sprintf("%s %s %s %d in %d out %d nano", q.Kind, q.ID, q.Model, q.Usage.Context(), q.Usage.Output, q.Usage.Nano))
		}
	}
	want := []string{"request m@100-105#0 m 110 in 12 out 500000000 nano", "compaction m@200-205#0 m 110 in 12 out 500000000 nano", "request m@300-305#0 m 110 in 12 out 500000000 nano"}
	if diff := cmp.Diff(want, lists[0]); diff != "" || !slices.Equal(lists[0], lists[1]) {
		t.Errorf("-want +got\n%s; of the fork %q", diff, lists[1])
	}
}
