package claude

import (
	"strconv"
	"strings"
	"testing"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/stage/stagetest"
)

func budget(t testing.TB, set string, args ...any) stagetest.Named {
	t.Helper()
	def := defineToolResultBudget()
	def.Params = stagetest.Params(t, def, "tool_max_chars: {}")
	return stagetest.Start(t, def, set, args...)
}

func TestBudgetPerResult(t *testing.T) {
	own := "max_chars: 100, tool_max_chars: {Grep: 20000, Bash: 30000, Read: none}"
	must.Rows(t, `
# name | parameters | tool | result | persisted
100,000                        | ""               | Other | result a {x*100000} | false
100,001                        | ""               | Other | result a {x*100001} | true
50,000                         | max_chars: 50000 | Other | result a {x*50000}  | false
50,001                         | max_chars: 50000 | Other | result a {x*50001}  | true
own limit replaces, not over   | OWN              | Grep  | result a {x*20000}  | false
own limit replaces, over       | OWN              | Grep  | result a {x*20001}  | true
Bash                           | OWN              | Bash  | result a {x*30000}  | false
Bash over                      | OWN              | Bash  | result a {x*30001}  | true
none                           | OWN              | Read  | result a {x*500000} | false
exempt                         | max_chars: 100, exempt_tools: ['mcp__*'] | mcp__x__y | result a {x*5000} | false
not exempt                     | max_chars: 100, exempt_tools: ['mcp__*'] | mcp       | result a {x*5000} | true
empty                          | max_chars: 0     | Other | result a ""         | false
one                            | max_chars: 0     | Other | result a x          | true
empty array                    | max_chars: 0     | Other | ARRAY               | false
array of an image              | max_chars: 50000 | Other | image a {x*60000}   | false
# [{"type":"text","text":"…"}] is 27 characters longer than its text.
array, compact JSON at the limit | max_chars: 50000 | Other | ARRAY {x*49973}   | false
array, one over                | max_chars: 50000 | Other | ARRAY {x*49974}     | true
array, escapes count           | max_chars: 50000 | Other | "ARRAY {\n*24987}"  | true
string, escapes do not         | max_chars: 50000 | Other | result a "{\n*50000}" | false
surrogate pairs are two        | max_chars: 50000 | Other | result a {😀*25000}  | false
surrogate pairs over           | max_chars: 50000 | Other | result a {😀*25000}x | true
persisted in the record        | max_chars: 50000 | Other | result a <persisted-output>{x*60000} | false
`, func(name, set, tool, result string, want bool) {
		c := stagetest.Talk(`prompt go; assistant use a %q`, tool)
		if text, ok := strings.CutPrefix(result, "ARRAY "); ok {
			c.Answers(stagetest.Results("a", text))
		} else if result == "ARRAY" {
			c.Answers(stagetest.Results("a"))
		} else {
			c.Play("answers %s", result)
		}
		c.Play(`assistant say done`)
		r := stagetest.NewRun(t, c, budget(t, strings.Replace(set, "OWN", own, 1))).All()
		must.Equal(t, r.Shown(2) != "", want, name)
		if want := len(r.View.Edits()); r.Texts.Fetched > want {
			t.Errorf("%s: %d texts fetched for %d edits", name, r.Texts.Fetched, want)
		}
	})
}

// The five-level analysis' example: 300 KB of Bash output.
func TestBudgetPipelineExample(t *testing.T) {
	c := stagetest.NewConvo()
	c.CWD = "/project"
	c.Play(`prompt "cat huge.log"; assistant use toolu_abc Bash`)
	at := c.Answers(stagetest.Result("toolu_abc", strings.Repeat("line\n", 317842/5)+"ab"))
	p := budget(t, "max_chars: 50000, size_style: chars")
	r := stagetest.NewRun(t, c, p).All()
	want := "<persisted-output> Output too large (317842 chars). Full output saved to: ~/.claude/projects/-project/session/tool-results/toolu_abc.txt Preview (first 2KB):"
	got := strings.Join(strings.Fields(r.Shown(at)), " ")
	must.Say(t, "true true", strings.HasPrefix(got, want), strings.HasSuffix(got, "line ... </persisted-output>"))
}

// The 2.1.19 analysis' stub, its numbers and its path's form.
func TestBudgetStub(t *testing.T) {
	text := strings.Repeat("0123456789", 13793) + "abc" // 137,933: 134.7KB
	c := stagetest.Talk(`prompt go`)
	at := c.Call("toolu_011FB334YmudsnxzixRg2Kza", "Bash", 0)
	c.Texts[policy.Target{Item: policy.ItemID(at)}] = text
	c.Messages[at].Blocks[0].Text = jsonl.Measure(text)
	r := stagetest.NewRun(t, c, stagetest.Start(t, defineToolResultBudget(), nil)).All()
	want := "<persisted-output>\nOutput too large (134.7KB). Full output saved to: ~/.claude/projects/-home-u-p/session/tool-results/toolu_011FB334YmudsnxzixRg2Kza.txt\n\n" +
		"Preview (first 2KB):\n" + text[:2000] + "\n...\n</persisted-output>"
	must.Equal(t, r.Shown(at), want)
}

func TestPreview(t *testing.T) {
	must.Rows(t, `
# name | text | preview | more
2,000 whole                | {x*2000}               | {x*2000}             | false
2,001 cut                  | {x*2001}               | {x*2000}             | true
newline at 1,000           | "{x*1000}\n{x*5000}"   | "{x*1000}\n{x*999}"  | true
newline at 1,001           | "{x*1001}\n{x*5000}"   | {x*1001}             | true
newline at 1,999           | "{x*1999}\n{x*5000}"   | {x*1999}             | true
newline at 2,000 is behind | "{x*2000}\n{x*5000}"   | {x*2000}             | true
the last of two            | "{x*1200}\n{x*300}\n{x*5000}" | "{x*1200}\n{x*300}" | true
positions are UTF-16 units | "{😀*500}\n{x*5000}"   | "{😀*500}\n{x*999}"  | true
and over                   | "{😀*500}x\n{x*5000}"  | {😀*500}x             | true
half a pair                | {x*1999}😀{x*10}        | {x*1999}\uFFFD       | true
a whole pair               | {x*1998}😀{x*10}        | {x*1998}😀            | true
empty                      | ""                     | ""                   | false
`, func(name, text, want string, wantMore bool) {
		got, more := preview(text, jsonl.Measure(text).UTF16, 2000)
		if got != strings.ReplaceAll(want, `\uFFFD`, "\uFFFD") || more != wantMore {
			t.Errorf("%s: %d characters, more %t; want %d, %t", name, len(got), more, len(want), wantMore)
		}
	})
}

func TestHumanSize(t *testing.T) {
	must.Rows(t, `
0          | 0B
512        | 512B
1023       | 1023B
1024       | 1KB
1075       | 1KB
1076       | 1.1KB
1280       | 1.3KB
2000       | 2KB
2048       | 2KB
51405      | 50.2KB
137933     | 134.7KB
1048575    | 1024KB
1048576    | 1MB
1572864    | 1.5MB
400001     | 390.6KB
5368709120 | 5120MB
`, func(n int, want string) {
		must.Equal(t, humanSize(n), want, n)
	})
}

// An array is saved as JSON indented by two; size and preview are that text's.
func TestBudgetArray(t *testing.T) {
	c := stagetest.Talk(`prompt go; assistant use a Task`)
	at := c.Answers(stagetest.Results("a", "one\ntwo <b>"))
	r := stagetest.NewRun(t, c, budget(t, "max_chars: 10")).All()
	want := "<persisted-output>\nOutput too large (58B). Full output saved to: ~/.claude/projects/-home-u-p/session/tool-results/a.json\n\n" +
		"Preview (first 2KB):\n[\n  {\n    \"type\": \"text\",\n    \"text\": \"one\\ntwo <b>\"\n  }\n]\n</persisted-output>"
	must.Equal(t, r.Shown(at), want)
}

// The same array out of a file keeps its parts, whatever they are.
func TestBudgetArrayOfFile(t *testing.T) {
	line := func(uuid, parent, rest string) string {
		return `{"uuid":"` + uuid + `","parentUuid":` + parent + `,"sessionId":"s","cwd":"/p","timestamp":"2026-01-25T12:00:00Z",` + rest + "}\n"
	}
	file := line("u1", "null", `"type":"user","message":{"role":"user","content":"go"}`) +
		line("u2", `"u1"`, `"type":"assistant","message":{"id":"m1","role":"assistant","model":"claude-opus-4-5","content":[{"type":"tool_use","id":"a","name":"Task","input":{}}],"usage":{"input_tokens":10,"output_tokens":5}}`) +
		line("u3", `"u2"`, `"type":"user","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":[{"type":"text","text":"é"},{"type":"x","list":[],"n":{}}]}]}`)
	f := must.Get(session.LoadReader("s.jsonl", strings.NewReader(file), session.LoadOptions{}))(t)
	defer f.Close()
	c := &stagetest.Convo{Conversation: f.Main, Texts: map[policy.Target]string{}}
	r := stagetest.NewRun(t, c, budget(t, "max_chars: 10")).All()
	want := "[\n  {\n    \"type\": \"text\",\n    \"text\": \"é\"\n  },\n  {\n    \"type\": \"x\",\n    \"list\": [],\n    \"n\": {}\n  }\n]\n</persisted-output>"
	if got := r.Shown(2); !strings.HasSuffix(got, "Preview (first 2KB):\n"+want) {
		t.Errorf("got %q", got)
	}
}

func TestBudgetPerMessage(t *testing.T) {
	must.Rows(t, `
# name | limit | round | want
at the limit          | 150000 | Bash 100000, Bash 50000 | null
one over: the largest | 200000 | Bash 50001, Bash 150000 | [1]
until under           | 100    | Bash 60, Bash 80, Bash 70 | [1,2]
the rest at the limit | 60     | Bash 60, Bash 80, Bash 70 | [1,2]
the rest over         | 59     | Bash 60, Bash 80, Bash 70 | [0,1,2]
equal ones: the first | 100    | Bash 60, Bash 60        | [0]
without a limit of its own not counted | 100    | Read 5000, Bash 100     | null
`, func(name string, theLimit int, round string, want []int) {
		for _, apart := range []bool{false, true} {
			c := stagetest.Talk(`prompt go`)
			var uses, res []stagetest.BlockText
			for i, x := range strings.Split(round, ", ") {
				id := string(rune('a' + i))
				tool, size, _ := strings.Cut(x, " ")
				n, _ := strconv.Atoi(size)
				uses, res = append(uses, stagetest.Use(id, tool)), append(res, stagetest.Result(id, strings.Repeat("x", n)))
			}
			c.Assistant(uses...)
			var at []policy.Target
			if apart { // each result in a message of its own
				for _, x := range res {
					at = append(at, policy.Target{Item: policy.ItemID(c.Answers(x))})
				}
			} else {
				m := c.Answers(res...)
				for b := range res {
					at = append(at, policy.Target{Item: policy.ItemID(m), Block: b})
				}
			}
			c.Play(`assistant say done`)
			r := stagetest.NewRun(t, c, budget(t, "max_message_chars: %d, tool_max_chars: {Read: none}", theLimit)).All()
			var got []int
			for i, x := range at {
				if r.View.Replacement(x) != nil {
					got = append(got, i)
				}
			}
			must.Equal(t, got, want, name, apart)
		}
	})
}

// Rounds do not add up, a round at the limit is left, and a result over its own limit is replaced once, at the
// request it first goes into.
func TestBudgetSticky(t *testing.T) {
	n := 100
	p := budget(t, "max_message_chars: %v, max_chars: 150", n)
	c := stagetest.Talk(`prompt go`)
	first := c.Call("a", "Bash", 90)
	c.Play(`call b Bash 90; assistant use c Bash use d Bash`)
	left := c.Answers(stagetest.Result("c", strings.Repeat("x", 60)))
	late := c.Answers(stagetest.Result("d", strings.Repeat("x", 40)))
	c.Prompt("and")
	big := c.Call("e", "Bash", 151)
	c.Play(`assistant say done`)
	r := stagetest.NewRun(t, c, p).All()
	must.Equal(t, r.Edits(), "persist@5 m10", "edits")
	for _, at := range []int{first, left, late} {
		must.Equal(t, r.Shown(at), "", at)
	}
	if !strings.HasPrefix(r.Shown(big), "<persisted-output>\nOutput too large (151B)") {
		t.Errorf("got %q", r.Shown(big))
	}
}

// What was seen and left counts with the new results of its message, and is itself not chosen.
func TestBudgetFrozenCounts(t *testing.T) {
	n := 100
	st := budget(t, "max_message_chars: %v", n)
	c := stagetest.Talk(`prompt go; assistant use a Bash use b Bash; answers result a x*90; answers result b x*20`)
	r := stagetest.NewRun(t, c, st)
	for m := range 3 {
		r.View.Join(m)
	}
	r.Fire(policy.Prepare, 1, policy.Context{}) // asked in between: the first result is frozen
	r.View.Join(3)
	r.Fire(policy.Prepare, 1, policy.Context{})
	must.Equal(t, r.Edits(), "persist@2 m3", "edits")
}
