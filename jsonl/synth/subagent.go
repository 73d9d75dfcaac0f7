package synth

import (
	"bufio"
	"bytes"
	"fmt"
	"math/rand/v2"
)

// subagent starts an agent of its own on a question. Its transcript goes to
// its own file; in clients before 2.0 its lines stand in the session.
func (s *developer) subagent() *Call {
	c := s.c
	question := "Find out how " + s.w.sentence() + " Report the files and functions involved; do not change anything."
	title := "Explore " + pick(s.r, packages)
	call := newCall("Task", func(o *object) {
		o.str("description", title).str("prompt", question).str("subagent_type", "Explore")
	})
	c.Task(call, title, question, func(sub *Client) string {
		d := &developer{c: sub, opt: s.opt, r: s.r, p: s.p, w: s.w}
		for range 2 + s.r.IntN(4) {
			sub.Respond(Block{Call: d.choose(true)})
		}
		answer := s.w.sentences(4 + s.r.IntN(8))
		sub.Respond(Block{Text: answer})
		return answer
	})
	return call
}

// Task makes call one that a subagent answers. work lets it act, in the time
// between the call and its result, and returns its answer.
func (c *Client) Task(call *Call, title, question string, work func(sub *Client) string) {
	if call.ID == "" {
		call.ID = c.toolID()
	}
	id := c.agentID(c.v)
	c.stats.Subagents++
	call.Result.Inside = func() {
		started := c.now
		var buf bytes.Buffer
		sub := c.child(id, &buf)
		sub.Prompt(question)
		answer := work(sub)
		if _, err := sub.Close(); err != nil && c.err == nil {
			c.err = err
		}
		c.now = sub.now
		if !c.v.agentFiles() {
			c.stats.Lines += sub.stats.Lines
			c.stats.Bytes += sub.stats.Bytes
		} else {
			name := c.session + "/subagents/agent-" + id
			c.beside(name+".jsonl", buf.Bytes())
			if c.v.agentMeta() {
				var o object
				o.open().str("agentType", "Explore").str("description", title).str("toolUseId", call.ID).num("spawnDepth", 1).close()
				c.beside(name+".meta.json", o.b)
			}
			c.agentProgress(call, id, question, buf.Bytes())
		}
		c.answer(call, id, question, answer, sub, int(c.now.Sub(started).Milliseconds()))
	}
}

// child is a client for a subagent of this session.
func (c *Client) child(id string, buf *bytes.Buffer) *Client {
	seed := c.ids.r.Uint64()
	sub := &Client{
		opt: c.opt, v: c.v, truth: c.truth, now: c.now, session: c.session, slug: c.slug, branch: c.branch, agent: id,
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

// agentProgress repeats the subagent's messages in the session, as clients of
// 2.1.12-2.1.81 do: a reader that adds up their usage counts it twice.
func (c *Client) agentProgress(call *Call, id, question string, lines []byte) {
	if !c.v.progress() || c.v < v21(12) {
		return
	}
	parent := ""
	for line := range bytes.Lines(lines) {
		if parent == "" {
			parent = c.leaf
		}
		uuid := c.uuid()
		o := c.head("progress", parent).obj("data").obj("message")
		kind := "assistant"
		if bytes.Contains(line, []byte(`"type":"user"`)) {
			kind = "user"
		}
		o.str("type", kind).raw("message", messageOf(line)).str("uuid", c.uuid()).str("timestamp", stamp(c.now)).close()
		o.str("type", "agent_progress").str("prompt", question).str("agentId", id).close()
		o.str("toolUseID", "agent_"+c.messageID()).str("parentToolUseID", call.ID)
		c.mark(uuid)
		c.endAside()
		parent = uuid
	}
}

// messageOf cuts the message object out of a line that this package wrote.
func messageOf(line []byte) []byte {
	from := bytes.Index(line, []byte(`"message":{`)) + len(`"message":`)
	depth, quoted := 0, false
	for i := from; i < len(line); i++ {
		switch b := line[i]; {
		case quoted && b == '\\':
			i++
		case b == '"':
			quoted = !quoted
		case quoted:
		case b == '{':
			depth++
		case b == '}':
			if depth--; depth == 0 {
				return line[from : i+1]
			}
		}
	}
	return []byte("{}")
}

// answer fills in the result of a subagent's call.
func (c *Client) answer(call *Call, id, question, answer string, sub *Client, took int) {
	parts := []string{answer}
	if c.v.agentFiles() {
		parts = append(parts, fmt.Sprintf("agentId: %s (for resuming to continue this agent's work if needed)", id))
	}
	var o object
	o.open().str("status", "completed").str("prompt", question)
	if c.v.agentFiles() {
		o.str("agentId", id)
	}
	o.arr("content").open().str("type", "text").str("text", answer).close().closeArr()
	o.num("totalDurationMs", took).num("totalTokens", sub.opt.Overhead+tokens(sub.sum)).num("totalToolUseCount", sub.stats.ToolCalls)
	o.obj("usage").num("input_tokens", 3).num("cache_creation_input_tokens", 900).num("cache_read_input_tokens", sub.opt.Overhead).num("output_tokens", 200).close().close()
	call.Result.Parts, call.Result.Client = parts, o.b
}
