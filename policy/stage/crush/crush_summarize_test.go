package crush

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/stage/stagetest"
)

func crush(t testing.TB, set string, args ...any) stagetest.Named {
	t.Helper()
	def := defineCrushSummarize()
	def.Params = stagetest.Params(t, def, "summary: [{fixed: 500}]")
	return stagetest.Start(t, def, set, args...)
}

// step is the response of a request with a usage.
func step(c *stagetest.Convo, u jsonl.Usage) policy.Response {
	q := c.Requests[len(c.Requests)-1]
	return policy.Response{Known: true, Message: policy.ItemID(q.Message), Usage: u}
}

func TestCrushSummarizeLimit(t *testing.T) {
	must.Rows(t, `
# name | window | usage | change | want
one below 20 %                       | 200000  | {"CacheRead":59000,"Input":100000,"Output":999} | ""          | false
20 % left                            | 200000  | {"CacheRead":59000,"Input":100000,"Output":1000} | ""          | true
a small window, one below            | 128000  | {"Input":102399}     | ""          | false
a small window                       | 128000  | {"Input":102400}     | ""          | true
the share is rounded down            | 999     | {"Input":800}        | ""          | true
the share is rounded down, one below | 999     | {"Input":799}        | ""          | false
a large window, one below            | 200001  | {"Input":180000}     | ""          | false
a large window                       | 200001  | {"Input":180001}     | ""          | true
a million                            | 1000000 | {"CacheRead":980000} | ""          | true
what was written to the cache does not count | 200000  | {"CacheRead":100000,"CacheWrite":90000,"Input":5} | ""          | false
unless it is to                      | 200000  | {"CacheRead":100000,"CacheWrite":90000,"Input":5} | count: all  | true
switched off                         | 200000  | {"Input":190000}     | auto: false | false
an unknown window                    | 0       | {"Input":190000}     | ""          | false
`, func(_ string, window int, usage jsonl.Usage, change string, theWant bool) {
		c := stagetest.Talk(`prompt go; assistant say done`)
		r := stagetest.NewRun(t, c, crush(t, change))
		r.Join()
		r.Window, r.Last = window, step(c, usage)
		r.Fire(policy.Respond, 1, policy.Context{})
		want := "m0-m1"
		if theWant {
			want = "summary"
		}
		must.Equal(t, r.Order(), want)
	})
}

// In a turn the prompt follows the summary, in Crush's words, and once more around those words the next time.
func TestCrushSummarizeInTurn(t *testing.T) {
	c := stagetest.Talk(`prompt "fix the bug"`)
	for _, id := range []string{"a", "b"} {
		c.Play(`assistant use %q Read; answers result %q x`, id, id)
	}
	c.Play(`assistant say done; prompt "and now"; assistant use c Read; answers result c x`)
	r := stagetest.NewRun(t, c, crush(t, ""))
	must.Rows(t, `
# upTo | request | want
3 | 0 | "The previous session was interrupted because it got too long, the initial user request was: \u0060fix the bug\u0060"
5 | 1 | "The previous session was interrupted because it got too long, the initial user request was: \u0060The previous session was interrupted because it got too long, the initial user request was: \u0060fix the bug\u0060\u0060"
6 | 2 | ""
9 | 3 | "The previous session was interrupted because it got too long, the initial user request was: \u0060and now\u0060"
`, func(upTo, request int, theWant string) {
		for m := r.View.Joined(); m < upTo; m++ {
			r.View.Join(m)
		}
		r.Last = policy.Response{Known: true, Message: policy.ItemID(c.Requests[request].Message), Usage: jsonl.Usage{Input: 170000}}
		r.Fire(policy.Respond, request+1, policy.Context{})
		want, got := "summary", ""
		if theWant != "" {
			want += " continue"
			last, _ := r.View.Last()
			got = r.View.Synthetic(last).Contents[0].Text
		}
		if diff := cmp.Diff(want, r.Order()); diff != "" || got != theWant {
			t.Errorf("after request %d: %q, want %q; -want +got\n%s", request+1, got, theWant, diff)
		}
	})
}

// A step that reports nothing leaves the counters, and a summary is all that is left of a session.
func TestCrushSummarizeCounters(t *testing.T) {
	s := crush(t, "").Stage.(*crushSummarize)
	must.Rows(t, `
{"CacheRead":20,"CacheWrite":500,"Input":10,"Output":5} | 35
{}            | 35
{"Output":7}  | 37
{"Input":100} | 107
`, func(usage jsonl.Usage, want int) {
		must.Equal(t, s.count(usage), want, usage)
	})
	c := stagetest.Talk(`prompt go; assistant say done`)
	r := stagetest.NewRun(t, c, stagetest.Named{Def: defineCrushSummarize(), Stage: s})
	r.Join()
	r.Fire(policy.Manual, 1, policy.Context{})
	got := r.Order()
	must.Say(t, "summary 0 500", got, s.prompt, s.output)
	r = stagetest.NewRun(t, c, crush(t, "manual: ignore"))
	r.View.Join(0)
	r.Fire(policy.Manual, 1, policy.Context{})
	must.Equal(t, r.Order(), "m0", "ignored")
}

// A summary request that exceeds the window fails, and the view stays.
func TestCrushSummarizeTooLong(t *testing.T) {
	c := stagetest.Talk(`
prompt x*%d  # with 474 of the request one too many
assistant say ""
`, 4*199527)
	r := stagetest.NewRun(t, c, crush(t, ""))
	r.Join()
	r.Last = step(c, jsonl.Usage{Input: 190000})
	r.Fire(policy.Respond, 1, policy.Context{})
	if e := r.View.Edits(); len(e) != 1 || e[0].Kind != policy.KindFail || e[0].Detail["input_tokens"] != 200001 || r.View.Len() != 2 {
		t.Errorf("%+v", e)
	}
}
