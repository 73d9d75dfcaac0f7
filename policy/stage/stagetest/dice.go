package stagetest

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/stage/measure"
)

// dice are the choices of a random case: from data while there is some, then
// from a generator.
type Dice struct {
	data []byte
	Rng  *rand.Rand
}

func NewDice(seed uint64, data []byte) *Dice { return &Dice{data, rand.New(rand.NewPCG(seed, 7))} }

// n is a number from 0 up to, not including, limit.
func (d *Dice) N(limit int) int {
	if limit <= 1 {
		return 0
	}
	if len(d.data) == 0 {
		return d.Rng.IntN(limit)
	}
	v := 0
	for m := limit - 1; m > 0 && len(d.data) > 0; m >>= 8 {
		v = v<<8 | int(d.data[0])
		d.data = d.data[1:]
	}
	return v % limit
}

func (d *Dice) One(in int) bool { return d.N(in) == 0 }

// size is a number up to about limit, small ones as likely as large ones.
func (d *Dice) Size(limit int) int { return d.N(1 + d.N(1+d.N(1+limit))) }

func (d *Dice) Pick(list ...string) string { return list[d.N(len(list))] }

func (d *Dice) text() string {
	switch d.N(12) {
	case 0:
		return "[Old tool result content cleared]"
	case 1:
		return "[Previous tool result compacted]"
	case 2:
		return "before <persisted-output> behind"
	case 3:
		return strings.Repeat("line\n", d.Size(800))
	case 4:
		return strings.Repeat("\"😀é\\", d.Size(500))
	}
	return strings.Repeat("x", d.Size(9000))
}

// conversation is one that the API takes at every request.
func (d *Dice) Conversation() *Convo {
	c := NewConvo()
	if d.One(12) {
		c.Agent = d.Pick("a1", "acompact-1")
	}
	c.Model = d.Pick("claude-opus-4-5", "claude-sonnet-4-5", "claude-haiku-5-5", "")
	c.Prompt("go")
	for i := range 1 + d.N(20) {
		if d.One(3) {
			c.clock = c.clock.Add(time.Duration(d.N(200)) * time.Minute)
		}
		if open := d.response(c, i); open {
			break
		}
		d.between(c)
	}
	for m := range c.Messages {
		c.Messages[m].Version = d.Pick("2.1.19", "2.1.30", "")
	}
	d.snipCalls(c)
	for i := range c.Boundaries {
		b := &c.Boundaries[i]
		b.Request = c.RequestAfter(b.Before)
	}
	if d.One(4) {
		d.collapses(c)
	}
	return c
}

// collapses are what a client may have recorded of its own: spans of whole
// rounds, apart, overlapping and nested, staged and committed in any order.
func (d *Dice) collapses(c *Convo) {
	open := map[string]bool{}
	cuts := []int{0} // messages before which all calls are answered
	for m := range c.Messages {
		measure.NoteCalls(&c.Messages[m], open)
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
				Summary: "what it came to", Content: "<collapsed id='1'>what it came to</collapsed>",
			})
		}
	}
}

// snipCalls takes some tool calls for calls of Snip on prompts before them.
func (d *Dice) snipCalls(c *Convo) {
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

// response is an assistant message and what answers it; open: its calls have
// no answers yet.
func (d *Dice) response(c *Convo, i int) (open bool) {
	var parts, answers []Part
	if d.One(3) {
		parts = append(parts, Think("hm"))
	}
	if d.One(9) {
		parts = append(parts, Block(jsonl.KindRedactedThinking, "redacted_thinking", "secret"))
	}
	if d.One(2) {
		parts = append(parts, Say("let me see"))
	}
	for j := range d.N(4) {
		id := fmt.Sprintf("t%d.%d", i, j)
		parts = append(parts, d.call(id, d.Pick("Read", "Bash", "Grep", "Edit", "Task", "Skill", "compact", "mcp__a__b")))
		a := Result(id, d.text())
		switch d.N(8) {
		case 0:
			a = Results(id, d.text(), Image)
		case 1:
			a = Results(id, d.text(), d.text())
		case 2:
			a = Results(id)
		}
		a.IsError = d.One(8)
		answers = append(answers, a)
	}
	if len(answers) == 0 {
		parts = append(parts, Say("done"))
		c.Assistant(parts...)
		return false
	}
	c.Assistant(parts...)
	if d.One(60) {
		return true
	}
	for k := len(answers) - 1; k > 0; k-- {
		o := d.N(k + 1)
		answers[k], answers[o] = answers[o], answers[k]
	}
	if d.One(2) {
		c.Answers(answers...)
	} else {
		for _, a := range answers {
			c.Answers(a)
		}
	}
	return false
}

// call is a tool_use, seldom with an input that means nothing.
func (d *Dice) call(id, tool string) Part {
	if d.One(9) {
		return Use(id, tool)
	}
	file := fmt.Sprintf(`{"file_path":"/p/%d.go"`, d.N(4))
	switch tool {
	case "Read":
		if d.One(3) {
			return Calling(id, tool, file+`,"offset":3}`)
		}
		return Calling(id, tool, file+"}")
	case "Edit":
		switch tool = d.Pick("Edit", "Write", "MultiEdit", "TodoWrite", "ExitPlanMode", "EnterPlanMode"); tool {
		case "Edit":
			return Calling(id, tool, file+`,"old_string":"x","new_string":"yz","replace_all":true}`)
		case "MultiEdit":
			return Calling(id, tool, file+`,"edits":[{"old_string":"x","new_string":"y"}]}`)
		case "TodoWrite":
			return Calling(id, tool, `{"todos":[{"content":"do it","status":"pending"}]}`)
		case "Write":
			return Calling(id, tool, d.Pick(file, `{"file_path":"/h/.claude/plans/a.md"`)+`,"content":"`+strings.Repeat("w", d.Size(9000))+`"}`)
		}
		return Calling(id, tool, `{"plan":"first this"}`)
	case "Task":
		return Calling(id, tool, `{"description":"look","run_in_background":true}`)
	case "Skill":
		return Calling(id, tool, d.Pick(`{"skill":"a"}`, `{"skill":"b"}`, `{"command":"c"}`))
	}
	return Use(id, tool)
}

// between is what stands between one response and the next.
func (d *Dice) between(c *Convo) {
	if d.One(5) {
		kind := d.Pick("memory", "file", "todo_reminder", "deferred_tools_delta", "plan_mode", "hook_success")
		c.Add(session.Message{Role: session.User, Class: session.ClassAttachment, Attachment: kind}, Block(jsonl.KindAttachment, "attachment", d.Pick("", "remember", "listing")))
	}
	if d.One(9) {
		c.User(session.ClassMeta, Say(d.Pick("a reminder", "Base directory for this skill: /s/d\n\n# D\n"+strings.Repeat("s", d.Size(9000)))))
	}
	last := &c.Messages[len(c.Messages)-1]
	if last.Class == session.ClassResponse || d.One(4) {
		if at := c.Prompt(d.Pick("go on", "fix it 😀", strings.Repeat("y", 500))); d.One(4) {
			c.Messages[at].Queued = true
		}
	}
	if d.One(12) {
		at := len(c.Messages)
		c.Messages[c.User(session.ClassSummary, Say("a recorded summary"))].RecordOnly = true
		c.Boundaries = append(c.Boundaries, session.Boundary{Line: at, Summary: at, Trigger: "auto", Before: at})
	}
}

// circumstances are the limits and the client's arithmetic.
func (d *Dice) Circumstances(r *Run) {
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
	r.Record.find = func(n int) (policy.Content, int, bool) {
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
}
