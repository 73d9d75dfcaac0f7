package generic

import (
	"fmt"
	"strings"
	"testing"

	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/stage/stagetest"
)

// with changes the defaults of a stage's parameters.
func with[P any](def policy.Definition, change func(*P)) *P {
	p := *def.Params.(*P)
	change(&p)
	return &p
}

// run is a stage on a conversation.
func run(t *testing.T, c *stagetest.Convo, def policy.Definition, params any) *stagetest.Bench {
	t.Helper()
	return stagetest.NewRun(t, c, stagetest.Start(t, def, params)).All()
}

func TestMask(t *testing.T) {
	rounds := stagetest.Uses // results of 100 tokens: m2, m4 …
	parallel := func() *stagetest.Convo {
		c := stagetest.Talk(`prompt go`)
		for i := range 2 {
			a, b, d := fmt.Sprint("a", i), fmt.Sprint("b", i), fmt.Sprint("d", i)
			c.Play(`assistant use %q Read use %q Bash use %q Read`, a, b, d)
			text := strings.Repeat("x", 400)
			c.Play(`answers result %q %q result %q %q result %q %q`, a, text, b, text, d, text)
		}
		c.Play(`assistant say done`)
		return c
	}
	asked := func() *stagetest.Convo {
		c := stagetest.NewConvo()
		for i := range 4 {
			c.Prompt("go on")
			c.Call(fmt.Sprint("a", i), "Read", 400)
			c.Call(fmt.Sprint("b", i), "Read", 400)
			c.Play(`assistant say done`)
			if i == 2 { // a prompt while the agent works begins no turn
				c.Messages[c.Prompt("and this")].Marks |= session.Queued
			}
		}
		return c
	}
	for _, tt := range []struct {
		name   string
		convo  *stagetest.Convo
		change func(*Mask)
		want   []string
	}{
		{"the newest stay", rounds(5), func(p *Mask) { p.Keep = 2 }, []string{"clear@4 m2", "clear@5 m4", "clear@6 m6"}},
		{"in steps", rounds(6), func(p *Mask) { p.Keep, p.Step = 2, 3 }, []string{"clear@6 m2", "clear@6 m4", "clear@6 m6"}},
		{"fewer than the step", rounds(4), func(p *Mask) { p.Keep, p.Step = 2, 3 }, nil},
		{"fewer than are kept", rounds(5), func(p *Mask) { p.Keep = 5 }, nil},
		{"tokens", rounds(5), func(p *Mask) { p.By, p.Keep, p.Step = byTokens, 250, 1 }, []string{"clear@4 m2", "clear@5 m4", "clear@6 m6"}},
		{"tokens, to the last", rounds(4), func(p *Mask) { p.By, p.Keep, p.Step = byTokens, 300, 1 }, []string{"clear@5 m2"}},
		{"steps of tokens", rounds(6), func(p *Mask) { p.By, p.Keep, p.Step = byTokens, 200, 300 }, []string{"clear@6 m2", "clear@6 m4", "clear@6 m6"}},
		{"what was not sent stays", parallel(), func(p *Mask) { p.Keep = 1 }, []string{"clear@3 m2", "clear@3 m2.1", "clear@3 m2.2"}},
		{"one tool", parallel(), func(p *Mask) { p.Keep, p.Tools.Tools = 1, []string{"Read"} }, []string{"clear@3 m2", "clear@3 m2.2"}},
		{"all but one tool", parallel(), func(p *Mask) { p.Keep, p.Exclude = 1, []string{"Re*"} }, []string{"clear@3 m2.1"}},
		{"turns", asked(), func(p *Mask) { p.By, p.Keep = byTurns, 2 }, []string{"clear@7 m2", "clear@7 m4", "clear@10 m8", "clear@10 m10"}},
		{"steps of turns", asked(), func(p *Mask) { p.By, p.Keep, p.Step = byTurns, 2, 2 }, []string{"clear@10 m2", "clear@10 m4", "clear@10 m8", "clear@10 m10"}},
		{"short results", stagetest.RoundsOf(5, 20), func(p *Mask) { p.Keep = 1 }, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := run(t, tt.convo, defineMask(), with(defineMask(), tt.change))
			stagetest.Same(t, tt.want, r.Edits())
		})
	}
}

func TestDedupe(t *testing.T) {
	long := strings.Repeat("y", 400)
	convo := func(texts ...string) *stagetest.Convo {
		c := stagetest.Talk(`prompt go`)
		for i, text := range texts {
			id := fmt.Sprint("t", i)
			c.Play(`assistant calling %q Bash "{\"command\":\"go test ./...\"}"`, id)
			if text == stagetest.Image {
				c.Answers(stagetest.Results(id, long, stagetest.Image))
			} else {
				c.Play(`answers result %q %q`, id, text)
			}
		}
		c.Play(`assistant say done`)
		return c
	}
	for _, tt := range []struct {
		name   string
		convo  *stagetest.Convo
		change func(*Dedupe)
		want   []string
	}{
		{"the newest stays", convo(long, "other", long, long), func(*Dedupe) {}, []string{"clear@4 m2", "clear@5 m6"}},
		{"another of the same length", convo(long, strings.Repeat("z", 400)), func(*Dedupe) {}, nil},
		{"once enough is saved", convo(long, long, long, long), func(p *Dedupe) { p.Step = 150 }, []string{"clear@4 m2", "clear@4 m4"}},
		{"small ones", convo("same text", "same text"), func(p *Dedupe) {}, nil},
		{"no gain", convo("same text", "same text"), func(p *Dedupe) { p.MinTokens = 0 }, nil},
		{"an image", convo(stagetest.Image, stagetest.Image), func(*Dedupe) {}, nil},
		{"other tools", convo(long, long), func(p *Dedupe) { p.Tools.Tools = []string{"Read"} }, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := run(t, tt.convo, defineDedupe(), with(defineDedupe(), tt.change))
			stagetest.Same(t, tt.want, r.Edits())
			for _, e := range r.View.Edits() {
				if want := "[The same as a newer result of Bash go test ./...]"; e.New.Text != want {
					t.Errorf("%q, want %q", e.New.Text, want)
				}
			}
		})
	}
}

func TestSupersede(t *testing.T) {
	type call struct{ tool, input, result string }
	long := strings.Repeat("x", 800)
	numbered := func(to int) string {
		var b strings.Builder
		for n := 1; n <= to; n++ {
			fmt.Fprintf(&b, "%6d\tthis is one line of the file\n", n)
		}
		return b.String()
	}
	read := func(input string) call { return call{"Read", `{"file_path":"/p/a.go"` + input + `}`, long} }
	lines := func(from, limit int) call { return read(fmt.Sprintf(`,"offset":%d,"limit":%d`, from, limit)) }
	edit := call{"Edit", `{"file_path":"/p/a.go","old_string":"x","new_string":"y"}`, long}
	write := call{"Write", `{"file_path":"/p/a.go","content":"x"}`, long}
	search := call{"Grep", `{"pattern":"x","path":"/p/a.go"}`, long}
	test := call{"Bash", `{"command":"go test ./..."}`, long}
	other := func(c call, result string) call { return call{c.tool, c.input, result} }
	failed := func(c call) call { return other(c, "error: "+long) }
	for _, tt := range []struct {
		name  string
		calls []call
		want  []string // the first result is m2, the second m4 …
		set   func(*Supersede)
	}{
		{"a file read again", []call{read(""), read("")}, []string{"clear@3 m2"}, nil},
		{"three times", []call{read(""), read(""), read("")}, []string{"clear@3 m2", "clear@4 m4"}, nil},
		{"another file", []call{read(""), {"Read", `{"file_path":"/p/b.go"}`, long}}, nil, nil},
		{"the same file by another path", []call{read(""), {"Read", `{"file_path":"/p/./x/../a.go"}`, long}}, []string{"clear@3 m2"}, nil},
		{"a relative path", []call{{"Read", `{"file_path":"/home/u/p/a.go"}`, long}, {"Read", `{"file_path":"a.go"}`, long}}, []string{"clear@3 m2"}, nil},
		{"lines within others", []call{lines(10, 20), lines(1, 40)}, []string{"clear@3 m2"}, nil},
		{"the same lines", []call{lines(10, 20), lines(10, 20)}, []string{"clear@3 m2"}, nil},
		{"lines beyond others", []call{lines(10, 20), lines(11, 40)}, nil, nil},
		{"all, and lines of it", []call{read(""), lines(1, 400)}, nil, nil},
		{"lines, and all", []call{lines(10, 20), read("")}, []string{"clear@3 m2"}, nil},
		{"lines behind what is shown of a long file", []call{lines(90, 20), other(read(""), numbered(100))}, nil, nil},
		{"lines that are shown of a long file", []call{lines(80, 20), other(read(""), numbered(100))}, []string{"clear@3 m2"}, nil},
		{"to the end, and all", []call{read(`,"offset":10`), read("")}, []string{"clear@3 m2"}, nil},
		{"unchanged", []call{read(""), other(read(""), session.UnchangedFile+". See above.")}, nil, nil},
		{"unchanged, in other words", []call{read(""), other(read(""), "Wasted call — file unchanged since your last Read. Refer to that earlier tool_result instead.")}, nil, nil},
		{"a read that failed", []call{read(""), failed(read(""))}, nil, nil},
		{"a failure, and a read", []call{failed(read("")), read("")}, []string{"clear@3 m2"}, nil},
		{"an edit leaves the read", []call{read(""), edit}, nil, nil},
		{"edits until the file is read", []call{edit, edit, lines(1, 50), read("")}, []string{"clear@5 m2", "clear@5 m4", "clear@5 m6"}, nil},
		{"written as a whole", []call{read(""), edit, write, write}, []string{"clear@4 m2", "clear@4 m4", "clear@5 m6"}, nil},
		{"a search again", []call{search, search}, []string{"clear@3 m2"}, nil},
		{"a search in a file that is read", []call{search, read("")}, []string{"clear@3 m2"}, nil},
		{"a search again, and its file", []call{search, search, read("")}, []string{"clear@3 m2", "clear@4 m4"}, nil},
		{"another search", []call{search, {"Grep", `{"pattern":"y","path":"/p/a.go"}`, long}}, nil, nil},
		{"a command again", []call{test, test}, []string{"clear@3 m2"}, nil},
		{"a command that failed then", []call{test, failed(test)}, nil, nil},
		{"another command", []call{test, {"Bash", `{"command":"go test ."}`, long}}, nil, nil},
		{"no input that means anything", []call{{"Read", `7`, long}, {"Read", `7`, long}, {"Bash", `{}`, long}, {"Bash", `{}`, long}}, nil, nil},
		{"not reads", []call{read(""), edit, read("")}, []string{"clear@4 m4"}, func(p *Supersede) { p.Reads = false }},
		{"once enough is saved", []call{read(""), read(""), read("")}, []string{"clear@4 m2", "clear@4 m4"}, func(p *Supersede) { p.Step = 300 }},
		{"not a tool's", []call{read(""), read(""), test, test}, []string{"clear@5 m6"}, func(p *Supersede) { p.Exclude = []string{"Read"} }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := stagetest.Talk(`prompt go`)
			for i, k := range tt.calls {
				id := fmt.Sprint("t", i)
				c.Play(`assistant calling %q %q %q`, id, k.tool, k.input)
				result := stagetest.Result(id, k.result)
				result.IsError = strings.HasPrefix(k.result, "error: ")
				c.Answers(result)
			}
			c.Play(`assistant say done`)
			p := with(defineSupersede(), func(p *Supersede) {
				if tt.set != nil {
					tt.set(p)
				}
			})
			r := run(t, c, defineSupersede(), p)
			stagetest.Same(t, tt.want, r.Edits())
		})
	}
}

func TestSupersedeText(t *testing.T) {
	c := stagetest.Talk(`prompt go`)
	long := strings.Repeat("x", 900)
	for i, input := range []string{`{"file_path":"/p/a.go"}`, `{"command":"` + strings.Repeat("c", 100) + `"}`, `{"command":"make\nmake test"}`} {
		for _, n := range []string{"a", "b"} {
			id, tool := fmt.Sprint(n, i), "Bash"
			if i == 0 {
				tool = "Read"
			}
			c.Play(`assistant calling %q %q %q; answers result %q %q`, id, tool, input, id, long)
		}
	}
	c.Play(`assistant say done`)
	r := run(t, c, defineSupersede(), nil)
	for m, want := range map[int]string{
		2:  "[Superseded by a newer result of Read /p/a.go]",
		6:  "[Superseded by a newer result of Bash " + strings.Repeat("c", 80) + "…]",
		10: "[Superseded by a newer result of Bash make…]",
	} {
		stagetest.Same(t, want, r.Shown(m))
	}
}

func TestTruncateResults(t *testing.T) {
	lines := func(n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, "line %03d\n", i) // 9 characters
		}
		return b.String()
	}
	for _, tt := range []struct {
		name, text string
		change     func(*TruncateResults)
		want       string
	}{
		{"short", lines(40), func(p *TruncateResults) { p.MaxTokens = 100 }, ""},
		{"head and tail", lines(80), func(p *TruncateResults) { p.MaxTokens = 36 }, lines(8) + "\n[… 64 lines, 576 characters left out …]\n" + lines(80)[648:]},
		{"head alone", lines(80), func(p *TruncateResults) { p.MaxTokens, p.Head = 36, 1 }, lines(16) + "\n[… 64 lines, 576 characters left out …]\n"},
		{"tail alone", lines(80), func(p *TruncateResults) { p.MaxTokens, p.Head = 36, 0 }, "\n[… 64 lines, 576 characters left out …]\n" + lines(80)[576:]},
		{"lines", lines(80), func(p *TruncateResults) { p.MaxTokens, p.MaxLines, p.Head = 0, 4, 0.75 }, lines(3) + "\n[… 76 lines, 684 characters left out …]\n" + lines(80)[711:]},
		{"as many lines", lines(80), func(p *TruncateResults) { p.MaxTokens, p.MaxLines = 0, 80 }, ""},
		{"no newline at the end", lines(80)[:719], func(p *TruncateResults) { p.MaxTokens, p.MaxLines = 0, 2 }, lines(1) + "\n[… 78 lines, 702 characters left out …]\nline 079"},
		{"both, the smaller holds", lines(80), func(p *TruncateResults) { p.MaxTokens, p.MaxLines = 72, 4 }, lines(2) + "\n[… 76 lines, 684 characters left out …]\n" + lines(80)[702:]},
		{"no line ends", strings.Repeat("é", 400), func(p *TruncateResults) { p.MaxTokens, p.MaxLines = 50, 2 }, strings.Repeat("é", 100) + "\n[… 200 characters left out …]\n" + strings.Repeat("é", 100)},
		{"bytes", lines(80), func(p *TruncateResults) { p.MaxTokens, p.MaxBytes = 0, 144 }, lines(8) + "\n[… 64 lines, 576 characters left out …]\n" + lines(80)[648:]},
		{"as many bytes", lines(80), func(p *TruncateResults) { p.MaxTokens, p.MaxBytes = 0, 720 }, ""},
		{"tokens and bytes, the smaller holds", lines(80), func(p *TruncateResults) { p.MaxTokens, p.MaxBytes = 36, 500 }, lines(8) + "\n[… 64 lines, 576 characters left out …]\n" + lines(80)[648:]},
		{"not put into a file", lines(80), func(p *TruncateResults) { p.MaxTokens, p.Offloaded = 36, true }, ""},
		{"no gain", strings.Repeat("x", 404), func(p *TruncateResults) { p.MaxTokens = 100 }, ""},
		{"nothing stays", "x", func(p *TruncateResults) { p.MaxTokens, p.MaxLines = 0, 0 }, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := stagetest.Talk(`prompt go; assistant use t Bash`)
			at := c.Answers(stagetest.Result("t", tt.text))
			c.Play(`assistant say done`)
			r := run(t, c, defineTruncateResults(), with(defineTruncateResults(), tt.change))
			stagetest.Same(t, tt.want, r.Shown(at))
		})
	}
}

// A result with an image is left alone, and so is one of a tool that is left out.
func TestTruncateResultsLeaves(t *testing.T) {
	c := stagetest.Talk(`prompt go`)
	text := strings.Repeat("x", 4000)
	c.Play(`assistant use a Read use b Bash use d Read`)
	c.Answers(stagetest.Results("a", text, stagetest.Image), stagetest.Result("b", text), stagetest.Result("d", text))
	c.Play(`assistant say done`)
	r := run(t, c, defineTruncateResults(), with(defineTruncateResults(), func(p *TruncateResults) { p.MaxTokens, p.Exclude = 100, []string{"Bash"} }))
	stagetest.Same(t, []string{"truncate@2 m2.2"}, r.Edits())
}
