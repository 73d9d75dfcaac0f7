package langchain

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/stage/measure"
	"github.com/ctxkit/ctxkit/policy/stage/stagetest"
)

func clientClearing(t testing.TB, set string, args ...any) stagetest.Named {
	t.Helper()
	def := defineClearToolResults()
	def.Params = stagetest.Params(t, def, "library: python")
	return stagetest.Start(t, def, set, args...)
}

// langchainMessage is a message as the source has it: a ToolMessage where result is set.
type langchainMessage struct {
	role        string
	text, other int // characters of its content; of its calls, ids and names
	images      int
	result      *policy.Target
	tool        string
}

// langchainCount is count_tokens_approximately.
func langchainCount(list []langchainMessage) int {
	n := 0
	for _, m := range list {
		n += 85*m.images + (m.text+m.other+len(m.role)+3)/4 + 3
	}
	return n
}

// langchainList is the conversation before message m, as the source has it.
func langchainList(c *stagetest.Convo, m int) (list []langchainMessage) {
	c.IndexTools()
	for i := range m {
		msg := &c.Messages[i]
		if msg.RecordOnly {
			continue
		}
		rest, any := langchainMessage{role: "user"}, false
		if msg.Role == session.Assistant {
			rest.role = "assistant"
		}
		for b := range msg.Blocks {
			bl := &msg.Blocks[b]
			t := policy.Target{Item: policy.ItemID(i), Block: b}
			switch bl.Kind {
			case jsonl.KindToolResult:
				r := langchainMessage{role: "tool", text: bl.Text.UTF16, tool: c.ToolName(bl.ID), result: &t}
				r.other = len(bl.ID) + len(r.tool)
				for _, p := range bl.Parts {
					if p.Kind == jsonl.KindImage {
						r.images++
					}
				}
				list = append(list, r)
				continue
			case jsonl.KindToolUse:
				rest.other += len(fmt.Sprintf(`{'id': '%s', 'input': %s, 'name': '%s', 'type': 'tool_use'}`, bl.ID, c.Texts[t], bl.Name))
			case jsonl.KindThinking:
				rest.other += len(`{'signature': '', 'thinking': , 'type': 'thinking'}`) + bl.Text.JSON
			default:
				rest.text += bl.Text.UTF16
			}
			any = true
		}
		if any {
			list = append(list, rest)
		}
	}
	return list
}

// langchainApply is ClearToolUsesEdit.apply: the results it clears.
func langchainApply(list []langchainMessage, p *ClearToolResults) map[policy.Target]bool {
	out := map[policy.Target]bool{}
	tokens := langchainCount(list)
	if tokens <= p.Trigger {
		return out
	}
	var candidates []int
	for i := range list {
		if list[i].result != nil {
			candidates = append(candidates, i)
		}
	}
	for _, i := range candidates[:max(len(candidates)-p.Keep, 0)] {
		m := &list[i]
		if measure.Matches(p.ExcludeTools, m.tool, "") {
			continue
		}
		m.text, m.images = len(p.Placeholder), 0
		out[*m.result] = true
		if p.ClearAtLeast > 0 && max(0, tokens-langchainCount(list)) >= p.ClearAtLeast {
			break
		}
	}
	return out
}

// What stays cleared here is what the source clears anew at each request.
func TestClearToolResultsSource(t *testing.T) {
	acted := 0
	for seed := range uint64(400) {
		d := stagetest.NewDice(seed, nil)
		c := d.Conversation()
		st := clientClearing(t, "trigger: %d, keep: %d", d.Size(20000), d.N(5))
		p := &st.Stage.(*clearToolResults).ClearToolResults
		if d.One(2) {
			p.ClearAtLeast = d.Size(6000)
		}
		if d.One(3) {
			p.ExcludeTools = []string{"Bash", "mcp__*"}
		}
		r := stagetest.NewRun(t, c, st)
		r.Each = func(k int) {
			got := map[policy.Target]bool{}
			for _, x := range r.View.Results() {
				if x.State == policy.ResultChanged {
					got[x.Target] = true
				}
			}
			want := langchainApply(langchainList(c, c.Requests[k].Message), p)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Fatalf("seed %d, request %d, %+v: -source +stage\n%s", seed, k+1, p, diff)
			}
			acted += len(got)
		}
		r.All()
	}
	if acted < 1000 {
		t.Errorf("%d results cleared: the test tests too little", acted)
	}
}

func TestClearToolResultsTrigger(t *testing.T) {
	c := stagetest.RoundsOf(5, 400)
	size := langchainCount(langchainList(c, len(c.Messages)-1)) // at the last request
	before := langchainCount(langchainList(c, len(c.Messages)-3))
	for _, tt := range []struct {
		trigger int
		want    string
	}{
		{size + 1, ""}, {size, ""},
		{size - 1, "clear@6 m2, clear@6 m4"},
		{before, "clear@6 m2, clear@6 m4"},
		{before - 1, "clear@5 m2, clear@6 m4"},
	} {
		r := stagetest.NewRun(t, c, clientClearing(t, "trigger: %v", tt.trigger)).All()
		must.Equal(t, r.Edits(), tt.want, size, tt.trigger)
	}
	if size := langchainCount([]langchainMessage{{role: "user", text: 4*99997 - 4}}); size != 100000 {
		t.Fatalf("%d tokens", size)
	}
	must.Rows(t, `
# over | want
0 | 0
1 | 1
`, func(over, want int) { // the source's own figures
		c := stagetest.Talk(`prompt go; call a Read 40; call b Read 40; call c Read 40; call d Read 40`)
		rest := langchainCount(langchainList(c, len(c.Messages)))
		c.Play(`prompt x*%d; assistant say done`, 4*(100000-rest-3)-4+over)
		must.Equal(t, len(stagetest.NewRun(t, c, clientClearing(t, "")).All().View.Edits()), want, over)
	})
}

func TestClearToolResultsChoice(t *testing.T) {
	// A result of 400 characters is worth 97 and a half tokens more than "[cleared]": (400+4+2+4+3)/4 = 103 against
	// (9+4+2+4+3)/4 = 5.
	must.Rows(t, `
# name | change | want
all but three    | ""                      | clear@6 m2, clear@6 m4
all but four     | keep: 4                 | clear@6 m2
all but five     | keep: 5                 | ""
none is kept     | keep: 0                 | clear@6 m2, clear@6 m4, clear@6 m6, clear@6 m8, clear@6 m10
one is enough    | clear_at_least: 98      | clear@6 m2
one is not       | clear_at_least: 99      | clear@6 m2, clear@6 m4
not all are      | clear_at_least: 1000    | clear@6 m2, clear@6 m4
another tool     | exclude_tools: [Bash]   | clear@6 m2, clear@6 m4
an excluded tool | exclude_tools: ['Re*']  | ""
with inputs      | clear_tool_inputs: true | clear@6 m2, clear@6 m4, truncate@6 m1, truncate@6 m3
`, func(_, change, theWant string) {
		c := stagetest.RoundsOf(5, 400)
		trigger := langchainCount(langchainList(c, len(c.Messages)-1)) - 1
		r := stagetest.NewRun(t, c, clientClearing(t, "trigger: %d, "+change, trigger)).All()
		must.Equal(t, r.Edits(), theWant)
		for _, e := range r.View.Edits() {
			if want := map[policy.EditKind]string{policy.KindClear: "[cleared]", policy.KindTruncate: "{}"}[e.Kind]; e.New.Text != want {
				t.Errorf("%s: %q, want %q", e.Kind, e.New.Text, want)
			}
		}
	})
}
