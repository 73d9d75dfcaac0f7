package qwen

import (
	"strings"
	"testing"

	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/stage/stagetest"
)

// TestQwenCompressionAgain: a history that could not be split is looked at again once it can be.
func TestQwenCompressionAgain(t *testing.T) {
	long := strings.Repeat("x", 40000)
	for name, tt := range map[string]struct {
		before func(c *stagetest.Convo)
		remove []policy.ItemID
	}{
		"a prompt waits beside a result": {before: func(c *stagetest.Convo) {
			c.Play(`prompt %q; call a Read 40000; prompt more  # typed while the tool ran`, long)
		}},
		"the open call before a prompt is removed": {before: func(c *stagetest.Convo) {
			c.Play(`prompt %q; assistant use open Read; prompt more; call a Read 10000`, long)
		}, remove: []policy.ItemID{1}},
	} {
		p := *defineQwenCompression().Params.(*QwenCompression)
		p.Rules, p.Summary = "0.12", policy.SummaryChoices{{Kind: policy.SummaryFixed, Tokens: 50}}
		c := stagetest.NewConvo()
		tt.before(c)
		n := len(c.Messages)
		c.Play(`call b Read 10000`)
		r := stagetest.NewRun(t, c, stagetest.Start(t, defineQwenCompression(), &p))
		join := func(from, to int) {
			for m := from; m < to; m++ {
				r.View.Join(m)
			}
		}
		join(0, n)
		r.Last = last(150000, 100)
		r.Fire(policy.Prepare, 1, policy.Context{})
		if got := r.Edits(); len(got) > 0 {
			t.Errorf("%s: %v at the first request", name, got)
		}
		if tt.remove != nil {
			must.Get(r.View.Apply(policy.Edit{Kind: policy.KindRemove, Items: tt.remove, Stage: "other"}))(t)
		}
		join(n, len(c.Messages))
		r.Fire(policy.Prepare, 2, policy.Context{})
		if len(r.Edits()) == len(tt.remove) {
			t.Errorf("%s: nothing was compressed at the second request", name)
		}
	}
}
