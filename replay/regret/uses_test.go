package regret_test

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/replay/regret"
)

const (
	edit   = regret.Edited
	quote  = regret.Quoted
	reread = regret.Reread
)

// TestRules judges stories whose result "r" is cleared before request 4, unless they say otherwise.
func TestRules(t *testing.T) {
	const line = "the ledger keeps one entry for each reservation"
	read := map[string]any{"file_path": "/p/a.go"}
	change := func(old string) map[string]any {
		return map[string]any{"file_path": "/p/a.go", "old_string": old, "new_string": "y"}
	}
	for name, c := range map[string]struct {
		tell func(s *story)
		want []regret.Evidence
	}{
		"an edit of a line that only the block shows": {func(s *story) {
			s.call("r", "Read", read, "     1→package p\n     2→"+line+"\n")
			s.says("filler")
			s.call("e", "Edit", change("\t"+line), "ok")
		}, []regret.Evidence{edit}},
		"of lines that end in CR LF": {func(s *story) {
			s.call("r", "Read", read, "     1→"+line+"\r\n     2→b := 2\r\n")
			s.says("filler")
			s.call("e", "Edit", change(line+"\nb := 2"), "ok")
		}, []regret.Evidence{edit}},
		"by MultiEdit": {func(s *story) {
			s.call("r", "Read", read, "1\t"+line+"\n")
			s.says("filler")
			s.call("e", "MultiEdit", map[string]any{"file_path": "/p/a.go", "edits": []any{map[string]any{"old_string": line, "new_string": "c"}}}, "ok")
		}, []regret.Evidence{edit}},
		"of a short line": {func(s *story) {
			s.call("r", "Read", read, "     1→x := 1\n")
			s.says("filler")
			s.call("e", "Edit", change("x := 1"), "ok")
		}, nil},
		"of a line that a search in view shows in another form": {func(s *story) {
			s.call("r", "Read", read, "     1→"+line+"\n")
			s.call("g", "Grep", map[string]any{"pattern": "ledger"}, `src/a.go:1:"The ledger\tkeeps one_entry for each Reservation"`)
			s.call("e", "Edit", change(strings.ReplaceAll(line, "\t", "")), "ok")
		}, []regret.Evidence{edit}}, // the escape is a letter
		"of a line that a search in view shows": {func(s *story) {
			s.call("r", "Read", read, "     1→"+line+"\n")
			s.call("g", "Grep", map[string]any{"pattern": "ledger"}, `src/a.go:1:	"The ledger keeps one_entry for  each Reservation"`)
			s.call("e", "Edit", change(line), "ok")
		}, nil},
		"of a line that the agent wrote before": {func(s *story) {
			s.call("w", "Write", map[string]any{"file_path": "/p/a.go", "content": line}, "ok")
			s.call("r", "Read", read, "     1→"+line+"\n")
			s.call("e", "Edit", change(line), "ok")
		}, nil},
		"of a line that the same message names": {func(s *story) {
			s.call("r", "Read", read, "     1→"+line+"\n")
			s.says("filler")
			s.says(line + ": I change it.")
			s.call("e", "Edit", change(line), "ok")
		}, nil},
		"of a line in many blocks": {func(s *story) {
			for _, n := range []string{"r", "2", "3", "4"} {
				s.call(n, "Read", read, "     1→"+line+"\n     2→"+n)
			}
			s.call("e", "Edit", change(line), "ok")
		}, nil},
		"of a line that the prompt has": {func(s *story) {
			s.call("r", "Read", read, "     1→"+line+"\n")
			s.prompt("why does it say that " + line + "?")
			s.says("filler")
			s.call("e", "Edit", change(line), "ok")
		}, nil},
		"of a line that an attachment has": {func(s *story) {
			s.call("r", "Read", read, "     1→"+line+"\n")
			s.line("attachment", nil, map[string]any{"attachment": map[string]any{
				"type": "file", "filename": "/p/a.go", "content": map[string]any{"type": "text", "file": map[string]any{"filePath": "/p/a.go", "content": line}},
			}})
			s.says("filler")
			s.call("e", "Edit", change(line), "ok")
		}, nil},
		"a quote with a name in it": {func(s *story) {
			s.call("r", "Bash", map[string]any{"command": "make"}, "error: undefined reference to frobnicate_widget_table in main.o\n")
			s.says("filler")
			s.says("The linker has an undefined reference to `frobnicate_widget_table`.")
		}, []regret.Evidence{quote}},
		"a long name by itself": {func(s *story) {
			s.call("r", "Bash", map[string]any{"command": "git log"}, "commit 66aa3f67d4b1308bb08388ccb929fc27967e8259\n")
			s.says("filler")
			s.call("x", "Bash", map[string]any{"command": "git show 66aa3f67d4b1308bb08388ccb929fc27967e8259"}, "ok")
		}, []regret.Evidence{quote}},
		"a name alone": {func(s *story) {
			s.call("r", "Bash", map[string]any{"command": "make"}, "error: undefined reference to frobnicate_widget in main.o\n")
			s.says("filler")
			s.says("So frobnicate_widget it is.")
		}, nil},
		"a quote without a name": {func(s *story) {
			s.call("r", "Bash", map[string]any{"command": "cat t"}, line)
			s.says("filler")
			s.says(line)
		}, nil},
		"a name that something in view joins otherwise": {func(s *story) {
			s.call("r", "Bash", map[string]any{"command": "make"}, "error: undefined reference to frobnicate_widget_table in main.o\n")
			s.says("I look at it.")
			s.call("g", "Grep", map[string]any{"pattern": "x"}, "type FrobnicateWidgetTables struct")
			s.says("The linker has an undefined reference to frobnicate_widget_table.")
		}, nil},
		"a part of a longer name": {func(s *story) {
			s.call("r", "Bash", map[string]any{"command": "make"}, "error: undefined reference to frobnicate_widget_tables in main.o\n")
			s.says("filler")
			s.says("The linker has an undefined reference to frobnicate_widget_table.")
		}, nil},
		"a name after a longer one": {func(s *story) {
			s.call("r", "Bash", map[string]any{"command": "make"}, "error: frobnicate_widget_tables\nerror: undefined reference to frobnicate_widget_table in main.o\n")
			s.says("filler")
			s.says("The linker has an undefined reference to frobnicate_widget_table.")
		}, []regret.Evidence{quote}},
		"a number that the agent thought of first": {func(s *story) {
			s.assistant(map[string]any{"type": "thinking", "thinking": "1234567890\tof them", "signature": "x"})
			s.call("r", "Bash", map[string]any{"command": "make"}, "error: undefined reference to order 1234567890 of the warehouse\n")
			s.says("filler")
			s.says("The linker has an undefined reference to order 1234567890 of the warehouse.")
		}, nil},
		"a name that the agent thought of first": {func(s *story) {
			s.assistant(map[string]any{"type": "thinking", "thinking": "frobnicate_widget_table?", "signature": "x"})
			s.call("r", "Bash", map[string]any{"command": "make"}, "error: undefined reference to frobnicate_widget_table in main.o\n")
			s.says("filler")
			s.says("The linker has an undefined reference to frobnicate_widget_table.")
		}, nil},
		"an option of a command": {func(s *story) {
			s.call("r", "Read", read, "run `cargo clippy --all-targets --workspace -- -D warnings`\n")
			s.says("filler")
			s.call("x", "Bash", map[string]any{"command": "cargo clippy --all-targets --workspace -- -D warnings"}, "ok")
		}, nil},
		"the working directory": {func(s *story) {
			s.call("r", "Bash", map[string]any{"command": "pwd"}, "/home/dev/harbor-warehouse\n/home/dev/harbor-warehouse/build\n")
			s.says("filler")
			s.call("x", "Bash", map[string]any{"command": "cd /home/dev/harbor-warehouse && make -C /home/dev/harbor-warehouse/build"}, "ok")
		}, nil},
		"what a person says": {func(s *story) {
			s.call("r", "Bash", map[string]any{"command": "make"}, "error: undefined reference to frobnicate_widget_table in main.o\n")
			s.says("filler")
			s.prompt("what is the undefined reference to frobnicate_widget_table?")
			s.says("Nothing.")
		}, nil},
		"a second use of the same block": {func(s *story) {
			s.call("r", "Bash", map[string]any{"command": "make"}, "error: undefined reference to frobnicate_widget_table in main.o\nerror: undefined reference to another_missing_symbol in main.o\n")
			s.says("filler")
			s.says("The linker has an undefined reference to frobnicate_widget_table.")
			s.says("And an undefined reference to another_missing_symbol in main.o.")
		}, []regret.Evidence{quote}},
	} {
		t.Run(name, func(t *testing.T) {
			s := &story{}
			s.prompt("go")
			s.says("I begin.")
			c.tell(s)
			s.says("done")
			conv := s.load(t)
			r := judge(t, conv, nil, []policy.Edit{clear(conv, 4, result(t, conv, s.at["r"]), "[cleared]")})
			var got []regret.Evidence
			for i := range r.Misses {
				got = append(got, r.Misses[i].Evidence)
				if m := &r.Misses[i]; m.ToolUse != s.at["r"] || m.Removed != 4 || m.Stage != "test" || m.Tokens != 100 || m.Quote == "" || m.UsedLine == 0 {
					t.Errorf("miss %+v", m)
				}
			}
			must.Equal(t, strings.Join(words(got), " "), strings.Join(words(c.want), " "), r.Misses, c.want)
			if r := judge(t, conv, nil, nil); len(r.Misses) != 0 || r.Removed != 0 {
				t.Errorf("nothing was removed, and yet: %+v", r)
			}
		})
	}
}

func words(list []regret.Evidence) (out []string) {
	for _, e := range list {
		out = append(out, string(e))
	}
	return out
}

// TestReread: a Read is a miss where the record and the policy had lost what it shows again.
func TestReread(t *testing.T) {
	const head = "     1→the first line of the file\n     2→and the second one\n"
	const whole = head + "     3→and a third line behind them\n"
	part := map[string]any{"file_path": "/p/a.go", "limit": 2}
	other := func(n string) map[string]any { return map[string]any{"file_path": "/p/" + n + ".go"} }
	const something = "     1→something else\n"
	for name, c := range map[string]struct {
		other map[string]any // read beside the range, and never taken away
		shows string
		says  string // the agent, after both
		again string
		want  int
	}{
		"the range alone":               {other("b"), something, "", head, 1},
		"the same text of another file": {other("b"), whole, "", head, 0},
		"all of the file stays":         {other("a"), whole, "", head, 0},
		"another range stays":           {map[string]any{"file_path": "/p/a.go", "offset": 3}, "     3→and a third line behind them\n", "", head, 1},
		"a part of it again":            {other("b"), something, "", "     2→and the second one of the file\n", 0},
		"changed by somebody else":      {other("b"), something, "", "     1→the first line of the file\n     2→and another one\n", 0},
		"not shown again":               {other("b"), something, "", session.UnchangedFile + ". The content is still current.", 0},
		"not shown, in other words":     {other("b"), something, "", "Wasted call — file unchanged since your last Read.", 0},
		"a reminder behind it":          {other("b"), something, "", head + "\n<system-reminder>\nmind\n</system-reminder>\n", 1},
		"a reminder, escaped":           {other("b"), something, "", head + "\n<system-reminder>\nmind\n</system-reminder>\n", 1},
		"each line somewhere":           {other("b"), "src/a.go:1:the first line of the file\n", "and the second one", head, 0},
		"one line stays":                {other("b"), "src/a.go:1:the first line of the file\n", "", head, 1},
		"a short line does not":         {other("b"), "src/a.go:1:the first line of the file\n", "", "     1→the first line of the file\n     2→and the sec", 0},
	} {
		t.Run(name, func(t *testing.T) {
			s := &story{plain: name != "a reminder, escaped"}
			s.prompt("go")
			s.call("other", "Read", c.other, c.shows)
			s.call("first", "Read", part, head)
			s.says("filler\n" + c.says)
			s.call("again", "Read", part, c.again)
			s.says("done")
			conv := s.load(t)
			lost := []policy.Edit{clear(conv, 4, result(t, conv, s.at["first"]), "[cleared]")}
			if r := judge(t, conv, lost, lost); len(r.Misses) != c.want || c.want > 0 && (r.Misses[0].Evidence != reread || r.Misses[0].ToolUse != s.at["first"]) {
				t.Errorf("misses %+v, want %d", r.Misses, c.want)
			}
			must.Equal(t, len(judge(t, conv, nil, lost).Misses), 0)
			must.Equal(t, len(judge(t, conv, lost, nil).Misses), 0)
		})
	}
}

// TestRereadInPieces: what is read again stood, line by line, in a later result too.
func TestRereadInPieces(t *testing.T) {
	const text = "     1→the first line of the file\n     2→and the second one\n"
	s := &story{}
	s.prompt("go")
	s.call("first", "Read", map[string]any{"file_path": "/p/a.go"}, text)
	s.call("lines", "Bash", map[string]any{"command": "tac a.go"}, "and the second one\nthe first line of the file\n")
	s.says("filler")
	s.call("again", "Read", map[string]any{"file_path": "/p/a.go"}, text)
	s.says("done")
	conv := s.load(t)
	whole := []policy.Edit{clear(conv, 4, result(t, conv, s.at["first"]), "[cleared]")}
	both := []policy.Edit{whole[0], clear(conv, 4, result(t, conv, s.at["lines"]), "[cleared]")}
	for name, c := range map[string]struct {
		recorded, edits []policy.Edit
		want            int
	}{
		"the policy lost the lines too": {both, both, 1},
		"the policy has the lines":      {both, whole, 0},
		"the record has the lines":      {whole, both, 0},
	} {
		must.Equal(t, len(judge(t, conv, c.recorded, c.edits).Misses), c.want, name)
	}
}

// TestRereadAfterChange: the agent's own change of a file is a reason to read it again; one that failed is none.
func TestRereadAfterChange(t *testing.T) {
	const text = "     1→the first line of the whole file\n"
	for name, failed := range map[string]bool{"a change": false, "two that failed": true} {
		s := &story{}
		s.prompt("go")
		s.call("first", "Read", map[string]any{"file_path": "/p/a.go"}, text)
		s.call("edit", "Edit", map[string]any{"file_path": "/p/a.go", "old_string": "nowhere", "new_string": "y"}, "result")
		if failed {
			s.fail()
			s.call("edit again", "Edit", map[string]any{"file_path": "/p/a.go", "old_string": "neither here", "new_string": "y"}, "result")
			s.fail()
		}
		s.call("again", "Read", map[string]any{"file_path": "/p/a.go"}, text)
		s.says("done")
		conv := s.load(t)
		lost := []policy.Edit{clear(conv, 3, result(t, conv, s.at["first"]), "[cleared]")}
		must.Equal(t, len(judge(t, conv, lost, lost).Misses) == 1, failed, name)
	}
}

// quoted is a session in which a result is quoted at request 3.
func quoted() *story {
	s := &story{}
	s.prompt("go")
	s.call("found", "Bash", map[string]any{"command": "ls"}, "only here: see quite_special_identifier_5 in the log\n")
	s.says("I see.")
	s.says("So only here: quite_special_identifier_5 in the log.")
	s.says("So, see quite_special_identifier_5 in the log.")
	return s
}

const quotedName = "quite_special_identifier_5"

// TestPolicyTexts: what a policy puts into view is in view; a summary that is a number of tokens holds nothing.
func TestPolicyTexts(t *testing.T) {
	s := &story{}
	s.prompt("go")
	s.call("found", "Bash", map[string]any{"command": "ls"}, "only here: see "+quotedName+" in the log\n")
	s.says("I see.")
	s.says("One should see " + quotedName + " in the log.")
	conv := s.load(t)
	at := result(t, conv, s.at["found"])
	text := func(s string) *policy.Content { c := policy.NewContent(jsonl.KindText, s); return &c }
	summary := func(c policy.Content) policy.Edit {
		return policy.Edit{Kind: policy.KindSummarize, Insert: []policy.Synthetic{{Role: "user", Summary: true, Contents: []policy.Content{c}}}}
	}
	for name, c := range map[string]struct {
		edits []policy.Edit
		want  int
	}{
		"a summary that names it":    {[]policy.Edit{summary(*text("we found " + quotedName))}, 0},
		"one that does not":          {[]policy.Edit{summary(*text("we found something"))}, 1},
		"one that is a number":       {[]policy.Edit{summary(policy.Content{Kind: jsonl.KindText, Tokens: 5000})}, 1},
		"one that refers to it":      {[]policy.Edit{summary(policy.Content{Kind: jsonl.KindText, Ref: &at})}, 0},
		"a summary of the summary":   {[]policy.Edit{summary(*text("we found " + quotedName)), summary(*text("nothing"))}, 1},
		"a placeholder":              {[]policy.Edit{{Kind: policy.KindClear, Target: at, New: text("[cleared]")}}, 1},
		"a preview":                  {[]policy.Edit{{Kind: policy.KindPersist, Target: at, New: text("saved; begins: " + quotedName)}}, 0},
		"the block restored":         {[]policy.Edit{{Kind: policy.KindClear, Target: at, New: text("[cleared]")}, {Kind: policy.KindClear, Target: at, New: &policy.Content{Kind: jsonl.KindToolResult, Ref: &at}}}, 0},
		"the preview removed":        {[]policy.Edit{{Kind: policy.KindPersist, Target: at, New: text(quotedName)}, {Kind: policy.KindRemove, Items: []policy.ItemID{at.Item}}}, 1},
		"wrapped":                    {[]policy.Edit{{Kind: policy.KindWrap, Target: at, New: text("<r>" + quotedName + "</r>")}}, 0},
		"a placeholder for the span": {[]policy.Edit{{Kind: policy.KindCollapse, Items: []policy.ItemID{at.Item}, Insert: []policy.Synthetic{{Role: "user", Contents: []policy.Content{*text(quotedName)}}}}}, 0},
		"cleared on the server":      {[]policy.Edit{{Kind: policy.KindServerClear, Target: at}}, 1},
		"and given back":             {[]policy.Edit{{Kind: policy.KindServerClear, Target: at}, {Kind: policy.KindServerKeep, Target: at}}, 0},
	} {
		for i := range c.edits {
			c.edits[i].Request, c.edits[i].Stage, c.edits[i].Joined = 3, "test", conv.Requests[2].Message
		}
		must.Equal(t, len(judge(t, conv, nil, c.edits).Misses), c.want, name)
	}
}

// TestWrittenWithoutHaving: what the record's agent wrote without having it came from elsewhere, and is no miss of any
// policy.
func TestWrittenWithoutHaving(t *testing.T) {
	s := quoted()
	conv := s.load(t)
	lost := []policy.Edit{clear(conv, 3, result(t, conv, s.at["found"]), "[cleared]")}
	if r := judge(t, conv, lost, lost); len(r.Misses) != 0 || r.Removed != 1 {
		t.Errorf("on the record: misses %+v of %d removed", r.Misses, r.Removed)
	}
	if r := judge(t, conv, nil, lost); len(r.Misses) != 1 || r.Removed != 1 {
		t.Errorf("with the block in the record's view: %+v", r)
	}
}

// TestRereadOfEqualTexts: what was read again is a part of a result whose text another block had before.
func TestRereadOfEqualTexts(t *testing.T) {
	const text = "     1→the first line of the whole file\n     2→and the second one behind it\n"
	read := map[string]any{"file_path": "/p/a.go"}
	s := &story{}
	s.prompt("go")
	s.call("same", "Bash", map[string]any{"command": "cat -n a.go"}, text)
	s.call("first", "Read", read, text)
	s.says("filler")
	s.call("again", "Read", map[string]any{"file_path": "/p/a.go", "limit": 1}, "     1→the first line of the whole file\n")
	s.says("done")
	conv := s.load(t)
	lost := []policy.Edit{clear(conv, 4, result(t, conv, s.at["same"]), "[cleared]"), clear(conv, 4, result(t, conv, s.at["first"]), "[cleared]")}
	if r := judge(t, conv, lost, lost); len(r.Misses) != 1 || r.Misses[0].ToolUse != s.at["first"] {
		t.Errorf("misses %+v, want one of the first Read", r.Misses)
	}
}

// TestCallsAgain: what a call had returned is needed again where the same call is made again with the same result, or a
// file is shown or edited by a command, and the record had lost it, too.
func TestCallsAgain(t *testing.T) {
	const listing = "internal/api/transfer.go:41: err := ledger.PostTransfer(ctx, from, to, cents)\n"
	const file = "package ledger\n\nconst settlementWindow = 36 * time.Hour\nx := 7\n"
	read := map[string]any{"file_path": "/home/dev/harbor-warehouse/ledger.go"}
	run := func(text string) map[string]any { return map[string]any{"command": text} }
	edit := func(old string) map[string]any {
		return map[string]any{"file_path": "/home/dev/harbor-warehouse/ledger.go", "old_string": old, "new_string": "y"}
	}
	type call struct {
		tool   string
		input  map[string]any
		result string
	}
	for _, c := range []struct {
		name         string
		first, again call
		between      *call
		kept         bool // on the record
		want         regret.Evidence
	}{
		{"a search", call{"Grep", map[string]any{"pattern": "Post"}, listing}, call{"Grep", map[string]any{"pattern": "Post"}, listing}, nil, false, regret.Reread},
		{"a page", call{"WebFetch", map[string]any{"url": "https://e.org"}, listing}, call{"WebFetch", map[string]any{"url": "https://e.org"}, listing}, nil, false, regret.Reread},
		{"another search", call{"Grep", map[string]any{"pattern": "Post"}, listing}, call{"Grep", map[string]any{"pattern": "Past"}, listing}, nil, false, ""},
		{"another result", call{"Grep", map[string]any{"pattern": "Post"}, listing}, call{"Grep", map[string]any{"pattern": "Post"}, "nothing of what was found before stands here"}, nil, false, ""},
		{"that the record still had", call{"Grep", map[string]any{"pattern": "Post"}, listing}, call{"Grep", map[string]any{"pattern": "Post"}, listing}, nil, true, ""},
		{"a command", call{"Bash", run("make test"), listing}, call{"Bash", run("make test"), listing}, nil, false, regret.Reread},
		{"a command after a change", call{"Bash", run("make test"), listing}, call{"Bash", run("make test"), listing}, &call{"Edit", edit("q"), "ok"}, false, ""},
		{"a command after one that writes", call{"Bash", run("make test"), listing}, call{"Bash", run("make test"), listing}, &call{"Bash", run("cat > ledger.go <<'EOF'\nx\nEOF"), "ok"}, false, ""},
		{"a command after one that changes the branch", call{"Bash", run("make test"), listing}, call{"Bash", run("make test"), listing}, &call{"Bash", run("git checkout main"), "ok"}, false, ""},
		{"a command after one that only reads", call{"Bash", run("make test"), listing}, call{"Bash", run("make test"), listing}, &call{"Bash", run("git log 2>&1 | head"), "ok"}, false, regret.Reread},
		{"a command that writes", call{"Bash", run("git reset HEAD"), listing}, call{"Bash", run("git reset HEAD"), listing}, nil, false, ""},
		{"a call made for what it does", call{"TodoWrite", map[string]any{"todos": "a"}, listing}, call{"TodoWrite", map[string]any{"todos": "a"}, listing}, nil, false, ""},
		{"a call that was refused", call{"Grep", map[string]any{"pattern": "Post"}, "The user doesn't want to proceed with this tool use. " + listing}, call{"Grep", map[string]any{"pattern": "Post"}, "The user doesn't want to proceed with this tool use. " + listing}, nil, false, ""},
		{"a file by a command", call{"Read", read, file}, call{"Bash", run("cat ledger.go"), file}, nil, false, regret.Reread},
		{"lines of a file by a command", call{"Bash", run("cat ledger.go"), file}, call{"Bash", run("sed -n '1,3p' ledger.go"), "package ledger\n\nconst settlementWindow = 36 * time.Hour\n"}, nil, false, regret.Reread},
		{"a pipe", call{"Read", read, file}, call{"Bash", run("cat ledger.go | sort"), file}, nil, false, ""},
		{"in place", call{"Read", read, file}, call{"Bash", run("sed -i 's/const settlementWindow = 36 \\* time.Hour/x/' ledger.go"), "ok"}, nil, true, regret.Edited},
		{"a short old string", call{"Read", read, file}, call{"Edit", edit("x := 7"), "ok"}, nil, true, regret.Edited},
		{"a short old string of no file that was read", call{"Bash", run("make test"), file}, call{"Edit", edit("x := 7"), "ok"}, nil, true, ""},
	} {
		s := &story{}
		s.prompt("go")
		s.call("first", c.first.tool, c.first.input, c.first.result)
		s.says("filler")
		if c.between != nil {
			s.call("between", c.between.tool, c.between.input, c.between.result)
		}
		s.call("again", c.again.tool, c.again.input, c.again.result)
		s.says("done")
		conv := s.load(t)
		lost := []policy.Edit{clear(conv, 3, result(t, conv, s.at["first"]), "[cleared]")}
		record := lost
		if c.kept {
			record = nil
		}
		r := judge(t, conv, record, lost)
		if got := len(r.Misses); got > 1 || (got == 1) != (c.want != "") || got == 1 && (r.Misses[0].Evidence != c.want || r.Misses[0].ToolUse != s.at["first"]) {
			t.Errorf("%s: misses %+v, want %q", c.name, r.Misses, c.want)
		}
	}
}

// TestCodexCalls: Codex reads and edits files by commands and patches, and says of each command how long it took.
func TestCodexCalls(t *testing.T) {
	const file = "package ledger\n\nconst settlementWindow = 36 * time.Hour\n"
	const patch = "*** Begin Patch\n*** Update File: q.go\n@@\n-x\n+y\n*** Update File: ledger.go\n@@ func\n package ledger\n-const settlementWindow = 36 * time.Hour\n+const w = 1\n*** End Patch\n"
	run := func(more string) string {
		return `{"cmd":"cat ledger.go","workdir":"/w","yield_time_ms":` + more + `}`
	}
	head := func(id string) string {
		return "Chunk ID: " + id + "\nWall time: 0.0" + id + " seconds\nProcess exited with code 0\nOutput:\n"
	}
	for _, c := range []struct {
		name, tool, input, result string
		want                      regret.Evidence
	}{
		{"the command again", "exec_command", run("1000"), head("7") + file, regret.Reread},
		{"by another shell", "shell", `{"command":["bash","-lc","head -n 9 ledger.go"],"workdir":"/w"}`, "Exit code: 0\nWall time: 1 seconds\nOutput:\n" + file, regret.Reread},
		{"in another folder", "exec_command", `{"cmd":"cat ledger.go","workdir":"/v"}`, head("7") + file, ""},
		{"with another output", "exec_command", run("1000"), head("7") + "what the file holds now, which is another text\n", ""},
		{"a patch alone", "apply_patch", patch, "Exit code: 0\nWall time: 0 seconds\nOutput:\nSuccess", regret.Edited},
		{"a patch as input", "apply_patch", `{"input":` + strconv.Quote(patch) + `}`, "ok", regret.Edited},
		{"a patch without its first line", "exec_command", `{"cmd":` + strconv.Quote("apply_patch <<'EOF'\n"+strings.TrimPrefix(patch, "*** Begin Patch\n")+"EOF\n") + `}`, "ok", regret.Edited},
		{"a patch by a command", "exec_command", `{"cmd":` + strconv.Quote("apply_patch <<'EOF'\n"+patch+"EOF\n") + `}`, "ok", regret.Edited},
	} {
		var lines strings.Builder
		line := func(kind string, payload map[string]any) {
			text := must.Get(json.Marshal(map[string]any{"timestamp": "2026-02-01T10:00:00.000Z", "type": kind, "payload": payload}))(t)
			lines.Write(append(text, '\n'))
		}
		total := 0
		call := func(id, tool, input, result string) {
			if strings.HasPrefix(input, "*") {
				line("response_item", map[string]any{"type": "custom_tool_call", "call_id": id, "name": tool, "input": input})
			} else {
				line("response_item", map[string]any{"type": "function_call", "call_id": id, "name": tool, "arguments": input})
			}
			total += 1010
			usage := map[string]any{"input_tokens": 1000, "output_tokens": 10, "total_tokens": 1010}
			line("event_msg", map[string]any{"type": "token_count", "info": map[string]any{"last_token_usage": usage, "total_token_usage": map[string]any{"total_tokens": total, "input_tokens": total, "output_tokens": 1}}})
			line("response_item", map[string]any{"type": "function_call_output", "call_id": id, "output": result})
		}
		line("session_meta", map[string]any{"id": "0199c0de-0000-7000-8000-000000000001", "cwd": "/w", "originator": "codex_cli_rs", "cli_version": "0.140.0"})
		line("turn_context", map[string]any{"cwd": "/w", "model": "gpt-5.5"})
		line("response_item", map[string]any{"type": "message", "role": "user", "content": []any{map[string]any{"type": "input_text", "text": "go"}}})
		call("first", "exec_command", run("9"), head("1")+file)
		call("filler", "exec_command", `{"cmd":"true"}`, head("2"))
		call("again", c.tool, c.input, c.result)
		call("end", "exec_command", `{"cmd":"true && true"}`, head("3"))
		f := must.Get(session.LoadReader("rollout-2026-02-01T10-00-00-0199c0de-0000-7000-8000-000000000001.jsonl", strings.NewReader(lines.String()), session.LoadOptions{}))(t)
		t.Cleanup(func() { f.Close() })
		lost := []policy.Edit{clear(f.Main, 3, result(t, f.Main, "first"), "[cleared]")}
		r := judge(t, f.Main, lost, lost)
		if got := len(r.Misses); got > 1 || (got == 1) != (c.want == regret.Reread) || got == 1 && r.Misses[0].Evidence != c.want {
			t.Errorf("%s, of which the record had lost the file, too: misses %+v, want %q", c.name, r.Misses, c.want)
		}
		r = judge(t, f.Main, nil, lost)
		if got := len(r.Misses); got > 1 || (got == 1) != (c.want == regret.Edited) || got == 1 && r.Misses[0].Evidence != c.want {
			t.Errorf("%s, of which the record had the file: misses %+v, want %q", c.name, r.Misses, c.want)
		}
	}
}

// TestSaidAgain: a person who repeats a sentence that was lost needed it.
func TestSaidAgain(t *testing.T) {
	const rule = "Never use tabs in SQL files, and always run make lint-sql before committing"
	must.Rows(t, `
I told you. Never use tabs in SQL files, and always run make lint-sql before committing! | 1
Please never use tabs | 0
<note>Never use tabs in SQL files, and always run make lint-sql before committing</note> | 0
Never use tabs in SQL files, and always run make lint-sql before committing. | 0
> Never use tabs in SQL files, and always run make lint-sql before committing | 0
[Request interrupted by user] Never use tabs in SQL files, and always run make lint-sql before committing | 0
`, func(text string, want int) {
		s := &story{}
		s.prompt(rule + ".")
		s.says("ok")
		s.says("filler")
		s.prompt(text)
		s.says("done")
		conv := s.load(t)
		lost := []policy.Edit{{Kind: policy.KindRemove, Request: 2, Stage: "test", Items: []policy.ItemID{0}, Joined: conv.Requests[1].Message}}
		must.Equal(t, len(judge(t, conv, lost, lost).Misses), want, text)
		must.Equal(t, len(judge(t, conv, nil, lost).Misses), 0, text)
	})
}

// TestCommonLines: a line that many blocks hold is evidence of an edit only where the file itself was read.
func TestCommonLines(t *testing.T) {
	const line = "return store.AppendJournal(ctx, entry)"
	for name, want := range map[string]int{"Read": 1, "Bash": 0} {
		s := &story{}
		s.prompt("go")
		s.call("first", name, map[string]any{"file_path": "/w/ledger.go", "command": "make"}, "the only block of this\n"+line+"\n")
		var lost []string
		for i := range 4 {
			id := fmt.Sprint("hit", i)
			lost = append(lost, id)
			s.call(id, "Bash", map[string]any{"command": fmt.Sprint("grep ", i)}, fmt.Sprint("hit ", i, ": ", line))
		}
		s.says("filler")
		s.call("edit", "Edit", map[string]any{"file_path": "/w/ledger.go", "old_string": line, "new_string": "y"}, "ok")
		s.says("done")
		conv := s.load(t)
		var edits []policy.Edit
		for _, id := range append(lost, "first") {
			edits = append(edits, clear(conv, 7, result(t, conv, s.at[id]), "[cleared]"))
		}
		must.Equal(t, len(judge(t, conv, nil, edits).Misses), want, name)
	}
}
