package regret_test

import (
	"strings"
	"testing"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/replay/regret"
)

// planted is a session whose results are all cleared at one request, and what becomes of each afterwards.
func planted() (s *story, clearAt int) {
	s = &story{}
	s.prompt("please look into the failing build")
	s.call("edited later", "Read", map[string]any{"file_path": "/p/parser.go"}, "     1→func parseHeader(buf []byte) error {\n     2→\treturn nil\n     3→}\n")
	s.call("quoted by the agent", "Bash", map[string]any{"command": "make"}, "error: undefined reference to frobnicate_widget_table\n")
	s.call("quoted by the user", "Grep", map[string]any{"pattern": "TODO"}, "internal/legacy/session_cache_store.go\ninternal/other/unrelated_module_a.go\n")
	s.call("never used again", "Bash", map[string]any{"command": "uptime"}, "load average from host kb_machine_417.example.internal\n")
	s.call("used before only", "Bash", map[string]any{"command": "env"}, "BUILD_CONFIGURATION_FLAVOUR=release_candidate_9\n")
	s.says("The flavour is BUILD_CONFIGURATION_FLAVOUR=release_candidate_9, fine.")
	s.call("read again", "Read", map[string]any{"file_path": "/p/config.go"}, "     1→var settingsDefaultTable = 1\n")
	s.call("shown twice", "Read", map[string]any{"file_path": "/p/lexer.go"}, "     1→func nextTokenFromStream() rune {\n")
	s.call("said by the agent, too", "Bash", map[string]any{"command": "id"}, "uid of deployment_service_account_two\n")
	s.says("It runs as deployment_service_account_two.")
	s.call("in every log", "Bash", map[string]any{"command": "log1"}, "started common_worker_process_main ok\n")
	for range 3 {
		s.call("log", "Bash", map[string]any{"command": "log2"}, "started common_worker_process_main ok\n")
	}
	s.call("in the preview", "Bash", map[string]any{"command": "long"}, "first line: preview_visible_identifier_77\n"+strings.Repeat("rest\n", 50))
	s.call("stays", "Read", map[string]any{"file_path": "/p/lexer.go", "limit": 1}, "     1→func nextTokenFromStream() rune {\n")
	s.says("Now I know enough.")
	clearAt = 18
	s.call("edit", "Edit", map[string]any{"file_path": "/p/parser.go", "old_string": "func parseHeader(buf []byte) error {", "new_string": "func parseHeader(b []byte) error {"}, "ok")
	s.says("The linker misses frobnicate_widget_table.")
	s.prompt("what about session_cache_store.go?")
	s.call("again", "Read", map[string]any{"file_path": "/p/config.go"}, "     1→var settingsDefaultTable = 1\n")
	s.call("edit 2", "Edit", map[string]any{"file_path": "/p/lexer.go", "old_string": "func nextTokenFromStream() rune {", "new_string": "func next() rune {"}, "ok")
	s.says("As deployment_service_account_two it may write.")
	s.says("All logs name common_worker_process_main.")
	s.says("The file begins with preview_visible_identifier_77.")
	s.says("Done.")
	return s, clearAt
}

func clearPlanted(t *testing.T, s *story, conv *session.Conversation, at int) []policy.Edit {
	var edits []policy.Edit
	for _, name := range []string{
		"edited later", "quoted by the agent", "quoted by the user", "never used again", "used before only", "read again", "shown twice",
		"said by the agent, too", "in every log",
	} {
		edits = append(edits, clear(conv, at, result(t, conv, s.at[name]), "[cleared]"))
	}
	return append(edits, clear(conv, at, result(t, conv, s.at["in the preview"]), "saved; begins: first line: preview_visible_identifier_77"))
}

func TestPlantedMisses(t *testing.T) {
	s, at := planted()
	conv := s.load(t)
	r := judge(t, conv, nil, clearPlanted(t, s, conv, at))
	want := map[string]regret.Evidence{
		s.at["edited later"]: regret.Edited, s.at["quoted by the agent"]: regret.Quoted, s.at["quoted by the user"]: regret.Quoted,
	}
	for _, m := range r.Misses {
		e, ok := want[m.ToolUse]
		if !ok {
			t.Errorf("a false alarm: %+v", m)
			continue
		}
		delete(want, m.ToolUse)
		if m.Evidence != e || m.Removed != at || m.Needed < at || m.Stage != "test" || m.Kind != policy.KindClear || m.Quote == "" {
			t.Errorf("miss %+v, evidence should be %s", m, e)
		}
	}
	for id := range want {
		t.Errorf("%s is not missed", id)
	}
	if r.Tokens != 300 || r.Removed != 10 {
		t.Errorf("%d tokens to fetch again of %d blocks removed", r.Tokens, r.Removed)
	}
	if r.BoundMisses > len(r.Misses) || r.BoundTokens > r.Tokens {
		t.Errorf("the bound %d / %d is above the policy's own %d / %d", r.BoundMisses, r.BoundTokens, len(r.Misses), r.Tokens)
	}
}

// Nothing is missed where nothing was taken away.
func TestNothingRemoved(t *testing.T) {
	s, _ := planted()
	conv := s.load(t)
	if r := judge(t, conv, nil, nil); len(r.Misses) != 0 || r.Removed != 0 || r.BoundMisses != 0 || r.MedianDistance != 0 {
		t.Errorf("regret without edits: %+v", r)
	}
}

// A file that the record's own view had lost and the agent read again is a miss of every policy that had lost it,
// too; one that changed in between is not.
func TestReread(t *testing.T) {
	s := &story{}
	s.prompt("go")
	s.call("first", "Read", map[string]any{"file_path": "/p/a.go"}, "     1→x := 1\n")
	s.call("other", "Read", map[string]any{"file_path": "/p/b.go"}, "     1→y := 1\n")
	s.says("thinking about it")
	s.call("again", "Read", map[string]any{"file_path": "/p/a.go"}, "     1→x := 1\n")
	s.call("change", "Write", map[string]any{"file_path": "/p/b.go", "content": "y := 2"}, "ok")
	s.call("other again", "Read", map[string]any{"file_path": "/p/b.go"}, "     1→y := 2\n")
	s.says("done")
	conv := s.load(t)
	lost := []policy.Edit{
		clear(conv, 4, result(t, conv, s.at["first"]), "[cleared]"),
		clear(conv, 4, result(t, conv, s.at["other"]), "[cleared]"),
	}
	if r := judge(t, conv, nil, lost); len(r.Misses) != 0 {
		t.Errorf("the record read it again with the first in view, and yet: %+v", r.Misses)
	}
	r := judge(t, conv, lost, lost)
	if len(r.Misses) != 1 || r.Misses[0].ToolUse != s.at["first"] || r.Misses[0].Evidence != regret.Reread {
		t.Errorf("misses %+v, want the first read of a.go alone", r.Misses)
	}
	if r := judge(t, conv, lost, nil); len(r.Misses) != 0 {
		t.Errorf("a policy that kept everything misses %+v", r.Misses)
	}
}

// A summary that names what is used later holds it; one that is only a number of tokens holds nothing.
func TestSummary(t *testing.T) {
	s := &story{}
	s.prompt("go")
	s.call("found", "Bash", map[string]any{"command": "ls"}, "only here: quite_special_identifier_5\n")
	s.says("I see.")
	s.says("So quite_special_identifier_5 it is.")
	conv := s.load(t)
	summarize := func(c policy.Content) []policy.Edit {
		return []policy.Edit{{
			Request: 3, Stage: "test", Kind: policy.KindSummarize, Joined: conv.Requests[2].Message,
			Insert: []policy.Synthetic{{Role: "user", Summary: true, Contents: []policy.Content{c}}},
		}}
	}
	if r := judge(t, conv, nil, summarize(policy.NewContent(jsonl.KindText, "we found quite_special_identifier_5"))); len(r.Misses) != 0 {
		t.Errorf("the summary names it, and yet: %+v", r.Misses)
	}
	r := judge(t, conv, nil, summarize(policy.Content{Kind: jsonl.KindText, Tokens: 5000}))
	if len(r.Misses) != 1 || r.Misses[0].Kind != policy.KindSummarize || r.Misses[0].Removed != 3 || r.Misses[0].Needed != 3 {
		t.Errorf("misses %+v, want one", r.Misses)
	}
}

// What the server clears is gone while it is cleared.
func TestServerSide(t *testing.T) {
	s := &story{}
	s.prompt("go")
	s.call("found", "Bash", map[string]any{"command": "ls"}, "only here: quite_special_identifier_5\n")
	s.says("I see.")
	s.says("So quite_special_identifier_5 it is.")
	conv := s.load(t)
	at := result(t, conv, s.at["found"])
	cleared := policy.Edit{Request: 2, Stage: "test", Kind: policy.KindServerClear, Target: at, Joined: conv.Requests[1].Message}
	kept := policy.Edit{Request: 3, Stage: "test", Kind: policy.KindServerKeep, Target: at, Joined: conv.Requests[2].Message}
	if r := judge(t, conv, nil, []policy.Edit{cleared}); len(r.Misses) != 1 || r.Misses[0].Distance() != 1 {
		t.Errorf("misses %+v, want one at distance 1", r.Misses)
	}
	if r := judge(t, conv, nil, []policy.Edit{cleared, kept}); len(r.Misses) != 0 {
		t.Errorf("it was back, and yet: %+v", r.Misses)
	}
}
