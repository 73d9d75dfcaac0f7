package opencode

import (
	"testing"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/stage/stagetest"
	"github.com/ctxkit/ctxkit/policy/view"
)

func overflow(t testing.TB, set string, args ...any) stagetest.Named {
	t.Helper()
	def := defineOpencodeCompaction()
	def.Params = stagetest.Params(t, def, "summary: [{fixed: 5000}]")
	return stagetest.Start(t, def, set, args...)
}

func TestOpencodeOverflow(t *testing.T) {

	must.Rows(t, `
# name | change | usage | want
# Section 4: the model's own input limit counts in place of the context, less the reserve from 1.18 on.
input limit                     | count: '1.1.36', input_limit: 150000, reserved: -1 | {"Input":150000} | false
input limit, one more           | count: '1.1.36', input_limit: 150000, reserved: 50000 | {"Input":150001} | true
1.18: input limit less 20,000   | count: '1.18', input_limit: 150000, reserved: -1 | {"Input":130000} | true
1.18: one less                  | count: '1.18', input_limit: 150000, reserved: -1 | {"Input":129999} | false
1.18: input limit less reserved | count: '1.18', input_limit: 150000, reserved: 50000 | {"Input":100000} | true
1.18: reserved, one less        | count: '1.18', input_limit: 150000, reserved: 50000 | {"Input":99999}  | false
168,000 of 168,000              | ""            | {"CacheRead":150000,"Input":8000,"Output":10000} | false
168,001                         | ""            | {"CacheRead":150000,"Input":8001,"Output":10000} | true
cache writes do not count       | ""            | {"CacheRead":150000,"CacheWrite":30000,"Input":8000,"Output":10000} | false
off                             | auto: false   | {"Input":199000} | false
1.18: 167,999                   | count: '1.18' | {"CacheRead":100000,"CacheWrite":50000,"Input":7999,"Output":10000} | false
1.18: 168,000, writes included  | count: '1.18' | {"CacheRead":100000,"CacheWrite":50000,"Input":8000,"Output":10000} | true
`, func(_, change string, usage jsonl.Usage, want bool) {
		c := stagetest.Uses(1)
		r := stagetest.NewRun(t, c, overflow(t, change))
		for m := range 3 {
			r.View.Join(m)
		}
		r.Last = policy.Response{Usage: usage, Known: true, Message: 1}
		r.Fire(policy.Respond, 1, policy.Context{MaxOutput: 64000})
		must.Equal(t, r.View.Epoch() > 0, want, "compacted")
		// The same response is answered once.
		n := len(r.View.Edits())
		r.Fire(policy.Prepare, 1, policy.Context{MaxOutput: 64000})
		must.Equal(t, len(r.View.Edits()), n)
	})
}

func TestOpencodeCompactionView(t *testing.T) {
	texts := func(r *stagetest.Bench) (list []string) {
		for id := range r.View.Items {
			if s := r.View.Synthetic(id); s != nil {
				list = append(list, s.Role+": "+s.Contents[0].Text)
			}
		}
		return list
	}
	must.Rows(t, `
on overflow | false | ["user: What did we do so far?","assistant: ","user: Continue if you have next steps"]
by hand     | true  | ["user: What did we do so far?","assistant: "]
`, func(name string, manual bool, want []string) {
		t.Run(name, func(t *testing.T) {
			r := stagetest.NewRun(t, stagetest.Uses(1), overflow(t, ""))
			for m := range 3 {
				r.View.Join(m)
			}
			r.Last = policy.Response{Usage: jsonl.Usage{Input: 170000}, Known: true, Message: 1}
			if manual {
				r.Fire(policy.Manual, 1, policy.Context{MaxOutput: 64000})
			} else {
				r.Fire(policy.Respond, 1, policy.Context{MaxOutput: 64000})
			}
			must.Equal(t, texts(r), want)
			if v := view.CheckAPI(r.View); v != nil {
				t.Errorf("%v", v)
			}
		})
	})
}

// The 1.18 summariser is shown 2,000 characters of an output, its share of the tokens rounded down, and all of any
// other text.
func TestOpencodeSummarisedOutput(t *testing.T) {
	must.Rows(t, `
0     | 0
1999  | 500
2000  | 500
2001  | 499
2004  | 500
8000  | 500
80000 | 500
`, func(n, want int) {
		must.Rows(t, `
# count | prompt
1.18   | 537
1.18.3 | 225
`, func(count string, prompt int) {
			c := stagetest.Talk(`prompt x*8004; call a Read %d; assistant say x*8000`, n)
			p := keeping(t, count, 0, -1)
			p.Prompt = prompt
			want := 2001 + 4 + want + 2000 + prompt
			must.Equal(t, compacted(t, c, p).View.Edits()[0].Call.Input, want, count, n)
		})
	})
}

func TestOpencodeSummaryCall(t *testing.T) {
	must.Rows(t, `
# count | prompt | input
1.1.36 | 225 | 0  # the engine counts the view and the prompt
1.18   | 537 | 718
`, func(count string, prompt, input int) {
		p := defineOpencodeCompaction().Params.(*OpencodeCompaction)
		p.Count, p.Prompt = count, prompt
		if call := compacted(t, stagetest.Small(20), p).View.Edits()[0].Call; call.Prompt != prompt || call.Input != input {
			t.Errorf("%s: %+v, want %d, %d", count, call, prompt, input)
		}
	})
}

// TestOutputTokenMax: 1.1.36 goes by the variable at both tests, 1.18 only before a request (section 4.1).
func TestOutputTokenMax(t *testing.T) {
	must.Rows(t, `
# count | max | used | respond | prepare
1.1.36 | 50000 | 150000 | false | false
1.1.36 | 50000 | 150001 | true  | true
1.1.36 | 10000 | 190000 | false | false
1.1.36 | 10000 | 190001 | true  | true
1.18   | 50000 | 149999 | false | false
1.18   | 50000 | 150000 | false | true
1.18   | 10000 | 167999 | false | false
1.18   | 10000 | 168000 | true  | true
`, func(count string, max, used int, theRespond, thePrepare bool) {
		r := stagetest.NewRun(t, stagetest.Uses(1), overflow(t, "count: '%v', output_token_max: %v", count, max))
		for m := range 3 {
			r.View.Join(m)
		}
		r.Last = policy.Response{Usage: jsonl.Usage{Input: used}, Known: true, Message: 1}
		r.Fire(policy.Respond, 1, policy.Context{MaxOutput: 64000})
		respond := len(r.View.Edits()) > 0
		r.Fire(policy.Prepare, 1, policy.Context{MaxOutput: 64000})
		if prepare := len(r.View.Edits()) > 0; respond != theRespond || prepare != thePrepare {
			t.Errorf("%s, at most %d, %d used: %t where the step ended, %t before the request", count, max, used, respond, prepare)
		}
	})
}
