package session_test

import (
	"strings"
	"testing"

	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/jsonl/session"
)

func side(l line) line { return l.with("isSidechain", true) }

func agent(id string, l line) line { return side(l).with("agentId", id) }

// TestSidechainsInMainFile: before there were agent files (1.0.53), a subagent's lines stood in the main file.
func TestSidechainsInMainFile(t *testing.T) {
	f := loadText(t, file(
		transcript(`
user u1 - hello; called a1 u1 m1 t1; called a2 a1 m1 t2
user v1 - look isSidechain=true; user w1 - "look there" isSidechain=true; called b1 v1 n1 s1 isSidechain=true; said c1 w1 n2 isSidechain=true
result v2 b1 s1 isSidechain=true; said b2 v2 n3 isSidechain=true
result r1 a1 t1; result r2 a2 t2; said a3 r2 m2
`),
	), session.LoadOptions{})
	wantShape(t, f.Main, "u1 a1+a2 r1 r2 a3")
	if len(f.Sidechains) != 2 {
		t.Fatalf("%d sidechains, want 2", len(f.Sidechains))
	}
	wantShape(t, f.Sidechains[0], "v1 b1 v2 b2")
	wantShape(t, f.Sidechains[1], "w1 c1")
	same(t, "v1", f.Sidechains[0].Agent, "agent")
	same(t, 3, len(f.Conversations()))
}

// TestSideResults: a result is of the call in its own conversation, also where another has a call with its id.
func TestSideResults(t *testing.T) {
	f := loadText(t, file(
		transcript(`
user u1 - hello; called a1 u1 m1 other; result r1 a1 other
called a2 r1 m2 t1; result r2 a2 t1; called a3 r2 m3 t3; result r3 a3 t3; said a4 r3 m4
user v1 - look isSidechain=true; called b1 v1 n1 t2 isSidechain=true; result v2 b1 t1 isSidechain=true; result v3 v2 t3 isSidechain=true
result v4 v3 t2 isSidechain=true; said b2 v4 n2 isSidechain=true
`),
	), session.LoadOptions{})
	for i, own := range []string{"other t1 t3", "t2"} {
		for _, id := range strings.Fields("other t1 t2 t3") {
			if got, want := f.Conversations()[i].ToolName(id) != "", strings.Contains(own, id); got != want {
				t.Errorf("conversation %d: the tool of %s is known: %v, want %v", i, id, got, want)
			}
		}
	}
}

// TestSidechainsByAgent: lines of one agent id are one sidechain.
func TestSidechainsByAgent(t *testing.T) {
	f := loadText(t, file(
		transcript(`
user u1 - hello; user v1 - look isSidechain=true agentId=x; user w1 - look isSidechain=true agentId=y; said a1 u1 m1
said b1 v1 n1 isSidechain=true agentId=x; said c1 w1 n2 isSidechain=true agentId=y; user v2 b1 further isSidechain=true agentId=x
`),
	), session.LoadOptions{})
	wantShape(t, f.Main, "u1 a1")
	if len(f.Sidechains) != 2 || f.Sidechains[0].Agent != "x" || f.Sidechains[1].Agent != "y" {
		t.Fatalf("sidechains %v", f.Sidechains)
	}
	wantShape(t, f.Sidechains[0], "v1 b1 v2")
	wantShape(t, f.Sidechains[1], "w1 c1")
}

// TestForks: the request of a compaction, a guess at the next prompt and an aside begin in the middle of the main
// conversation, in a file of their own.
func TestForks(t *testing.T) {
	for _, id := range []string{"acompact-1f", "aside_question-1f", "aprompt_suggestion-1f"} {
		conv := load(t, agent(id, user("v1", "in-the-main-file", "summarise")), agent(id, said("b1", "v1", "n1").used(3, 900)))
		if conv.Agent != id || len(conv.Messages) != 3 || !conv.Messages[0].Is(session.Earlier) || len(conv.Requests) != 1 {
			t.Errorf("%s: %q: %s", id, conv.Agent, shape(conv))
		}
		wantWarning(t, conv, 1, "began before this file")
	}
}

// TestAgentFile: in a file of an agent every line is a sidechain's: there it is the main conversation.
func TestAgentFile(t *testing.T) {
	f := loadText(t, file(
		transcript(`user v1 - look isSidechain=true agentId=x; called b1 v1 n1 s1 isSidechain=true agentId=x; progress p1 b1 isSidechain=true agentId=x; result v2 b1 s1 isSidechain=true agentId=x; said b2 v2 n2 isSidechain=true agentId=x`),
	), session.LoadOptions{})
	wantShape(t, f.Main, "v1 b1 v2 b2")
	must.Say(t, "x s1 0", f.Main.Agent, f.Main.SessionID, len(f.Sidechains))
}
