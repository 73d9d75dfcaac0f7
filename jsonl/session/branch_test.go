package session_test

import (
	"strings"
	"testing"

	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/jsonl/session"
)

// TestRewinds: the branch with the latest leaf is the conversation.
func TestRewinds(t *testing.T) {
	runShapes(t, `
# a prompt interrupted and typed again, four times
user u1 - hello; said a1 u1 m1
user u2 a1 more; user u3 a1 "more still"; attachment x3 u3 task_reminder
user u4 a1 "more!"; said a4 u4 m4; user i4 a4 [{"text":"[Request interrupted by user]","type":"text"}]
user u5 a1 more; attachment x5 u5 task_reminder; said a5 x5 m5
= u1 a1 u5 x5 a5
# an earlier branch resumed
user u1 - hello; said a1 u1 m1; user u2 a1 "one way"; said a2 u2 m2
user u3 a1 another; said a3 u3 m3; user u4 a2 back
= u1 a1 u2 a2 u4
# a command's lines left beside the chain
user u1 - hello; said a1 u1 m1
user c1 a1 <command-name>/exit</command-name>; user c2 c1 "<local-command-stdout>Bye!</local-command-stdout>"
user u2 a1 again; said a2 u2 m2
= u1 a1 u2 a2
# last-prompt names the live leaf
user u1 - hello; said a1 u1 m1; user u2 a1 more; said a2 u2 m2; lastPrompt a1
= u1 a1
# the last last-prompt counts
user u1 - hello; said a1 u1 m1; lastPrompt a1; user u2 a1 more; said a2 u2 m2; lastPrompt a1; lastPrompt a2
= u1 a1 u2 a2
# a last-prompt that names a system line
user u1 - hello; said a1 u1 m1; system y1 a1 turn_duration; lastPrompt y1
= u1 a1
# a last-prompt that newer lines make stale
user u1 - hello; said a1 u1 m1; lastPrompt a1; user u2 a1 more; said a2 u2 m2
= u1 a1 u2 a2
# a last-prompt that names a line of another file
user u1 - hello; said a1 u1 m1; lastPrompt zz
= u1 a1
`)
}

// TestLeaf: a leaf may be asked for.
func TestLeaf(t *testing.T) {
	text := file(
		transcript(`
user u1 - hello; said a1 u1 m1; user u2 a1 one; said a2 u2 m2
user u3 a1 other; said a3 u3 m3; lastPrompt a3
`),
	)
	must.Rows(t, `
"" | u1 a1 u3 a3
a2 | u1 a1 u2 a2
u2 | u1 a1 u2
a1 | u1 a1
`, func(leaf, want string) {
		conv := loadText(t, text, session.LoadOptions{Leaf: leaf}).Main
		wantShape(t, conv, want)
		wantNoWarning(t, conv)
	})
	must.Fail(session.LoadReader("s.jsonl", strings.NewReader(text), session.LoadOptions{Leaf: "zz"}))(t, "zz")
}

// clearing is a line of a hook that runs as the context is cleared, which stands under a key.
func clearing(l line, key string) line {
	data, _ := l[key].(line)
	return l.with(key, data.with("hookName", "SessionStart:clear"))
}

// TestRoots: where a conversation begins, and what only looks like it.
func TestRoots(t *testing.T) {
	runShapes(t, `
# an accepted plan starts a session, a line of the last one before it
snapshot; user o1 gone [{"text":"[Request interrupted by user for tool use]","type":"text"}] sessionId=s0
user u1 - "Implement the following plan:"; said a1 u1 m1
= u1 a1
# progress of a hook after a resume
progress p0 -; user u1 p0 hello; said a1 u1 m1
progress p1 -; progress p2 p1; user u2 p2 more; said a2 u2 m2
= u1 a1 u2 a2
# a message that names such a hook
user u1 - hello; said a1 u1 m1; progress p1 - data={"text":"SessionStart:clear"}
user u2 p1 "what is SessionStart:clear?"; said a2 u2 m2
= u1 a1 u2 a2
# a typed root in the middle of a file
user u1 - hello; said a1 u1 m1; user v1 - anew; said b1 v1 m2
= v1 b1
# no line has a parent: read in order
user u1 - hello; said a1 - m1; user u2 - more; said a2 - m2
= u1 a1 u2 a2
`, []shapeCase{
		{
			name: "progress of a hook after the context was cleared",
			lines: []any{
				user("u1", "", "hello"), said("a1", "u1", "m1"),
				clearing(progress("p1", ""), "data"), clearing(progress("p2", "p1"), "data"), user("u2", "p2", "more"), said("a2", "u2", "m2"),
			},
			want: "u2 a2",
		},
		{
			name: "an attachment of a hook after the context was cleared",
			lines: []any{
				user("u1", "", "hello"), said("a1", "u1", "m1"),
				clearing(attachment("x1", "", "hook_success"), "attachment"), user("u2", "x1", "more"), said("a2", "u2", "m2"),
			},
			want: "x1 u2 a2",
		},
	}...)
}

// TestBridges: lines that hang in the air follow the line before them.
func TestBridges(t *testing.T) {
	conv := load(t,
		transcript(`user u1 - hello; said a1 u1 m1; snapshot; user u2 gone more; said a2 u2 m2`),
	)
	wantShape(t, conv, "u1 a1 u2 a2")
	wantWarning(t, conv, 4, "gone", "line 2")

	// Warnings come in the order of the lines.
	conv = load(t,
		transcript(`user u1 - hello; said a1 u1 m1; user u2 gone more; said a2 u2 m2; user u3 lost more; said a3 u3 m3`),
	)
	if len(conv.Warnings) != 2 || conv.Warnings[0].Line != 3 || conv.Warnings[1].Line != 5 {
		t.Errorf("warnings %v", conv.Warnings)
	}

	// Two sessions in one file, line by line: each line follows its own.
	conv = load(t,
		transcript(`
user u1 - hello; user v1 - hello sessionId=s2; said a1 u1 m1; said b1 v1 m2 sessionId=s2
user u2 gone more; user v2 b1 more sessionId=s2; said a2 u2 m3
`),
	)
	wantShape(t, conv, "u1 a1 u2 a2")
	wantWarning(t, conv, 5, "gone", "line 3")
	same(t, "s1", conv.SessionID, "session")
}

// TestEarlier: a file that begins in the middle of a conversation.
func TestEarlier(t *testing.T) {
	for _, first := range []line{system("y1", "gone", "stop_hook_summary"), user("y1", "gone", "go on"), said("y1", "gone", "m0")} {
		conv := load(t, first, transcript(`user u1 y1 more; said a1 u1 m1`))
		m := conv.Messages[0]
		if !m.Is(session.Earlier) || m.UUID != "earlier-gone" || m.Role != session.User {
			t.Errorf("first message %+v", m)
		}
		wantWarning(t, conv, 1, "began before this file")
	}
}

// TestLinesInTheAir: what else has no parent, and begins nothing.
func TestLinesInTheAir(t *testing.T) {
	runShapes(t, "", []shapeCase{
		{
			name: "attachments of a hook after a resume",
			lines: transcript(`
user u1 - hello; said a1 u1 m1
attachment x1 - hook_success; user u2 x1 more; said a2 u2 m2
`),
			want: "u1 a1 x1 u2 a2",
		},
		{
			name: "a line without uuid and parent",
			lines: []any{
				user("u1", "", "hello"), said("a1", "u1", "m1"),
				object(`{"message":{"content":"more","role":"user"},"type":"user"}`),
			},
			want: "u1 a1 line-3.0",
		},
	}...)
	// A message that was lost: what hangs under it goes on from the line before.
	conv := load(t,
		transcript(`
user u1 - hello; assistant a1 u1 m1 thinking; progress p1 gone; system y1 p1 stop_hook_summary
user u2 y1 more; said a2 u2 m2
`),
	)
	wantShape(t, conv, "u1 a1 u2 a2")
	wantWarning(t, conv, 3, "gone", "line 2")
}

// TestCycles: a cycle of parents is cut, with a warning.
func TestCycles(t *testing.T) {
	conv := load(t, transcript(`user u0 - hello; said a0 u0 m0; user u1 a1 hello; said a1 u1 m1; user u2 a1 more`))
	wantShape(t, conv, "u0 a0 u1 a1 u2")
	wantWarning(t, conv, 3, "cycle", "line 2")

	conv = load(t, transcript(`user u0 - hello; said a0 u0 m0; user u1 u1 more; said a1 u1 m1`))
	wantShape(t, conv, "u0 a0 u1 a1")
	wantWarning(t, conv, 3, "cycle", "line 2")
}
