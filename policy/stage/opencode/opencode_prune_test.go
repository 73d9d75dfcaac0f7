package opencode

import (
	"fmt"
	"strings"
	"testing"

	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/stage/stagetest"
)

func pruning(t testing.TB, set string, args ...any) stagetest.Named {
	t.Helper()
	return stagetest.Start(t, defineOpencodePrune(), set, args...)
}

// prompts is a conversation of answered prompts, each with results of the given tokens.
func prompts(turns ...[]int) (c *stagetest.Convo, at map[string]int) {
	c, at = stagetest.NewConvo(), map[string]int{}
	for i, turn := range turns {
		c.Prompt("go")
		for j, n := range turn {
			id := fmt.Sprintf("%d.%d", i+1, j+1)
			at[id] = c.Call(id, "Bash", 4*n)
		}
		c.Play(`assistant say done`)
	}
	return c, at
}

func TestOpencodePrune(t *testing.T) {

	must.Rows(t, `
# name | change | turns | want
the definition's example        | ""                      | [[25000,30000,15000],[1],[1]] | ["1.2", "1.1"]
two turns are protected         | ""                      | [[90000],[90000]]             | null
a long run under one prompt     | ""                      | [[30000,30000,30000,30000]]   | null
exactly 40,000 are kept         | ""                      | [[20001,40000],[1],[1]]       | ["1.1"]
the one that crosses goes whole | ""                      | [[1,40001],[1],[1]]           | ["1.2", "1.1"]
20,000 saved are not enough     | ""                      | [[20000,40000],[1],[1]]       | null
20,001 are                      | ""                      | [[20001,40000],[1],[1]]       | ["1.1"]
empty outputs behind the crossing too | ""                      | [[0,50000],[1],[1]]           | ["1.2", "1.1"]
a protected tool is passed over | protected_tools: [bash] | [[90000,90000],[1],[1]]       | null
switched off                    | auto: false             | [[90000,90000],[1],[1]]       | null
protect 0, minimum 0            | protect: 0, minimum: 0  | [[1],[1],[1]]                 | ["1.1"]
one turn protected              | turns: 1                | [[50000],[1]]                 | ["1.1"]
# The walk stops at what was pruned before.
a frontier                      | ""                      | [[30000,50000],[1],[1],[70000],[1],[1]] | ["1.2", "1.1", "4.1", "3.1", "2.1"]
`, func(_, change string, turns [][]int, want []string) {
		c, at := prompts(turns...)
		r := stagetest.NewRun(t, c, pruning(t, change)).All()
		ids := map[policy.ItemID]string{}
		for id, m := range at {
			ids[policy.ItemID(m)] = id
		}
		var got []string
		for _, e := range r.View.Edits() {
			got = append(got, ids[e.Target.Item])
			must.Equal(t, e.New.Text, "[Old tool result content cleared]")
		}
		must.Equal(t, got, want)
	})
}

// Results of parallel calls are visited in the order of the calls, however they came, as OpenCode has them.
func TestOpencodePruneOrder(t *testing.T) {
	c := stagetest.Talk(`prompt go; assistant use a Bash use b Bash; answers result b b*%d`, 4*50000)
	at := c.Answers(stagetest.Result("a", strings.Repeat("a", 4*39000)))
	c.Play(`assistant say done`)
	for range 2 {
		c.Play(`prompt go; assistant say done`)
	}
	r := stagetest.NewRun(t, c, pruning(t, "")).All()
	var got []policy.ItemID
	for _, e := range r.View.Edits() {
		got = append(got, e.Target.Item)
	}
	must.Equal(t, got, []policy.ItemID{policy.ItemID(at - 1), policy.ItemID(at)})
}

// Failed outputs are no completed parts; a failed command is one where the shell reports it so.
func TestOpencodePruneErrors(t *testing.T) {
	for _, shell := range []bool{false, true} {
		c, at := prompts([]int{90000}, []int{1}, []int{1})
		c.Messages[at["1.1"]].Blocks[0].IsError = true
		r := stagetest.NewRun(t, c, pruning(t, "bash_errors: %v", shell)).All()
		must.Equal(t, len(r.View.Edits()) > 0, shell, "bash_errors")
	}
}

// A queued prompt is one more user message, though it ends no turn.
func TestOpencodePruneQueued(t *testing.T) {
	c, at := prompts([]int{90000}, []int{1})
	queued := c.Prompt("also")
	c.Messages[queued].Marks |= session.Queued
	c.Play(`assistant say done`)
	r := stagetest.NewRun(t, c, stagetest.Start(t, defineOpencodePrune(), nil)).All()
	if r.Shown(at["1.1"]) == "" {
		t.Error("the result before three user messages, one of them queued, is not protected: pruned, want kept (startsTurn counts queued prompts)")
	}
}

// User messages of which nothing is sent count too, behind the parts of the message that follows them.
func TestOpencodePruneUnsent(t *testing.T) {
	for unsent, want := range []bool{false, true} {
		c, at := prompts([]int{90000}, []int{1})
		c.Messages[len(c.Messages)-1].Unsent = unsent
		r := stagetest.NewRun(t, c, pruning(t, "")).All()
		must.Equal(t, r.Shown(at["1.1"]) != "", want, unsent)
	}
}

// A compaction's own request counts as a user message, others that it inserts do not, and the walk goes no further back
// than its summary.
func TestOpencodePruneSummary(t *testing.T) {
	must.Rows(t, `
# request: the first inserted message is the compaction's request
# turns: after it
true  | 1 | true  # the pair lies inside the two protected ones: its summary does not stop the walk
true  | 2 | false
false | 1 | false
`, func(request bool, turns int, want bool) {
		c, at := prompts(append([][]int{{90000}}, make([][]int, turns)...)...)
		r := stagetest.NewRun(t, c, stagetest.Start(t, defineOpencodePrune(), nil))
		r.View.Join(0)
		r.View.Join(1)
		r.View.Join(2)
		must.Get(r.View.Apply(policy.Edit{Kind: policy.KindSummarize, Insert: []policy.Synthetic{
			{Role: "user", Turn: request, Contents: []policy.Content{{Tokens: 1}}},
			{Role: "assistant", Summary: true, Contents: []policy.Content{{Tokens: 1}}},
		}, Keep: []policy.ItemID{0, 1, 2}}))(t)
		for m := 3; m < len(c.Messages); m++ {
			r.View.Join(m)
		}
		r.Fire(policy.TurnEnd, len(c.Requests), policy.Context{Final: true})
		must.Equal(t, r.Shown(at["1.1"]) != "", want, request)
	})
}
