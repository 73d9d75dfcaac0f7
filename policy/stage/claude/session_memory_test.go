package claude

import (
	"fmt"
	"strings"
	"testing"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/stage/stagetest"
	"github.com/ctxkit/ctxkit/policy/stage/summarize"
)

func memory(t testing.TB, set string, args ...any) stagetest.Named {
	t.Helper()
	return stagetest.Start(t, defineSessionMemory(), set, args...)
}

// weighing is a text message of n tokens.
func weighing(n int) stagetest.BlockText { return stagetest.Say(strings.Repeat("x", 4*n)) }

// TestSessionMemoryWindow holds the figures of the window: each message is its tokens, and a T where it has text;
// what stands before the bar the summary holds already.
func TestSessionMemoryWindow(t *testing.T) {
	must.Rows(t, `
# name | messages | want
at the least of both         | "1T 1T \u007c 2000T 2000T 2000T 2000T 2000T" | 5
a token short                | "1T 1T \u007c 1999T 2000T 2000T 2000T 2000T" | 6
a text short                 | "1T 1T \u007c 5000T 1500T 1500T 1500T 500" | 6
a text short, texts further up | "1T 1 1 \u007c 5000T 1500T 1500T 1500T 500" | 8
above both                   | "1T 1T \u007c 9000T 9000T 9000T 9000T 9000T" | 5
far above, all of it         | "1T 1T \u007c 20000T 20000T 20000T 20000T 20000T" | 5
texts, and tokens further up | "1T 9000 1 \u007c 200T 200T 200T 200T 200T" | 7
tokens, and texts further up | "1T 1T 1T 1T 1T \u007c 10000" | 6
a token short of the most    | "1T 1 1 1 \u007c 39996" | 5
at the most, too few texts: one more | "1T 1T 1T \u007c 40000" | 2
above the most, too few texts: one more | "1T 1T 1T \u007c 90000" | 2
the most is reached on the way | "1T 1T 20000 20000 \u007c 1T" | 3
one short of the most goes on | "1T 1T 20000 19998 \u007c 1T" | 4
nothing new                  | "1T 1T 4000T 4000T 4000T 4000T 4000T |" | 5
all there is                 | "1T 1T \u007c 1T"       | 3
resumed: from the end        | 1T 1T 4000T 4000T 4000T 4000T 4000T | 5
`, func(name, messages string, theWant int) {
		t.Run(name, func(t *testing.T) {
			c := stagetest.NewConvo()
			s := memory(t, "").Stage.(*sessionMemory)
			for _, m := range strings.Fields(messages) {
				if m == "|" {
					s.marked, s.last = true, policy.ItemID(len(c.Messages)-1)
					continue
				}
				var n int
				fmt.Sscan(strings.TrimSuffix(m, "T"), &n)
				p := weighing(n)
				if !strings.HasSuffix(m, "T") {
					p.Kind = jsonl.KindAttachment
				}
				c.User(session.ClassMeta, p)
			}
			r := stagetest.NewRun(t, c)
			r.Join()
			keep := s.window(&policy.Context{View: r.View, Estimate: r.View.Weight})
			want := r.View.IDs()[len(c.Messages)-theWant:]
			must.Equal(t, keep, want)
		})
	})
}

// TestSessionMemoryCalls: what is kept begins no later than the call that its first result answers, and a message of
// several lines stays whole.
func TestSessionMemoryCalls(t *testing.T) {
	c := stagetest.Talk(`prompt go; assistant use a Read use b Read; answers result a x*%d; answers result b x*%d`, 4*9000, 4*9990)
	for i, n := range []int{1, 1, 1, 1, 6} {
		if i%2 == 0 {
			c.Assistant(weighing(n))
		} else {
			c.User(session.ClassPrompt, weighing(n))
		}
	}
	r := stagetest.NewRun(t, c)
	r.Join()
	s := memory(t, "").Stage.(*sessionMemory)
	// 10,000 tokens and 5 texts from the second result on.
	must.Equal(t, s.window(&policy.Context{View: r.View, Estimate: r.View.Weight}), r.View.IDs()[1:])

	// Lines of one message count one by one, and none is left behind.
	c = stagetest.Talk(`prompt go`)
	var lines []stagetest.BlockText
	for i := range 5 {
		p := weighing(2000)
		p.Row = int32(10 + i)
		lines = append(lines, p)
	}
	c.Assistant(lines...)
	c.Prompt("")
	r = stagetest.NewRun(t, c)
	r.Join()
	must.Equal(t, s.window(&policy.Context{View: r.View, Estimate: r.View.Weight}), []policy.ItemID{1, 2})
}

// TestSessionMemoryBoundary: nothing before an earlier compaction is taken up again, nor its summary or what it
// attached.
func TestSessionMemoryBoundary(t *testing.T) {
	c := stagetest.NewConvo()
	for range 3 {
		c.Play(`prompt go; assistant say ok`)
	}
	r := stagetest.NewRun(t, c)
	for m := range 4 {
		r.View.Join(m)
	}
	text := []policy.Content{policy.NewContent(jsonl.KindText, "x")}
	must.Get(r.View.Apply(policy.Edit{
		Kind: policy.KindSummarize, Insert: []policy.Synthetic{{Role: "user", Summary: true, Contents: text}},
		Keep: []policy.ItemID{2, 3}, Tail: []policy.Synthetic{{Role: "user", Attached: true, Contents: text}},
	}))(t)
	r.View.Join(4)
	r.View.Join(5)
	s := memory(t, "").Stage.(*sessionMemory)
	must.Equal(t, s.window(&policy.Context{View: r.View, Estimate: r.View.Weight}), []policy.ItemID{2, 3, 4, 5})
}

// TestSessionMemoryUpdates holds the rules by which the summary is brought up to date: each response is its size and
// how many tools it calls.
func TestSessionMemoryUpdates(t *testing.T) {
	must.Rows(t, `
# name | responses | want
short of the first 10,000   | [[9999, 0], [9999, 3]]   | ""
at it                       | [[10000, 0]]             | 1*
above it, a call open       | [[10001, 1]]             | 1
grown by 4,999              | [[10000, 0], [14999, 0], [14999, 3]] | 1*
grown by 5,000, no call     | [[10000, 0], [15000, 0]] | 1* 2*
grown by 5,000, one call    | [[10000, 0], [15000, 1]] | 1*
grown by 5,000, 2 calls     | [[10000, 0], [12000, 1], [15000, 1]] | 1*
grown by 5,000, 3 calls     | [[10000, 0], [12000, 2], [15000, 1]] | 1* 3
grown by 5,000, 3 calls at once | [[10000, 0], [15000, 3]] | 1* 2
3 calls first, growth later | [[10000, 0], [11000, 3], [15000, 1]] | 1* 3
calls count from the last update | [[10000, 3], [15000, 2], [15000, 1]] | 1 3
growth counts from the last update | [[12000, 0], [16999, 0], [17000, 0]] | 1* 3*
what shrank does not count against it | [[90000, 0], [30000, 0], [34999, 0], [35000, 0]] | 1* 4*
`, func(name string, responses [][2]int, theWant string) {
		t.Run(name, func(t *testing.T) {
			c := stagetest.Talk(`prompt go`)
			for i, r := range responses {
				parts, answers := []stagetest.BlockText{stagetest.Say("so")}, []stagetest.BlockText{}
				for j := range r[1] {
					id := fmt.Sprintf("t%d.%d", i, j)
					parts, answers = append(parts, stagetest.Use(id, "Read")), append(answers, stagetest.Result(id, "x"))
				}
				c.Assistant(parts...)
				if len(answers) > 0 {
					c.Answers(answers...)
				} else {
					c.Prompt("on")
				}
			}
			st := memory(t, "")
			r := stagetest.NewRun(t, c, st)
			limits(r).Auto = 200000
			r.Used = func(k int) (int, int) {
				if k == 0 {
					return 0, 0
				}
				return responses[k-1][0] + 7, 7 // what came after does not count
			}
			marked, got := policy.ItemID(-1), []string{}
			r.Each = func(k int) { // before response k+1: what response k has done
				s := st.Stage.(*sessionMemory)
				for _, e := range r.View.Edits()[len(got):] {
					step := fmt.Sprint(e.Request - 1)
					if s.marked && s.last != marked {
						marked = s.last
						step += "*"
						if want := policy.ItemID(c.Requests[e.Request-2].Message); marked != want {
							t.Errorf("marked message %d, want %d", marked, want)
						}
					}
					got = append(got, step)
					if e.Kind != policy.KindCall || e.Call == nil || e.Call.Kind != "session_memory" {
						t.Errorf("an edit %+v", e)
					}
				}
			}
			r.All()
			r.Each(len(c.Requests))
			must.Equal(t, strings.Join(got, " "), theWant, "updated after responses")
		})
	})
}

// TestSessionMemoryCall: an update sends what stands up to the response, not the results that have joined since.
func TestSessionMemoryCall(t *testing.T) {
	must.Rows(t, `
# prefix | want
session | 4700
own     | 4000
`, func(prefix string, want int) {
		c := stagetest.NewConvo()
		c.User(session.ClassPrompt, weighing(996))
		c.Play(`
assistant use a Read  # 4 tokens
answers result a x*%d
`, 4*5000)
		r := stagetest.NewRun(t, c, memory(t, "prefix: %v", prefix))
		r.Overhead = 700
		r.Used = func(int) (int, int) { return 12000, 0 }
		r.All()
		call := &policy.Call{Kind: "session_memory", Prompt: 3000, Input: want, Output: 2000, Prefix: prefix}
		must.Equal(t, r.View.Edits()[0].Call, call)
	})
}

// chat is a conversation of n prompts and answers, 100 tokens each.
func chat(n int) *stagetest.Convo {
	c := stagetest.NewConvo()
	for range n {
		c.User(session.ClassPrompt, weighing(100))
		c.Assistant(weighing(100))
	}
	return c
}

// full is a run whose used is over the threshold from request n on.
func full(r *stagetest.Bench, n int) *stagetest.Bench {
	r.Used = func(k int) (int, int) {
		if k+1 >= n {
			return 167000, 0
		}
		return 20000, 0
	}
	limits(r).Auto = 167000
	return r
}

// TestSessionMemoryFirst: it comes before autocompact, which does not fire at the same request; where it gives up,
// autocompact does.
func TestSessionMemoryFirst(t *testing.T) {
	gone := func(r *stagetest.Bench) {
		r.Each = func(k int) {
			if k == 8 {
				if _, err := r.View.Apply(policy.Edit{Kind: policy.KindRemove, Items: []policy.ItemID{0, 1}}); err != nil {
					r.T.Fatal(err)
				}
			}
		}
	}
	small := "min_tokens: 300, min_text_messages: 1, growth_tokens: 1000000"
	for _, tt := range []struct {
		name   string
		memory string
		change string
		prep   func(*stagetest.Bench)
		want   string
	}{
		{"its own summary", "", "", nil, "session_memory: an outline of the view"},
		{"the session's", "# Session Title\nA title\n", "", nil, "session_memory: the session's own summary.md"},
		{"the template", "# Session Title\n\n# Current State\n_What goes on_\n", "", nil, "autocompact"},
		{"not written yet", "", "init_tokens: 1000000", nil, "autocompact"},
		{"not written, the session's own there", "notes", "init_tokens: 1000000", nil, "session_memory: the session's own summary.md"},
		{"the last message it holds is gone", "", small, gone, "autocompact"},
		{"as large again", "", "", func(r *stagetest.Bench) { limits(r).Auto = 1 }, "autocompact"},
		{"a subagent keeps none", "notes", "", func(r *stagetest.Bench) { r.C.Agent = "a1" }, "autocompact"},
		{"switched off", "notes", "", func(r *stagetest.Bench) { limits(r).On = false }, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := full(stagetest.NewRun(t, chat(10), memory(t, tt.change), auto(t, "")), 10)
			r.Record.Memory = tt.memory
			if tt.prep != nil {
				tt.prep(r)
			}
			r.All()
			var got []string
			for _, e := range r.View.Edits() {
				if e.Kind != policy.KindSummarize || e.Request != 10 {
					continue
				}
				step := e.Stage
				if _, rest, ok := strings.Cut(e.Reason, "summary: "); ok && e.Stage == "session_memory" {
					from, _, _ := strings.Cut(rest, ";")
					step += ": " + from
				}
				got = append(got, step)
			}
			must.Equal(t, strings.Join(got, ", "), tt.want)
		})
	}
}

// TestSessionMemoryThreshold: at the threshold, and not below; the result has to come to less.
func TestSessionMemoryThreshold(t *testing.T) {
	must.Rows(t, `
# used | want
166999 | false
167000 | true
167001 | true
`, func(used int, want bool) {
		r := full(stagetest.NewRun(t, chat(3), memory(t, "")), 1)
		r.Used = func(k int) (int, int) { return used, 0 }
		r.Record.Memory = "notes"
		r.All()
		must.Equal(t, r.View.Epoch() > 0, want, used)
	})
	// 300 tokens are kept, and the summary is of 12: (312 x 4)/3 = 416.
	must.Rows(t, `
# limit | want
415 | false
416 | false
417 | true
`, func(limit int, want bool) {
		c := chat(2)
		c.User(session.ClassPrompt, weighing(100))
		c.Play(`assistant say so`)
		r := stagetest.NewRun(t, c, memory(t, "min_tokens: 300, min_text_messages: 3"))
		r.Record.Memory = "notes"
		limits(r).Auto = limit
		r.Used = func(k int) (int, int) {
			if k == 2 {
				return 500, 0
			}
			return 0, 0
		}
		r.All()
		must.Equal(t, r.View.Epoch() > 0, want, limit)
	})
}

// TestSessionMemoryCovers: the outline tells what stood up to the last update, the messages kept tell the rest.
func TestSessionMemoryCovers(t *testing.T) {
	c := stagetest.NewConvo()
	for i := range 6 {
		c.Prompt(fmt.Sprintf("prompt %d", i))
		c.Assistant(stagetest.Say(fmt.Sprintf("answer %d", i)))
	}
	r := full(stagetest.NewRun(t, c, memory(t, "growth_tokens: 1000000, min_tokens: 1, min_text_messages: 1")), 6)
	r.All()
	text := r.Block(-1, 0)
	must.Rows(t, `
"Below is a summary of the session so far:\n\n\u0023 Session Title\n[line 0] \"prompt 0\"" | true
"\u0023 Worklog\nN/A" | true
prompt 0              | true
answer 0              | true
prompt 1              | false
answer 4              | false
`, func(want string, in bool) {
		must.Equal(t, strings.Contains(text, want), in, text)
	})
	must.Equal(t, r.View.IDs()[:11], []policy.ItemID{-1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11})
}

// TestSessionMemoryWording: the words around the summary, and that a recorded summary is taken as it stands.
func TestSessionMemoryWording(t *testing.T) {
	for _, tt := range []struct {
		name, wording, want string
		recorded            bool
	}{
		{"one line", "below", "Below is a summary of the session so far:\n\nnotes", false},
		{"the client's", "continued", covers + "\n\nnotes\n\n" + details + "~/.claude/projects/-home-u-p/session.jsonl\n\n" + keptVerbatim + "\n" + goOnIt, false},
		{"recorded", "below", "what was done", true},
	} {
		r := full(stagetest.NewRun(t, chat(10), memory(t, "wording: %v, summary: [recorded, {fixed: 77}]", tt.wording)), 10)
		r.Record.Memory = "\nnotes\n\n"
		if tt.recorded {
			sum := policy.NewContent(jsonl.KindText, "what was done")
			r.C.Boundaries = append(r.C.Boundaries, stagetest.BoundaryAt(7))
			r.Record = stagetest.Recording{Content: &sum}
		}
		r.All()
		must.Equal(t, r.Block(-1, 0), tt.want, tt.name)
	}
}

func TestEmptyMemory(t *testing.T) {
	var template, italics strings.Builder
	for _, s := range summarize.MemorySections() {
		template.WriteString("# " + s.Title + "\n" + s.Guidance + "\n\n")
		italics.WriteString("# " + s.Title + "\n_Some guidance. Of two sentences?_\n\n")
	}
	for text, want := range map[string]bool{
		"": true, " \n\n": true,
		"# Session Title\n\n# Current State\n": true,
		template.String():                      true,
		italics.String():                       true,
		"# Session Title\n*in asterisks*\n":    true,
		"# Session Title\nA title\n":           false,
		"# Session Title\n_guidance_\nA title": false,
		"# Session Title\n_one_\n_two_\n":      false,
		"# Session Title\n**bold**\n":          false,
		"free text":                            false,
		template.String() + "- a step\n":       false,
	} {
		must.Equal(t, summarize.EmptyMemory(text), want, text)
	}
}
