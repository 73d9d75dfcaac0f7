package claude

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/stage/stagetest"
	"github.com/ctxkit/ctxkit/policy/view"
)

// commit is a recorded collapse of messages from up to and with to, made when before messages were there.
func commit(c *stagetest.Convo, from, to, before int) {
	n := len(c.Collapses)
	c.Collapses = append(c.Collapses, session.Collapse{
		ID: fmt.Sprint(n), Line: 100 + n, From: from, To: to, Before: before, Request: c.RequestAfter(before),
		Content: fmt.Sprintf("<collapsed id=\"%d\">it came to this</collapsed>", n), Summary: "it came to this",
	})
}

func snapshot(c *stagetest.Convo, before int, staged ...session.Staged) {
	c.Snapshots = append(c.Snapshots, session.CollapseSnapshot{Line: 200 + len(c.Snapshots), Before: before, Request: c.RequestAfter(before), Staged: staged})
}

func summed() []policy.Synthetic {
	return []policy.Synthetic{{Role: "user", Label: "summary", Contents: []policy.Content{{Kind: jsonl.KindText, Tokens: 5}}}}
}

func TestContextCollapseRecorded(t *testing.T) {
	staged := func(c *stagetest.Convo) {
		snapshot(c, 4, session.Staged{From: 0, To: 1, Summary: "one", Risk: 0.5}, session.Staged{From: 2, To: 3, Summary: "two"})
		snapshot(c, 6, session.Staged{From: 2, To: 3, Summary: "two"})
	}
	before := map[string]policy.Edit{ // request 4
		"snipped":       {Kind: policy.KindRemove, Items: []policy.ItemID{2, 3}},
		"summarised":    {Kind: policy.KindSummarize, Insert: summed(), Keep: []policy.ItemID{4, 5, 6}},
		"behind a lead": {Kind: policy.KindSummarize, Lead: []policy.ItemID{0, 1}, Insert: summed(), Keep: []policy.ItemID{4, 5, 6}},
	}
	must.Rows(t, `
# name | commits, each FROM-TO and the messages then there | what another stage does | by request | view | calls
one after another              | 0-1@4 4-5@8 | ""         | 3: commit m0-m1; 5: commit m4-m5 | collapsed m2-m3 collapsed m6-m8 | 2
after the last request         | 0-1@9       | ""         | 5: commit m0-m1                  | collapsed m2-m8                 | 1
a placeholder within the next  | 2-3@4 0-5@8 | ""         | 3: commit m2-m3; 5: commit m0-m5 | collapsed m6-m8                 | 2
within, at one request         | 2-3@8 0-5@8 | ""         | 5: stage m2-m3, commit m0-m5     | collapsed m6-m8                 | 2
overlapping: the second takes what is left | 0-3@6 2-5@8 | "" | 4: commit m0-m3; 5: commit m4-m5 | collapsed collapsed m6-m8     | 2
overlapping, at one request    | 0-3@8 2-5@8 | ""         | 5: commit m0-m3, commit m4-m5    | collapsed collapsed m6-m8       | 2
twice the same                 | 0-3@6 0-3@8 | ""         | 4: commit m0-m3                  | collapsed m4-m8                 | 1
rounds of a turn               | 1-2@4       | ""         | 3: commit m1-m2                  | m0 collapsed m3-m8              | 1
in part snipped                | 0-5@8       | snipped    | 5: commit m0-m5                  | collapsed m6-m8                 | 1
snipped                        | 2-3@8       | snipped    | ""                               | m0-m1 m4-m8                     | 0
in part summarised             | 0-5@8       | summarised | 5: commit m4-m5                  | summary collapsed m6-m8         | 1
summarised                     | 0-3@8       | summarised | ""                               | summary m4-m8                   | 0
torn apart                     | 0-5@8       | behind a lead | ""                            | m0-m1 summary m4-m8             | 0
staged, and committed later    | STAGED 0-1@6 | ""        | 3: stage m0-m1, stage m2-m3; 4: commit m0-m1 | collapsed m2-m8     | 2
`, func(name, commits, edit, want, shown string, theCalls int) {
		c := turns(4)
		for _, word := range strings.Fields(commits) {
			var from, to, at int
			if fmt.Sscanf(word, "%d-%d@%d", &from, &to, &at); at > 0 {
				commit(c, from, to, at)
			} else {
				staged(c)
			}
		}
		r := stagetest.NewRun(t, c, collapsing(t, "source: auto"))
		r.Used = func(int) (int, int) { return 1000, 0 } // the rule would act
		var got []string
		calls := 0
		for k := range 5 {
			for r.View.Joined() < 2*k+1 {
				r.View.Join(r.View.Joined())
			}
			if e, ok := before[edit]; ok && k == 3 {
				must.Get(r.View.Apply(e))(t)
			}
			n := len(r.View.Edits())
			r.Fire(policy.Prepare, k, policy.Context{})
			edits := r.View.Edits()[n:]
			if a := acts(edits); a != "" {
				got = append(got, fmt.Sprintf("%d: %s", k+1, a))
			}
			for _, e := range edits {
				must.Equal(t, e.Trigger, "recorded", e.Reason)
				if e.Call != nil {
					calls++
				}
			}
			for _, v := range view.CheckAPI(r.View) {
				t.Errorf("request %d: message %d: %s", k+1, v.Item, v.Message)
			}
		}
		must.Equal(t, strings.Join(got, "; "), want, name)
		must.Equal(t, r.Order(), shown, name)
		must.Equal(t, calls, theCalls, name)
	})
}

func TestContextCollapseSource(t *testing.T) {
	must.Rows(t, `
# source | record | want
auto      | true  | commit m2-m3
auto      | false | stage m0-m1, commit m0-m1, stage m2-m3, commit m2-m3
recorded  | true  | commit m2-m3
recorded  | false | ""
simulated | true  | stage m0-m1, commit m0-m1, stage m2-m3, commit m2-m3
simulated | false | stage m0-m1, commit m0-m1, stage m2-m3, commit m2-m3
both      | true  | commit m2-m3
both      | false | stage m0-m1, commit m0-m1, stage m2-m3, commit m2-m3
`, func(source string, record bool, want string) {
		c := turns(2)
		if record {
			commit(c, 2, 3, 4)
		}
		r := stagetest.NewRun(t, c, collapsing(t, "source: %s", source))
		must.Equal(t, acts(prepare(t, r, 1000)), want, source)
	})
}

// With both, the rule commits what the client staged, and goes on where the record ends.
func TestContextCollapseBoth(t *testing.T) {
	c := turns(4)
	snapshot(c, 8, session.Staged{From: 2, To: 3, Summary: "two", Risk: 0.25}, session.Staged{From: 5, To: 6, Summary: "rounds"})
	r := stagetest.NewRun(t, c, collapsing(t, "source: both"))
	var got []string
	for range 3 {
		got = append(got, acts(prepare(t, r, 1000)))
	}
	want := []string{
		"stage m2-m3, stage m5-m6",
		// The first turn is the rule's own, of no risk and older than m5-m6; the last two are rounds of turns that it
		// cannot stage.
		"stage m0-m1, commit m0-m1, commit m5-m6, commit m2-m3",
		"stage m-1-m7, commit m-1-m7",
	}
	must.Equal(t, got, want)
}

// Spans that were staged and of which something has gone: what is left is committed where it is whole turns, and
// staged anew where it is not.
func TestContextCollapseStagedThenGone(t *testing.T) {
	summary := summed()
	for _, tt := range []struct {
		name string
		edit policy.Edit
		want string
	}{
		{"nothing", policy.Edit{Kind: policy.KindCall}, "commit m0-m5"},
		{"a turn of it", policy.Edit{Kind: policy.KindRemove, Items: []policy.ItemID{2, 3}}, "commit m0-m5"},
		{"half a turn of it", policy.Edit{Kind: policy.KindSummarize, Insert: summary, Keep: []policy.ItemID{3, 4, 5, 6, 7, 8}}, "stage m4-m7, commit m4-m7"},
		{"its beginning", policy.Edit{Kind: policy.KindSummarize, Insert: summary, Keep: []policy.ItemID{4, 5, 6, 7, 8}}, "commit m4-m5, stage m6-m7, commit m6-m7"},
		{"all of it", policy.Edit{Kind: policy.KindSummarize, Insert: summary, Keep: []policy.ItemID{6, 7, 8}}, "stage m6-m7, commit m6-m7"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := stagetest.NewRun(t, turns(4), collapsing(t, "span: 300, commit_at: 1000, target: 900"))
			if diff := cmp.Diff("stage m0-m5", acts(prepare(t, r, 500))); diff != "" {
				t.Fatalf("-want +got\n%s", diff)
			}
			must.Get(r.View.Apply(tt.edit))(t)
			must.Equal(t, acts(prepare(t, r, 1000)), tt.want)
		})
	}
}

// A summary on record of exactly this span is taken before another is made.
func TestContextCollapseRecordedSummary(t *testing.T) {
	c := turns(3)
	commit(c, 0, 1, 99)
	snapshot(c, 99, session.Staged{From: 2, To: 3, Summary: "staged it was"})
	r := stagetest.NewRun(t, c, collapsing(t, "source: simulated, summary: [recorded, {fixed: 7}]"))
	prepare(t, r, 1000)
	var got []string
	for _, id := range r.View.IDs()[:3] {
		content := r.View.Replacement(policy.Target{Item: id})
		got = append(got, fmt.Sprintf("%d %s", content.Tokens, content.Text[min(len(content.Text), len(`<collapsed id="0123456789abcdef">`)):]))
	}
	want := []string{"0 it came to this</collapsed>", "0 staged it was</collapsed>", "7 "}
	must.Equal(t, got, want)
}
