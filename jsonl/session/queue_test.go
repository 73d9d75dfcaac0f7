package session_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/jsonl/session"
)

func queueLine(operation, second, content string) line {
	l := line{"type": "queue-operation", "operation": operation, "timestamp": "2026-02-01T10:00:" + second + ".000Z", "sessionId": "s1"}
	if content != "" {
		l["content"] = content
	}
	return l
}

func (l line) at(second string) line { return l.with("timestamp", "2026-02-01T10:00:"+second+".000Z") }

// TestQueue: a prompt that the client took from its queue beside the results of tool calls is in the history, whether
// an attachment records it or not.
func TestQueue(t *testing.T) {
	asked := user("u1", "", "hello")
	call := called("a1", "u1", "m1", "t1").at("01")
	put := queueLine("enqueue", "02", "and the tests")
	answer := result("r1", "a1", "t1").at("03")
	took := queueLine("remove", "04", "")
	next := said("a2", "r1", "m2").at("05")
	runShapes(t, "", []shapeCase{
		{name: "after the result", lines: []any{asked, call, put, answer, took, next}, want: "u1 a1 r1 queued-3~ a2"},
		{name: "written before the result", lines: []any{asked, call, put, took, answer, next}, want: "u1 a1 r1 queued-3~ a2"},
		{name: "the last line", lines: []any{asked, call, put, answer, took}, want: "u1 a1 r1 queued-3~"},
		{
			name: "beside the result of a message whose lines are in no order",
			lines: []any{
				said("a", "", "m1").at("01"), called("c", "r1", "m1", "t9").at("06"), result("r1", "x", "t1").at("03"), called("d", "c", "m1", "t8").at("07"),
				called("b", "a", "m1", "t7").at("01"), called("x", "b", "m2", "t1").at("02"), queueLine("enqueue", "02", "and the tests"),
				queueLine("remove", "04", ""), result("r9", "d", "t9").at("08"), result("r8", "r9", "t8").at("08"), result("r7", "r8", "t7").at("08"), said("e", "r7", "m3").at("09"),
			},
			want: "a+b+c+d r9 r8 r7 x r1 queued-7~ e",
		},
		{
			name:  "after the last of several results",
			lines: []any{asked, call, called("b1", "a1", "m1", "t2").at("01"), put, result("r2", "b1", "t2").at("02"), answer, took, said("a2", "r2", "m2").at("05")},
			want:  "u1 a1+b1 r2 r1 queued-4~ a2",
		},
		{
			name:  "before a compaction",
			lines: []any{asked, call, put, answer, took, boundary("c1", "r1", "auto", 1).at("06"), summary("s1", "c1").at("06"), said("a2", "s1", "m2").at("07")},
			want:  "u1 a1 r1 queued-3~ [s1] a2",
		},
		{
			name:  "two of them",
			lines: []any{asked, call, put, queueLine("enqueue", "02", "and lint"), answer, took, took, next},
			want:  "u1 a1 r1 queued-3~ queued-4~ a2",
		},
		{
			name:  "recorded as an attachment",
			lines: []any{asked, call, put, answer, took, queued("q1", "r1", "and the tests").at("04"), said("a2", "q1", "m2").at("05")},
			want:  "u1 a1 r1 q1~ a2",
		},
		{
			name:  "withdrawn during a response",
			lines: []any{asked, said("a0", "u1", "m0").at("03"), put, took, called("a1", "a0", "m1", "t1").at("05"), result("r1", "a1", "t1").at("06")},
			want:  "u1 a0 a1 r1",
		},
		{name: "given back", lines: []any{asked, call, put, answer, queueLine("popAll", "04", "and the tests"), next}, want: "u1 a1 r1 a2"},
		{name: "still waiting", lines: []any{asked, call, put, answer, next}, want: "u1 a1 r1 a2"},
		{
			name:  "sent as the next turn",
			lines: []any{asked, call, put, answer, next, queueLine("dequeue", "06", ""), user("u2", "a2", "and the tests").at("06"), took},
			want:  "u1 a1 r1 a2 u2",
		},
		{
			name:  "another one is removed",
			lines: []any{asked, call, put, queueLine("enqueue", "02", "second"), answer, queueLine("remove", "04", "second"), next},
			want:  "u1 a1 r1 queued-4~ a2",
		},
		{
			name:  "a notice of the client",
			lines: []any{asked, call, queueLine("enqueue", "02", "<task-notification>\ndone"), queueLine("enqueue", "02", `{"task_id":"b"}`), put, answer, took, took, took, next},
			want:  "u1 a1 r1 queued-5~ a2",
		},
		{name: "a named remove of nothing", lines: []any{asked, call, queueLine("remove", "03", "x"), answer, next}, want: "u1 a1 r1 a2"},
		{name: "a remove of nothing", lines: []any{asked, call, took, answer, next}, want: "u1 a1 r1 a2"},
	}...)
	conv := load(t, asked, call, put, answer, took, next)
	m := conv.Messages[3]
	must.Both(conv.Text(3, 0))(t, "and the tests", nil)
	if m.Class != session.ClassPrompt || m.Line != 3 || m.Is(session.Uncounted) || m.Blocks[0].Text.UTF16 <= len("and the tests") || !conv.Lines.Balanced() {
		t.Errorf("%+v, lines %+v", m, conv.Lines)
	}
}

// TestQueueOfAbandonedBranch: a prompt that joined a branch which was rewound is not on the live one.
func TestQueueOfAbandonedBranch(t *testing.T) {
	conv := load(t,
		transcript(`user u1 - hello; said a0 u1 m0`),
		user("u2", "a0", "this way").at("01"), called("a1", "u2", "m1", "t1").at("02"), transcript(`queueLine enqueue 02 faster`), result("r1", "a1", "t1").at("03"), transcript(`queueLine remove 04 ""`), said("a2", "r1", "m2").at("05"),
		user("u3", "a0", "no, that way").at("10"), said("a3", "u3", "m3").at("11"),
	)
	wantShape(t, conv, "u1 a0 u3 a3")
	if !conv.Lines.Balanced() {
		t.Errorf("lines %+v", conv.Lines)
	}
}

// TestQueuedPromptsAreRead: every prompt of a real session that was queued and sent is in the raw history.
func TestQueuedPromptsAreRead(t *testing.T) {
	_, files := corpusFiles(t)
	least := 1
	if more := os.Getenv("CTXKIT_MORE"); more != "" {
		t.Setenv("CTXKIT_CORPUS", more)
		_, others := corpusFiles(t)
		files, least = slices.Concat(files, others), 90
	}
	sent, unlogged, beside := 0, 0, 0
	for _, path := range files {
		var queue, prompts []string
		const begin = 60                                     // what was pasted stands behind, in full
		texts, lines := map[string]bool{}, map[string]bool{} // of the history; of user lines, abandoned branches too
		cut := func(text string) string { text = strings.TrimSpace(text); return text[:min(begin, len(text))] }
		opt := session.LoadOptions{Item: func(it *jsonl.Item) (_ error) {
			var op struct{ Operation, Content string }
			if it.Kind == jsonl.ItemEntry && it.Entry.Type == "user" {
				lines[cut(it.Entry.Message.Head)] = true
			}
			if it.Kind != jsonl.ItemEntry || it.Entry.Type != "queue-operation" || json.Unmarshal(it.Entry.Raw, &op) != nil {
				return
			}
			switch op.Operation {
			case "enqueue":
				if !strings.HasPrefix(op.Content, "<task-") && !strings.HasPrefix(op.Content, "<agent-") && !strings.HasPrefix(op.Content, "{") {
					queue = append(queue, op.Content)
				}
			case "popAll":
				queue = slices.DeleteFunc(queue, func(s string) bool { return s == op.Content })
			case "remove", "dequeue":
				if len(queue) > 0 && (op.Content == "" || slices.Contains(queue, op.Content)) {
					i := max(slices.Index(queue, op.Content), 0)
					if op.Operation == "remove" || !strings.HasPrefix(queue[i], "/") { // else it runs as a command
						prompts = append(prompts, queue[i])
					}
					queue = slices.Delete(queue, i, i+1)
				}
			}
			return nil
		}}
		f := must.Get(session.Load(path, opt))(t)
		for m := range f.Main.Messages {
			for b := range f.Main.Messages[m].Blocks {
				text := must.Get(f.Main.Text(m, b))(t)
				texts[cut(text)] = true
			}
			if strings.HasPrefix(f.Main.Messages[m].UUID, "queued-") {
				unlogged++
			}
		}
		for _, p := range prompts {
			sent++
			switch {
			case texts[cut(p)]:
			case lines[cut(p)]:
				beside++
			default:
				t.Errorf("%s: a queued prompt of %d characters is not in the conversation", filepath.Base(path), len(p))
			}
		}
		f.Close()
	}
	if sent < least || beside > 1 { // one turn that began with a queued prompt was rewound
		t.Errorf("%d queued prompts, want %d; %d are on a branch that was rewound, want 1 at most", sent, least, beside)
	}
	t.Logf("%d queued prompts, %d of them in the queue's lines alone", sent, unlogged)
}
