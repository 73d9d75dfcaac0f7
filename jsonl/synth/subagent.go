package synth

import (
	"bufio"
	"bytes"
	"fmt"
	"math/rand/v2"

	"github.com/ctxkit/ctxkit/jsonl/scan"
)

// subagent starts a subagent on a question. Its transcript goes to its own file; in clients before 2.0 its lines are
// in the session.
func (s *developer) subagent() *toolCall {
	c := s.c
	question := "Find out how " + s.w.sentence() + " Report the files and functions involved; do not change anything."
	title := "Explore " + pick(s.r, packages())
	call := newCall("Task", func(o *object) {
		o.str("description", title).str("prompt", question).str("subagent_type", "Explore")
	}, "", func(*object) {})
	c.task(call, title, question, func(sub *client) string {
		d := &developer{c: sub, opt: s.opt, r: s.r, p: s.p, w: s.w}
		for range 2 + s.r.IntN(4) {
			sub.respond(block{call: d.choose(true)})
		}
		answer := s.w.sentences(4 + s.r.IntN(8))
		sub.respond(block{text: answer})
		return answer
	})
	return call
}

// task has a subagent answer call. work runs between the call and its result; it drives the subagent and returns its
// answer.
func (c *client) task(call *toolCall, title, question string, work func(sub *client) string) {
	if call.id == "" {
		call.id = c.toolID()
	}
	id := c.agentID(c.v)
	call.result.inside = func() {
		started := c.now
		var buf bytes.Buffer
		sub := c.child(id, &buf)
		sub.prompt(question)
		answer := work(sub)
		_, err := sub.close()
		c.fail(err)
		c.now = sub.now
		if !c.v.agentFiles() {
			c.stats.Lines += sub.stats.Lines
			c.stats.Bytes += sub.stats.Bytes
		} else {
			name := c.session + "/subagents/agent-" + id
			c.beside(name+".jsonl", buf.Bytes())
			if c.v.agentMeta() {
				o := new(object).open().str("agentType", "Explore").str("description", title).str("toolUseId", call.id)
				c.beside(name+".meta.json", o.num("spawnDepth", 1).close().b)
			}
			c.agentProgress(call, id, question, buf.Bytes())
		}
		c.answer(call, id, question, answer, sub, int(c.now.Sub(started).Milliseconds()))
	}
}

// child is a client for a subagent of this session.
func (c *client) child(id string, buf *bytes.Buffer) *client {
	seed := c.ids.r.Uint64()
	sub := &client{
		opt: c.opt, v: c.v, now: c.now, session: c.session, slug: c.slug, branch: c.branch, agent: id,
		ids: ids{rand.New(rand.NewPCG(seed, 1))}, r: rand.New(rand.NewPCG(seed, 2)), w: c.w,
	}
	if c.v.agentFiles() {
		sub.w = bufio.NewWriter(buf)
	}
	sub.opt.Open = nil
	sub.opt.Overhead = c.opt.Overhead / 2
	sub.promptID = c.promptID
	return sub
}

// agentProgress repeats the subagent's messages in the session, as clients of 2.1.12-2.1.81 do: a reader that sums
// their usage counts it twice.
func (c *client) agentProgress(call *toolCall, id, question string, lines []byte) {
	if !c.v.progress() || c.v < v21(12) {
		return
	}
	parent := c.leaf
	for line := range bytes.Lines(lines) {
		uuid, kind := c.uuid(), "assistant"
		if bytes.Contains(line, []byte(`"type":"user"`)) {
			kind = "user"
		}
		o := c.head("progress", parent).obj("data").obj("message")
		o.str("type", kind).raw("message", messageOf(line)).str("uuid", c.uuid()).str("timestamp", stamp(c.now)).close()
		o.str("type", "agent_progress").str("prompt", question).str("agentId", id).close()
		o.str("toolUseID", "agent_"+c.messageID()).str("parentToolUseID", call.id)
		c.markAs(uuid)
		c.endAside()
		parent = uuid
	}
}

// messageOf cuts the message object out of a line that this package wrote.
func messageOf(line []byte) []byte {
	from := bytes.Index(line, []byte(`"message":{`)) + len(`"message":`)
	end, _ := scan.Value(line, from, 0)
	return line[from:end]
}

// answer fills in the result of a subagent's call.
func (c *client) answer(call *toolCall, id, question, answer string, sub *client, took int) {
	call.result.parts = []string{answer}
	o := new(object).open().str("status", "completed").str("prompt", question)
	if c.v.agentFiles() {
		call.result.parts = append(call.result.parts, fmt.Sprintf("agentId: %s (for resuming to continue this agent's work if needed)", id))
		o.str("agentId", id)
	}
	o.arr("content").textBlock(answer).closeArr()
	o.num("totalDurationMs", took).num("totalTokens", sub.opt.Overhead+tokens(sub.sum)).num("totalToolUseCount", sub.stats.ToolCalls)
	o.obj("usage").num("input_tokens", 3).num("cache_creation_input_tokens", 900).num("cache_read_input_tokens", sub.opt.Overhead)
	call.result.client = o.num("output_tokens", 200).close().close().b
}
