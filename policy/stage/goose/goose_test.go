package goose

import (
	"fmt"
	"strings"
	"testing"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/stage/stagetest"
)

func goose(t testing.TB, set string, args ...any) stagetest.Named {
	t.Helper()
	def := defineGooseCompaction()
	def.Params = stagetest.Params(t, def, "summary: [{fixed: 500}]")
	return stagetest.Start(t, def, set, args...)
}

// bench is a conversation in view, before the request that follows its last response.
func bench(t *testing.T, c *stagetest.Convo, total int, p stagetest.Named) *stagetest.Bench {
	r := stagetest.NewRun(t, c, p)
	r.Join()
	if n := len(c.Requests); n > 0 {
		r.Last = policy.Response{Known: true, Message: policy.ItemID(c.Requests[n-1].Message), Usage: jsonl.Usage{Input: total - 300, CacheRead: 100, CacheWrite: 100, Output: 100}}
	}
	return r
}

func TestGooseCompactionLimit(t *testing.T) {
	must.Rows(t, `
# name | window | total | change | want
at 80 %                      | 200000 | 160000 | ""             | false
over 80 %                    | 200000 | 160001 | ""             | true
not a whole number           | 999    | 799    | ""             | false  # 799.2
over what is no whole number | 999    | 800    | ""             | true
another share                | 200000 | 120001 | threshold: 0.6 | true
another share, at it         | 200000 | 120000 | threshold: 0.6 | false
0 switches it off            | 200000 | 199000 | threshold: 0   | false
1 switches it off            | 200000 | 199000 | threshold: 1   | false
`, func(_ string, window, total int, change string, theWant bool) {
		c := stagetest.Talk(`prompt go; assistant say done; prompt "and now"; meta say "a reminder"`)
		r := bench(t, c, total, goose(t, change))
		r.Window = window
		r.Fire(policy.Prepare, 1, policy.Context{})
		want := "m0-m3"
		if theWant {
			want = "summary continue m2-m3"
		}
		must.Equal(t, r.Order(), want)
	})
}

// In a turn only a request that is too large is compacted, and only the prompt stays.
func TestGooseCompactionInTurn(t *testing.T) {
	must.Rows(t, `
# name | size | change | want | text
over the threshold          | 170000 | ""              | m0-m3               | ""
over the window             | 210000 | ""              | summary continue m2 | "Your context was compacted. The previous message contains a summary of the conversation so far.\nDo not mention that you read a summary or that conversation summarization occurred.\nContinue calling tools as necessary to complete the task."
over the window, left alone | 210000 | overflow: false | m0-m3               | ""
`, func(_ string, size int, change, want, text string) {
		c := stagetest.Talk(`assistant use a Read use b Read`)
		half := strings.Repeat("x", 2*size)
		c.Play(`answers result a %q result b %q`, half, half)
		c.Messages[c.Prompt("meanwhile")].Marks |= session.Queued
		c.Play(`meta say "a reminder"`)
		r := bench(t, c, 190000, goose(t, change))
		r.Fire(policy.Prepare, 1, policy.Context{})
		must.Equal(t, r.Order(), want)
		if edits := r.View.Edits(); text != "" && edits[0].Insert[1].Contents[0].Text != text {
			t.Errorf("%+v", edits[0].Insert[1])
		}
	})
	c := stagetest.Talk(`prompt go; assistant say done`)
	r := bench(t, c, 1000, goose(t, ""))
	r.Fire(policy.Manual, 1, policy.Context{})
	got := r.Order()
	must.Say(t, `summary continue Your context was compacted at the user's request. The previous message contains a summary of the conversation so far.
Do not mention that you read a summary or that conversation summarization occurred.
Just continue the conversation naturally based on the summarized context.`, got, r.View.Edits()[0].Insert[1].Contents[0].Text)
}

// Results are left out from the middle outwards, as filter_tool_responses of the source does.
func TestGooseLeftOut(t *testing.T) {
	must.Rows(t, `
10 | 0   | null
0  | 100 | null
1  | 100 | null
2  | 10  | [0]
10 | 10  | [4]
10 | 20  | [4,5]
10 | 50  | [2,3,4,5,6]
10 | 100 | [0,1,2,3,4,5,6,7,8,9]
5  | 100 | [0,1,2,3]  # its last one never goes: an odd number has no pair for it
`, func(n, percent int, want []int) {
		var got []int
		for i, left := range leftOut(n, percent) {
			if left {
				got = append(got, i)
			}
		}
		must.Equal(t, got, want, n, percent)
	})
}

// A summary request that exceeds the window leaves results out; where that is not enough it fails.
func TestGooseCompactionTooLong(t *testing.T) {
	must.Rows(t, `
# text: tokens of a prompt
1000   | 0 | true
60000  | 1 | true
80000  | 3 | true
150000 | 4 | true
250000 | 4 | false
`, func(text, retries int, ok bool) {
		c := stagetest.Talk(`prompt x*%d`, 4*text)
		for i := range 10 {
			c.Play(`call %v Read %d`, i, 4*15000)
		}
		c.Prompt("and now")
		r := bench(t, c, 190000, goose(t, ""))
		r.Fire(policy.Prepare, 10, policy.Context{})
		edits := r.View.Edits()
		if len(edits) != 1 || ok && (edits[0].Call.Retries != retries || edits[0].Call.Input > 200000) ||
			!ok && (edits[0].Kind != policy.KindFail || edits[0].Detail["retries"] != retries) {
			t.Errorf("%d: %d edits, %+v", text, len(edits), edits)
		}
	})
}

// The source's own cases.
func TestGooseCutoff(t *testing.T) {
	must.Rows(t, `
128000   | 0.8 | 15
200000   | 0.8 | 24
1000000  | 0.8 | 120
50000    | 0.8 | 10
10000    | 0.8 | 10
10000000 | 0.8 | 500
200000   | 0.3 | 10
1000000  | 0.5 | 75
200000   | 0   | 24
200000   | -1  | 24
`, func(window int, threshold float64, want int) {
		must.Equal(t, (&GooseToolPairs{Threshold: threshold}).cutoff(window), want, window, threshold)
	})
}

func TestGooseToolPairs(t *testing.T) {
	must.Rows(t, `
# earlier: calls of the first turn
# current: of the second, before the request
at the cutoff and a batch        | 15 | 0  | 0
one more                         | 16 | 0  | 10
the current turn's do not count  | 15 | 20 | 0
one more, and the current turn's | 16 | 5  | 10
`, func(name string, earlier, current, gone int) {
		t.Run(name, func(t *testing.T) {
			c := stagetest.Talk(`prompt go`)
			for i := range earlier {
				c.Play(`call a%d Read 40`, i)
			}
			c.Play(`assistant say done; prompt "and now"`)
			for i := range current {
				c.Play(`call b%d Read 40`, i)
			}
			request := len(c.Requests)
			c.Play(`assistant use last Read`)
			response := len(c.Messages) - 1
			c.Play(`answers result last x`)
			r := stagetest.NewRun(t, c, stagetest.Start(t, defineGooseToolPairs(), &GooseToolPairs{Cutoff: 5, Batch: 10, Prompt: 130, Tokens: 40}))
			for m := range response {
				r.View.Join(m)
			}
			r.Fire(policy.Prepare, request, policy.Context{})
			r.View.Join(response)
			r.View.Join(response + 1)
			r.Fire(policy.Respond, request+1, policy.Context{})
			want := fmt.Sprintf("m%d-m%d", 2*gone, response+1)
			if gone > 0 {
				want = fmt.Sprintf("m0 m%d-m%d", 1+2*gone, response+1) + strings.Repeat(" summary of a call", gone)
			}
			must.Equal(t, r.Order(), want)
		})
	})
}

// A response with several calls goes as a whole, its text stays.
func TestGooseToolPairsText(t *testing.T) {
	c := stagetest.Talk(`
prompt go; assistant think hm say "let me see" use a Read use b Read; answers result b x; answers result a y
call c Read 40; assistant say done; prompt "and now"; assistant say "done too"
`)
	r := stagetest.NewRun(t, c, stagetest.Start(t, defineGooseToolPairs(), &GooseToolPairs{Cutoff: 1, Batch: 1, Prompt: 130, Tokens: 40}))
	r.All()
	must.Equal(t, r.Order(), "m0 text next to calls m4-m8 summary of a call summary of a call")
	call := r.View.Edits()[0].Call
	if call == nil || call.Then == nil || call.Then.Then != nil || call.Output != 40 {
		t.Errorf("%+v", call)
	}
}
