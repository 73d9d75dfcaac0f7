package generic

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/stage/stagetest"
)

// run is a stage on a conversation, with parameters as a policy sets them.
func run(t *testing.T, c *stagetest.Convo, def policy.Definition, set string) *stagetest.Bench {
	t.Helper()
	return stagetest.NewRun(t, c, stagetest.Start(t, def, set)).All()
}

func TestMask(t *testing.T) {
	parallel := stagetest.Talk(`prompt go`)
	for i := range 2 {
		parallel.Play(`
assistant use a%[1]d Read use b%[1]d Bash use d%[1]d Read
answers result a%[1]d x*400 result b%[1]d x*400 result d%[1]d x*400
`, i)
	}
	asked := stagetest.NewConvo()
	for i := range 4 {
		asked.Play(`prompt "go on"; call a%[1]d Read 400; call b%[1]d Read 400; assistant say done`, i)
		if i == 2 {
			asked.Play(`queued "and this"`) // begins no turn
		}
	}
	convos := map[string]*stagetest.Convo{"short": stagetest.RoundsOf(5, 20), "parallel": parallel.Play(`assistant say done`), "asked": asked}
	for n := range 3 { // results of 100 tokens: m2, m4 …
		convos[fmt.Sprint(n+4)] = stagetest.Uses(n + 4)
	}
	must.Rows(t, `
# name | conversation or rounds | parameters | edits
the newest stay         | 5        | keep: 2                         | clear@4 m2, clear@5 m4, clear@6 m6
in steps                | 6        | keep: 2, step: 3                | clear@6 m2, clear@6 m4, clear@6 m6
fewer than the step     | 4        | keep: 2, step: 3                | ""
fewer than are kept     | 5        | keep: 5                         | ""
tokens                  | 5        | by: tokens, keep: 250, step: 1  | clear@4 m2, clear@5 m4, clear@6 m6
tokens, to the last     | 4        | by: tokens, keep: 300, step: 1  | clear@5 m2
steps of tokens         | 6        | by: tokens, keep: 200, step: 300 | clear@6 m2, clear@6 m4, clear@6 m6
what was not sent stays | parallel | keep: 1                         | clear@3 m2, clear@3 m2.1, clear@3 m2.2
one tool                | parallel | "keep: 1, tools: [Read]"        | clear@3 m2, clear@3 m2.2
all but one tool        | parallel | "keep: 1, exclude_tools: [Re*]" | clear@3 m2.1
turns                   | asked    | by: turns, keep: 2              | clear@7 m2, clear@7 m4, clear@10 m8, clear@10 m10
steps of turns          | asked    | by: turns, keep: 2, step: 2     | clear@10 m2, clear@10 m4, clear@10 m8, clear@10 m10
short results           | short    | keep: 1                         | ""
`, func(name, convo, set, want string) {
		must.Equal(t, run(t, convos[convo], defineMask(), set).Edits(), want, name)
	})
}

func TestDedupe(t *testing.T) {
	must.Rows(t, `
# name | results | parameters | edits
the newest stays              | y*400 other y*400 y*400  | ""            | clear@4 m2, clear@5 m6
another of the same length    | y*400 z*400              | ""            | ""
once enough is saved          | y*400 y*400 y*400 y*400  | step: 150     | clear@4 m2, clear@4 m4
small ones                    | same same                | ""            | ""
no gain                       | same same                | min_tokens: 0 | ""
an image                      | image image              | ""            | ""
other tools                   | y*400 y*400              | tools: [Read] | ""
`, func(name, results, set, want string) {
		c := stagetest.Talk(`prompt go`)
		for i, text := range strings.Fields(results) {
			kind := "result"
			if text == "image" {
				kind, text = "image", "y*400"
			}
			c.Play(`assistant calling t%d Bash "{\"command\":\"go test ./...\"}"; answers %s t%d %s`, i, kind, i, text)
		}
		r := run(t, c.Play(`assistant say done`), defineDedupe(), set)
		must.Equal(t, r.Edits(), want, name)
		for _, e := range r.View.Edits() {
			must.Equal(t, e.New.Text, "[The same as a newer result of Bash go test ./...]", name)
		}
	})
}

func TestSupersede(t *testing.T) {
	long := strings.Repeat("x", 800)
	var numbered strings.Builder
	for n := range 100 {
		fmt.Fprintf(&numbered, "%6d\tthis is one line of the file\n", n+1)
	}
	results := map[string]string{
		"fails": "error: " + long, "shows 100 lines": numbered.String(), "unchanged": session.UnchangedFile + ". See above.",
		"wasted": "Wasted call — file unchanged since your last Read. Refer to that earlier tool_result instead.",
	}
	// The first result is m2, the second m4 …
	must.Rows(t, `
# name | calls, with what they say unless that is 800 characters | parameters | edits
a file read again                    | read; read                         | "" | clear@3 m2
three times                          | read; read; read                   | "" | clear@3 m2, clear@4 m4
another file                         | read; Read "file_path":"/p/b.go"   | "" | ""
the same file by another path        | read; Read "file_path":"/p/./x/../a.go" | "" | clear@3 m2
a relative path                      | Read "file_path":"/home/u/p/a.go"; Read "file_path":"a.go" | "" | clear@3 m2
lines within others                  | lines 10,20; lines 1,40            | "" | clear@3 m2
the same lines                       | lines 10,20; lines 10,20           | "" | clear@3 m2
lines beyond others                  | lines 10,20; lines 11,40           | "" | ""
all, and lines of it                 | read; lines 1,400                  | "" | ""
lines, and all                       | lines 10,20; read                  | "" | clear@3 m2
lines behind what is shown of a long file | lines 90,20; read > shows 100 lines | "" | ""
lines that are shown of a long file  | lines 80,20; read > shows 100 lines | "" | clear@3 m2
to the end, and all                  | Read "file_path":"/p/a.go","offset":10; read | "" | clear@3 m2
unchanged                            | read; read > unchanged             | "" | ""
unchanged, in other words            | read; read > wasted                | "" | ""
a read that failed                   | read; read > fails                 | "" | ""
a failure, and a read                | read > fails; read                 | "" | clear@3 m2
an edit leaves the read              | read; edit                         | "" | ""
edits until the file is read         | edit; edit; lines 1,50; read       | "" | clear@5 m2, clear@5 m4, clear@5 m6
written as a whole                   | read; edit; write; write           | "" | clear@4 m2, clear@4 m4, clear@5 m6
a search again                       | search; search                     | "" | clear@3 m2
a search in a file that is read      | search; read                       | "" | clear@3 m2
a search again, and its file         | search; search; read               | "" | clear@3 m2, clear@4 m4
another search                       | search; Grep "pattern":"y","path":"/p/a.go" | "" | ""
a command again                      | test; test                         | "" | clear@3 m2
a command that failed then           | test; test > fails                 | "" | ""
another command                      | test; Bash "command":"go test ."   | "" | ""
no input that means anything         | Read 7; Read 7; Bash; Bash         | "" | ""
not reads                            | read; edit; read                   | reads: false | clear@4 m4
once enough is saved                 | read; read; read                   | step: 300 | clear@4 m2, clear@4 m4
not a tool's                         | read; read; test; test             | exclude_tools: [Read] | clear@5 m6
`, func(name, calls, set, want string) {
		c := stagetest.Talk(`prompt go`)
		for i, call := range strings.Split(calls, "; ") {
			call, says, _ := strings.Cut(call, " > ")
			tool, input, _ := strings.Cut(call, " ")
			switch call {
			case "read":
				tool, input = "Read", `"file_path":"/p/a.go"`
			case "edit":
				tool, input = "Edit", `"file_path":"/p/a.go","old_string":"x","new_string":"y"`
			case "write":
				tool, input = "Write", `"file_path":"/p/a.go","content":"x"`
			case "search":
				tool, input = "Grep", `"pattern":"x","path":"/p/a.go"`
			case "test":
				tool, input = "Bash", `"command":"go test ./..."`
			}
			if tool == "lines" {
				tool, input = "Read", `"file_path":"/p/a.go","offset":`+strings.Replace(input, ",", `,"limit":`, 1)
			}
			if input != "7" {
				input = "{" + input + "}"
			}
			result, answer := results[says], "result"
			switch says {
			case "fails":
				answer = "failing"
			case "":
				result = long
			}
			c.Play(`assistant calling t%d %s %q; answers %s t%d %q`, i, tool, input, answer, i, result)
		}
		must.Equal(t, run(t, c.Play(`assistant say done`), defineSupersede(), set).Edits(), want, name)
	})
}

func TestSupersedeText(t *testing.T) {
	c := stagetest.Talk(`prompt go`)
	for i, call := range []string{`Read "{\"file_path\":\"/p/a.go\"}"`, fmt.Sprintf(`Bash "{\"command\":\"%0100d\"}"`, 0), `Bash "{\"command\":\"make\\nmake test\"}"`} {
		c.Play(`assistant calling a%[1]d %[2]s; answers result a%[1]d x*900; assistant calling b%[1]d %[2]s; answers result b%[1]d x*900`, i, call)
	}
	c.Play(`assistant say done`)
	r := run(t, c, defineSupersede(), "")
	must.Rows(t, `
# m | want
2  | [Superseded by a newer result of Read /p/a.go]
6  | [Superseded by a newer result of Bash {0*80}…]
10 | [Superseded by a newer result of Bash make…]
`, func(m int, want string) {
		must.Equal(t, r.Shown(m), want)
	})
}

func TestTruncateResults(t *testing.T) {
	lines := func(n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, "line %03d\n", i) // 9 characters
		}
		return b.String()
	}
	written := func(short string) string {
		return regexp.MustCompile(`\{.*?\}`).ReplaceAllStringFunc(short, func(part string) string {
			var a, b int
			fmt.Sscanf(part, "{%d-%d}", &a, &b)
			return lines(80)[9*a : 9*b+9]
		})
	}
	must.Rows(t, `
# name | text: {FIRST-LAST} are lines | parameters | what stays
short                      | {0-39}          | max_tokens: 100 | ""
head and tail              | {0-79}          | max_tokens: 36  | "{0-7}\n[… 64 lines, 576 characters left out …]\n{72-79}"
head alone                 | {0-79}          | max_tokens: 36, head: 1 | "{0-15}\n[… 64 lines, 576 characters left out …]\n"
tail alone                 | {0-79}          | max_tokens: 36, head: 0 | "\n[… 64 lines, 576 characters left out …]\n{64-79}"
lines                      | {0-79}          | max_tokens: 0, max_lines: 4, head: 0.75 | "{0-2}\n[… 76 lines, 684 characters left out …]\n{79-79}"
as many lines              | {0-79}          | max_tokens: 0, max_lines: 80 | ""
no newline at the end      | {0-78}line 079  | max_tokens: 0, max_lines: 2 | "{0-0}\n[… 78 lines, 702 characters left out …]\nline 079"
both, the smaller holds    | {0-79}          | max_tokens: 72, max_lines: 4 | "{0-1}\n[… 76 lines, 684 characters left out …]\n{78-79}"
no line ends               | {é*400}         | max_tokens: 50, max_lines: 2 | "{é*100}\n[… 200 characters left out …]\n{é*100}"
bytes                      | {0-79}          | max_tokens: 0, max_bytes: 144 | "{0-7}\n[… 64 lines, 576 characters left out …]\n{72-79}"
as many bytes              | {0-79}          | max_tokens: 0, max_bytes: 720 | ""
tokens and bytes, the smaller holds | {0-79} | max_tokens: 36, max_bytes: 500 | "{0-7}\n[… 64 lines, 576 characters left out …]\n{72-79}"
not put into a file        | {0-79}          | max_tokens: 36, offloaded: true | ""
no gain                    | {é*404}         | max_tokens: 100 | ""
nothing stays              | x               | max_tokens: 0, max_lines: 0 | ""
`, func(name, text, set, want string) {
		r := run(t, stagetest.Talk(`prompt go; assistant use t Bash; answers result t %q; assistant say done`, written(text)), defineTruncateResults(), set)
		must.Equal(t, r.Shown(2), written(want), name)
	})
}

// A result with an image is left alone, and so is one of a tool that is left out.
func TestTruncateResultsLeaves(t *testing.T) {
	c := stagetest.Talk(`prompt go; assistant use a Read use b Bash use d Read; answers image a x*4000 result b x*4000 result d x*4000; assistant say done`)
	r := run(t, c, defineTruncateResults(), "max_tokens: 100, exclude_tools: [Bash]")
	must.Equal(t, r.Edits(), "truncate@2 m2.2")
}
