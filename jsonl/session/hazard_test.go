package session_test

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/jsonl/session"
)

// TestHazards: what stands in files besides well-formed lines. Every line is accounted for.
func TestHazards(t *testing.T) {
	u1, a1, u2 := user("u1", "", "hello"), said("a1", "u1", "m1"), user("u2", "a1", "more")
	plain := file(u1, a1, u2)
	noNewline := strings.TrimSuffix(plain, "\n")
	for _, tt := range []struct {
		name  string
		text  string
		want  string
		read  int
		used  int
		aside map[session.Reason]int
	}{
		{"no newline at the end", noNewline, "u1 a1 u2", 3, 3, nil},
		{"two objects on one line", strings.TrimSuffix(file(u1, a1), "\n") + `{"type":"summary","summary":"x","leafUuid":"y"}` + "\n" + file(u2), "u1 a1 u2", 4, 3, map[session.Reason]int{"metadata: summary": 1}},
		{"all objects on one line", strings.ReplaceAll(noNewline, "\n", " "), "u1 a1 u2", 3, 3, nil},
		{"comments", "// made by hand\n" + file(u1) + "  // between\n" + file(a1, u2), "u1 a1 u2", 5, 3, map[session.Reason]int{session.AsideComment: 2}},
		{"blank lines", "\n" + file(u1) + "   \n\n" + file(a1, u2), "u1 a1 u2", 6, 3, map[session.Reason]int{session.AsideBlank: 3}},
		{"carriage returns and a byte order mark", "\ufeff" + strings.ReplaceAll(plain, "\n", "\r\n"), "u1 a1 u2", 3, 3, nil},
		{"lines that are no objects", file(u1) + "null\n[1]\nnonsense\n" + file(a1, u2), "u1 a1 u2", 6, 3, map[session.Reason]int{session.AsideMalformed: 3}},
		{"a last line cut short", noNewline[:len(noNewline)-5], "u1 a1", 3, 2, map[session.Reason]int{session.AsideMalformed: 1}},
		{"a uuid twice", file(u1, a1, a1, u2), "u1 a1 u2", 4, 3, map[session.Reason]int{session.AsideDuplicate: 1}},
		{"a message line without a message", file(u1, a1, chained("user", "u9", "a1"), u2), "u1 a1 u2", 4, 3, map[session.Reason]int{session.AsideNoMessage: 1}},
		{"objects of no type", file(u1, a1) + `{"a":1}` + "\n" + file(u2), "u1 a1 u2", 4, 3, map[session.Reason]int{"no type": 1}},
		{
			"types nobody knows, in the chain and beside it", file(u1, chained("novelty", "n1", "u1"), line{"type": "mode", "mode": "plan"}, transcript(`said a1 n1 m1`), u2),
			"u1 a1 u2", 5, 3, map[session.Reason]int{"unknown type: novelty": 1, "metadata: mode": 1},
		},
		{
			"what is no part of a conversation", file(transcript(`snapshot`), line{"type": "queue-operation", "operation": "enqueue"}, u1, transcript(`progress p1 u1; system y1 p1 turn_duration; said a1 y1 m1; lastPrompt a1`), u2),
			"u1 a1 u2", 8, 3, map[session.Reason]int{"metadata: file-history-snapshot": 1, "metadata: queue-operation": 1, "progress": 1, "system: turn_duration": 1, "metadata: last-prompt": 1},
		},
		{"a branch left behind", file(u1, a1, transcript(`user v1 a1 x`), u2), "u1 a1 u2", 4, 3, map[session.Reason]int{session.AsideBranch: 1}},
		{
			"lines without uuid", file(line{"type": "user", "message": line{"role": "user", "content": "hello"}}, line{"type": "assistant", "message": line{"id": "m1", "role": "assistant", "content": []any{text("hi")}}}),
			"line-1.0 line-2.0", 2, 2, nil,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := loadText(t, tt.text, session.LoadOptions{})
			wantShape(t, f.Main, tt.want)
			a := f.Main.Lines
			if a.Read != tt.read || a.Used != tt.used || len(a.SetAside) != len(tt.aside) {
				t.Errorf("%d read, %d used, set aside %v; want %d, %d, %v", a.Read, a.Used, a.SetAside, tt.read, tt.used, tt.aside)
			}
			for r, n := range tt.aside {
				must.Equal(t, a.SetAside[r], n, a.SetAside, tt.aside)
			}
		})
	}
}

// TestFused: how many objects, or rejected bytes, stood behind another on their line.
func TestFused(t *testing.T) {
	conv := load(t, strings.TrimSuffix(file(transcript(`user u1 - hello`)), "\n"), strings.TrimSuffix(file(transcript(`snapshot`)), "\n"), transcript(`said a1 u1 m1; user u2 a1 more`))
	if a := conv.Lines; a.Fused != 2 || a.Read != 4 {
		t.Errorf("%d read, %d of them fused", a.Read, a.Fused)
	}
	conv = load(t, file(transcript(`user u1 - hello`)), `{"type":"us{"type":"summary"}`+"\n", "rest of a line"+strings.TrimSuffix(file(transcript(`said a1 u1 m1`)), "\n"))
	if a := conv.Lines; a.Fused != 2 || a.Read != 5 {
		t.Errorf("beside rejected bytes: %d read, %d of them fused", a.Read, a.Fused)
	}
}

// TestRefused: a file that is no session is refused, and said to be what it looks like.
func TestRefused(t *testing.T) {
	for _, tt := range []struct{ name, text, want string }{
		{"blank", " \n\n", "a file of blank lines"},
		{"text", "Dear all,\nhello\n", "text"},
		{"a number", "42\n", "text"},
		{"bytes", "\x00\x01\x02\xff\xfe\xfd\xfc\xfb\xfa", "binary data"},
		{"a database", "SQLite format 3\x00\x10\x00", "an SQLite database"},
		{"messages", `[{"role":"user","content":"hello"}]`, "a list of API messages"},
		{"a request", `{"model":"m","messages":[{"role":"user","content":"hello"}]}`, "a list of API messages"},
		{"lines of messages", `{"role":"user","content":"hello"}` + "\n", "a list of API messages"},
		{"a session of Codex CLI in TypeScript", `{"session":{"id":"i","timestamp":"t"},"items":[{"role":"user","content":[],"type":"message"}]}`, "a session of the first Codex CLI"},
		{"the stream of codex exec", `{"type":"thread.started","thread_id":"i"}` + "\n" + `{"type":"turn.started"}`, "the event stream of a run of Codex CLI"},
		{"a log of Gemini CLI", `[{"sessionId":"s","messageId":0,"type":"user","message":"hello"}]`, "the log of prompts of Gemini CLI"},
		{"a checkpoint of Gemini CLI", `[{"role":"user","parts":[{"text":"hello"}]}]`, "a list of API messages"},
		{"a context of Kimi CLI", `{"role":"_checkpoint","id":0}` + "\n" + `{"role":"user","content":"hello"}`, "the context that Kimi CLI goes on with"},
		{"a journal of Kimi Code", `{"type":"metadata","protocol_version":"1.5","created_at":1}` + "\n" + `{"type":"turn.prompt","time":1}`, "a session of Kimi Code"},
		{"a task's window", `[{"ts":1,"type":"say","say":"text","text":"hello"}]`, "what the window of Cline or Roo Code shows"},
		{"a trajectory", `{"environment":"e","trajectory":[],"history":[]}`, "an SWE-agent trajectory"},
		{"an event stream", `{"type":"text","timestamp":1,"sessionID":"s","part":{}}` + "\n", "the event stream of opencode run"},
		{"one document", "{\n  \"list\": [\n    {\"type\": \"user\", \"content\": \"hello\"}\n  ]\n}\n", "JSON objects of another kind"},
		{"compact lines", `{"v":1,"agent":"claude-code","type":"user","ts":"2026-01-01T00:00:00Z","content":[{"text":"hello"}]}` + "\n", "JSON objects of another kind"},
	} {
		_, err := session.LoadReader("file", strings.NewReader(tt.text), session.LoadOptions{})
		if err == nil || !strings.HasPrefix(err.Error(), "file: it looks like "+tt.want) || strings.Count(err.Error(), ": ") != 2 {
			t.Errorf("%s: %v, want it to look like %s", tt.name, err, tt.want)
		}
	}
	far := strings.Repeat("rubbish ", 20000) + "\n" + file(transcript(`user u1 - hello`))
	must.Equal(t, len(loadText(t, far, session.LoadOptions{}).Main.Messages), 1)
}

// TestLong: long chains of every kind load in time that grows with them, and not deeper than the stack.
func TestLong(t *testing.T) {
	for name, make := range map[string]func(i int) line{
		"prompts and responses": func(i int) line {
			if i%2 == 0 {
				return user(id(i), parent(i), "hello")
			}
			return said(id(i), parent(i), "m"+id(i))
		},
		"one message":         func(i int) line { return said(id(i), parent(i), "m") },
		"calls and results":   toolLines,
		"progress and more":   func(i int) line { return progress(id(i), parent(i)) },
		"one sidechain":       func(i int) line { return side(said(id(i), parent(i), "m"+id(i))) }, // a main line stands first
		"one parent":          func(i int) line { return user(id(i), "u0", "hello") },
		"one parent, sent by": func(i int) line { return said(id(i), "u0", "m"+id(i)) },
		"no parent found":     func(i int) line { return user(id(i), "gone"+id(i), "hello") },
		"progress in the air": func(i int) line { return progress(id(i), "gone"+id(i)) },
		"circles of two":      func(i int) line { return user(id(i), id(i^1), "hello") },
		"backwards":           func(i int) line { return user(id(i), id(i+1), "hello") },
		"results of one call": func(i int) line { return result(id(i), parent(i), "t") },
		"boundaries":          func(i int) line { return boundary(id(i), id(i-1), "auto", 1000) },
		"microcompactions":    func(i int) line { return micro(id(i), parent(i), 100) },
	} {
		t.Run(name, func(t *testing.T) {
			n := 20000
			if testing.Short() {
				n = 4000
			}
			if strings.Contains(name, "and") && os.Getenv("CTXKIT_LONG") == "1" {
				n = 100000 // the shapes of real files
			}
			var b strings.Builder
			b.WriteString(file(transcript(`user u0 - hello`)))
			for i := 1; i < n; i++ {
				b.WriteString(file(make(i)))
			}
			start := time.Now()
			f := must.Get(session.LoadReader("long", strings.NewReader(b.String()), session.LoadOptions{}))(t)
			if d := time.Since(start); d > 20*time.Second {
				t.Errorf("%d lines took %v", n, d)
			}
			balanced(t, f)
			t.Logf("%d messages, %d warnings, %v", len(f.Main.Messages), len(f.Main.Warnings), time.Since(start))
		})
	}
}

func id(i int) string { return fmt.Sprintf("u%d", i) }

func parent(i int) string { return id(i - 1) }

// toolLines are rounds of two calls and their results as a graph.
func toolLines(i int) line {
	m := fmt.Sprintf("m%d", i/4)
	switch i % 4 {
	case 0:
		return called(id(i), id(i-1), m, "t"+id(i))
	case 1:
		return called(id(i), id(i-1), m, "t"+id(i))
	case 2:
		return result(id(i), id(i-2), "t"+id(i-2))
	}
	return result(id(i), id(i-2), "t"+id(i-2))
}
