package regret_test

import (
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/replay/regret"
)

// told is a session of steps (see testdata/stories.txt).
func told(t testing.TB, plain bool, steps []string) *story {
	s := &story{plain: plain}
	s.prompt("go")
	unescape := strings.NewReplacer(`\\`, `\`, `\n`, "\n", `\r`, "\r", `\t`, "\t")
	for _, step := range steps {
		verb, rest, _ := strings.Cut(step, " ")
		name, call := strings.CutSuffix(verb, ":")
		switch text := unescape.Replace(rest); {
		case call:
			tool, rest, _ := strings.Cut(rest, " ")
			input, result, _ := strings.Cut(rest, " -> ")
			s.call(name, tool, json.RawMessage(input), unescape.Replace(result))
		case verb == "failed":
			s.fail()
		case verb == "prompt":
			s.prompt(text)
		case verb == "says":
			s.says(text)
		case verb == "thinks":
			s.assistant(map[string]any{"type": "thinking", "thinking": text, "signature": "x"})
		case verb == "attachment":
			s.line("attachment", nil, map[string]any{"attachment": json.RawMessage(rest)})
		default:
			t.Fatalf("no step: %s", step)
		}
	}
	s.says("done")
	return s
}

// TestStories: what each story says is missed, and nothing where nothing was removed. What a client escapes does not matter.
func TestStories(t *testing.T) {
	judged := regexp.MustCompile(`^(.+) / (.+) before (\d) ->(.*)$`)
	must.Rows(t, string(must.Get(os.ReadFile("testdata/stories.txt"))(t)), func(name string, steps []string) {
		n := slices.IndexFunc(steps, judged.MatchString)
		for _, plain := range []bool{true, false} {
			s := told(t, plain, steps[:n])
			conv := s.load(t)
			for _, line := range append(steps[n:], "- / - before 4 ->") {
				want := judged.FindStringSubmatch(line)
				request := must.Get(strconv.Atoi(want[3]))(t)
				var lost [2][]policy.Edit
				for i, names := range want[1:3] {
					for _, name := range strings.Fields(strings.Trim(names, "-")) {
						lost[i] = append(lost[i], clear(conv, request, result(t, conv, s.at[name]), "[cleared]"))
					}
				}
				r := judge(t, conv, lost[1], lost[0])
				got := ""
				for _, m := range r.Misses {
					for name, id := range s.at {
						if id == m.ToolUse {
							got += fmt.Sprintf(" %s %s", m.Evidence, name)
						}
					}
					if m.Removed != request || m.Stage != "test" || m.Tokens != 100 || m.Quote == "" || m.UsedLine == 0 {
						t.Errorf("miss %+v", m)
					}
				}
				must.Equal(t, got, want[4], name, line, plain)
				must.Equal(t, r.Removed, len(lost[0]), name, line)
			}
		}
	})
}

// TestPolicyTexts: what a policy puts into view is in view; a summary that is a number of tokens holds nothing.
func TestPolicyTexts(t *testing.T) {
	s := told(t, false, []string{
		`found: Bash {"command": "ls"} -> only here: see quite_special_identifier_5 in the log\n`, "says I see.", "says One should see quite_special_identifier_5 in the log.",
	})
	conv := s.load(t)
	at := result(t, conv, s.at["found"])
	must.Rows(t, `
# how often it is missed, and the edits
a summary that names it | 0
	summarize we found quite_special_identifier_5
one that does not | 1
	summarize we found something
one that is a number of tokens | 1
	summarize 5000
one that refers to it | 0
	summarize the block
a summary of the summary | 1
	summarize we found quite_special_identifier_5
	summarize nothing
a placeholder | 1
	clear [cleared]
a preview | 0
	persist saved; begins: quite_special_identifier_5
the block restored | 0
	clear [cleared]
	clear the block
the preview removed | 1
	persist quite_special_identifier_5
	remove
wrapped | 0
	wrap <r>quite_special_identifier_5</r>
a placeholder for the span | 0
	collapse quite_special_identifier_5
cleared on the server | 1
	server_clear
and given back | 0
	server_clear
	server_keep
`, func(name string, want int, steps []string) {
		var edits []policy.Edit
		for _, step := range steps {
			kind, text, _ := strings.Cut(step, " ")
			c := policy.NewContent(jsonl.KindText, text)
			switch text {
			case "the block":
				c = policy.Content{Kind: jsonl.KindToolResult, Ref: &at}
			case "5000":
				c = policy.Content{Kind: jsonl.KindText, Tokens: 5000}
			}
			e := policy.Edit{Request: 3, Stage: "test", Joined: conv.Requests[2].Message, Kind: policy.EditKind(kind)}
			switch made := []policy.Synthetic{{Role: "user", Contents: []policy.Content{c}}}; e.Kind {
			case policy.KindSummarize:
				e.Insert, made[0].Summary = made, true
			case policy.KindRemove, policy.KindCollapse:
				e.Items, e.Insert = []policy.ItemID{at.Item}, made
			default:
				e.Target, e.New = at, &c
			}
			edits = append(edits, e)
		}
		must.Equal(t, len(judge(t, conv, nil, edits).Misses), want, name)
	})
}

// TestCodexCalls: Codex reads and edits files by commands and patches, and says of each command how long it took. What is missed
// where the record had lost the file, too, is a re-read, and where it had not an edit.
func TestCodexCalls(t *testing.T) {
	const file = `package ledger\n\nconst settlementWindow = 36 * time.Hour\n`
	const patch = `*** Update File: q.go\n@@\n-x\n+y\n*** Update File: ledger.go\n@@ func\n package ledger\n-const settlementWindow = 36 * time.Hour\n+const w = 1\n*** End Patch\n`
	words := strings.NewReplacer("$head", `Chunk ID: 7\nWall time: 0.07 seconds\nProcess exited with code 0\nOutput:\n`, "$file", file, "$patch", `*** Begin Patch\n`+patch, "$rest", patch)
	must.Rows(t, `
# name | tool | arguments | result | what is missed
the command again | exec_command | {"cmd":"cat ledger.go","workdir":"/w","yield_time_ms":1000} | $head$file | re-read
by another shell | shell | {"command":["bash","-lc","head -n 9 ledger.go"],"workdir":"/w"} | Exit code: 0\nWall time: 1 seconds\nOutput:\n$file | re-read
in another folder | exec_command | {"cmd":"cat ledger.go","workdir":"/v"} | $head$file | ""
with another output | exec_command | {"cmd":"cat ledger.go","workdir":"/w","yield_time_ms":1000} | $headwhat the file holds now, which is another text\n | ""
a patch alone | apply_patch | $patch | Exit code: 0\nWall time: 0 seconds\nOutput:\nSuccess | edit
a patch as input | apply_patch | {"input":"$patch"} | ok | edit
a patch without its first line | exec_command | {"cmd":"apply_patch <<'EOF'\n$restEOF\n"} | ok | edit
a patch by a command | exec_command | {"cmd":"apply_patch <<'EOF'\n$patchEOF\n"} | ok | edit
`, func(name, tool, input, output string, want regret.Evidence) {
		lines := `{"type":"session_meta","payload":{"id":"0199c0de-0000-7000-8000-000000000001","cwd":"/w","originator":"codex_cli_rs","cli_version":"0.140.0"}}
{"type":"turn_context","payload":{"cwd":"/w","model":"gpt-5.5"}}
{"type":"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_text","text":"go"}]}}
`
		total := 0
		call := func(id, tool, input, output string) {
			kind, field := "function_call", "arguments"
			if strings.HasPrefix(input, "*") {
				kind, field, input = "custom_tool_call", "input", strings.ReplaceAll(input, `\n`, "\n")
			}
			total += 1010
			lines += fmt.Sprintf(`{"type":"response_item","payload":{"type":%q,"call_id":%q,"name":%q,%q:%q}}
{"type":"event_msg","payload":{"type":"token_count","info":{"last_token_usage":{"input_tokens":1000,"output_tokens":10,"total_tokens":1010},"total_token_usage":{"total_tokens":%d,"input_tokens":%d,"output_tokens":1}}}}
{"type":"response_item","payload":{"type":"function_call_output","call_id":%q,"output":"%s"}}
`, kind, id, tool, field, input, total, total, id, output)
		}
		call("first", "exec_command", `{"cmd":"cat ledger.go","workdir":"/w","yield_time_ms":9}`, words.Replace(`Chunk ID: 1\nWall time: 0.01 seconds\nProcess exited with code 0\nOutput:\n$file`))
		call("filler", "exec_command", `{"cmd":"true"}`, "ok")
		call("again", tool, words.Replace(input), words.Replace(output))
		call("end", "exec_command", `{"cmd":"true && true"}`, "ok")
		lines = strings.ReplaceAll(lines, `{"type"`, `{"timestamp":"2026-02-01T10:00:00.000Z","type"`)
		f := must.Get(session.LoadReader("rollout-2026-02-01T10-00-00-0199c0de-0000-7000-8000-000000000001.jsonl", strings.NewReader(lines), session.LoadOptions{}))(t)
		t.Cleanup(func() { f.Close() })
		lost := []policy.Edit{clear(f.Main, 3, result(t, f.Main, "first"), "[cleared]")}
		for evidence, record := range map[regret.Evidence][]policy.Edit{regret.Reread: lost, regret.Edited: nil} {
			var got, expected []regret.Evidence
			for _, m := range judge(t, f.Main, record, lost).Misses {
				got = append(got, m.Evidence)
			}
			if want == evidence {
				expected = append(expected, want)
			}
			must.Equal(t, got, expected, name, evidence)
		}
	})
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
