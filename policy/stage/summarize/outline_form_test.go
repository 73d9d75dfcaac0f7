package summarize

import (
	"testing"

	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/stage/stagetest"
	"github.com/ctxkit/ctxkit/policy/view"
)

// TestOutlineTen: the form of a session's own summary, every line quoted from a message or pointing to one.
func TestOutlineTen(t *testing.T) {
	c := stagetest.Talk(`prompt "Refactor the login.\nKeep the tests."`)
	c.Assistant(stagetest.Say("I look at it."), stagetest.Calling("1", "Read", `{"file_path":"/p/login.go"}`), stagetest.Calling("2", "Bash", `{"command":"go test ./...","description":"run"}`))
	c.Play(`
answers result 1 "package p" failing 2 "FAIL login_test.go"
assistant calling 3 Edit {"file_path":"/p/login.go"} calling 4 TodoWrite {"todos":[{"content":"Tests","status":"pending"},{"content":"Refresh","status":"in_progress"}]}
answers result 3 ok result 4 ok; assistant say Edited.; prompt "And the logout."; assistant say later
`)
	c.IndexTools()
	w := stagetest.Quarter{Conv: c.Conversation}
	v := view.New(c.Conversation, w, w)
	for m := range c.Messages {
		c.Messages[m].Line = 10 * (m + 1)
		v.Join(m)
	}
	first := func(yield func(policy.ItemID) bool) {
		for id := range v.Items {
			if id < 7 && !yield(id) {
				return
			}
		}
	}
	got := must.Get(OutlineMemory(&policy.Context{View: v, Conv: c.Conversation, Texts: &stagetest.Texts{C: c, View: v}}, first))(t)
	want := `# Session Title
[line 10] "Refactor the login. Keep the tests."

# Current State
[line 20] "I look at it."
[line 60] "Edited."
- [line 40] "Refresh"

# Task specification
- [line 10] Refactor the login.
Keep the tests.
- [line 70] And the logout.
- [line 40] "Tests"
- [line 40] "Refresh"

# Files and Functions
- /p/login.go (read 1, written 0, edited 1; last [line 40])

# Workflow
[line 20] "go test ./..."

# Errors & Corrections
[line 30] Bash: "FAIL login_test.go"; then: Edit /p/login.go [line 40]

# Codebase and System Documentation
N/A

# Learnings
N/A

# Key results
N/A

# Worklog
[line 20] Read /p/login.go
[line 20] Bash "go test ./...", failed
[line 40] Edit /p/login.go
[line 40] TodoWrite
`
	must.Equal(t, got, want)
	if EmptyMemory(got) {
		t.Error("it counts as the empty template")
	}
	clear(c.Texts)
	if got, err := OutlineMemory(&policy.Context{View: v, Conv: c.Conversation, Texts: &stagetest.Texts{C: c, View: v}}, first); err == nil {
		t.Errorf("a text that cannot be read again is outlined as\n%s", got)
	}
}
