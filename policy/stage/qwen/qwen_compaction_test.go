package qwen

import (
	"strings"
	"testing"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/stage/stagetest"
	"github.com/ctxkit/ctxkit/policy/stage/summarize"
)

// talk is a conversation whose next prompt is a result of so many characters.
func talk(t *testing.T, result, summary int) *stagetest.Bench {
	c := stagetest.Talk(`prompt x*40000; assistant say done; prompt go; call a Read %d`, result)
	p := *defineQwenCompaction().Params.(*QwenCompaction)
	p.Summary = policy.SummaryChoices{{Kind: policy.SummaryFixed, Tokens: summary}}
	r := stagetest.NewRun(t, c, stagetest.Start(t, defineQwenCompaction(), &p))
	r.Join()
	return r
}

func last(input, output int) policy.Response {
	return policy.Response{Known: true, Usage: jsonl.Usage{Input: input, Output: output}}
}

// The estimate is that of the next prompt: the definition's example, and one token less.
func TestQwenCompactionThreshold(t *testing.T) {
	must.Rows(t, `
# window | input | output | result | want
200000 | 160000 | 3000 | 15936 | true
200000 | 160000 | 3000 | 15932 | false
200000 | 159999 | 3000 | 15936 | false
220000 | 183000 | 0    | 15936 | true  # 85 % are 187,000, and all but 33,000 too
256000 | 213600 | 0    | 15936 | true  # 85 %
256000 | 213599 | 0    | 15936 | false
20000  | 13000  | 0    | 15936 | true  # nothing is left of so small a window: 85 %
20000  | 12999  | 0    | 15936 | false
`, func(window, input, output, result int, theWant bool) {
		r := talk(t, result, 100)
		r.Window, r.Last = window, last(input, output)
		r.Fire(policy.Prepare, 3, policy.Context{})
		want := "m0-m4"
		if theWant {
			want = "summary acknowledgement m3-m4"
		}
		must.Equal(t, r.Order(), want, window)
	})
}

// After three failures there is no further try, but near the end of the window, three times more.
func TestQwenCompactionBreaker(t *testing.T) {
	r := talk(t, 4, 15000) // larger than the history
	r.Last = last(170000, 0)
	fails := func(requests int) int {
		before := len(r.View.Edits())
		for range requests {
			r.Fire(policy.Prepare, 3, policy.Context{})
		}
		for _, e := range r.View.Edits()[before:] {
			if e.Kind != policy.KindFail || e.Call == nil || e.Call.Output != 15000 {
				t.Errorf("%+v", e)
			}
		}
		return len(r.View.Edits()) - before
	}
	must.Equal(t, fails(5), 3)
	r.Last = last(178000, 0)
	must.Equal(t, fails(5), 3)
	if !strings.Contains(r.View.Edits()[5].Reason, "the last of 3 tries") {
		t.Errorf("reason %q", r.View.Edits()[5].Reason)
	}
	r.Fire(policy.Manual, 3, policy.Context{}) // by hand it is tried all the same
	if e := r.View.Edits()[6]; e.Kind != policy.KindFail || e.Trigger != "manual" {
		t.Errorf("%+v", e)
	}
}

// After a failure there is no further automatic compression, until one by hand succeeds.
func TestQwenCompressionFailed(t *testing.T) {
	p := *defineQwenCompression().Params.(*QwenCompression)
	p.Rules, p.Summary = "0.12", policy.SummaryChoices{{Kind: policy.SummaryFixed, Tokens: 50000}}
	c := stagetest.NewConvo()
	for range 4 {
		c.Play(`prompt x*20000; assistant say done`)
	}
	c.Prompt("go")
	s := &qwenCompression{QwenCompression: p, breaker: summarize.Breaker{Most: 1}}
	r := stagetest.NewRun(t, c, stagetest.Named{Def: defineQwenCompression(), Stage: s})
	r.Join()
	fire := func(m policy.Moment) {
		r.Last = last(150000, 0)
		r.Fire(m, 5, policy.Context{})
	}
	fire(policy.Prepare)
	s.Summary[0].Tokens = 100
	fire(policy.Prepare)
	if n := len(r.View.Edits()); n != 1 || r.View.Edits()[0].Kind != policy.KindFail {
		t.Fatalf("edits %v, want one failure", r.Edits())
	}
	fire(policy.Manual)
	if r.View.Epoch() != 1 {
		t.Fatalf("edits %v, want a compression by hand", r.Edits())
	}
	fire(policy.Prepare)
	must.Equal(t, r.View.Epoch(), 2)
}
