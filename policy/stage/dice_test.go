package stage

import (
	"fmt"
	"strings"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/stage/stagetest"
)

// randomConversation returns a conversation that the API takes at every request, with repeated results, images, Snip
// calls, and collapses that its client recorded.
func randomConversation(d *stagetest.Dice) *stagetest.Convo {
	c := d.Conversation()
	if d.One(2) {
		repeats(d, c)
	}
	if d.One(3) {
		images(d, c)
	}
	snipCalls(d, c)
	if d.One(4) {
		collapses(d, c)
	}
	return c
}

// repeats gives some results the text of an earlier one, and calls of Bash a command.
func repeats(d *stagetest.Dice, c *stagetest.Convo) {
	var results []policy.Target
	for m := range c.Messages {
		for b := range c.Messages[m].Blocks {
			bl, at := &c.Messages[m].Blocks[b], policy.Target{Item: policy.ItemID(m), Block: b}
			switch {
			case bl.Kind == jsonl.KindToolUse && bl.Name == "Bash":
				call := stagetest.Calling(bl.ID, bl.Name, d.Pick(`{"command":"make"}`, `{"command":"make test"}`))
				*bl, c.Texts[at] = call.Block, call.Said
			case bl.Kind == jsonl.KindToolResult && bl.IsString:
				if len(results) > 0 && d.One(3) {
					again := stagetest.Result(bl.ID, c.Texts[results[d.N(len(results))]])
					again.IsError = bl.IsError
					*bl, c.Texts[at] = again.Block, again.Said
				}
				results = append(results, at)
			}
		}
	}
}

// images adds images to some prompts.
func images(d *stagetest.Dice, c *stagetest.Convo) {
	for m := range c.Messages {
		if msg := &c.Messages[m]; msg.Class == session.ClassPrompt && d.One(2) {
			c.Texts[policy.Target{Item: policy.ItemID(m), Block: len(msg.Blocks)}] = ""
			msg.Blocks = append(msg.Blocks, stagetest.Block(jsonl.KindImage, "image", "").Block)
			msg.Blocks[0].IsString = false
		}
	}
}

// collapses adds what a client may have recorded of its own: spans of whole rounds, apart, overlapping and nested,
// staged and committed in any order.
func collapses(d *stagetest.Dice, c *stagetest.Convo) {
	var open session.OpenCalls
	cuts := []int{0} // messages before which all calls are answered
	for m := range c.Messages {
		open.Note(&c.Messages[m])
		if len(open) == 0 {
			cuts = append(cuts, m+1)
		}
	}
	span := func(limit int) (from, to int, ok bool) {
		k := 0
		for k < len(cuts) && cuts[k] <= limit {
			k++
		}
		if k < 2 {
			return 0, 0, false
		}
		a := d.N(k - 1)
		return cuts[a], cuts[a+1+d.N(k-1-a)] - 1, true
	}
	before := 0
	for i := range 1 + d.N(6) {
		before += d.N(len(c.Messages) - before + 1)
		if d.One(2) {
			s := session.CollapseSnapshot{Line: i, Before: before, Request: c.RequestAfter(before)}
			for range d.N(4) {
				if from, to, ok := span(before); ok {
					s.Staged = append(s.Staged, session.Staged{From: from, To: to, Summary: d.Pick("", "short", strings.Repeat("s", 400)), Risk: float64(d.N(5)) / 4})
				}
			}
			c.Snapshots = append(c.Snapshots, s)
		} else if from, to, ok := span(before); ok {
			c.Collapses = append(c.Collapses, session.Collapse{
				ID: fmt.Sprint(i), Line: i, From: from, To: to, Before: before, Request: c.RequestAfter(before),
				Summary: "the summary", Content: "<collapsed id='1'>the summary</collapsed>",
			})
		}
	}
}

// snipCalls turns some tool calls into calls of Snip on prompts before them.
func snipCalls(d *stagetest.Dice, c *stagetest.Convo) {
	var prompts []int
	for m := range c.Messages {
		if c.Messages[m].Class == session.ClassPrompt {
			prompts = append(prompts, m)
		}
		if !d.One(6) {
			continue
		}
		for b := range c.Messages[m].Blocks {
			if bl := &c.Messages[m].Blocks[b]; bl.Kind == jsonl.KindToolUse {
				c.Snips(m, b, prompts[d.N(len(prompts))], prompts[d.N(len(prompts))])
				break
			}
		}
	}
}

// circumstances sets random limits and what the transcript holds.
func circumstances(d *stagetest.Dice, r *stagetest.Bench) {
	r.Window = 1000 + d.Size(20000)
	r.Overhead = d.Size(60000)
	if d.One(2) {
		r.Overhead = d.Size(500)
	}
	if d.One(3) {
		shift := d.Size(3000)
		r.Used = func(int) (int, int) { return r.Overhead + r.View.Tokens() + shift, shift }
	}
	r.Manual = map[int]bool{d.N(12): d.One(3)}
	taken := map[int]bool{}
	r.Record.Find = func(n int) (policy.Content, int, bool) {
		for i := range r.C.Boundaries {
			b := &r.C.Boundaries[i]
			if b.Request >= n && !taken[i] {
				taken[i] = true
				ref := policy.Target{Item: policy.ItemID(b.Summary)}
				return policy.Content{Kind: jsonl.KindText, Ref: &ref, Length: r.C.Messages[b.Summary].Blocks[0].Text}, i, true
			}
		}
		return policy.Content{}, -1, false
	}
	if d.One(3) {
		r.Record.Memory = d.Pick("# Session Title\nA title\n", "# Session Title\n")
	}
	if d.One(2) {
		r.Record.Tail = []policy.Synthetic{{Role: "user", Contents: []policy.Content{{Kind: jsonl.KindText, Tokens: 50}}}}
	}
	if d.One(2) { // so that products with an output reserve of 32,000 can act
		r.Window += 40000
	}
}
