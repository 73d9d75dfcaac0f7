package regret_test

import (
	"testing"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
)

// What a person would not call a use is none.
func TestNoFalseAlarm(t *testing.T) {
	for name, tell := range map[string]func(s *story){
		"the working directory": func(s *story) {
			s.call("r", "Bash", map[string]any{"command": "pwd"}, "/home/dev/harbor-warehouse\n")
			s.says("filler")
			s.call("x", "Bash", map[string]any{"command": "cd /home/dev/harbor-warehouse && make"}, "ok")
		},
		"a table's rule": func(s *story) {
			s.call("r", "Bash", map[string]any{"command": "cat t.md"}, "| --- | --- | --- | --- | --- | --- | --- |\n")
			s.says("filler")
			s.says("so:\n| --- | --- | --- | --- | --- | --- | --- |\n")
		},
		"a commit's trailers": func(s *story) {
			s.call("r", "Bash", map[string]any{"command": "git log"}, "commit 1\n\n    Mend it\n\n    Co-Authored-By: Claude Opus 4.6 <noreply@anthropic.com>\n    Signed-off-by: Ada Example <ada.example@example.org>\n")
			s.says("filler")
			s.call("x", "Bash", map[string]any{"command": "git commit -F - <<EOF\nFix\n\nCo-authored-by: Claude Opus 4.6 <noreply@anthropic.com>\nSigned-off-by: Ada Example <ada.example@example.org>\nEOF"}, "ok")
		},
		"a trailer on the command line": func(s *story) {
			s.call("r", "Bash", map[string]any{"command": "git log"}, "    Co-Authored-By: Claude Opus 4.6 <noreply@anthropic.com>\n")
			s.says("filler")
			s.call("x", "Bash", map[string]any{"command": `git commit -m Fix -m "Co-Authored-By: Claude Opus 4.6 <noreply@anthropic.com>"`}, "ok")
		},
		"a line that a search shows with its place": func(s *story) {
			s.call("r", "Read", map[string]any{"file_path": "/p/a.go"}, "    12→\tthe ledger keeps one entry for each reservation\n")
			s.call("g", "Grep", map[string]any{"pattern": "ledger"}, "internal/ledger.go:12:\tthe ledger keeps one entry for each reservation\n")
			s.says("the ledger keeps one entry for each reservation")
		},
		"a line beside what a search shows": func(s *story) {
			s.call("r", "Read", map[string]any{"file_path": "/p/a.go"}, "    13\tthe ledger keeps one entry for each reservation\n")
			s.call("g", "Grep", map[string]any{"pattern": "ledger", "-A": 1}, "some-dir/ledger-v2.go-13-\tthe ledger keeps one entry for each reservation\n")
			s.says("the ledger keeps one entry for each reservation")
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := &story{}
			s.prompt("go")
			tell(s)
			s.says("done")
			conv := s.load(t)
			if r := judge(t, conv, nil, []policy.Edit{clear(conv, 3, result(t, conv, s.at["r"]), "[cleared]")}); len(r.Misses) != 0 {
				t.Errorf("a false alarm: %+v", r.Misses)
			}
		})
	}
}

// What a person would call a use is one.
func TestFound(t *testing.T) {
	for name, tell := range map[string]func(s *story){
		"a line of Chinese": func(s *story) {
			s.call("r", "Bash", map[string]any{"command": "cat n"}, "仓库预留数量在重试之后会少一个单位,需要检查账本\n")
			s.says("filler")
			s.says("仓库预留数量在重试之后会少一个单位,需要检查账本")
		},
		"lines that end in CR LF": func(s *story) {
			s.call("r", "Read", map[string]any{"file_path": "/p/a.go"}, "     1→a := 1\r\n     2→b := 2\r\n")
			s.says("filler")
			s.call("x", "Edit", map[string]any{"file_path": "/p/a.go", "old_string": "a := 1\nb := 2", "new_string": "c"}, "ok")
		},
		"a line that only a search showed": func(s *story) {
			s.call("r", "Grep", map[string]any{"pattern": "ledger"}, "internal/ledger.go:12:\tthe ledger keeps one entry for each reservation\n")
			s.says("filler")
			s.says("the ledger keeps one entry for each reservation")
		},
		"what is said beside a trailer": func(s *story) {
			s.call("r", "Bash", map[string]any{"command": "git log"}, "    Mend reconcile_ledger_entries\n\n    Co-Authored-By: Claude Opus 4.6 <noreply@anthropic.com>\n")
			s.says("filler")
			s.call("x", "Bash", map[string]any{"command": "grep -r reconcile_ledger_entries # Co-Authored-By: Claude Opus 4.6 <noreply@anthropic.com>"}, "ok")
		},
		"MultiEdit": func(s *story) {
			s.call("r", "Read", map[string]any{"file_path": "/p/a.go"}, "     1→a := 1\n     2→b := 2\n")
			s.says("filler")
			s.call("x", "MultiEdit", map[string]any{"file_path": "/p/a.go", "edits": []any{map[string]any{"old_string": "b := 2", "new_string": "c"}}}, "ok")
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := &story{}
			s.prompt("go")
			tell(s)
			s.says("done")
			conv := s.load(t)
			if r := judge(t, conv, nil, []policy.Edit{clear(conv, 3, result(t, conv, s.at["r"]), "[cleared]")}); len(r.Misses) != 1 {
				t.Errorf("misses %+v, want one", r.Misses)
			}
		})
	}
}

// A change that failed changes nothing: what is read again is the same.
func TestRereadAfterFailure(t *testing.T) {
	s := &story{}
	s.prompt("go")
	s.call("first", "Read", map[string]any{"file_path": "/p/a.go"}, "     1→x := 1\n")
	s.call("fails", "Edit", map[string]any{"file_path": "/p/a.go", "old_string": "nowhere", "new_string": "y"}, "String to replace not found")
	s.fail()
	s.call("again", "Read", map[string]any{"file_path": "/p/a.go"}, "     1→x := 1\n")
	s.says("done")
	conv := s.load(t)
	lost := []policy.Edit{clear(conv, 3, result(t, conv, s.at["first"]), "[cleared]")}
	if r := judge(t, conv, lost, lost); len(r.Misses) != 1 {
		t.Errorf("misses %+v, want one", r.Misses)
	}
}

// A range that is read again is no miss where another read in view shows it, or where the first would not have
// served: the file has changed.
func TestRereadOfRange(t *testing.T) {
	const head, whole = "     1→x := 1\n     2→y := 2\n", "     1→x := 1\n     2→y := 2\n     3→z := 3\n"
	part := map[string]any{"file_path": "/p/a.go", "limit": 2}
	for _, c := range []struct {
		name  string
		other map[string]any // read beside the range, and never taken away
		shows string
		again string
		want  int
	}{
		{"the range alone", map[string]any{"file_path": "/p/b.go"}, whole, head, 1},
		{"all of the file stays", map[string]any{"file_path": "/p/a.go"}, whole, head, 0},
		{"a wider range stays", map[string]any{"file_path": "/p/a.go", "offset": 0, "limit": 3}, whole, head, 0},
		{"another range stays", map[string]any{"file_path": "/p/a.go", "offset": 3}, "     3→z := 3\n", head, 1},
		{"the same text elsewhere stays", map[string]any{"file_path": "/p/a.go", "offset": 11}, "    11→x := 1\n    12→y := 2\n", head, 1},
		{"changed by somebody else", map[string]any{"file_path": "/p/b.go"}, whole, "     1→x := 7\n     2→y := 2\n", 0},
		{"not shown again", map[string]any{"file_path": "/p/b.go"}, whole, session.UnchangedFile + ". The content is still current.", 0},
		{"a reminder behind it", map[string]any{"file_path": "/p/b.go"}, whole, head + "\n<system-reminder>\nmind\n</system-reminder>\n", 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := &story{}
			s.prompt("go")
			s.call("other", "Read", c.other, c.shows)
			s.call("first", "Read", part, head)
			s.says("filler")
			s.call("again", "Read", part, c.again)
			s.says("done")
			conv := s.load(t)
			lost := []policy.Edit{clear(conv, 4, result(t, conv, s.at["first"]), "[cleared]")}
			if r := judge(t, conv, lost, lost); len(r.Misses) != c.want {
				t.Errorf("misses %+v, want %d", r.Misses, c.want)
			}
		})
	}
}

// A Read that was answered with a reference to the first shows nothing: the first is what is read again later.
func TestRereadAfterReference(t *testing.T) {
	s := &story{}
	s.prompt("go")
	read := map[string]any{"file_path": "/p/a.go"}
	s.call("first", "Read", read, "     1→x := 1\n")
	s.call("reference", "Read", read, session.UnchangedFile+". The content from the earlier Read is still current.")
	s.call("again", "Read", read, "     1→x := 1\n")
	s.says("done")
	conv := s.load(t)
	lost := []policy.Edit{clear(conv, 3, result(t, conv, s.at["first"]), "[cleared]")}
	if r := judge(t, conv, lost, lost); len(r.Misses) != 1 || r.Misses[0].ToolUse != s.at["first"] {
		t.Errorf("misses %+v, want the first", r.Misses)
	}
}

// What a compaction puts back into view is in view.
func TestPutBack(t *testing.T) {
	s := &story{}
	s.prompt("go")
	s.call("read", "Read", map[string]any{"file_path": "/p/a.go"}, "     1→x := 1\n")
	s.says("filler")
	s.call("edit", "Edit", map[string]any{"file_path": "/p/a.go", "old_string": "x := 1", "new_string": "y"}, "ok")
	s.says("done")
	conv := s.load(t)
	at := result(t, conv, s.at["read"])
	edit := policy.Edit{
		Request: 3, Stage: "test", Kind: policy.KindSummarize, Joined: conv.Requests[2].Message,
		Insert: []policy.Synthetic{{Role: "user", Contents: []policy.Content{{Kind: jsonl.KindText, Ref: &at}}}},
	}
	if r := judge(t, conv, nil, []policy.Edit{edit}); len(r.Misses) != 0 {
		t.Errorf("the file was put back, and yet: %+v", r.Misses)
	}
	edit.Insert = []policy.Synthetic{{Role: "user", Contents: []policy.Content{policy.NewContent(jsonl.KindText, "it says x := 1")}}}
	if r := judge(t, conv, nil, []policy.Edit{edit}); len(r.Misses) != 0 {
		t.Errorf("the summary holds it, and yet: %+v", r.Misses)
	}
}

// A file that the client attached is in view.
func TestAttachedFile(t *testing.T) {
	s := &story{}
	s.prompt("go")
	s.call("read", "Read", map[string]any{"file_path": "/p/a.go"}, "     1→x := 1\n     2→y := 2\n\n<system-reminder>\nbe careful\n</system-reminder>\n")
	s.line("attachment", nil, map[string]any{"attachment": map[string]any{
		"type": "file", "filename": "/p/a.go", "content": map[string]any{"type": "text", "file": map[string]any{"filePath": "/p/a.go", "content": "x := 1\r\ny := 2\r\n"}},
	}})
	s.says("filler")
	s.call("again", "Read", map[string]any{"file_path": "/p/a.go", "offset": 1}, "     1→x := 1\n     2→y := 2\n")
	s.call("edit", "Edit", map[string]any{"file_path": "/p/a.go", "old_string": "x := 1\ny", "new_string": "y"}, "ok")
	s.says("done")
	conv := s.load(t)
	edits := []policy.Edit{clear(conv, 3, result(t, conv, s.at["read"]), "[cleared]"), clear(conv, 4, result(t, conv, s.at["again"]), "[cleared]")}
	if r := judge(t, conv, edits, edits); len(r.Misses) != 0 {
		t.Errorf("the file is attached, and yet: %+v", r.Misses)
	}
}

// What a truncation left is in view, what it took is not.
func TestTruncated(t *testing.T) {
	s := &story{}
	s.prompt("go")
	s.call("a", "Read", map[string]any{"file_path": "/p/a.go"}, "     1→x := 1\n     2→y := 2\n")
	s.call("b", "Read", map[string]any{"file_path": "/p/b.go"}, "     1→x := 1\n     2→y := 2\n")
	s.says("filler")
	s.call("head", "Edit", map[string]any{"file_path": "/p/a.go", "old_string": "x := 1", "new_string": "y"}, "ok")
	s.call("tail", "Edit", map[string]any{"file_path": "/p/b.go", "old_string": "y := 2", "new_string": "y"}, "ok")
	s.says("done")
	conv := s.load(t)
	cut := func(name string) policy.Edit {
		e := clear(conv, 4, result(t, conv, s.at[name]), "     1→x := 1\n[cut]")
		e.Kind, e.New.Partial = policy.KindTruncate, true
		return e
	}
	r := judge(t, conv, nil, []policy.Edit{cut("a"), cut("b")})
	if len(r.Misses) != 1 || r.Misses[0].ToolUse != s.at["b"] {
		t.Errorf("misses %+v, want the tail of b.go", r.Misses)
	}
}
