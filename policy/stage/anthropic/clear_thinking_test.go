package anthropic

import (
	"testing"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/stage/stagetest"
	"github.com/ctxkit/ctxkit/policy/view"
)

// thoughts is three answered prompts, each with thinking; the second has a tool loop in which it thinks twice.
func thoughts(model string) *stagetest.Convo {
	c := stagetest.NewConvo()
	c.Model = model
	c.Play(`
prompt one; assistant think hm say 1  # m1
prompt two; assistant think "let me see" use a Read  # m3
answers result a x
`)
	c.Assistant(stagetest.Block(jsonl.KindRedactedThinking, "redacted_thinking", "enc"), stagetest.Say("2")) // m5
	c.Play(`
prompt three; assistant say "3, without"  # m7
prompt four; assistant think well say 4  # m9
prompt five; assistant say 5
`)
	return c
}

func TestClearThinking(t *testing.T) {
	one, two, three := 1, 2, 3
	tests := []struct {
		name  string
		keep  *int
		model string
		want  string
	}{
		{"all", nil, "claude-sonnet-4-5", ""},
		{"keep 3", &three, "claude-opus-4-5", ""},
		{"keep 2", &two, "claude-opus-4-5", "server_clear@6 m1"},
		{"keep 1: a tool loop goes together, a turn without thinking does not count", &one, "claude-opus-4-5",
			"server_clear@3 m1, server_clear@6 m3, server_clear@6 m5"},
		{"by model: the last", new(int), "claude-sonnet-4-5-20250929", "server_clear@3 m1, server_clear@6 m3, server_clear@6 m5"},
		{"by model: all", new(int), "claude-sonnet-4-6", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := stagetest.NewRun(t, thoughts(tt.model), stagetest.Start(t, defineClearThinking(), &ClearThinking{Keep: tt.keep}))
			r.Each = func(k int) {
				if v := view.CheckAPI(r.View); v != nil {
					t.Errorf("request %d: %v", k+1, v)
				}
			}
			r.All()
			must.Equal(t, r.Edits(), tt.want)
			for _, e := range r.View.Edits() {
				if e.New != nil || e.After >= e.Before {
					t.Errorf("%d tokens became %d, %v stands in", e.Before, e.After, e.New)
				}
			}
		})
	}
}

// A prompt that was queued while the agent ran opens no turn.
func TestClearThinkingQueued(t *testing.T) {
	one := 1
	c := stagetest.Talk(`prompt go; assistant think a use a Read; answers result a x`)
	c.Messages[c.Prompt("also this")].Marks |= session.Queued
	c.Play(`
assistant think b say done; meta say "a reminder"; assistant think c say done; prompt next
assistant think d say done; prompt last; assistant say done
`)
	r := stagetest.NewRun(t, c, stagetest.Start(t, defineClearThinking(), &ClearThinking{Keep: &one})).All()
	must.Equal(t, r.Edits(), "server_clear@5 m1, server_clear@5 m4, server_clear@5 m6")
}

// What a compaction takes out of view does not count, and what it keeps may come back.
func TestClearThinkingAfterRebuild(t *testing.T) {
	one := 1
	c := thoughts("claude-opus-4-5")
	r := stagetest.NewRun(t, c, stagetest.Start(t, defineClearThinking(), &ClearThinking{Keep: &one}))
	r.Each = func(k int) {
		if k != 5 {
			return
		}
		// The newest turns leave; that of message 5 is now the last.
		must.Get(r.View.Apply(policy.Edit{Kind: policy.KindSummarize, Keep: []policy.ItemID{0, 1, 2, 5, 6, 7}}))(t)
	}
	r.All()
	n := len(r.Edits())
	r.Fire(policy.Project, 6, policy.Context{})
	must.Equal(t, r.Edits()[n:], ", server_keep@7 m5")
}

func TestDefaultThinking(t *testing.T) {
	must.Rows(t, `
claude-opus-4-5-20251101   | -1
claude-opus-4-6            | -1
claude-opus-5              | -1
claude-opus-5-5            | -1
claude-opus-4-1-20250805   | 1
claude-opus-4-20250514     | 1
claude-3-opus-20240229     | 1
claude-sonnet-4-6          | -1
claude-sonnet-5            | -1
claude-sonnet-5-5          | -1
claude-sonnet-4-5-20250929 | 1
claude-sonnet-4-20250514   | 1
claude-3-7-sonnet-20250219 | 1
claude-haiku-4-5-20251001  | 1
claude-3-5-haiku-20241022  | 1
claude-haiku-5-5           | -1
claude-fable-5             | -1
claude-mythos-5-1          | -1
""                         | -1
gpt-5                      | -1
us.anthropic.claude-sonnet-4-5-20250929-v1:0 | 1
anthropic/claude-opus-4.5  | -1
claude-sonnet-4-5[1m]      | 1
`, func(model string, want int) {
		must.Equal(t, defaultThinking(model), want, model)
	})
}
