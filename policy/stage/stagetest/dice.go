package stagetest

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/session"
)

// Dice makes the choices of a random case: from data while there is some, then from a generator.
type Dice struct {
	data []byte
	Rng  *rand.Rand
}

// NewDice returns dice of a seed.
func NewDice(seed uint64, data []byte) *Dice { return &Dice{data, rand.New(rand.NewPCG(seed, 7))} }

// N returns a number from 0 up to, not including, limit.
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

// One is true once in n times.
func (d *Dice) One(in int) bool { return d.N(in) == 0 }

// Size returns a number up to about limit, small ones as likely as large ones.
func (d *Dice) Size(limit int) int { return d.N(1 + d.N(1+d.N(1+limit))) }

// Pick returns one of a list.
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

// Conversation returns a conversation that the API takes at every request.
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
		version := d.Pick("2.1.19", "2.1.30", "")
		c.Messages[m].Version = version
	}
	for i := range c.Boundaries {
		c.Boundaries[i].Request = c.RequestAfter(c.Boundaries[i].Before)
	}
	return c
}

// response adds an assistant message and what answers it. open is true where its calls have no answers yet.
func (d *Dice) response(c *Convo, i int) (open bool) {
	var parts, answers []BlockText
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

// call returns a tool_use, seldom with an input that means nothing.
func (d *Dice) call(id, tool string) BlockText {
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

// between adds what lies between one response and the next.
func (d *Dice) between(c *Convo) {
	if d.One(5) {
		kind := d.Pick("memory", "file", "todo_reminder", "deferred_tools_delta", "plan_mode", "hook_success")
		c.Attach(kind, Block(jsonl.KindAttachment, "attachment", d.Pick("", "remember", "listing")))
	}
	if d.One(9) {
		c.User(session.ClassMeta, Say(d.Pick("a reminder", "Base directory for this skill: /s/d\n\n# D\n"+strings.Repeat("s", d.Size(9000)))))
	}
	last := &c.Messages[len(c.Messages)-1]
	if last.Class == session.ClassResponse || d.One(4) {
		if at := c.Prompt(d.Pick("go on", "fix it 😀", strings.Repeat("y", 500))); d.One(4) {
			c.Messages[at].Marks |= session.Queued
		}
	}
	if d.One(12) {
		at := len(c.Messages)
		c.Messages[c.User(session.ClassSummary, Say("a recorded summary"))].RecordOnly = true
		c.Boundaries = append(c.Boundaries, session.Boundary{Line: at, Summary: at, Trigger: "auto", Before: at})
	}
}
