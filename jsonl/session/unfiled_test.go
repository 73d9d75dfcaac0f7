package session_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/jsonl/session"
)

// TestUnfiled: of a subagent without a file progress lines repeat the calls; of one that only a result names nothing is known.
func TestUnfiled(t *testing.T) {
	told := func(uuid, agent string, message line) line {
		return progress(uuid, "a1").with("data", line{"type": "agent_progress", "agentId": agent, "message": message})
	}
	text := file(user("u1", "", "hello"), called("a1", "u1", "m1", "t1"),
		told("p1", "x", user("v1", "", "look")), told("p2", "x", said("b1", "", "n1").used(10, 1)), told("p3", "x", assistant("b2", "", "n1", text("said b2 as well")).used(10, 7)),
		told("p4", "y", said("c1", "", "n2").used(20, 3)), told("p5", "x", said("b3", "", "n3").used(30, 2)),
		result("r1", "a1", "t1").with("toolUseResult", line{"status": "completed", "agentId": "z", "data": "text"}), said("a2", "r1", "m2"))
	must.Rows(t, `
# the file that names them | a file of a subagent | its session | without a file
s.jsonl | "" | "" | xyz
s.jsonl | s/subagents/agent-x.jsonl | s | yz
s.jsonl | s/subagents/workflows/w/agent-x.jsonl | s | yz
s.jsonl | s/subagents/agent-other.jsonl | s | xyz
s.jsonl | agent-z.jsonl.gz | s | xy
s.jsonl | agent-z.jsonl | other | xyz
s/subagents/agent-q.jsonl | s/subagents/agent-y.jsonl | s | xz
`, func(names, beside, of, without string) {
		dir := t.TempDir()
		write := func(name, text string) string {
			path := filepath.Join(dir, name)
			must.Do(t, os.MkdirAll(filepath.Dir(path), 0o755))
			must.Do(t, os.WriteFile(path, []byte(text), 0o644))
			return path
		}
		if beside != "" {
			write(beside, file(user("w1", "", "look").with("sessionId", of)))
		}
		f := must.Get(session.Load(write(names, text), session.LoadOptions{}))(t)
		defer f.Close()
		balanced(t, f)
		want, got := "", ""
		for _, agent := range without {
			want += map[rune]string{'x': "x:3\nn1 branch:4 in 33 out 1\nn1 branch:5 in 33 out 7\nn3 branch:7 in 53 out 2\n", 'y': "y:6\nn2 branch:6 in 43 out 3\n", 'z': "z:8\n\n"}[agent]
		}
		for _, u := range f.Main.Unfiled {
			got += fmt.Sprintf("%s:%d\n%s\n", u.Agent, u.Line, charges(&session.Conversation{Charges: u.Charges}))
		}
		same(t, want, got, names, beside)
	})
	f := must.Get(session.LoadReader("s", strings.NewReader(text), session.LoadOptions{}))(t)
	defer f.Close()
	same(t, 3, len(f.Main.Unfiled))
}
