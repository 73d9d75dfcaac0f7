package summarize

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/stage/stagetest"
	"github.com/ctxkit/ctxkit/policy/view"
)

// outlined is the outline of a conversation whose message i stands on line 10(i+1), with what made-up messages an
// edit puts before them.
func outlined(t *testing.T, c *stagetest.Convo, before ...policy.Synthetic) string {
	t.Helper()
	c.IndexTools()
	w := stagetest.Quarter{Conv: c.Conversation}
	v := view.New(c.Conversation, w, w)
	if len(before) > 0 {
		must.Get(v.Apply(policy.Edit{Kind: policy.KindAttach, Insert: before}))(t)
	}
	for m := range c.Messages {
		c.Messages[m].Line = 10 * (m + 1)
		v.Join(m)
	}
	pc := &policy.Context{View: v, Conv: c.Conversation, Texts: &stagetest.Texts{C: c, View: v}}
	first, err := outlineSummary(pc)
	if err != nil {
		t.Fatal(err)
	}
	again, err := outlineSummary(pc)
	if err != nil || again != first {
		t.Errorf("the same view comes out otherwise the second time (error %v)\n%s", err, cmp.Diff(first, again))
	}
	return first
}

var outlineTitles = []string{
	"Primary Request and Intent", "Key Technical Concepts", "Files and Code Sections", "Errors and fixes",
	"Problem Solving", "All user messages", "Pending Tasks", "Current Work", "Optional Next Step",
}

// sectionOf is what an outline says under a title, without the indent.
func sectionOf(t *testing.T, outline string, n int) string {
	t.Helper()
	_, rest, ok := strings.Cut(outline, fmt.Sprintf("\n%d. %s:\n", n, outlineTitles[n-1]))
	if !ok {
		t.Fatalf("no section %d in\n%s", n, outline)
	}
	body, _, ok := strings.Cut(rest, "\n\n")
	if !ok {
		t.Fatalf("section %d does not end in a blank line:\n%s", n, outline)
	}
	lines := strings.Split(body, "\n")
	for i, l := range lines {
		if lines[i], ok = strings.CutPrefix(l, "   "); !ok {
			t.Errorf("section %d: line %q is not indented by three", n, l)
		}
	}
	return strings.Join(lines, "\n")
}

func TestOutlineEmpty(t *testing.T) {
	var b strings.Builder
	b.WriteString("<summary>\n")
	for i, title := range outlineTitles {
		fmt.Fprintf(&b, "%d. %s:\n   N/A\n\n", i+1, title)
	}
	b.WriteString("</summary>")
	must.Equal(t, outlined(t, stagetest.NewConvo()), b.String(), "outline of nothing (")
}

func TestOutlineWhole(t *testing.T) {
	c := stagetest.Talk(`
prompt "Fix the parser.\n\n\n  Keep the\ttests.\n"  # line 10
assistant say "I read it first." calling 1 Read {"file_path":"/p/parse.go"} calling 2 Bash "{\"command\":\"go test\"}"
answers result 1 "package p" failing 2 "exit 1\nFAIL"  # 30
`)
	c.Assistant(stagetest.Calling("3", "TodoWrite", `{"todos":[{"content":"find it","status":"completed"},{"content":"mend it","status":"in_progress"},{"content":"test it","status":"pending"}]}`))
	c.Play(`
answers result 3 ok
assistant calling 4 Edit {"file_path":"/p/parse.go"} calling 5 Write {"file_path":"/p/new.go"} calling 6 NotebookEdit {"notebook_path":"/p/n.ipynb"}  # 60
answers result 4 ok result 5 ok failing 6 "no such notebook"  # 70
meta say "a reminder"; assistant think hm say "  " say "There is no notebook."  # 90
prompt "Never mind the notebook."  # 100
`)
	const want = `<summary>
1. Primary Request and Intent:
   [line 10] "Fix the parser. Keep the tests."
   latest: [line 100] "Never mind the notebook."

2. Key Technical Concepts:
   N/A

3. Files and Code Sections:
   - /p/parse.go (read 1, written 0, edited 1; last [line 60])
   - /p/new.go (read 0, written 1, edited 0; last [line 60])
   - /p/n.ipynb (read 0, written 0, edited 0, failed 1; last [line 60])

4. Errors and fixes:
   [line 30] Bash: "exit 1 FAIL"; then: TodoWrite [line 40]
   [line 70] NotebookEdit: "no such notebook"; then: "There is no notebook." [line 90]

5. Problem Solving:
   N/A

6. All user messages:
   - [line 10] Fix the parser.
   |
   |
     Keep the	tests.
   - [line 100] Never mind the notebook.

7. Pending Tasks:
   - [line 40] "mend it"
   - [line 40] "test it"

8. Current Work:
   [line 20] "I read it first."
   [line 90] "There is no notebook."

9. Optional Next Step:
   - [line 40] "mend it"

</summary>`
	must.Equal(t, outlined(t, c), strings.ReplaceAll(want, "   |\n", "   \n"), "outline (")
}

// TestOutlineEarlier: what the first compaction summarised is still there after the second.
func TestOutlineEarlier(t *testing.T) {
	summaryOf := func(contents ...policy.Content) policy.Synthetic {
		return policy.Synthetic{Role: "user", Label: "summary", Summary: true, Contents: contents}
	}
	text := func(s string) policy.Content { return policy.NewContent(jsonl.KindText, s) }
	stretch := func(s string, n int) string { return strings.Repeat(s, n/len([]rune(s))) }
	for _, tt := range []struct {
		name   string
		before []policy.Synthetic
		want   string
	}{
		{"words", []policy.Synthetic{summaryOf(text("Opened.\n\n1. A:\n   b\n"))}, "Earlier summary:\n   Opened.\n   \n   1. A:\n      b"},
		{"an outline without the client's words", []policy.Synthetic{summaryOf(text("<summary>\n1. A:\n   b\n\n</summary>"))}, "Earlier summary:\n   1. A:\n      b"},
		{"a stand-in", []policy.Synthetic{summaryOf(policy.Content{Kind: jsonl.KindText, Tokens: 5000})}, "Earlier summary:\n   (a placeholder of 5000 tokens)"},
		{"a head and a stand-in", []policy.Synthetic{summaryOf(text("[Compressed]\n\n"), policy.Content{Kind: jsonl.KindText, Tokens: 7})}, "Earlier summary:\n   [Compressed]\n   (a placeholder of 7 tokens)"},
		{"a recorded one", []policy.Synthetic{summaryOf(policy.Content{Kind: jsonl.KindText, Ref: &policy.Target{Item: 0}})}, "Earlier summary:\n   Go on."},
		{"two", []policy.Synthetic{summaryOf(text("one")), summaryOf(text("two"))}, "Earlier summary:\n   one\nEarlier summary:\n   two"},
		{"nothing", []policy.Synthetic{summaryOf(text(" "))}, ""},
		{"no summary", []policy.Synthetic{{Role: "user", Label: "continue", Contents: []policy.Content{text("on")}}}, ""},
		{"8,000 characters", []policy.Synthetic{summaryOf(text(stretch("é", 8000)))}, "Earlier summary:\n   " + stretch("é", 8000)},
		{
			"8,002 characters",
			[]policy.Synthetic{summaryOf(text(stretch("é", 4000) + "xy" + stretch("ü", 4000)))},
			"Earlier summary:\n   " + stretch("é", 4000) + "\n   (2 characters left out)\n   " + stretch("ü", 4000),
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := stagetest.Talk(`prompt "Go on."`)
			want := `[line 10] "Go on."`
			if tt.want != "" {
				want = tt.want + "\n" + want
			}
			must.Equal(t, sectionOf(t, outlined(t, c, tt.before...), 1), want, "section 1 (")
		})
	}
	t.Run("a recorded message", func(t *testing.T) {
		c := stagetest.NewConvo()
		c.User(session.ClassSummary, stagetest.Say("This session is being continued."))
		must.Equal(t, sectionOf(t, outlined(t, c), 1), "Earlier summary:\n   This session is being continued.", "section 1 (")
	})
}

// TestOutlineTwice: prompts, errors and files of the first stretch survive two compactions, and the third outline
// still quotes them.
func TestOutlineTwice(t *testing.T) {
	c := stagetest.Talk(`
prompt "the first\nprompt"; assistant calling 1 Read {"file_path":"/p/first.go"}
answers failing 1 "first failure"
`)
	text := outlined(t, c)
	for range 2 {
		message := "This session is being continued from a previous conversation that ran out of context. The summary below covers the earlier portion of the conversation.\n\n" + text
		c = stagetest.Talk(`prompt "another prompt"`)
		text = outlined(t, c, policy.Synthetic{Role: "user", Summary: true, Contents: []policy.Content{policy.NewContent(jsonl.KindText, message)}})
		for _, want := range []string{"the first\n", "/p/first.go", "first failure", "another prompt"} {
			if !strings.Contains(text, want) {
				t.Errorf("%q is gone from\n%s", want, text)
			}
		}
	}
}

func TestOutlineErrors(t *testing.T) {
	a, z := strings.Repeat("a", 150), strings.Repeat("z", 150)
	for _, tt := range []struct {
		name string
		add  func(c *stagetest.Convo)
		want string
	}{
		{"another tool", func(c *stagetest.Convo) {
			c.Play(`
assistant calling 1 Read {"file_path":"/a"}; answers failing 1 gone
assistant calling 2 Glob "{\"pattern\":\"*\"}"; answers result 2 ""; assistant say Found.
`)
		}, `[line 20] Read: "gone"; then: Glob [line 30]`},
		{"a file", func(c *stagetest.Convo) {
			c.Play(`call 1 Bash 1; answers failing 1 no; assistant calling 2 Read {"file_path":"/a"}`)
		}, `[line 30] Bash: "no"; then: Read /a [line 40]`},
		{"parallel", func(c *stagetest.Convo) {
			c.Play(`
assistant use 1 Bash use 2 Grep; answers failing 1 one; answers failing 2 two
assistant say "Both failed." use 3 Bash
`)
		}, "[line 20] Bash: \"one\"; then: \"Both failed.\" [line 40]\n[line 30] Grep: \"two\"; then: \"Both failed.\" [line 40]"},
		{"nothing followed", func(c *stagetest.Convo) {
			c.Play(`assistant use 1 Bash; answers failing 1 one`)
		}, `[line 20] Bash: "one"`},
		{"a call that is not in the file", func(c *stagetest.Convo) { c.Play(`answers failing 9 late`) }, `[line 10] a tool: "late"`},
		{"300 characters", func(c *stagetest.Convo) {
			c.Play(`assistant use 1 Bash`)
			c.Answers(stagetest.Failing("1", a+z))
		}, `[line 20] Bash: "` + a + z + `"`},
		{"301 characters", func(c *stagetest.Convo) {
			c.Play(`assistant use 1 Bash`)
			c.Answers(stagetest.Failing("1", a+"-"+z))
		}, `[line 20] Bash: "` + a + " … " + z + `"`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := stagetest.NewConvo()
			tt.add(c)
			must.Equal(t, sectionOf(t, outlined(t, c), 4), tt.want, "section 4 (")
		})
	}
}

func TestOutlineTasks(t *testing.T) {
	create := func(c *stagetest.Convo, id, subject, answer string) {
		c.Assistant(stagetest.Calling(id, "TaskCreate", `{"subject":"`+subject+`"}`))
		c.Play(`answers result %q %q`, id, answer)
	}
	update := func(c *stagetest.Convo, id, input string) {
		c.Play(`assistant calling %q TaskUpdate %q; answers result %q ok`, id, input, id)
	}
	for _, tt := range []struct {
		name          string
		add           func(c *stagetest.Convo)
		pending, next string
	}{
		{"by order", func(c *stagetest.Convo) {
			create(c, "1", "one", "created")
			create(c, "2", "two", "created")
			create(c, "3", "three", "created")
			update(c, "4", `{"taskId":"1","status":"completed"}`)
			update(c, "5", `{"taskId":2,"status":"in_progress"}`) // line 90
		}, "- [line 30] \"two\"; in_progress [line 90]\n- [line 50] \"three\"", "- [line 30] \"two\"; in_progress [line 90]"},
		{"by name", func(c *stagetest.Convo) {
			create(c, "1", "one", "Task #7 created successfully: one")
			create(c, "2", "two", "Task #8 created successfully: two")
			update(c, "3", `{"taskId":"8","status":"deleted"}`)
			update(c, "4", `{"taskId":"7","subject":"uno"}`) // line 70
		}, "- [line 70] \"uno\"", "N/A"},
		{"a call that failed", func(c *stagetest.Convo) {
			c.Play(`assistant calling 1 TaskCreate {"subject":"never"}; answers failing 1 no`)
			create(c, "2", "one", "created") // line 30
			c.Play(`
assistant calling 3 TaskUpdate {"taskId":"1","status":"completed"}; answers failing 3 no
assistant calling 4 TodoWrite {"todos":[{"content":"never","status":"pending"}]}; answers failing 4 no
`)
		}, "- [line 30] \"one\"", "N/A"},
		{"created before the view", func(c *stagetest.Convo) {
			update(c, "1", `{"taskId":"3","status":"in_progress"}`)
			update(c, "2", `{"taskId":"4","status":"completed"}`)
		}, "- task #3; in_progress [line 10]", "- task #3; in_progress [line 10]"},
		{"both lists", func(c *stagetest.Convo) {
			create(c, "1", "task", "created")
			c.Play(`assistant calling 2 TodoWrite {"todos":[{"content":"todo","status":"pending"}]}  # line 30`)
		}, "- [line 30] \"todo\"\n- [line 10] \"task\"", "N/A"},
		{"not JSON", func(c *stagetest.Convo) {
			c.Play(`assistant calling 1 TaskCreate { calling 2 TaskUpdate [] calling 3 TodoWrite {"todos":1} calling 4 TaskUpdate {"status":"pending"} calling 5 TaskUpdate {"taskId":null,"status":"pending"} calling 6 TaskUpdate {"taskId":"1","addBlocks":["2"]}`)
		}, "N/A", "N/A"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := stagetest.NewConvo()
			tt.add(c)
			got := outlined(t, c)
			must.Equal(t, []string{sectionOf(t, got, 7), sectionOf(t, got, 9)}, []string{tt.pending, tt.next}, "sections 7 and 9 (")
		})
	}
}

// TestOutlineBounds: every section but the user's messages lists the last 40 lines, and a quotation is of 300
// characters; Current Work is the last three.
func TestOutlineBounds(t *testing.T) {
	for _, n := range []int{40, 41, 60} {
		c := stagetest.NewConvo()
		for i := range n {
			c.Prompt(fmt.Sprintf("prompt %d\n%s", i, strings.Repeat("p", 400)))
			c.Assistant(stagetest.Calling(fmt.Sprint(i), "Read", fmt.Sprintf(`{"file_path":"/p/%d"}`, i)))
			c.Answers(stagetest.Failing(fmt.Sprint(i), fmt.Sprintf("error %d", i)))
			c.Assistant(stagetest.Say(fmt.Sprintf("said %d", i)))
		}
		got := outlined(t, c)
		for _, s := range []int{3, 4} {
			lines := strings.Split(sectionOf(t, got, s), "\n")
			if over := n - 40; over > 0 {
				if want := fmt.Sprintf("(%d earlier lines left out)", over); lines[0] != want {
					t.Errorf("section %d of %d lines begins with %q, want %q", s, n, lines[0], want)
				}
				lines = lines[1:]
			}
			if len(lines) != 40 || !strings.Contains(lines[39], fmt.Sprint(n-1)) {
				t.Errorf("section %d of %d lines has %d, the last %q", s, n, len(lines), lines[len(lines)-1])
			}
		}
		all := sectionOf(t, got, 6)
		for i := range n {
			if !strings.Contains(all, fmt.Sprintf("- [line %d] prompt %d\n%s", 40*i+10, i, strings.Repeat("p", 400))) {
				t.Errorf("prompt %d of %d is not whole", i, n)
			}
		}
		work := fmt.Sprintf("[line %d] \"said %d\"\n[line %d] \"said %d\"\n[line %d] \"said %d\"", 40*(n-2), n-3, 40*(n-1), n-2, 40*n, n-1)
		must.Equal(t, sectionOf(t, got, 8), work, "section 8 (")
	}
	for _, n := range []int{300, 301} {
		c := stagetest.Talk(`prompt é*%d`, n)
		want := strings.Repeat("é", 300)
		if n > 300 {
			want += "…"
		}
		must.Equal(t, sectionOf(t, outlined(t, c), 1), `[line 10] "`+want+`"`, n)
	}
}

// TestOutlineLine: where a message spans lines, a block is found on its own.
func TestOutlineLine(t *testing.T) {
	c := stagetest.NewConvo()
	p := stagetest.Say("On a later line.")
	p.Line = 17
	c.Assistant(p)
	must.Equal(t, sectionOf(t, outlined(t, c), 8), `[line 17] "On a later line."`, "section 8 (")
}

func TestOutlineUnreadable(t *testing.T) {
	c := stagetest.Talk(`prompt Hello.`)
	v := view.New(c.Conversation, stagetest.Quarter{Conv: c.Conversation}, nil)
	v.Join(0)
	clear(c.Texts)
	if got, err := outlineSummary(&policy.Context{View: v, Conv: c.Conversation, Texts: &stagetest.Texts{C: c, View: v}}); err == nil {
		t.Errorf("a text that cannot be read again is outlined as\n%s", got)
	}
}
