package claude

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/stage/stagetest"
	"github.com/ctxkit/ctxkit/policy/view"
)

// collapsing are parameters of tests: every turn but the newest may go, one by one, each for a summary of 10 tokens.
func collapsing(t testing.TB, set string, args ...any) stagetest.Named {
	t.Helper()
	def := defineContextCollapse()
	def.Params = stagetest.Params(t, def, "stage_at: 1, commit_at: 1, target: 1, protect: 0, span: 1, summary: [{fixed: 10}]")
	return stagetest.Start(t, def, set, args...)
}

// turns is n answered prompts of 100 tokens a turn, and one to come: U1 is m0, A1 m1, U2 m2 …
func turns(n int) *stagetest.Convo {
	c := stagetest.NewConvo()
	for range n {
		c.Play(`prompt u*200; assistant say a*200`)
	}
	c.Play(`prompt u*200`)
	return c
}

// prepare joins the messages there are and prepares the next request.
func prepare(t *testing.T, r *stagetest.Bench, used int) []policy.Edit {
	t.Helper()
	for m := r.View.Joined(); m < len(r.C.Messages); m++ {
		r.View.Join(m)
	}
	n := len(r.View.Edits())
	r.Used = func(int) (int, int) { return used, 0 }
	r.Fire(policy.Prepare, len(r.C.Requests), policy.Context{})
	for _, v := range view.CheckAPI(r.View) {
		t.Errorf("message %d: %s", v.Item, v.Message)
	}
	return r.View.Edits()[n:]
}

// acts tells edits in short: what was staged ("stage m2-m7") and what was committed ("commit m2-m7").
func acts(edits []policy.Edit) string {
	var list []string
	for _, e := range edits {
		name := map[policy.EditKind]string{policy.KindCall: "stage", policy.KindCollapse: "commit"}[e.Kind]
		list = append(list, fmt.Sprintf("%s m%d-m%d", name, e.Items[0], e.Items[len(e.Items)-1]))
	}
	return strings.Join(list, ", ")
}

// The analysis' example: U1 A1 [U2 A2 U3 A3 U4 A4] U5 -> U1 A1 S1 U5, as it is on record and by the rule.
func TestContextCollapseExample(t *testing.T) {
	const content = "<collapsed id='c1'>之前已经完成了对 query.ts、microcompact、sessionStorage 的分析</collapsed>"
	want := "m0-m1 " + collapsedLabel + " m8"
	t.Run("recorded", func(t *testing.T) {
		c := turns(4)
		c.Snapshots = []session.CollapseSnapshot{{Line: 90, Before: 8, Request: 5, Staged: []session.Staged{{From: 2, To: 7, Summary: "之前", Risk: 0.12}}}}
		c.Collapses = []session.Collapse{{ID: "c1", Line: 91, From: 2, To: 7, Content: content, Before: 8, Request: 5}}
		r := stagetest.NewRun(t, c, stagetest.Start(t, defineContextCollapse(), nil))
		edits := prepare(t, r, 0)
		must.Equal(t, acts(edits), "stage m2-m7, commit m2-m7")
		must.Say(t, "recorded, line 90: a span staged, risk 0.12 recorded, line 91", edits[0].Reason, edits[1].Reason)
		must.Equal(t, r.Order(), want)
		s1 := r.View.IDs()[2]
		if got := r.View.Replacement(policy.Target{Item: s1}).Text; got != content || r.View.Role(s1) != session.User {
			t.Errorf("the %s's placeholder is %q", r.View.Role(s1), got)
		}
	})
	t.Run("simulated", func(t *testing.T) {
		c := turns(4)
		r := stagetest.NewRun(t, c, collapsing(t, "head: 1, span: 300, summary: [outline]"))
		for m := range c.Messages[2:8] { // long enough for an outline to save something
			c.Texts[policy.Target{Item: policy.ItemID(m + 2)}] = "done"
		}
		edits := prepare(t, r, 100)
		must.Equal(t, acts(edits), "stage m2-m7, commit m2-m7")
		must.Equal(t, r.Order(), want)
		text := r.View.Replacement(policy.Target{Item: r.View.IDs()[2]}).Text
		must.Say(t, "true true true", strings.HasPrefix(text, `<collapsed id="`), strings.HasSuffix(text, "</collapsed>"), strings.Contains(text, "6. All user messages:"))
	})
}

// Every figure at, below and above.
func TestContextCollapseFigures(t *testing.T) {
	// Each commit takes 90 off: 1000, 910, 820, 730. Behind the third turn there are 50 tokens, behind the second 150.
	must.Rows(t, `
# name | used | beside stage_at 500, commit_at 1000, target 700 | want
below stage_at   | 499  | ""             | ""
at stage_at      | 500  | ""             | stage m0-m1
above stage_at   | 501  | ""             | stage m0-m1
below commit_at  | 999  | ""             | stage m0-m1
at commit_at     | 1000 | ""             | ALL
at the target    | 1000 | target: 820    | ALL
below the target | 1000 | target: 821    | stage m0-m1, commit m0-m1, stage m2-m3, commit m2-m3
one is enough    | 1000 | target: 911    | stage m0-m1, commit m0-m1
protect 50       | 1000 | protect: 50    | ALL
protect 51       | 1000 | protect: 51    | stage m0-m1, commit m0-m1, stage m2-m3, commit m2-m3
protect 150      | 1000 | protect: 150   | stage m0-m1, commit m0-m1, stage m2-m3, commit m2-m3
protect 151      | 1000 | protect: 151   | stage m0-m1, commit m0-m1
protect everything | 1000 | protect: 10000 | ""
head 1           | 1000 | head: 1        | stage m2-m3, commit m2-m3, stage m4-m5, commit m4-m5
head 3           | 1000 | head: 3        | ""
a span of 100    | 500  | span: 100      | stage m0-m1
a span of 101    | 500  | span: 101      | stage m0-m3
a span of 300    | 500  | span: 300      | stage m0-m5
a span of 301    | 500  | span: 301      | ""
a span of 301, to commit | 1000 | span: 301 | stage m0-m5, commit m0-m5
a summary of 99  | 500  | summary: [{fixed: 99}] | stage m0-m1
a summary of 100 saves nothing | 500 | summary: [{fixed: 100}] | ""
`, func(name string, used int, set, want string) {
		far := "stage_at: 500, commit_at: 1000, "
		if !strings.HasPrefix(set, "target") {
			far += "target: 700, "
		}
		want = strings.Replace(want, "ALL", "stage m0-m1, commit m0-m1, stage m2-m3, commit m2-m3, stage m4-m5, commit m4-m5", 1)
		must.Equal(t, acts(prepare(t, stagetest.NewRun(t, turns(3), collapsing(t, far+set)), used)), want, name)
	})
}

// What the server has dropped already is not gained again: the next span goes as well, and a span of which nothing is
// left is not worth a summary.
func TestContextCollapseDropped(t *testing.T) {
	dropped := func(items ...policy.ItemID) *stagetest.Bench {
		r := stagetest.NewRun(t, turns(3), collapsing(t, "commit_at: 1000, target: 941"))
		r.Join()
		for _, id := range items {
			must.Get(r.View.Apply(policy.Edit{Stage: "another", Kind: policy.KindCacheEdit, Target: policy.Target{Item: id}, Carrier: 6}))(t)
		}
		return r
	}
	must.Rows(t, `
# name | items | want
nothing       | null   | stage m0-m1, commit m0-m1
# 40 each, not 90.
an answer     | [1]    | stage m0-m1, commit m0-m1, stage m2-m3, commit m2-m3
all of a turn | [0, 1] | stage m2-m3, commit m2-m3
`, func(name string, items []policy.ItemID, want string) {
		t.Run(name, func(t *testing.T) {
			must.Equal(t, acts(prepare(t, dropped(items...), 1000)), want)
		})
	})
}

// What is left to the window: commit_at is the auto-compact threshold, stage_at lies the warning offset below
// commit_at, and target is stage_at.
func TestContextCollapseAuto(t *testing.T) {
	w := DefaultWindow()
	w.ReserveCap = 20000
	limits := w.Resolve(policy.Circumstances{Window: 200000, MaxOutput: 32000})
	must.Rows(t, `
# stage | commit | target | want
0     | 0      | 0      | [147000,167000,147000]
0     | 100000 | 0      | [80000,100000,80000]
90000 | 100000 | 0      | [90000,100000,90000]
0     | 0      | 120000 | [147000,167000,120000]
`, func(stage, commit, target int, want [3]int) {
		p := &ContextCollapse{StageAt: stage, CommitAt: commit, Target: target}
		var got [3]int
		got[0], got[1], got[2] = p.Thresholds(limits)
		must.Equal(t, got, want, stage)
	})
	w.AutoCompact = false // the client's own switch: the base is another, the threshold is not
	p := &ContextCollapse{}
	a, b, c := p.Thresholds(w.Resolve(policy.Circumstances{Window: 200000, MaxOutput: 32000}))
	must.Say(t, "147000 167000 147000", a, b, c)
}

// One span a request is staged; each is asked for once, and committed as it was staged.
func TestContextCollapseOneARequest(t *testing.T) {
	c := turns(3)
	r := stagetest.NewRun(t, c, collapsing(t, "commit_at: 1000"))
	var got []string
	for _, used := range []int{500, 500, 500, 500} {
		got = append(got, acts(prepare(t, r, used)))
	}
	must.Equal(t, got, []string{"stage m0-m1", "stage m2-m3", "stage m4-m5", ""})
	edits := prepare(t, r, 1000)
	must.Equal(t, acts(edits), "commit m0-m1, commit m2-m3, commit m4-m5")
	for _, e := range edits {
		if e.Call != nil {
			t.Error("a commit asks for a summary that was asked for before")
		}
	}
	if want := 50 + 3*10; r.View.Tokens() != want {
		t.Errorf("%d tokens left, want %d", r.View.Tokens(), want)
	}
}

// A turn is staged whole or not at all: it must have ended, and no tool_result may be parted from its call.
func TestContextCollapseWholeTurns(t *testing.T) {
	must.Rows(t, `
a turn that goes on         | prompt go; call a Read 400 | ""
a turn with rounds          | prompt go; call a Read 400; call b Read 400; assistant say done; prompt more | stage m0-m5, commit m0-m5
a prompt queued on the way  | prompt go; call a Read 400; queued wait; call b Read 400; prompt more | stage m0-m5, commit m0-m5
reminders and attachments   | meta say x*400; prompt go; call a Read 400; meta say "a reminder"; prompt more | stage m1-m4, commit m1-m4
a result behind the next prompt | prompt go; assistant use a Read use b Read; answers result a x*400 result b ""; assistant use c Read say x*400; prompt wait; answers result c late; assistant say x*400; prompt more; assistant say x*400; prompt "and more" | stage m7-m8, commit m7-m8
`, func(name, story, want string) {
		c := stagetest.Talk("%s", story)
		r := stagetest.NewRun(t, c, collapsing(t, "")).Join()
		r.Used = func(int) (int, int) { return 100, 0 }
		r.Fire(policy.Prepare, len(c.Requests), policy.Context{})
		must.Equal(t, acts(r.View.Edits()), want, name)
	})
}

// A summary is a request of its own.
func TestContextCollapseCall(t *testing.T) {
	must.Rows(t, `
own     | {"Input":1451,"Kind":"collapse", "Output":10,"Prefix":"own", "Prompt":1351}
session | {"Kind":"collapse", "Output":10,"Prefix":"session", "Prompt":1351}
`, func(prefix string, theWant policy.Call) {
		r := stagetest.NewRun(t, turns(2), collapsing(t, "prefix: %v, commit_at: 1000", prefix))
		e := prepare(t, r, 500)[0]
		must.Equal(t, e.Call, &theWant, prefix)
		if want := (map[string]int{"span_tokens": 100, "span_turns": 1, "risk_percent": 0}); !cmp.Equal(e.Detail, want) {
			t.Errorf("detail %v", e.Detail)
		}
		if want := "used 500 >= stage_at 1: 1 turn of 100 tokens staged, risk 0.00; summary: a placeholder of 10 tokens"; e.Reason != want {
			t.Errorf("reason %q", e.Reason)
		}
	})
	c := turns(2)
	c.Agent = "acompact-1"
	if edits := prepare(t, stagetest.NewRun(t, c, collapsing(t, "")), 500); len(edits) > 0 {
		t.Errorf("a compaction's own requests are collapsed: %v", acts(edits))
	}
}

// Risk is the share of a span's blocks that name what is named later: of the first turn three of four blocks, of the
// second none, of the third one of two.
func TestContextCollapseRisk(t *testing.T) {
	c := stagetest.Talk(`prompt "look at internal/stock/ledger.go"; assistant say "nothing here" use a Read`)
	c.Texts[policy.Target{Item: 1, Block: 1}] = `{"file_path":"internal/stock/ledger.go"}`
	c.Play(`
answers result a "func postEntries() {}"; prompt "and at testdata/other_file.txt"; assistant say "as it was"
prompt which_function?; assistant say well; prompt "rename postEntries in ledger.go, which_function"
assistant say "internal/stock/ledger.go it is"; prompt thanks
`)
	for m := range c.Messages {
		for b := range c.Messages[m].Blocks {
			c.Messages[m].Blocks[b].Text.UTF16 += 400
		}
	}
	must.Rows(t, `
# selector | head | want | risks
risk | 0 | ["m3-m4", "m7-m8", "m5-m6", "m0-m2"] | [0, 0, 50, 75]
age  | 0 | ["m0-m2", "m3-m4", "m5-m6", "m7-m8"] | [0, 0, 0, 0]
`, func(selector string, _ int, want []string, theRisks []int) {
		r := stagetest.NewRun(t, c, collapsing(t, "selector: %v, commit_at: 3000", selector))
		for range 4 {
			prepare(t, r, 2999)
		}
		var got []string
		var risks []int
		for _, e := range prepare(t, r, 3000) {
			got = append(got, fmt.Sprintf("m%d-m%d", e.Items[0], e.Items[len(e.Items)-1]))
			risks = append(risks, e.Detail["risk_percent"])
		}
		must.Equal(t, got, want, selector)
		must.Equal(t, risks, theRisks, selector)
		if selector == "age" && r.Texts.Fetched > 0 {
			t.Errorf("%d texts were read", r.Texts.Fetched)
		}
	})
}

// Each text is read once for its names and once as part of a span, however many spans there are.
func TestContextCollapseReadsOnce(t *testing.T) {
	c := turns(50)
	r := stagetest.NewRun(t, c, collapsing(t, "commit_at: 100000"))
	for range 60 {
		prepare(t, r, 500)
	}
	if blocks := len(c.Messages); r.Texts.Fetched > 2*blocks {
		t.Errorf("%d texts read of %d blocks", r.Texts.Fetched, blocks)
	}
}

// When all turns are gone, placeholders are folded into one; where that saves nothing, they stay.
func TestContextCollapseFolds(t *testing.T) {
	c := turns(4)
	r := stagetest.NewRun(t, c, collapsing(t, ""))
	prepare(t, r, 1000)
	if diff := cmp.Diff(strings.Repeat(collapsedLabel+" ", 4)+"m8", r.Order()); diff != "" {
		t.Fatalf("-want +got\n%s", diff)
	}
	must.Equal(t, acts(prepare(t, r, 1000)), "stage m-1-m-4, commit m-1-m-4")
	edits := prepare(t, r, 1000)
	must.Say(t, "0 2", len(edits), r.View.Len())
}

// An outline of placeholders quotes no more of all of them than it would of one, so that many fold into less.
func TestContextCollapseFoldsOutlines(t *testing.T) {
	c := stagetest.NewConvo()
	for range 6 {
		c.Play(`prompt "what? "*500; assistant say "that. "*500`)
	}
	c.Prompt("thanks")
	r := stagetest.NewRun(t, c, collapsing(t, "summary: [outline]"))
	prepare(t, r, 20000)
	apart := r.View.Tokens()
	if n := r.View.Len(); n != 7 {
		t.Fatalf("%d messages in view", n)
	}
	prepare(t, r, 20000)
	if n := r.View.Len(); n != 2 || r.View.Tokens() > apart/2 || r.View.Tokens() > 8000/4+200 { // 8,000 characters of earlier summaries
		t.Errorf("%d messages of %d tokens, apart %d", n, r.View.Tokens(), apart)
	}
	fetched := r.Texts.Fetched
	for range 3 {
		if edits := prepare(t, r, 20000); len(edits) > 0 || r.Texts.Fetched > fetched {
			t.Errorf("%v, %d texts read again", acts(edits), r.Texts.Fetched-fetched)
		}
	}
}

// Ids name what is collapsed: the same in each run, another for each span.
func TestContextCollapseIDs(t *testing.T) {
	ids := func() (list []string) {
		c := turns(3)
		for m := range c.Messages[:6] {
			c.Texts[policy.Target{Item: policy.ItemID(m)}] = "short"
			c.Messages[m].Blocks[0].Text.UTF16 = 2000
		}
		r := stagetest.NewRun(t, c, collapsing(t, "summary: [outline]"))
		prepare(t, r, 10000)
		for _, id := range r.View.IDs()[:3] {
			text := r.View.Replacement(policy.Target{Item: id}).Text
			list = append(list, text[:strings.Index(text, ">")])
		}
		return list
	}
	first, again := ids(), ids()
	must.Equal(t, again, first, "-first +again")
	if first[0] == first[1] || first[1] == first[2] || len(first[0]) != len(`<collapsed id="0123456789abcdef"`) {
		t.Errorf("ids %v", first)
	}
}
