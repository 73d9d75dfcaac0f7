package opencode

import (
	"testing"

	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/stage/stagetest"
)

// TestOpencodeQueued: the prompts queued since the last response are wrapped in the next request and in no other; typed
// prompts, blank ones and those of another version are not.
func TestOpencodeQueued(t *testing.T) {
	const wrapped = "<system-reminder>\nThe user sent the following message:\nalso the tests\n\nPlease address this message and continue with your tasks.\n</system-reminder>"
	queue := func(c *stagetest.Convo, text string) int {
		return c.Add(session.Message{Role: session.User, Class: session.ClassPrompt, Marks: session.Queued}, stagetest.Say(text))
	}
	for _, wrap := range []bool{true, false} {
		c := stagetest.NewConvo()
		typed := c.Prompt("fix it")
		c.Play(`assistant use a Bash; answers result a ok`)
		queued, blank := queue(c, "also the tests"), queue(c, " \n")
		c.Play(`assistant say done`)
		next := c.Prompt("thanks")
		c.Play(`assistant say welcome`)
		want := "" // as recorded
		if wrap {
			want = wrapped
		}
		r := stagetest.NewRun(t, c, stagetest.Start(t, defineOpencodeQueued(), &OpencodeQueued{Wrap: wrap}))
		for m := range blank + 1 {
			r.View.Join(m)
		}
		r.Fire(policy.Prepare, 2, policy.Context{})
		if r.Shown(typed) != "" || r.Shown(queued) != want || r.Shown(blank) != "" {
			t.Errorf("wrap %t: %q, %q, %q", wrap, r.Shown(typed), r.Shown(queued), r.Shown(blank))
		}
		for m := blank + 1; m <= next; m++ {
			r.View.Join(m)
		}
		r.Fire(policy.Prepare, 3, policy.Context{})
		if r.Shown(queued) != "" || r.Shown(next) != "" {
			t.Errorf("wrap %t, later: %q, %q", wrap, r.Shown(queued), r.Shown(next))
		}
	}
}
