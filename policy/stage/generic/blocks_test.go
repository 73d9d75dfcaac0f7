package generic

import (
	"fmt"
	"strings"
	"testing"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/session"
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
	for _, tt := range []struct {
		name   string
		rounds int
		change func(*Decay)
		want   []int // at most; of 1,000 tokens each
		edits  int
	}{
		{"by age", 8, func(*Decay) {}, []int{100, 100, 200, 200, 400, 400, 1000, 1000}, 12},
		{"nothing is old", 2, func(*Decay) {}, []int{1000, 1000}, 0},
		{"down to the least", 10, func(p *Decay) { p.MinTokens = 300 }, []int{300, 300, 300, 300, 300, 300, 400, 400, 1000, 1000}, 14},
		{"small ones stay", 6, func(p *Decay) { p.MaxTokens = 2000 }, []int{1000, 1000, 1000, 1000, 1000, 1000}, 0},
		{"at once", 8, func(p *Decay) { p.Step = 2600 }, []int{200, 200, 400, 400, 1000, 1000, 1000, 1000}, 4},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := with(defineDecay(), func(p *Decay) {
				p.Keep, p.MaxTokens, p.HalfLife, p.MinTokens, p.Step = 2, 400, 2, 50, 0
				tt.change(p)
			})
			r := run(t, stagetest.RoundsOf(tt.rounds, 4000), defineDecay(), p)
			got := sizes(r)
			if len(got) != len(tt.want) {
				t.Fatalf("%v", got)
			}
			for i, most := range tt.want {
				if got[i] < most || got[i] > most+mark {
					t.Errorf("result %d: %d tokens, want %d: %v", i, got[i], most, got)
				}
			}
			stagetest.Same(t, tt.edits, len(r.View.Edits()), r.Edits())
		})
	}
}

// Head and tail stay, of the recorded text also where it was cut before; a result with an image is left alone.
func TestDecayText(t *testing.T) {
	c := stagetest.Talk(`prompt go`)
	var text strings.Builder
	for i := range 400 {
		fmt.Fprintf(&text, "line %04d\n", i) // 10 characters
	}
	var at []int
	for i := range 4 {
		c.Play(`assistant use %v Bash`, i)
		if i == 1 {
			c.Answers(stagetest.Results(fmt.Sprint(i), text.String(), stagetest.Image))
			continue
		}
		at = append(at, c.Answers(stagetest.Result(fmt.Sprint(i), text.String())))
	}
	c.Play(`prompt "and then"; assistant say done`)
	r := run(t, c, defineDecay(), with(defineDecay(), func(p *Decay) {
		p.Keep, p.MaxTokens, p.HalfLife, p.MinTokens, p.Head, p.Step = 1, 40, 2, 5, 0.25, 0
	}))
	for m, want := range map[int]string{
		at[0]: "line 0000\nline 0001\n[… 392 lines, 3,920 characters left out …]\nline 0394\nline 0395\nline 0396\nline 0397\nline 0398\nline 0399\n",
		at[1]: "line 0000\nline 0001\nline 0002\nline 0003\n[… 384 lines, 3,840 characters left out …]\n" + text.String()[3880:],
		at[2]: "",
	} {
		stagetest.Same(t, want, strings.ReplaceAll(r.Shown(m), "\n\n[", "\n["), m)
	}
	stagetest.Same(t, []string{"truncate@3 m2", "truncate@5 m2", "truncate@5 m6"}, r.Edits())
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
	// The user types as soon as the result is there: the API takes both as one message.
	interrupted := func() *stagetest.Convo {
		c := stagetest.Talk(`
prompt go; assistant think hm use a Read; answers result a text; prompt "stop, do that"; assistant say done
prompt "go on"; assistant say done
`)
		return c
	}
	for _, tt := range []struct {
		name       string
		convo      *stagetest.Convo
		keep, step int
		want       []string
	}{
		{"the current turn keeps it", turns(3), 1, 1, []string{"truncate@3 m1", "truncate@3 m3", "truncate@5 m5", "truncate@5 m7"}},
		{"two turns keep it", turns(3), 2, 1, []string{"truncate@5 m1", "truncate@5 m3"}},
		{"two turns at once", turns(3), 1, 2, []string{"truncate@5 m1", "truncate@5 m3", "truncate@5 m5", "truncate@5 m7"}},
		{"one turn", turns(1), 1, 1, nil},
		{"a loop that a prompt joined", interrupted(), 1, 1, []string{"truncate@3 m1"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := run(t, tt.convo, defineDropThinking(), &DropThinking{Keep: tt.keep, Step: tt.step})
			stagetest.Same(t, tt.want, r.Edits())
		})
	}
}

func TestDropImages(t *testing.T) {
	convo := func() *stagetest.Convo {
		c := stagetest.NewConvo()
		c.User(session.ClassPrompt, stagetest.Say("look at this"), stagetest.Block(jsonl.KindImage, "image", "")) // a prompt: m0
		for i := range 3 {
			c.Play(`assistant use %v Browser`, i)
			c.Answers(stagetest.Results(fmt.Sprint(i), "before", stagetest.Image, "behind")) // m2, m4, m6
		}
		c.Play(`assistant say done; prompt and; assistant say done`)
		return c
	}
	for _, tt := range []struct {
		name   string
		change func(*DropImages)
		want   []string
	}{
		{"the newest stay", func(p *DropImages) { p.Keep = 2 }, []string{"truncate@3 m0.1", "truncate@4 m2"}},
		{"two at once", func(p *DropImages) { p.Keep, p.Step = 1, 2 }, []string{"truncate@3 m0.1", "truncate@3 m2"}},
		{"turns", func(p *DropImages) { p.By, p.Keep = byTurns, 1 }, []string{"truncate@5 m0.1", "truncate@5 m2", "truncate@5 m4", "truncate@5 m6"}},
		{"fewer", func(p *DropImages) { p.Keep = 4 }, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := run(t, convo(), defineDropImages(), with(defineDropImages(), tt.change))
			stagetest.Same(t, tt.want, r.Edits())
			for _, e := range r.View.Edits() {
				want := "[image removed]"
				if e.Target.Item > 0 {
					want = "before\n[image removed]\nbehind"
				}
				stagetest.Same(t, want, e.New.Text)
			}
		})
	}
}

func TestSummarize(t *testing.T) {
	// Ten rounds of 1,000 tokens a result behind a prompt, and a second prompt with five more.
	convo := func() *stagetest.Convo {
		c := stagetest.NewConvo()
		for turn := range 2 {
			c.Prompt("go")
			for i := range 5 {
				c.Call(fmt.Sprint(turn, ".", i), "Read", 4000)
			}
			c.Play(`assistant say done`)
		}
		return c
	}
	for _, tt := range []struct {
		name   string
		change func(*Summarize)
		at     int // request of the first summary, 0 for none
		want   []string
		tokens int // of the summary
		input  int // of its call
	}{
		{"below the trigger", func(p *Summarize) { p.TriggerTokens = 20000 }, 0, nil, 0, 0},
		{"tokens", func(p *Summarize) { p.TriggerTokens, p.Keep = 4000, 2100 }, 5, []string{"m5", "m6", "m7", "m8"}, 300, 2509},
		{"pairs stay whole", func(p *Summarize) { p.TriggerTokens, p.Keep = 4000, 1000 }, 5, []string{"m7", "m8"}, 300, 3513},
		{"a share of the window", func(p *Summarize) { p.TriggerShare, p.Keep = 0.02, 2100 }, 5, []string{"m5", "m6", "m7", "m8"}, 300, 2509},
		{"messages", func(p *Summarize) { p.TriggerTokens, p.By, p.Keep = 4000, byMessages, 3 }, 5, []string{"m5", "m6", "m7", "m8"}, 300, 2509},
		{"messages that are no results", func(p *Summarize) { p.TriggerTokens, p.By, p.Keep = 4000, bySpoken, 2 }, 5, []string{"m5", "m6", "m7", "m8"}, 300, 2509},
		{"all of them", func(p *Summarize) { p.TriggerTokens, p.By, p.Keep = 4000, byMessages, 0 }, 5, nil, 300, 4517},
		{"turns", func(p *Summarize) { p.TriggerTokens, p.By, p.Keep = 6000, byTurns, 1 }, 8, []string{"m12", "m13", "m14"}, 300, 5522},
		{"one turn, all of which stays", func(p *Summarize) { p.TriggerTokens, p.By, p.Keep = 4000, byTurns, 2 }, 0, nil, 0, 0},
		{"a ratio", func(p *Summarize) { p.TriggerTokens, p.Keep, p.Ratio = 4000, 2100, 0.1 }, 5, []string{"m5", "m6", "m7", "m8"}, 200, 2509},
		{"the session's prefix", func(p *Summarize) { p.TriggerTokens, p.Keep, p.Prefix = 4000, 2100, "session" }, 5, []string{"m5", "m6", "m7", "m8"}, 300, 4517},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := with(defineSummarize(), func(p *Summarize) {
				p.Summary = policy.SummaryChoices{{Kind: policy.SummaryFixed, Tokens: 300}}
				tt.change(p)
			})
			r := stagetest.NewRun(t, convo(), stagetest.Start(t, defineSummarize(), p))
			var kept []string
			r.Each = func(k int) {
				if k+1 == tt.at {
					kept = stagetest.Order(r)
				}
			}
			r.All()
			edits := r.View.Edits()
			if tt.at == 0 {
				if len(edits) > 0 {
					t.Errorf("%v", r.Edits())
				}
				return
			}
			if len(edits) == 0 || edits[0].Kind != policy.KindSummarize || edits[0].Request != tt.at {
				t.Fatalf("%v, want a summary at request %d", r.Edits(), tt.at)
			}
			e := &edits[0]
			stagetest.Same(t, append([]string{"summary"}, tt.want...), kept)
			stagetest.Same(t, tt.tokens, e.Insert[0].Contents[0].Tokens, "a summary of")
			input := e.Call.Input
			if input == 0 {
				input = e.Before + e.Call.Prompt
			}
			stagetest.Same(t, tt.input, input, "a call of")
		})
	}
}

// A call that does not fit the window fails, and the view stays.
func TestSummarizeTooLong(t *testing.T) {
	r := stagetest.NewRun(t, stagetest.RoundsOf(30, 400), stagetest.Start(t, defineSummarize(), with(defineSummarize(), func(p *Summarize) { p.Keep = 100; p.Prompt = 2000 })))
	r.Window = 1000
	r.All()
	if edits := r.View.Edits(); len(edits) == 0 || edits[0].Kind != policy.KindFail {
		t.Errorf("%v, want a failure", r.Edits())
	}
}

// The reserve lowers the share of a small window, as Kimi CLI has it.
func TestSummarizeReserve(t *testing.T) {
	p := &Summarize{TriggerShare: 0.85, Reserve: 50000}
	for window, want := range map[int]int{200000: 150000, 500000: 425000, 40000: 1} {
		stagetest.Same(t, want, p.limit(window), window)
	}
}
