package vercel

import (
	"fmt"
	"testing"

	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/stage/stagetest"
)

func TestPruneMessages(t *testing.T) {
	use := func(id string) stagetest.BlockText { return stagetest.Use(id, "Read") }
	result := func(id string) stagetest.BlockText { return stagetest.Result(id, "text of "+id) }
	say, think := stagetest.Say, stagetest.Think
	for _, tt := range []struct {
		name string
		keep int
		talk func(c *stagetest.Convo)
		want []string // blocks in view at the end
	}{
		{"the example", 1, func(c *stagetest.Convo) {
			c.Assistant(say("I look"), use("a"))
			c.Answers(result("a"))
			c.Assistant(use("b"))
			c.Answers(result("b"))
		}, []string{"m0.0", "m1.0", "m3.0", "m4.0"}},
		{"results beside each other are one message", 1, func(c *stagetest.Convo) {
			c.Assistant(use("a"), use("b"))
			c.Answers(result("a"))
			c.Answers(result("b"))
		}, []string{"m0.0", "m1.0", "m1.1", "m2.0", "m3.0"}},
		{"a prompt behind the results is the last message", 1, func(c *stagetest.Convo) {
			c.Assistant(use("a"))
			c.Answers(result("a"), say("go on"))
		}, []string{"m0.0", "m2.1"}},
		{"a result that is kept keeps its call", 3, func(c *stagetest.Convo) {
			c.Assistant(use("a"), use("b"))
			c.Answers(result("a"), result("b"))
			c.Assistant(say("done"))
			c.Prompt("more")
		}, []string{"m0.0", "m1.0", "m1.1", "m2.0", "m2.1", "m3.0", "m4.0"}},
		{"reasoning goes with what follows it", 1, func(c *stagetest.Convo) {
			c.Assistant(think("I should look"), use("a"))
			c.Answers(result("a"))
			c.Assistant(think("and say so"), say("I look again"), use("b"))
			c.Answers(result("b"))
			c.Assistant(say("done"))
			c.Prompt("more")
		}, []string{"m0.0", "m3.0", "m3.1", "m5.0", "m6.0"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := stagetest.Talk(`prompt look`)
			tt.talk(c)
			c.Assistant(say("the next response"))
			r := stagetest.NewRun(t, c, stagetest.Start(t, definePruneMessages(), &PruneMessages{Keep: tt.keep}))
			r.All()
			var got []string
			for id := range r.View.Items {
				for b := range r.View.Blocks(id) {
					if with := r.View.Replacement(policy.Target{Item: id, Block: b}); with == nil || !with.Gone {
						got = append(got, fmt.Sprintf("m%d.%d", id, b))
					}
				}
			}
			got = got[:len(got)-1] // the response
			must.Equal(t, got, tt.want)
		})
	}
}
