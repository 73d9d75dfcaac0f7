package opencode

import (
	"encoding/json"
	"fmt"
	"slices"
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

// keeping are the parameters of a compaction that keeps a tail.
func keeping(t testing.TB, count string, turns, budget int) *OpencodeCompaction {
	t.Helper()
	return &overflow(t, "count: '%v', tail_turns: %v, preserve_recent_tokens: %v", count, turns, budget).Stage.(*opencodeCompaction).OpencodeCompaction
}

// compacted is a conversation after a compaction by hand.
func compacted(t *testing.T, c *stagetest.Convo, p *OpencodeCompaction) *stagetest.Bench {
	t.Helper()
	r := stagetest.NewRun(t, c, stagetest.Start(t, defineOpencodeCompaction(), p))
	r.Join()
	r.Fire(policy.Manual, len(c.Requests), policy.Context{MaxOutput: 64000})
	if v := view.CheckAPI(r.View); v != nil {
		t.Errorf("%v", v)
	}
	return r
}

// kept is the messages of a view: those that stand as recorded.
func kept(r *stagetest.Bench) (list []int) {
	for id := range r.View.Items {
		if id >= 0 {
			list = append(list, int(id))
		}
	}
	return list
}

// from is m, m+1, … up to the last message of a conversation.
func from(c *stagetest.Convo, m int) (list []int) {
	for ; m < len(c.Messages); m++ {
		list = append(list, m)
	}
	return list
}

// stored is a conversation as OpenCode's store has it: a tool's result is part of the message that called it. items
// are where its messages begin.
func stored(c *stagetest.Convo) (list []Message, items []int) {
	for m := range c.Messages {
		msg := &c.Messages[m]
		if msg.Class != session.ClassToolResult {
			role := RoleUser
			if msg.Role == session.Assistant {
				role = RoleAssistant
			}
			list = append(list, Message{Info: Info{ID: msg.UUID, Role: role}})
			items = append(items, m)
		}
		last := &list[len(list)-1]
		for b := range msg.Blocks {
			bl := &msg.Blocks[b]
			text := c.Texts[policy.Target{Item: policy.ItemID(m), Block: b}]
			switch bl.Kind {
			case jsonl.KindToolUse:
				last.Parts = append(last.Parts, Part{Type: PartTool, CallID: bl.ID, Tool: bl.Name, State: State{Input: json.RawMessage(text)}})
			case jsonl.KindToolResult:
				at := slices.IndexFunc(last.Parts, func(p Part) bool { return p.CallID == bl.ID })
				st := &last.Parts[at].State
				st.Status, st.Output = StatusCompleted, text
				if bl.IsError {
					st.Status, st.Output, st.Error = StatusError, "", text
				}
			case jsonl.KindThinking:
				p := Part{Type: PartReasoning, Text: text}
				if bl.Signature > 0 {
					p.Metadata = json.RawMessage(fmt.Sprintf(`{"anthropic":{"signature":%q}}`, strings.Repeat("s", bl.Signature)))
				}
				last.Parts = append(last.Parts, p)
			default:
				last.Parts = append(last.Parts, Part{Type: PartText, Text: text})
			}
		}
	}
	return list, items
}

var tailModel = Model{Limit: Limit{Context: 200000, Output: 64000}}

// sizeOf is the estimate of a stretch of OpenCode's messages, from their JSON.
func sizeOf(t *testing.T, v Version, list []Message) int {
	t.Helper()
	data := must.Get(json.Marshal(v.ToModelMessages(list, tailModel)))(t)
	return EstimateText(string(data))
}

// A prompt of n characters has 55+n of JSON, [{"role":"user","content": [{"type":"text","text":"…"}]}]; an
// assistant's text has 60+n.
func TestOpencodeTailBudget(t *testing.T) {
	x := func(n int) string { return strings.Repeat("x", n) }
	must.Rows(t, `
# name | budget | turn | last | want
24.75 tokens              | 25      | [900, 900] | 44  | 3
25                        | 25      | [900, 900] | 45  | 3
25.25                     | 25      | [900, 900] | 46  | 3
25.5                      | 25      | [900, 900] | 47  | 4
one token less            | 24      | [900, 900] | 45  | 4
no budget                 | 0       | [900, 900] | 45  | 4
the left-over is met      | 50      | [900, 40]  | 45  | 2
by a quarter over, rounded off | 50      | [900, 41]  | 45  | 2
by a half over            | 50      | [900, 42]  | 45  | 3
the left-over is one less | 49      | [900, 40]  | 45  | 3
the left-over is nothing  | 25      | [900, 0]   | 45  | 3
# 28+25+40 of the prompt, 33+25+41 of the answer, 3 around: 195, 49.
the turn is met           | 74      | [40, 41]   | 45  | 1
the turn is one over, its end fits | 73      | [40, 41]   | 45  | 2
everything fits: no tail  | 1048576 | [900, 900] | 45  | 4
the first that does not fit is the last turn | 200     | [900, 0]   | 900 | 4
`, func(name string, budget int, turn [2]int, last, want int) {
		t.Run(name, func(t *testing.T) {
			c := stagetest.NewConvo()
			c.Prompt(x(4000))
			c.Prompt(x(turn[0]))
			c.Assistant(stagetest.Say(x(turn[1])))
			c.Prompt(x(last))
			r := compacted(t, c, keeping(t, "1.18", -1, budget))
			must.Equal(t, kept(r), from(c, want))
		})
	})
}

// The budget where none is set: a quarter of what is usable, the window less 32,000, within bounds.
func TestOpencodeTailDefaultBudget(t *testing.T) {
	must.Rows(t, `
1.18.3 | 200000 | 8000
1.18   | 200000 | 15000
1.18.3 | 63996  | 7999
1.18.3 | 64004  | 8000
1.18   | 91996  | 14999
1.18   | 92004  | 15000
1.18.3 | 40004  | 2001
1.18.3 | 39996  | 2000
1.18   | 40004  | 2001
1.18   | 36000  | 2000
`, func(count string, window, want int) {
		for n, fits := range map[int]bool{4*want + 1: true, 4*want + 2: false} {
			c := stagetest.Talk(`prompt x*10000; prompt x*%d`, n-55)
			r := stagetest.NewRun(t, c, stagetest.Start(t, defineOpencodeCompaction(), keeping(t, count, -1, -1)))
			r.Window = window
			r.View.Join(0)
			r.View.Join(1)
			r.Fire(policy.Manual, 0, policy.Context{MaxOutput: 64000})
			must.Equal(t, len(kept(r)) == 1, fits, count, window, n)
		}
	})
}

func TestOpencodeTailTurns(t *testing.T) {
	must.Rows(t, `
# want: turns kept
1.18.3 | -1 | 2
1.18.3 | 0  | 0
1.18.3 | 1  | 1
1.18.3 | 2  | 2
1.18.3 | 3  | 3
1.18   | -1 | 4
1.18   | 0  | 0
1.18   | 1  | 1
1.18   | 2  | 2
1.18   | 3  | 3
1.18   | 9  | 4
1.1.36 | -1 | 0
1.1.36 | 2  | 0
`, func(count string, turns, want int) {
		t.Run(fmt.Sprintf("%s, %d", count, turns), func(t *testing.T) {
			c := stagetest.Talk(`prompt x*9000  # does not fit`)
			for range 4 {
				c.Play(`prompt "and now"; assistant say done`)
			}
			r := compacted(t, c, keeping(t, count, turns, 1000))
			must.Equal(t, kept(r), from(c, 9-2*want))
		})
	})
}

// A tail begins at an assistant message or a prompt, so a budget that only a result and what follows fit keeps what
// follows.
func TestOpencodeTailNotAtResult(t *testing.T) {
	c := stagetest.Talk(`
prompt go; assistant use a Read; answers result a ok  # 2
assistant say well  # 3
`)
	must.Rows(t, `
# stretch: of the messages from this one on
1 | 0 | 1
1 | 1 | 3
2 | 0 | 3
3 | 0 | 3
3 | 1 | 4
`, func(stretch, less, want int) {
		r := stagetest.NewRun(t, c)
		r.Join()
		var ids []policy.ItemID
		for _, m := range from(c, stretch) {
			ids = append(ids, policy.ItemID(m))
		}
		budget := sliceEstimate(&policy.Context{View: r.View, Conv: c.Conversation}, ids) - less
		got := kept(compacted(t, c, keeping(t, "1.18", -1, budget)))
		must.Equal(t, got, from(c, want), stretch, less)
	})
}

// A history that fits whole is summarised whole.
func TestOpencodeTailWhole(t *testing.T) {
	c := stagetest.Uses(2)
	list, _ := stored(c)
	whole := sizeOf(t, V1_18_34(), list)
	for budget, want := range map[int][]int{whole - 1: from(c, 1), whole: nil, whole + 1: nil, 1 << 20: nil} {
		must.Equal(t, kept(compacted(t, c, keeping(t, "1.18", -1, budget))), want, budget, whole)
	}
}

// At every budget and number of turns the tail is that of OpenCode's own messages.
func TestOpencodeTailOracle(t *testing.T) {
	plain := stagetest.NewConvo()
	for i := range 4 {
		plain.Play(`prompt p*%d; assistant say a*%d`, 1+30*i, 50-10*i)
	}
	tools := stagetest.Talk(`
prompt "read \"both\"\n"; assistant say yes use a Read use b Grep; answers result a "\t\"x\""*20 result b ""
call c Read 70; assistant say done; prompt "once more 😀 é"; call d Bash 200; call e Bash 20
assistant say done; prompt thanks
`)
	odd := stagetest.Talk(`prompt one`)
	signed := stagetest.Think("let me see\nwell")
	signed.Signature = 40
	odd.Assistant(signed, stagetest.Use("a", "Read"))
	failed := stagetest.Result("a", "no such file")
	failed.IsError = true
	odd.Answers(failed)
	odd.Play(`assistant say hm; prompt two; prompt three; call b Read 10`)
	for name, c := range map[string]*stagetest.Convo{"plain": plain, "tools": tools, "odd": odd, "uses": stagetest.Uses(3)} {
		list, items := stored(c)
		for _, v := range Versions() {
			count := map[string]string{"pinned": "1.1.36", "1.18.3": "1.18.3", "1.18.34": "1.18"}[v.Name]
			whole, tails := sizeOf(t, v, list), map[int]bool{}
			for turns := -1; turns <= 4; turns++ {
				for budget := range whole + 2 {
					p := keeping(t, count, turns, budget)
					tail := v.SelectTail(list, tailModel, p.config())
					want := from(c, len(c.Messages))
					if tail.ID != "" {
						want = from(c, items[tail.Start])
					}
					tails[len(want)] = true
					if diff := cmp.Diff(want, kept(compacted(t, c, p))); diff != "" {
						t.Fatalf("%s, %s, %d turns, budget %d: -oracle +got\n%s", name, v.Name, turns, budget, diff)
					}
				}
			}
			if v.KeepsTail && len(tails) < 3 {
				t.Errorf("%s, %s: tails %v: the test tests too little", name, v.Name, tails)
			}
		}
	}
}

// The view is the question, the summary, the tail and the prompt to go on; a later compaction leaves the first two
// out of what it summarises or keeps.
func TestOpencodeTailView(t *testing.T) {
	build := func() *stagetest.Convo {
		c := stagetest.Talk(`
prompt x*4000  # 0
call a Read 400  # 1, 2
prompt "and now"  # 3
assistant say done  # 4
prompt "once more"  # 5
assistant say "done again"  # 6
`)
		return c
	}
	v := V1_18_34()
	first, _ := stored(build())
	first = first[2:4] // messages 3 and 4
	goOn := Message{Info: Info{ID: "continue", Role: RoleUser}, Parts: []Part{{Type: PartText, Text: v.ContinueText}}}
	rest, _ := stored(build())
	rest = rest[4:] // 5 and 6
	// Both compactions have the budget of the second's whole history. Each turn is rounded on its own.
	exact := sizeOf(t, v, first) + sizeOf(t, v, []Message{goOn}) + sizeOf(t, v, rest)
	for _, tt := range []struct {
		name   string
		turns  int
		budget int
		want   string // after the second
	}{
		{"met by the whole history: no tail", -1, exact, "compaction summary"},
		{"one less: the end of the oldest turn", -1, exact - 1, "compaction summary m4 continue m5-m6"},
		{"the prompt to go on is a turn", -1, exact - sizeOf(t, v, first), "compaction summary continue m5-m6"},
		{"and falls out as one", -1, sizeOf(t, v, rest), "compaction summary m5-m6"},
		{"one turn", 1, 1000, "compaction summary m5-m6"},
		{"two, the prompt to go on among them", 2, 1000, "compaction summary continue m5-m6"},
		{"three are the whole history", 3, 1000, "compaction summary"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := build()
			p := keeping(t, "1.18", -1, sizeOf(t, v, first))
			r := stagetest.NewRun(t, c, stagetest.Start(t, defineOpencodeCompaction(), p))
			for m := range 5 {
				r.View.Join(m)
			}
			r.Last = policy.Response{Usage: jsonl.Usage{Input: 168000}, Known: true, Message: 4}
			r.Fire(policy.Respond, 2, policy.Context{MaxOutput: 64000})
			if diff := cmp.Diff("compaction summary m3-m4 continue", r.Order()); diff != "" {
				t.Fatalf("-want +got\n%s", diff)
			}
			if a := view.CheckAPI(r.View); a != nil {
				t.Errorf("%v", a)
			}
			// The prompt of 4,000, the call and its result are summarised.
			head := 1000 + policy.RoundQuarter(len(`Read{"path":"a"}`)) + 100
			must.Equal(t, r.View.Edits()[0].Call.Input, head+p.Prompt, "the summariser is sent")

			r.View.Join(5)
			r.View.Join(6)
			before := r.View.Tokens()
			r.Stages = []stagetest.Named{stagetest.Start(t, defineOpencodeCompaction(), keeping(t, "1.18", tt.turns, tt.budget))}
			r.Fire(policy.Manual, 3, policy.Context{MaxOutput: 64000})
			must.Equal(t, r.Order(), tt.want)
			// What is kept is not summarised, nor is the first pair: the summary of 5,000 and the question.
			head = before - 5000 - policy.RoundQuarter(len(CompactionPrompt))
			for id := range r.View.Items {
				if sy := r.View.Synthetic(id); sy == nil || sy.Label == "continue" {
					head -= r.View.Weight(id)
				}
			}
			must.Equal(t, r.View.Edits()[1].Call.Input, head+p.Prompt, "the second is sent")
		})
	}
}

// A user message of which nothing is sent is a turn, too, of one token.
func TestOpencodeTailUnsent(t *testing.T) {
	must.Rows(t, `
# name | turns | budget | unsent | want
none                              | 2 | 1000 | null    | 1
before the last prompt            | 2 | 1000 | {"3":1} | 3
before the prompt before, two     | 3 | 1000 | {"1":2} | 1
between a prompt and its answer   | 2 | 1000 | {"4":1} | 3
between both, the last turn alone | 1 | 1000 | {"4":1} | 4
more than are taken               | 2 | 1000 | {"4":5} | 4
the next turn fits without it     | 9 | 62   | null    | 1
not with it                       | 9 | 62   | {"3":1} | 2
`, func(name string, turns, budget int, unsent map[int]int, want int) {
		c := stagetest.Talk(`prompt x*9000  # does not fit`)
		for range 2 {
			c.Play(`prompt "and now"; assistant say done`)
		}
		for m, n := range unsent {
			c.Messages[m].Unsent = n
		}
		must.Equal(t, kept(compacted(t, c, keeping(t, "1.18", turns, budget))), from(c, want), name)
	})
}
