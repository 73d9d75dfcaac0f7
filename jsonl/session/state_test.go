package session_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/ctxkit/ctxkit/jsonl/memo"
	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/jsonl/session"
)

// TestState changes what is read with a session, one thing after the other: each is another state.
func TestState(t *testing.T) {
	line := file(transcript(`user u1 - hello`))
	dir := inFolder(t, map[string]string{
		"s.jsonl": line, "s/tool-results/t1.txt": "one", "s/subagents/agent-1.jsonl": line, "s/subagents/agent-1.meta.json": "{}", "other.jsonl": line,
	})
	path := func(name string) string { return filepath.Join(dir, filepath.FromSlash(name)) }
	put := func(name, text string) func() error {
		return func() error {
			if err := os.MkdirAll(filepath.Dir(path(name)), 0o755); err != nil {
				return err
			}
			return os.WriteFile(path(name), []byte(text), 0o644)
		}
	}
	at := time.Date(2026, 1, 15, 9, 0, 0, 0, time.UTC)
	touch := func(name string) func() error {
		return func() error { at = at.Add(time.Nanosecond * 1000); return os.Chtimes(path(name), at, at) }
	}
	state := func(name string) [32]byte {
		t.Helper()
		m, err := session.State(path(name))
		if err != nil {
			t.Fatal(err)
		}
		listed, err := listedState(t, dir, path(name))
		if err != nil || listed != m {
			t.Errorf("%s: the state of the list is another: %v", name, err)
		}
		return m
	}
	seen := map[[32]byte]string{state("s.jsonl"): "the first"}
	for _, tt := range []struct {
		name   string
		change func() error
		same   bool
	}{
		{"nothing", func() error { return nil }, true},
		{"another session", put("other.jsonl", line+line), true},
		{"a line", put("s.jsonl", line+line), false},
		{"touched", touch("s.jsonl"), false},
		{"a result", put("s/tool-results/t1.txt", "one more"), false},
		{"a touched result", touch("s/tool-results/t1.txt"), false},
		{"a new result", put("s/tool-results/t2.txt", ""), false},
		{"a subagent", put("s/subagents/agent-1.jsonl", ""), false},
		{"a subagent's description", put("s/subagents/agent-1.meta.json", ""), false},
		{"a summary", put("s/session-memory/summary.md", "x"), false},
		{"no results", func() error { return os.RemoveAll(path("s/tool-results")) }, false},
		{"nothing beside it", func() error { return os.RemoveAll(path("s")) }, false},
		{"an empty folder", func() error { return os.Mkdir(path("s"), 0o755) }, false},
	} {
		must.Do(t, tt.change())
		m := state("s.jsonl")
		before, twice := seen[m]
		must.Equal(t, twice, tt.same, tt.name, before)
		seen[m] = tt.name
	}
	// A subagent shares the results of its session.
	must.Do(t, put("s/subagents/agent-1.jsonl", line)())
	agent := must.Get(session.State(path("s/subagents/agent-1.jsonl")))(t)
	must.Do(t, put("s/tool-results/t1.txt", "one")())
	if m, err := session.State(path("s/subagents/agent-1.jsonl")); err != nil || m == agent {
		t.Errorf("a result of a subagent's session changes nothing: %v", err)
	}
}

// listedState is the state of a session that a folder lists.
func listedState(t *testing.T, dir, path string) (m [32]byte, err error) {
	list, _, err := session.DiscoverWith(dir, session.DiscoverOptions{Cache: memo.NewCache(t.TempDir(), "1")})
	for i := range list {
		if list[i].Path == path {
			return list[i].State()
		}
	}
	return m, err
}

// TestStateUnknown: what cannot be told has no state.
func TestStateUnknown(t *testing.T) {
	line := file(transcript(`user u1 - hello`))
	dir := inFolder(t, map[string]string{
		"linked.jsonl": line, "file.jsonl": line, "file": "x", "deep.jsonl": line, "deep/tool-results/t1.txt": "x",
		"storage/session/p/ses_1.json": "{}", "storage/session/p/ses_2.json": "{}", "storage/message/ses_1/msg_1.json": "{}",
	})
	must.Rows(t, `
# from | to
linked                   | deep
deep/tool-results/t2.txt | t1.txt
`, func(from, to string) {
		if err := os.Symlink(to, filepath.Join(dir, filepath.FromSlash(from))); err != nil {
			t.Skipf("no links here: %v", err)
		}
	})
	must.Rows(t, `
none.jsonl                   | false
linked.jsonl                 | false
file.jsonl                   | false
deep.jsonl                   | false
storage                      | false
storage/session/p/ses_1.json | false
storage/session/p/ses_2.json | true
`, func(name string, want bool) {
		if _, err := session.State(filepath.Join(dir, filepath.FromSlash(name))); (err == nil) != want {
			t.Errorf("%s: %v", name, err)
		}
	})
}
