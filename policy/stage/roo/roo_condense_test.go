package roo

import (
	"testing"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/stage/stagetest"
)

func condensing(t testing.TB, set string, args ...any) stagetest.Named {
	t.Helper()
	def := defineRooCondense()
	def.Params = stagetest.Params(t, def, "summary: [{fixed: 500}]")
	return stagetest.Start(t, def, set, args...)
}

// talk is a prompt, rounds calls and what they answered, and a request about to be made.
func talk(rounds int) *stagetest.Convo {
	c := stagetest.Talk(`prompt go`)
	for i := range rounds {
		c.Play(`call %v Read 4000`, i)
	}
	c.Play(`assistant say done`)
	return c
}

// before joins all messages but the last, with the usage of the last response.
func before(t *testing.T, c *stagetest.Convo, p stagetest.Named, used int) *stagetest.Bench {
	r := stagetest.NewRun(t, c, p)
	for m := range len(c.Messages) - 1 {
		r.View.Join(m)
	}
	r.Overhead = 5000
	r.Last = policy.Response{Known: true, Usage: jsonl.Usage{Input: used}, Message: policy.ItemID(len(c.Messages) - 3)}
	return r
}

// The limits of the source: 0.9 W - 8,192, and a share of the window; what joined since the last response counts.
func TestRooCondenseLimit(t *testing.T) {
	// 1,000 of the last result.
	must.Rows(t, `
# window | used | percent | want
200000 | 170808 | 100 | false
200000 | 170809 | 100 | true
128000 | 106008 | 100 | false
128000 | 106009 | 100 | true
200000 | 98999  | 50  | false
200000 | 99000  | 50  | true
200000 | 170809 | 95  | true
`, func(window, used int, percent float64, want bool) {
		r := before(t, talk(3), condensing(t, "percent: %v", percent), used)
		r.Window = window
		r.Fire(policy.Prepare, 3, policy.Context{})
		must.Equal(t, r.View.Epoch() > 0, want, used, window, percent)
	})
}

// What is left: the summary alone, or the first message, the summary, and the newest with the calls they answer.
func TestRooCondenseKeeps(t *testing.T) {
	must.Rows(t, `
0  | summary
2  | m0 summary m11-m12
3  | m0 summary m9-m12
12 | m0-m12
`, func(keep int, want string) {
		r := before(t, talk(6), condensing(t, "keep: %v", keep), 171000)
		r.Fire(policy.Manual, 6, policy.Context{})
		must.Equal(t, r.Order(), want, keep)
	})
}

// Where condensing is off or fails, half of the messages after the first are cut off, an even number.
func TestRooCondenseCuts(t *testing.T) {
	must.Rows(t, `
# rounds | change | want | edits
6 | condense: false                     | m0 truncation m7-m12 | collapse@7
7 | condense: false                     | m0 truncation m7-m14 | collapse@8
1 | condense: false                     | m0-m2                | ""
6 | keep: 3, summary: [{fixed: 180000}] | m0 truncation m7-m12 | fail@7 m0, collapse@7
`, func(rounds int, change, want, edits string) {
		r := before(t, talk(rounds), condensing(t, change), 175000)
		r.Fire(policy.Prepare, rounds, policy.Context{})
		must.Equal(t, r.Order(), want, rounds)
		must.Equal(t, r.Edits(), edits, rounds)
	})
}
