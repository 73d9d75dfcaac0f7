package gemini

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/stage/stagetest"
)

func gemini(t testing.TB, set string, args ...any) stagetest.Named {
	t.Helper()
	def := defineGeminiCompression()
	def.Params = stagetest.Params(t, def, "summary: [{fixed: 500}]")
	return stagetest.Start(t, def, set, args...)
}

// The source's own cases.
func TestGeminiSplitCases(t *testing.T) {
	text := func(s string) func(*stagetest.Convo) { return func(c *stagetest.Convo) { c.Prompt(s) } }
	says := func(s string) func(*stagetest.Convo) {
		return func(c *stagetest.Convo) { c.Play(`assistant say %q`, s) }
	}
	for _, tt := range []struct {
		name     string
		preserve float64
		list     []func(*stagetest.Convo)
		want     int
	}{
		{"in the middle", 0.5, []func(*stagetest.Convo){text("This is the first message."), says("This is the second message."), text("This is the third message."), says("This is the fourth message."), text("This is the fifth message.")}, 4},
		{"at the last", 0.1, []func(*stagetest.Convo){text("This is the first message."), says("This is the second message."), text("This is the third message."), says("This is the fourth message."), text("This is the fifth message.")}, 4},
		{"behind the last", 0.2, []func(*stagetest.Convo){text("This is the first message."), says("This is the second message."), text("This is the third message."), says("This is the fourth message.")}, 4},
		{"none behind the threshold", 0.01, []func(*stagetest.Convo){text("This is the first message."), says("This is the second message."), text("This is the third message."), func(c *stagetest.Convo) { c.Play(`assistant use a foo`) }}, 2},
		{"none but the first", 0.2, []func(*stagetest.Convo){text("go"), func(c *stagetest.Convo) { c.Play(`assistant use a foo`) }}, 0},
	} {
		c := stagetest.NewConvo()
		for _, f := range tt.list {
			f(c)
		}
		r := stagetest.NewRun(t, c)
		r.Join()
		s := gemini(t, "preserve: %v", tt.preserve).Stage.(*geminiCompression)
		must.Equal(t, s.split(contents(r.View, nil), r.View.IDs()), tt.want, tt.name)
	}
}

// talks is n prompts with an answer each, of so many characters.
func talks(n, size int) *stagetest.Convo {
	c := stagetest.NewConvo()
	for range n {
		c.Play(`prompt x*%d; assistant say done`, size)
	}
	return c
}

func TestGeminiThreshold(t *testing.T) {
	must.Rows(t, `
# share | prompt | want
0.5  | 99999  | false
0.5  | 100000 | true
0.5  | 100001 | true
0.7  | 139999 | false
0.7  | 140000 | true
0.2  | 39999  | false
0.2  | 40000  | true
0.95 | 189999 | false
0.95 | 190000 | true
0    | 700    | true
0    | 0      | false
`, func(share float64, prompt int, theWant bool) {
		c := talks(4, 400)
		c.Prompt("next")
		r := stagetest.NewRun(t, c, gemini(t, "threshold: %v", share))
		r.Join()
		r.Last = policy.Response{Known: true, Message: 7, Usage: jsonl.Usage{Input: prompt / 2, CacheWrite: prompt - prompt/2, Output: 50000}}
		r.Fire(policy.Prepare, 4, policy.Context{})
		want := "m0-m8"
		if theWant { // the fourth prompt stands at 75 %
			want = "summary acknowledgement m6-m8"
		}
		must.Equal(t, r.Order(), want, share, prompt)
	})
}

// The definition's example: user messages at 0, 40 and 72 % of the characters.
func TestGeminiExample(t *testing.T) {
	const want = "summary acknowledgement m4-m6"
	for _, at := range []int{72, 69} { // at 69 % too: behind it there is no other place
		c := stagetest.NewConvo()
		for _, n := range []int{40, at - 40, 100 - at} {
			c.Play(`prompt x*%d; assistant use %v Read`, 1000*n, n)
			if n != 100-at {
				c.Messages[len(c.Messages)-1].Blocks[0] = stagetest.Say("done").Block
			}
		}
		c.Answers(stagetest.Result(fmt.Sprint(100-at), "x"))
		r := stagetest.NewRun(t, c, gemini(t, ""))
		r.Join()
		r.Last = policy.Response{Known: true, Message: 5, Usage: jsonl.Usage{Input: 100000}}
		r.Fire(policy.Prepare, 3, policy.Context{})
		must.Equal(t, r.Order(), want, at)
	}
}

// Before the newest 50,000 tokens of results nothing is cut; the one that is over is, and what is left of it counts.
func TestGeminiResponseBudget(t *testing.T) {
	line := strings.Repeat("y", 79) + "\n"
	must.Rows(t, `
[40000, 160000]       | null
[40004, 160000]       | [0]
[40003, 160000]       | null  # rounded down
[40000, 200000]       | [0]
[400, 200004, 400]    | [1]  # the cut one leaves room for the oldest
[196000, 200004, 400] | [1]
[197600, 200004, 400] | [0, 1]  # but not for so much: 30 lines are some 600 tokens
[200004]              | [0]
[200000]              | null
`, func(chars, want []int) {
		c := stagetest.Talk(`prompt old; assistant say done; prompt go`)
		var at []int
		for i, n := range chars {
			c.Play(`assistant use %v Read`, i)
			at = append(at, c.Answers(stagetest.Result(fmt.Sprint(i), strings.Repeat(line, n/80)+strings.Repeat("z", n%80))))
		}
		c.Play(`assistant use last Read; answers result last p*400000  # about to be sent: no part of the history`)
		r := stagetest.NewRun(t, c, gemini(t, "cut: lines"))
		r.Join()
		r.Last = policy.Response{Known: true, Usage: jsonl.Usage{Input: 150000}}
		r.Fire(policy.Prepare, 9, policy.Context{})
		var got []int
		for i, m := range at {
			if r.Shown(m) != "" {
				got = append(got, i)
			}
		}
		must.Equal(t, got, want, chars)
	})
}

func TestGeminiCutText(t *testing.T) {
	line := func(n int) string { return strings.Repeat("x", n) }
	lines := func(n int) string {
		list := make([]string, n)
		for i := range list {
			list[i] = fmt.Sprint(i + 1)
		}
		return strings.Join(list, "\n")
	}
	for _, tt := range []struct {
		name, cut, text, want string
	}{
		{"30 of 31 lines", "lines", lines(31), "Output too large. Showing the last 30 of 31 lines. For full output see: F\n...\n" + strings.TrimPrefix(lines(31), "1\n")},
		{"30 lines", "lines", lines(30), "Output too large. Showing the last 30 of 30 lines. For full output see: F\n...\n" + lines(30)},
		{"three lines", "lines", "{\n  \"output\": 1\n}", "Output too large. Showing the last 3 of 3 lines. For full output see: F\n...\n{\n  \"output\": 1\n}"},
		{"lines of 1,000", "lines", "a\n" + line(1000), "Output too large. Showing the last 2 of 2 lines. For full output see: F\n...\na\n" + line(1000)},
		{"lines of 1,001", "lines", "a\n" + line(1001), "Output too large. Showing the last 2 of 2 lines (some long lines truncated). For full output see: F\n...\na\n" + line(1000) + "... [LINE WIDTH TRUNCATED]"},
		{"one line", "lines", "a" + line(4000), "Output too large. Showing the last 4,000 characters of the output. For full output see: F\n..." + line(4000)},
		{"40,000 characters", "chars", line(40000), line(40000)},
		{"40,001 characters", "chars", "h" + line(39999) + "t", "Output too large. Showing first 8,000 and last 32,000 characters. For full output see: F\nh" + line(7999) + "\n\n... [1 characters omitted] ...\n\n" + line(31999) + "t"},
		{"a million more", "chars", line(1040000), "Output too large. Showing first 8,000 and last 32,000 characters. For full output see: F\n" + line(8000) + "\n\n... [1,000,000 characters omitted] ...\n\n" + line(32000)},
	} {
		s := gemini(t, "cut: %v", tt.cut).Stage.(*geminiCompression)
		must.Equal(t, s.cutText(tt.text, "F", 40000), tt.want, tt.name)
	}
}

func TestGeminiTextTokens(t *testing.T) {
	must.Rows(t, `
""         | 0
abc        | 0
abcd       | 1
é          | 1
日本         | 2
日本語        | 3
😀          | 2
abc日       | 2
日日日日日日日日日日 | 13  # 1.3 ten times is a little more than 13
{日*100000} | 129999
{日*100001} | 25000
{x*100003} | 25000
`, func(text string, want int) {
		if got := (estimate{other: 1.3}).text(text); got != want && !(want == 129999 && got == 130000) {
			t.Errorf("%.20q: %d tokens, want %d", text, got, want)
		}
	})
}

// Where a compression would make the history larger it is given up, and results alone are cut from then on, once.
func TestGeminiFailed(t *testing.T) {
	c := talks(2, 40)
	c.Prompt("go")
	old := c.Call("old", "Read", 4*2000)
	c.Play(`call new Read %d; assistant use last Read; answers result last x`, 4*900)
	p := gemini(t, "summary: [{fixed: 5000}], response_budget: 1000, threshold: 0, cut: chars, cut_chars: 100")
	r := stagetest.NewRun(t, c, p)
	r.Join()
	r.Last = policy.Response{Known: true, Usage: jsonl.Usage{Input: 4000}}
	for range 3 {
		r.Fire(policy.Prepare, 5, policy.Context{})
	}
	if diff := cmp.Diff(fmt.Sprintf("fail@6, persist@6 m%d", old), r.Edits()); diff != "" {
		t.Fatalf("-want +got\n%s", diff)
	}
	// The call was made, and checked, whatever became of it.
	e := r.View.Edits()[0]
	if e.Call.Output != 5000 || e.Call.Input <= 1000 || e.Call.Then == nil || e.Call.Then.Output != 5000 || e.Call.Then.Input != e.Call.Input+5000+83 || len(e.Items) == 0 || e.Before != e.After {
		t.Errorf("the call that was thrown away: %+v, %+v", e, e.Call)
	}
	r.Fire(policy.Manual, 5, policy.Context{}) // by hand it is tried again, and thrown away again
	n := len(r.View.Edits())
	must.Say(t, "3 fail manual 0", n, r.View.Edits()[2].Kind, r.View.Edits()[2].Trigger, r.View.Epoch())
	r.Last.Usage.Input = 400000
	r.Fire(policy.Manual, 5, policy.Context{})
	must.Equal(t, r.View.Epoch(), 1)
	// One that succeeded lets automatic ones be tried again.
	r.Last = policy.Response{Known: true, Usage: jsonl.Usage{Input: 400000}}
	r.Fire(policy.Prepare, 6, policy.Context{})
	must.Equal(t, r.View.Epoch(), 2)
}

// While nothing can be split it waits for a prompt, or an answer without calls.
func TestGeminiWaits(t *testing.T) {
	c := stagetest.Talk(`prompt go`)
	for i := range 10 {
		c.Play(`call %v Read 4000`, i)
	}
	c.Play(`assistant say done; prompt more; call a Read 40; assistant say done`)
	r := stagetest.NewRun(t, c, gemini(t, "threshold: 0"))
	r.Overhead = 10000
	r.All()
	if got := r.Edits(); !strings.HasPrefix(got, "summarize@12") {
		t.Errorf("edits %v: want the first at request 12, after the answer", got)
	}
}

// What is summarised is sent twice: for the summary, and for its check.
func TestGeminiCalls(t *testing.T) {
	must.Rows(t, `
200000 | true  | true
200000 | false | true
10000  | true  | false
`, func(window int, verify, whole bool) {
		c := stagetest.Talk(`
prompt old; assistant think t*4000 use a Read; answers result a "line\n"*8000  # 10,000 tokens
assistant say done; prompt go
`)
		p := gemini(t, "verify: %v, response_budget: 5000, cut: lines", verify)
		r := stagetest.NewRun(t, c, p)
		r.Window = window
		r.Join()
		r.Last = policy.Response{Known: true, Usage: jsonl.Usage{Input: 150000}}
		r.Fire(policy.Prepare, 5, policy.Context{})
		e := r.View.Edits()[0]
		input := 1000 + 1 + 4 + 1 + 10000 // no thinking
		if !whole {
			input = 1000 + 1 + 4 + 1 + policy.RoundQuarter(len("Output too large. Showing the last 30 of 8001 lines. For full output see: ~/.gemini/tmp/tool-outputs/read_a.txt\n...\n")+29*5)
		}
		want := &policy.Call{Kind: "compaction", Prompt: 1000, Prefix: "own", Input: input, Output: 500}
		if verify {
			want.Then = &policy.Call{Kind: "compaction", Prompt: 1083, Prefix: "own", Input: input + 500 + 83, Output: 500}
		}
		must.Equal(t, e.Call, want, window)
	})
}
