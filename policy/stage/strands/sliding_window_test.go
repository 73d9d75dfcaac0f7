package strands

import (
	"strings"
	"testing"

	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/stage/stagetest"
	"github.com/ctxkit/ctxkit/policy/view"
)

func sliding(messages int, every, cut string) *SlidingWindow {
	return &SlidingWindow{Messages: messages, Every: every, Cut: cut}
}

func TestSlidingWindowLimits(t *testing.T) {
	// A prompt, an answer, and so on: every second message may begin a window.
	must.Rows(t, `
# want: what is left at the last request
20 | 40 | 39  # 40 would begin with an answer
21 | 40 | 39  # 40 would begin with an answer
22 | 40 | 39  # 40 would begin with an answer
25 | 40 | 39  # 40 would begin with an answer
20 | 39 | 39
21 | 39 | 39
2  | 2  | 1
2  | 3  | 3
`, func(turns, messages, want int) {
		c := stagetest.NewConvo()
		for i := range turns {
			c.Play(`prompt %v; assistant say done`, i)
		}
		r := stagetest.NewRun(t, c, stagetest.Start(t, defineSlidingWindow(), sliding(messages, "request", "prompt")))
		left := 0
		r.Each = func(int) { left = r.View.Len() }
		r.All()
		must.Equal(t, left, want, 2*turns-1, messages)
	})
}

// The definition's example: the fourth message is a tool result, the fifth the assistant's, the sixth a result again.
func TestSlidingWindowExample(t *testing.T) {
	c := stagetest.Talk(`prompt go`)
	for i := range 2 {
		c.Play(`call %v Read 40`, i)
	}
	c.Play(`assistant say done`)
	for i := range 18 {
		c.Play(`prompt %v; assistant say done`, i)
	}
	c.Prompt("the last")
	r := stagetest.NewRun(t, c, stagetest.Start(t, defineSlidingWindow(), nil))
	r.Join()
	if r.View.Len() != 43 {
		t.Fatalf("%d messages", r.View.Len())
	}
	r.Fire(policy.Prepare, 0, policy.Context{})
	must.Equal(t, r.View.Len(), 43, "it slides before a request, and should when the agent stops")
	r.Fire(policy.TurnEnd, 0, policy.Context{})
	first := r.View.IDs()[0]
	must.Say(t, "37 6", r.View.Len(), first)
}

// One long run is never cut at a prompt, and is at any round.
func TestSlidingWindowLongRun(t *testing.T) {
	must.Rows(t, `
# cut | want
prompt | [0,1,2,3,4,5,6,7,8,9,10,11,12]
round  | [0,11,12]
`, func(cut string, want []int) {
		c := stagetest.RoundsOf(6, 40)
		r := stagetest.NewRun(t, c, stagetest.Start(t, defineSlidingWindow(), sliding(4, "request", cut)))
		var got []int
		r.Each = func(int) {
			got = nil
			for id := range r.View.Items {
				got = append(got, int(id))
			}
			if v := view.CheckAPI(r.View); v != nil {
				t.Error(v)
			}
		}
		r.All()
		must.Equal(t, got, want, cut)
	})
	// Two are the first message and the results about to be sent: without their call they cannot stand.
	must.Rows(t, `
2  | 13
3  | 3
4  | 3
5  | 5
13 | 13
14 | 13
`, func(messages, want int) {
		c := stagetest.RoundsOf(6, 40)
		r := stagetest.NewRun(t, c, stagetest.Start(t, defineSlidingWindow(), sliding(messages, "request", "round")))
		left := 0
		r.Each = func(int) { left = r.View.Len() }
		r.All()
		must.Equal(t, want, left, messages)
	})
}

// What other stages take out and rebuild is followed.
func TestSlidingWindowFollows(t *testing.T) {
	c := stagetest.NewConvo()
	for i := range 6 {
		c.Play(`prompt %v; assistant say done`, i)
	}
	r := stagetest.NewRun(t, c, stagetest.Start(t, defineSlidingWindow(), sliding(4, "request", "prompt")))
	apply := func(e policy.Edit) {
		must.Get(r.View.Apply(e))(t)
	}
	r.Each = func(k int) {
		switch k {
		case 1:
			apply(policy.Edit{Kind: policy.KindRemove, Stage: "another", Items: []policy.ItemID{0, 1}})
		case 4:
			apply(policy.Edit{Kind: policy.KindSummarize, Stage: "another", Keep: []policy.ItemID{8}})
		}
	}
	r.All()
	must.Equal(t, r.View.IDs(), []policy.ItemID{8, 9, 10, 11})
	must.Equal(t, strings.Count(r.Edits(), "remove@"), 3, r.Edits())
}

// In Python the oldest results are cut first, and the window slides the next time.
func TestSlidingWindowTruncate(t *testing.T) {
	must.Rows(t, `
# chars | want
400 | [1,1]
401 | [9,1]
`, func(chars int, want [2]int) {
		c := stagetest.Talk(`prompt go`)
		for i, n := range []int{chars, 1000} {
			c.Play(`call %v Read %d; assistant say done; prompt "go on"`, i, n)
		}
		p := *defineSlidingWindow().Params.(*SlidingWindow)
		p.Messages = 3
		r := stagetest.NewRun(t, c, stagetest.Start(t, defineSlidingWindow(), &p))
		r.Join()
		for i, left := range want {
			r.Fire(policy.TurnEnd, i, policy.Context{})
			must.Equal(t, r.View.Len(), left, chars, i+1)
			if shown := r.Shown(2); i == 0 && chars > 400 && !strings.Contains(shown, "...\n\n... [truncated: 1 chars removed] ...\n\n...") {
				t.Errorf("%q", shown)
			}
		}
	})
}

// A request that fills the share slides, once, and cuts no result.
func TestSlidingWindowProactive(t *testing.T) {
	must.Rows(t, `
# window | want
1001 | 6
1000 | 4
`, func(window, want int) {
		c := stagetest.NewConvo()
		for range 3 {
			c.Play(`prompt x*400; assistant say x*532`)
		}
		p := *defineSlidingWindow().Params.(*SlidingWindow)
		p.Proactive = 0.7
		r := stagetest.NewRun(t, c, stagetest.Start(t, defineSlidingWindow(), &p))
		r.Join()
		r.Window, r.Overhead = window, 1 // 700 tokens
		r.Fire(policy.Prepare, 0, policy.Context{})
		must.Equal(t, r.View.Len(), want, window)
	})
}
