package anthropic

import (
	"strings"
	"testing"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/stage/stagetest"
)

func compacting(t testing.TB, set string, args ...any) stagetest.Named {
	t.Helper()
	def := defineCompactAPI()
	def.Params = stagetest.Params(t, def, "summary: [{fixed: 3500}]")
	return stagetest.Start(t, def, set, args...)
}

func TestCompactAPITrigger(t *testing.T) {

	must.Rows(t, `
# name | prompt | change | want
150,000 is not over        | 150000 | ""             | ""
150,001                    | 150001 | ""             | summarize@2
the least trigger, at it   | 50000  | trigger: 50000 | ""
the least trigger, over it | 50001  | trigger: 50000 | summarize@2
`, func(_ string, prompt int, change, theWant string) {
		c := stagetest.Talk(`
prompt go  # 1 token
call a Read %d; assistant say done
`, 4*(prompt-10005))
		r := stagetest.NewRun(t, c, compacting(t, change))
		r.Overhead = 10000
		var at []int
		r.Each = func(int) { at = append(at, r.Overhead+r.View.Tokens()) }
		r.All()
		must.Equal(t, r.Edits(), theWant)
		if len(theWant) == 0 {
			must.Equal(t, at[1], prompt, "a prompt of")
			return
		}
		e := r.View.Edits()[0]
		want := &policy.Call{Kind: "compaction", Prompt: 110, Input: prompt + 110, Prefix: "session"}
		must.Equal(t, e.Call, want, "call")
		if e.Detail["pre_tokens"] != prompt || at[1] != 10000+3500 {
			t.Errorf("pre_tokens %d, then a message iteration of %d", e.Detail["pre_tokens"], at[1])
		}
	})
}

// Instructions of one's own replace the default's.
func TestCompactAPIInstructions(t *testing.T) {
	must.Rows(t, `
""                    | 110
Keep every file name. | 5
"整理 😀"                | 1
x                     | 0
xx                    | 1
`, func(text string, want int) {
		c := stagetest.Uses(3)
		p := stagetest.Params(t, defineCompactAPI(), "summary: [{fixed: 3500}]").(*CompactAPI)
		p.Instructions = text
		r := stagetest.NewRun(t, c, stagetest.Start(t, defineCompactAPI(), p))
		r.Overhead = 180000
		r.View.Join(0)
		size := r.Overhead + r.View.Tokens()
		r.Fire(policy.Project, 0, policy.Context{})
		if call := r.View.Edits()[0].Call; call.Prompt != want || call.Input != size+want {
			t.Errorf("%q: a prompt of %d in an input of %d, want %d in %d", text, call.Prompt, call.Input, want, size+want)
		}
	})
}

// The API's own notation and the plain number are the same.
func TestCompactAPINotation(t *testing.T) {
	must.Rows(t, `
150001                              | 150001
{input_tokens: 150002}              | 150002
{type: input_tokens, value: 150003} | 150003
49999                               | ""
{input_tokens: 49999}               | ""
{tool_uses: 60000}                  | ""
none                                | ""
`, func(value, want string) {
		p, err := policy.Decode("p.yaml", []byte("name: p\nabout: a\nsource: s\ndate: 2026-01-25\nstages:\n  - compact_api:\n      trigger: "+value+"\n"), stagetest.Registry(t, defineCompactAPI()), nil)
		if want == "" {
			if err == nil {
				t.Errorf("%s: no error", value)
			}
			return
		}
		if err != nil {
			t.Errorf("%s: %v", value, err)
			return
		}
		if got, _ := p.Get("compact_api.trigger"); got != want {
			t.Errorf("%s: %s", value, got)
		}
	})
}

func TestCompactAPITriggerTooLow(t *testing.T) {
	d := defineCompactAPI()
	p := stagetest.Params(t, d, "").(*CompactAPI)
	p.Trigger = 49999
	if _, err := d.New(p); err == nil {
		t.Error("no error for a trigger of 49,999")
	}
}

// A summary alone is not summarised again, however large the rest of the prompt is.
func TestCompactAPIOnce(t *testing.T) {
	c := stagetest.Uses(3)
	r := stagetest.NewRun(t, c, compacting(t, "pause_after: true"))
	r.Overhead = 180000
	r.View.Join(0)
	r.Fire(policy.Project, 0, policy.Context{})
	r.Fire(policy.Project, 0, policy.Context{})
	must.Equal(t, r.Edits(), "summarize@1")
	if reason := r.View.Edits()[0].Reason; !strings.Contains(reason, "paused after the summary") {
		t.Errorf("reason %q", reason)
	}
}

// The recorded summary is used, and nothing is re-injected beside it: that is the client's doing, not the API's.
func TestCompactAPIRecorded(t *testing.T) {
	c := stagetest.Uses(3)
	c.Boundaries = append(c.Boundaries, stagetest.BoundaryAt(7))
	r := stagetest.NewRun(t, c, compacting(t, "summary: [recorded, {fixed: 9}]"))
	sum := policy.NewContent(jsonl.KindText, "what was done")
	r.Record = stagetest.Recording{Content: &sum, Tail: []policy.Synthetic{{Role: "user", Contents: []policy.Content{sum}}}}
	r.Manual = map[int]bool{2: true}
	r.All()
	must.Equal(t, r.Edits(), "summarize@3")
	e := r.View.Edits()[0]
	if e.Trigger != "manual" || len(e.Insert) != 1 || e.Insert[0].Contents[0].Text != "what was done" || len(e.Tail) != 0 {
		t.Errorf("%+v", e)
	}
	r = stagetest.NewRun(t, stagetest.Uses(3), compacting(t, "manual: ignore"))
	r.Manual = map[int]bool{2: true}
	if edits := r.All().Edits(); edits != "" {
		t.Errorf("ignored, and yet %v", edits)
	}
}

// What tool-use clearing takes off is not in the prompt the trigger reads.
func TestCompactAPIAfterClearing(t *testing.T) {
	c := stagetest.Uses(4)
	must.Rows(t, `
150000 | false
150400 | true
`, func(overhead int, want bool) {
		r := stagetest.NewRun(t, c,
			clearing(t, "trigger: {input_tokens: 1}, keep: 0"),
			compacting(t, ""))
		r.Overhead = overhead - 100
		r.All()
		must.Equal(t, r.View.Epoch() > 0, want, r.Overhead, r.Payload)
	})
}
