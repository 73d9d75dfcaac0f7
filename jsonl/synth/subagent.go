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
		o.put(`"description":?,"prompt":?,"subagent_type":"Explore"`, title, question)
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
	id := c.agentID(c.release)
	call.result.inside = func() {
		started := c.now
		var buf bytes.Buffer
		sub := c.child(id, &buf)
		sub.prompt(question)
		answer := work(sub)
		_, err := sub.close()
		c.fail(err)
		c.now = sub.now
		if !c.AgentFiles {
			c.stats.Lines += sub.stats.Lines
			c.stats.Bytes += sub.stats.Bytes
		} else {
			name := c.session + "/subagents/agent-" + id
			c.beside(name+".jsonl", buf.Bytes())
			if c.AgentMeta {
				o := new(object).put(`{"agentType":"Explore","description":?,"toolUseId":?`, title, call.id)
				c.beside(name+".meta.json", o.put(`"spawnDepth":1}`).b)
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
		opt: c.opt, release: c.release, now: c.now, session: c.session, slug: c.slug, branch: c.branch, agent: id,
		ids: ids{rand.New(rand.NewPCG(seed, 1))}, r: rand.New(rand.NewPCG(seed, 2)), w: c.w,
	}
	if c.AgentFiles {
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
	if !c.Progress || c.number < v21(12) {
		return
	}
	parent := c.leaf
	for line := range bytes.Lines(lines) {
		uuid := c.uuid()
		kind := "assistant"
		if bytes.Contains(line, []byte(`"type":"user"`)) {
			kind = "user"
		}
		o := c.head("progress", parent).put(`"data":{"message":{"type":?,"message":?,"uuid":?,"timestamp":?}`, kind, messageOf(line), c.uuid(), stamp(c.now))
		o.put(`"type":"agent_progress","prompt":?,"agentId":?},"toolUseID":?,"parentToolUseID":?`, question, id, "agent_"+c.messageID(), call.id)
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
	o := new(object).put(`{"status":"completed","prompt":?`, question)
	if c.AgentFiles {
		call.result.parts = append(call.result.parts, fmt.Sprintf("agentId: %s (for resuming to continue this agent's work if needed)", id))
		o.put(`"agentId":?`, id)
	}
	o.put(`"content":[{"type":"text","text":?}]`, answer)
	o.put(`"totalDurationMs":?,"totalTokens":?,"totalToolUseCount":?`, took, sub.opt.Overhead+tokens(sub.sum), sub.stats.ToolCalls)
	o.put(`"usage":{"input_tokens":3,"cache_creation_input_tokens":900,"cache_read_input_tokens":?`, sub.opt.Overhead)
	call.result.client = o.put(`"output_tokens":200}}`).b
}
