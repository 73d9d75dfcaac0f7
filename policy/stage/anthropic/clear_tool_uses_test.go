package anthropic

import (
	"fmt"
	"strings"
	"testing"

	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/stage/stagetest"
)

func clearing(t testing.TB, set string, args ...any) stagetest.Named {
	t.Helper()
	return stagetest.Start(t, defineClearToolUses(), set, args...)
}

func TestClearToolUsesTrigger(t *testing.T) {
	last := func(c *stagetest.Convo) int { // tokens of the last request's prompt
		r := stagetest.NewRun(t, c).All()
		return r.Payload[len(r.Payload)-1]
	}(stagetest.Uses(5))
	tests := []struct {
		name     string
		overhead int
		change   string
		want     int
	}{
		{"100,000 is not over", 100000 - last, "", 0},
		{"100,001", 100001 - last, "", 2},
		{"keep 0", 100001 - last, "keep: 0", 5},
		{"keep more than there are", 100001 - last, "keep: 6", 0},
		{"five uses are not over 5", 0, "trigger: {tool_uses: 5}", 0},
		{"five uses over 4", 0, "trigger: {tool_uses: 4}", 2},
		// Each of the two saves 100 tokens less the placeholder's 8.
		{"184 at least", 100001 - last, "clear_at_least: 184", 2},
		{"185 at least: none at all", 100001 - last, "clear_at_least: 185", 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := stagetest.NewRun(t, stagetest.Uses(5), clearing(t, tt.change))
			r.Overhead = tt.overhead
			r.All()
			cleared := 0
			for _, res := range r.View.Results() {
				if c, ok := r.View.PayloadReplacement(res.Target); ok {
					cleared++
					must.Equal(t, c.Text, "[Old tool result content cleared]", res.ID)
				}
				if r.View.Replacement(res.Target) != nil {
					t.Errorf("%s changed in the model view", res.ID)
				}
			}
			must.Equal(t, cleared, tt.want)
			if want := r.View.Tokens() - tt.want*92; r.View.PayloadTokens() != want {
				t.Errorf("payload of %d tokens, want %d", r.View.PayloadTokens(), want)
			}
			if tt.want > 0 {
				d := r.View.Edits()[len(r.View.Edits())-1].Detail
				if d["cleared_tool_uses"] != tt.want || d["cleared_input_tokens"] != tt.want*92 {
					t.Errorf("detail %v", d)
				}
			}
		})
	}
}

// Once over the trigger the cleared set moves with every new use, and only the change is told.
func TestClearToolUsesMoves(t *testing.T) {
	r := stagetest.NewRun(t, stagetest.Uses(7), clearing(t, "trigger: {tool_uses: 4}, keep: 2")).All()
	must.Equal(t, r.Edits(), "server_clear@6 m2, server_clear@6 m4, server_clear@6 m6, server_clear@7 m8, server_clear@8 m10")
}

// The server has no memory: where the client's history falls under the trigger, everything comes back.
func TestClearToolUsesStateless(t *testing.T) {
	c := stagetest.Uses(6)
	r := stagetest.NewRun(t, c, clearing(t, "trigger: {input_tokens: 400}, keep: 1"))
	r.Each = func(k int) {
		if k == 5 {
			short := policy.NewContent(0, "short")
			for _, m := range []int{2, 4, 6, 8} {
				must.Get(r.View.Apply(policy.Edit{Kind: policy.KindClear, Target: policy.Target{Item: policy.ItemID(m)}, New: &short}))(t)
			}
		}
	}
	r.All()
	_, last, _ := strings.Cut(r.Edits(), ", server_keep")
	must.Equal(t, last, "@7 m2, server_keep@7 m4, server_keep@7 m6, server_keep@7 m8")
	must.Equal(t, r.View.PayloadTokens(), r.View.Tokens(), "payload")
}

func TestClearToolUsesTools(t *testing.T) {
	c := stagetest.Talk(`
prompt go; assistant use a Bash use b Memory use c Read; answers result a x*400 result b x*400 result c x*400
call d Memory 400; assistant say done
`)

	must.Rows(t, `
# name | change | want
all tools      | ""                          | server_clear@2 m2, server_clear@2 m2.1, server_clear@3 m2.2
excluded ones take no place among the kept | exclude_tools: [Memory]     | server_clear@2 m2
inputs too     | exclude_tools: [Memory], clear_tool_inputs: true | server_clear@2 m2, server_clear@2 m1
inputs of some | clear_tool_inputs: [Memory] | server_clear@2 m2, server_clear@2 m2.1, server_clear@2 m1.1, server_clear@3 m2.2
`, func(_, change, want string) {
		r := stagetest.NewRun(t, c, clearing(t, "trigger: {input_tokens: 1}, keep: 1, "+change)).All()
		must.Equal(t, r.Edits(), want)
	})
}

// Where a result leaves the view without its call, the call's input is not cleared any more: the server clears pairs.
func TestClearToolUsesInputWithoutResult(t *testing.T) {
	c := stagetest.Uses(4)
	c.Play(`prompt more; assistant say done`)
	r := stagetest.NewRun(t, c, clearing(t, "trigger: {input_tokens: 1}, keep: 1, clear_tool_inputs: true"))
	r.Each = func(k int) {
		if k == 4 {
			must.Get(r.View.Apply(policy.Edit{Kind: policy.KindRemove, Items: []policy.ItemID{2, 6}}))(t)
		}
	}
	r.All()
	_, last, _ := strings.Cut(r.Edits(), "remove@0, ")
	must.Equal(t, last, "server_keep@6 m1, server_keep@6 m5")
	must.Rows(t, `
1 | false
3 | true
5 | false
7 | false
`, func(m policy.ItemID, want bool) {
		if _, ok := r.View.PayloadReplacement(policy.Target{Item: m}); ok != want {
			t.Errorf("the input of message %d: cleared %t, want %t", m, ok, want)
		}
	})
}

// The API's own notation and the plain number are the same.
func TestClearToolUsesNotation(t *testing.T) {
	p := must.Get(policy.Decode("p.yaml", []byte("name: p\nabout: a\nsource: s\ndate: 2026-01-25\nstages: [clear_tool_uses]\n"), stagetest.Registry(t, defineClearToolUses()), nil))(t)
	must.Rows(t, `
keep           | 4                                    | 4
keep           | 0                                    | 0
keep           | {tool_uses: 5}                       | 5
keep           | {type: tool_uses, value: 0}          | 0
keep           | -1                                   | ""
keep           | none                                 | ""
keep           | {input_tokens: 5}                    | ""
keep           | {type: tool_uses}                    | ""
keep           | {type: input_tokens, value: 5}       | ""
keep           | {type: tool_uses, value: 5, more: 1} | ""
keep           | [5]                                  | ""
keep           | ""                                   | ""
clear_at_least | 5000                                 | 5000
clear_at_least | {type: input_tokens, value: 6000}    | 6000
clear_at_least | {input_tokens: 7000}                 | 7000
clear_at_least | none                                 | none
clear_at_least | 0                                    | none
clear_at_least | {type: tool_uses, value: 5}          | ""
clear_at_least | {input_tokens: some}                 | ""
clear_at_least | 1.5                                  | ""
`, func(key, value, want string) {
		err := p.Set("clear_tool_uses."+key, value)
		if want == "" {
			if err == nil {
				t.Errorf("%s: %s: no error", key, value)
			}
			return
		}
		if got, _ := p.Get("clear_tool_uses." + key); err != nil || got != want {
			t.Errorf("%s: %s: %s, %v", key, value, got, err)
		}
	})
}

// What clear_thinking takes off is not in the prompt the trigger reads; what this stage itself cleared at the request
// before is.
func TestClearToolUsesAfterThinking(t *testing.T) {
	c := stagetest.Talk(`
prompt one; assistant think x*4000 say 1  # 1,000 tokens
prompt two; assistant think hm use a Read; answers result a x*400; call b Read 400; call c Read 400
assistant say done
`)
	last := stagetest.NewRun(t, c).All()
	prompt := last.Payload[len(last.Payload)-1]
	for _, tt := range []struct {
		overhead int
		want     int // results cleared at the last request
	}{{100000 - prompt + 1, 0}, {100000 - prompt + 1000, 0}, {100000 - prompt + 1001, 2}} {
		one := 1
		r := stagetest.NewRun(t, c,
			stagetest.Start(t, defineClearThinking(), &ClearThinking{Keep: &one}),
			clearing(t, "keep: 1"))
		r.Overhead = tt.overhead
		r.All()
		cleared := 0
		for _, res := range r.View.Results() {
			if _, ok := r.View.PayloadReplacement(res.Target); ok {
				cleared++
			}
		}
		must.Equal(t, cleared, tt.want, tt.overhead)
	}
	// Over the trigger for good: the set moves on and never comes back.
	r := stagetest.NewRun(t, c, clearing(t, "keep: 0, trigger: {input_tokens: 1100}")).All()
	for _, e := range r.View.Edits() {
		if e.Kind == policy.KindServerKeep {
			t.Errorf("request %d gave %v back", e.Request, e.Target)
		}
	}
}

// Its own clearing never counts as another stage's, also where messages left the view or changed in the meantime.
func TestClearToolUsesCountsTheWholePrompt(t *testing.T) {
	r := stagetest.NewRun(t, stagetest.Uses(12), clearing(t, "trigger: {input_tokens: 1}, keep: 1, clear_tool_inputs: true"))
	short := policy.NewContent(0, "short")
	prompts := map[int]int{}
	r.Each = func(k int) {
		prompts[k+1] = r.View.Tokens()
		var e policy.Edit
		switch k {
		case 4:
			e = policy.Edit{Kind: policy.KindRemove, Items: []policy.ItemID{1, 2, 3, 4}}
		case 6:
			e = policy.Edit{Kind: policy.KindClear, Target: policy.Target{Item: 6}, New: &short}
		case 8:
			e = policy.Edit{Kind: policy.KindRemove, Items: []policy.ItemID{5, 6}}
		default:
			return
		}
		must.Get(r.View.Apply(e))(t)
	}
	r.All()
	seen := 0
	for _, e := range r.View.Edits() {
		if e.Kind != policy.KindServerClear {
			continue
		}
		seen++
		if want := fmt.Sprintf("%d tokens > 1:", prompts[e.Request]); !strings.HasPrefix(e.Reason, want) {
			t.Errorf("request %d: %q, want %q", e.Request, e.Reason, want)
		}
	}
	if seen < 12 {
		t.Errorf("%d results were cleared", seen)
	}
}

func TestToolInputs(t *testing.T) {

	must.Rows(t, `
# plain | want | back
true               | {"All":true}                 | true
false              | {}                           | false
"Bash"             | {"Tools":["Bash"]}           | ["Bash"]
["Bash", "mcp__*"] | {"Tools":["Bash", "mcp__*"]} | ["Bash", "mcp__*"]
[]                 | {}                           | false
`, func(plain any, want ToolInputs, back any) {
		var got ToolInputs
		if err := got.DecodeParam(plain); err != nil {
			t.Errorf("%v: %v", plain, err)
			return
		}
		must.Equal(t, got, want, plain)
		must.Equal(t, got.EncodeParam(), back, plain)
	})
	for _, wrong := range []any{nil, 1, "", []any{1}, []any{""}, map[string]any{}} {
		if err := new(ToolInputs).DecodeParam(wrong); err == nil {
			t.Errorf("%v: no error", wrong)
		}
	}
}
