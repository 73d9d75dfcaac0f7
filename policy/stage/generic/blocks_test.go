package generic

import (
	"fmt"
	"strings"
	"testing"

	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/stage/stagetest"
)

// Each result is cut when its age asks for it, and not again before it asks for less.
func TestDecay(t *testing.T) {
	// By request, the tokens of each result in view as the last request saw them, oldest first.
	sizes := func(r *stagetest.Bench) (list []int) {
		for _, res := range r.View.Results() {
			list = append(list, r.View.BlockTokens(res.Target))
		}
		return list
	}
	const mark = 10 // tokens of "[… 3,200 characters left out …]" with its line ends
	must.Rows(t, `
# name | rounds | parameters | wanted: at most, of 1,000 tokens each | edits
by age            | 8  | ""               | [100, 100, 200, 200, 400, 400, 1000, 1000] | 12
nothing is old    | 2  | ""               | [1000, 1000] | 0
down to the least | 10 | min_tokens: 300  | [300, 300, 300, 300, 300, 300, 400, 400, 1000, 1000] | 14
small ones stay   | 6  | max_tokens: 2000 | [1000, 1000, 1000, 1000, 1000, 1000] | 0
at once           | 8  | step: 2600       | [200, 200, 400, 400, 1000, 1000, 1000, 1000] | 4
`, func(name string, rounds int, set string, want []int, edits int) {
		def := defineDecay()
		def.Params = stagetest.Params(t, def, "keep: 2, max_tokens: 400, half_life: 2, min_tokens: 50, step: 0")
		r := run(t, stagetest.RoundsOf(rounds, 4000), def, set)
		got := sizes(r)
		must.Equal(t, len(got), len(want), name)
		for i, most := range want {
			if got[i] < most || got[i] > most+mark {
				t.Errorf("%s: result %d: %d tokens, want %d: %v", name, i, got[i], most, got)
			}
		}
		must.Equal(t, len(r.View.Edits()), edits, name, r.Edits())
	})
}

// Head and tail stay, of the recorded text also where it was cut before; a result with an image is left alone.
func TestDecayText(t *testing.T) {
	c := stagetest.Talk(`prompt go`)
	var text strings.Builder
	for i := range 400 {
		fmt.Fprintf(&text, "line %04d\n", i) // 10 characters
	}
	for i := range 4 {
		kind := "result"
		if i == 1 {
			kind = "image"
		}
		c.Play(`assistant use %d Bash; answers %s %d %q`, i, kind, i, text.String())
	}
	c.Play(`prompt "and then"; assistant say done`)
	r := run(t, c, defineDecay(), "keep: 1, max_tokens: 40, half_life: 2, min_tokens: 5, head: 0.25, step: 0")
	for m, want := range map[int]string{
		2: "line 0000\nline 0001\n[… 392 lines, 3,920 characters left out …]\nline 0394\nline 0395\nline 0396\nline 0397\nline 0398\nline 0399\n",
		6: "line 0000\nline 0001\nline 0002\nline 0003\n[… 384 lines, 3,840 characters left out …]\n" + text.String()[3880:],
		8: "",
	} {
		must.Equal(t, strings.ReplaceAll(r.Shown(m), "\n\n[", "\n["), want, m)
	}
	must.Equal(t, r.Edits(), "truncate@3 m2, truncate@5 m2, truncate@5 m6")
}

func TestDropThinking(t *testing.T) {
	// Each turn: thinking and a call, its result, thinking and an answer.
	turns := func(n int) *stagetest.Convo {
		c := stagetest.NewConvo()
		for i := range n {
			c.Play(`prompt go; assistant think hm use %v Read; answers result %v text; assistant think well say done`, i, i)
		}
		return c
	}
	must.Rows(t, `
# name | turns | parameters | edits
the current turn keeps it | 3 | keep: 1, step: 1 | truncate@3 m1, truncate@3 m3, truncate@5 m5, truncate@5 m7
two turns keep it         | 3 | keep: 2, step: 1 | truncate@5 m1, truncate@5 m3
two turns at once         | 3 | keep: 1, step: 2 | truncate@5 m1, truncate@5 m3, truncate@5 m5, truncate@5 m7
one turn                  | 1 | keep: 1, step: 1 | ""
`, func(name string, n int, set, want string) {
		must.Equal(t, run(t, turns(n), defineDropThinking(), set).Edits(), want, name)
	})
	// The user types as soon as the result is there: the API takes both as one message.
	c := stagetest.Talk(`
prompt go; assistant think hm use a Read; answers result a text; prompt "stop, do that"; assistant say done
prompt "go on"; assistant say done
`)
	must.Equal(t, run(t, c, defineDropThinking(), "keep: 1, step: 1").Edits(), "truncate@3 m1")
}

func TestDropImages(t *testing.T) {
	must.Rows(t, `
the newest stay | keep: 2           | truncate@3 m0.1, truncate@4 m2
two at once     | keep: 1, step: 2  | truncate@3 m0.1, truncate@3 m2
turns           | by: turns, keep: 1 | truncate@5 m0.1, truncate@5 m2, truncate@5 m4, truncate@5 m6
fewer           | keep: 4           | ""
`, func(name, set, want string) {
		c := stagetest.Talk(`user say "look at this" picture p`) // a prompt: m0
		for i := range 3 {
			c.Play(`assistant use %v Browser`, i)
			c.Answers(stagetest.Results(fmt.Sprint(i), "before", stagetest.Image, "behind")) // m2, m4, m6
		}
		r := run(t, c.Play(`assistant say done; prompt and; assistant say done`), defineDropImages(), set)
		must.Equal(t, r.Edits(), want, name)
		for _, e := range r.View.Edits() {
			want := "[image removed]"
			if e.Target.Item > 0 {
				want = "before\n[image removed]\nbehind"
			}
			must.Equal(t, e.New.Text, want)
		}
	})
}

func TestSummarize(t *testing.T) {
	must.Rows(t, `
# name | parameters | request of the first summary, 0 for none | view behind it | tokens of the summary | input of its call
below the trigger       | trigger_tokens: 20000                         | 0 | "" | 0 | 0
tokens                  | trigger_tokens: 4000, keep: 2100              | 5 | summary m5-m8 | 300 | 2509
pairs stay whole        | trigger_tokens: 4000, keep: 1000              | 5 | summary m7-m8 | 300 | 3513
a share of the window   | trigger_share: 0.02, keep: 2100               | 5 | summary m5-m8 | 300 | 2509
messages                | trigger_tokens: 4000, by: messages, keep: 3   | 5 | summary m5-m8 | 300 | 2509
messages that are no results | trigger_tokens: 4000, by: spoken, keep: 2 | 5 | summary m5-m8 | 300 | 2509
all of them             | trigger_tokens: 4000, by: messages, keep: 0   | 5 | summary | 300 | 4517
turns                   | trigger_tokens: 6000, by: turns, keep: 1      | 8 | summary m12-m14 | 300 | 5522
one turn, all of which stays | trigger_tokens: 4000, by: turns, keep: 2 | 0 | "" | 0 | 0
a ratio                 | trigger_tokens: 4000, keep: 2100, ratio: 0.1  | 5 | summary m5-m8 | 200 | 2509
the session's prefix    | trigger_tokens: 4000, keep: 2100, prefix: session | 5 | summary m5-m8 | 300 | 4517
`, func(name, set string, at int, want string, tokens, input int) {
		// Five rounds of 1,000 tokens a result behind a prompt, and a second prompt with five more.
		c := stagetest.NewConvo()
		for turn := range 2 {
			c.Prompt("go")
			for i := range 5 {
				c.Play(`call %d.%d Read 4000`, turn, i)
			}
			c.Play(`assistant say done`)
		}
		r := stagetest.NewRun(t, c, stagetest.Start(t, defineSummarize(), "summary: [{fixed: 300}], "+set))
		r.Each = func(k int) {
			if k+1 == at {
				must.Equal(t, r.Order(), want, name)
			}
		}
		edits := r.All().View.Edits()
		if at == 0 {
			must.Equal(t, r.Edits(), "", name)
			return
		}
		if len(edits) == 0 || edits[0].Kind != policy.KindSummarize || edits[0].Request != at {
			t.Fatalf("%s: %v, want a summary at request %d", name, r.Edits(), at)
		}
		e := &edits[0]
		must.Equal(t, e.Insert[0].Contents[0].Tokens, tokens, name)
		got := e.Call.Input
		if got == 0 {
			got = e.Before + e.Call.Prompt
		}
		must.Equal(t, got, input, name)
	})
}

// A call that does not fit the window fails, and the view stays.
func TestSummarizeTooLong(t *testing.T) {
	r := stagetest.NewRun(t, stagetest.RoundsOf(30, 400), stagetest.Start(t, defineSummarize(), "keep: 100, prompt_tokens: 2000"))
	r.Window = 1000
	r.All()
	if edits := r.View.Edits(); len(edits) == 0 || edits[0].Kind != policy.KindFail {
		t.Errorf("%v, want a failure", r.Edits())
	}
}

// The reserve lowers the share of a small window, as Kimi CLI has it.
func TestSummarizeReserve(t *testing.T) {
	p := &Summarize{TriggerShare: 0.85, Reserve: 50000}
	must.Rows(t, `
# window | want
200000 | 150000
500000 | 425000
40000  | 1
`, func(window, want int) {
		must.Equal(t, p.limit(window), want, window)
	})
}
