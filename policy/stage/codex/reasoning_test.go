package codex

import (
	"testing"

	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/stage/stagetest"
)

// wholeReasoning sums up the encrypted reasoning of a view from its beginning.
func wholeReasoning(v policy.View, pending, read int) (tokens int, guessed bool) {
	n, since, some := 0.0, 0.0, false
	ids := v.IDs()
	for _, id := range ids[:len(ids)-pending] {
		m := v.Message(id)
		if m == nil {
			continue
		}
		if m.Class == session.ClassPrompt {
			n, since = n+since, 0
			guessed, some = guessed || some, false
		}
		recorded, estimated := reasoningOf(m)
		if int(id) < read {
			estimated = 0
		}
		since += recorded
		since += estimated
		some = some || estimated != 0
	}
	return int(n), guessed
}

// TestCodexReasoningFollows compares the reasoning that is summed up as items join with that of the whole view, which
// other stages change.
func TestCodexReasoningFollows(t *testing.T) {
	found := 0
	for seed := range uint64(200) {
		d := stagetest.NewDice(seed, nil)
		c := d.Conversation()
		for i := range c.Messages {
			m := &c.Messages[i]
			m.Model, m.Usage.Thinking = d.Pick("gpt-5.5", "gpt-5.6-sol"), d.N(3000)
			if d.One(20) {
				c.Restarts = append(c.Restarts, session.Restart{Before: i})
			}
		}
		r := stagetest.NewRun(t, c)
		stage := codex(t, "").Stage.(*codexCompaction)
		r.Each = func(k int) {
			ids := r.View.IDs()
			id := ids[d.N(len(ids))]
			e := policy.Edit{Kind: policy.KindRemove, Trigger: "auto", Stage: "test", Items: []policy.ItemID{id}}
			switch {
			case d.One(12):
				e.Kind, e.Items, e.Keep = policy.KindSummarize, nil, []policy.ItemID{id}
				e.Insert = []policy.Synthetic{{Role: "user", Summary: true, Contents: []policy.Content{{Tokens: 30}}}}
			case d.One(2):
				e = policy.Edit{Kind: policy.KindAttach, Trigger: "auto", Stage: "test", Insert: []policy.Synthetic{{Role: "user", Contents: []policy.Content{{Tokens: 3}}}}}
			}
			if d.One(3) {
				must.Get(r.View.Apply(e))(t)
			}
			pending, read := d.N(min(r.View.Len(), 4)), 0
			for i := range c.Restarts {
				if c.Restarts[i].Before <= r.View.Joined() {
					read = c.Restarts[i].Before
				}
			}
			want, guessed := wholeReasoning(r.View, pending, read)
			got, estimated := stage.reasoning(&policy.Context{View: r.View, Conv: c.Conversation, Model: "gpt-5.5"}, pending)
			if got != want || estimated != guessed {
				t.Fatalf("seed %d, request %d: %d, %t; want %d, %t", seed, k, got, estimated, want, guessed)
			}
			found += min(want, 1)
		}
		r.All()
	}
	if found < 300 {
		t.Errorf("%d requests had reasoning", found)
	}
}
