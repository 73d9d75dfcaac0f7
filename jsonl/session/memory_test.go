package session_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/jsonl/session"
)

// TestMemory: the session's own summary is found beside the session, and nowhere else.
func TestMemory(t *testing.T) {
	text := "# Session Title\n漢字 🙂\n"
	must.Rows(t, `
# name | session | file | folder | want
beside the session | s.jsonl     | s/session-memory/summary.md | ""        | true
of a compressed session's name | s.jsonl.old | s/session-memory/summary.md | ""        | true
results elsewhere  | s.jsonl     | s/session-memory/summary.md | elsewhere | true
another session's  | s.jsonl     | t/session-memory/summary.md | ""        | false
another name       | s.jsonl     | s/session-memory/notes.md   | ""        | false
of the project     | s.jsonl     | session-memory/summary.md   | ""        | false
no session's name  | s.txt       | s/session-memory/summary.md | ""        | false
`, func(name, theSession, file, folder string, want bool) {
		t.Run(name, func(t *testing.T) {
			dir := inFolder(t, map[string]string{theSession: offloaded("t1", "x"), file: text, "elsewhere/t1.txt": "x"})
			var opt session.LoadOptions
			if folder != "" {
				opt.Offload = filepath.Join(dir, folder)
			}
			conv := loadFile(t, filepath.Join(dir, theSession), opt)
			got, err := conv.MemoryText()
			if err != nil || conv.HasMemory != want || want != (got == text) {
				t.Fatalf("memory %t, text %q, %v", conv.HasMemory, got, err)
			}
			for _, w := range conv.Warnings {
				if strings.Contains(w.Message, "summary") {
					t.Errorf("warning %v", w)
				}
			}
		})
	})
	// A subagent keeps none, a stream has no folder beside it.
	dir := inFolder(t, map[string]string{"s/subagents/agent-1.jsonl": offloaded("t1", "x"), "s/session-memory/summary.md": text})
	if conv := loadFile(t, filepath.Join(dir, "s", "subagents", "agent-1.jsonl"), session.LoadOptions{}); conv.HasMemory {
		t.Error("a subagent has one")
	}
	if conv := loadText(t, offloaded("t1", "x"), session.LoadOptions{}).Main; conv.HasMemory {
		t.Error("a stream has one")
	}
}

// TestMemoryLong: a file longer than any client writes is warned of and left.
func TestMemoryLong(t *testing.T) {
	must.Rows(t, `
# n | want
1048576 | true
1048577 | false
`, func(n int, want bool) {
		dir := inFolder(t, map[string]string{"s.jsonl": offloaded("t1", "x"), "s/session-memory/summary.md": strings.Repeat("x", n)})
		conv := loadFile(t, filepath.Join(dir, "s.jsonl"), session.LoadOptions{})
		same(t, want, conv.HasMemory, n)
		if !want {
			wantWarning(t, conv, 0, "summary is not read", "longer than 1048576 bytes")
		}
	})
}
