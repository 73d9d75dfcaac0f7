package price_test

import (
	"testing"

	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/replay/price"
)

// TestFindLike: a model that the table lacks is like the newest of its family, and has no price.
func TestFindLike(t *testing.T) {
	table := price.Default()
	must.Rows(t, `
claude-opus-6            | claude-opus-5-5
claude-opus-5-6-20270101 | claude-opus-5-5
us.anthropic.claude-sonnet-6-20270101-v1:0 | claude-sonnet-5-5
claude-haiku-6[1m]       | claude-haiku-5-5
claude-fable-5-3         | claude-fable-5-2
claude-mythos-7          | claude-mythos-5-2
claude-opus-4-9          | claude-opus-4-8
claude-opus-4-6-thinking | claude-opus-4-6
claude-neptune-6         | claude-haiku-5-5  # any of the newest: the windows are the same
gpt-5.7                  | gpt-5-6
gpt-6.3-sol              | gpt-6-2-sol
gpt-7-mini               | gpt-5-4-mini
gemini-4                 | gemini-4-argon
gemini-5-flash           | gemini-3-8-flash
grok-5                   | grok-4-7
glm-6                    | glm-5-3
kimi-k4                  | kimi-k3
deepseek-v5-pro          | deepseek-v4-pro
""                       | ""
<synthetic>              | ""
opus                     | ""
claude-opus              | ""
claude-2.1               | ""  # older than all
llama-4                  | ""
mystery                  | ""
-5                       | ""
`, func(id, theWant string) {
		m, like, ok := table.FindLike(id)
		want, _ := table.Find(theWant)
		if ok != (theWant != "") || like != ok || m.Context != want.Context || m.MaxOutput != want.MaxOutput {
			t.Errorf("%q is like %q (%v, %v), want %q", id, m.ID, like, ok, theWant)
		}
		if m.Rates != (price.Rates{}) || m.Tier != nil || m.Fast != nil || m.Earlier != nil {
			t.Errorf("%q has a price", id)
		}
	})
	if m, like, ok := table.FindLike("claude-opus-5"); m.ID != "claude-opus-5" || m.Input == 0 || like || !ok {
		t.Errorf("a model of the table is %+v, %v, %v", m, like, ok)
	}
}
