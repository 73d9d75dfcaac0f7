package session

import (
	"sort"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/foreign"
)

// A client that is started again with a session (--resume, --continue) reads the history back from the file. No line
// is made for that alone. Four signs are left in the file, and which of them depends on the client and its settings:
// the output of a SessionStart:resume hook, an answer that the client gives itself if the user spoke last, a prompt
// that comes from the queue of a new process (see process), and another client version. A restart without any cannot be
// detected (docs/internals/transcripts.md).

// typeCost is the type of the lines with what a session has cost, which clients from 2.1.246 on write as they end.
const typeCost = "cost-state"

// process is what the lines between messages say of the client's processes. One without a terminal (-p) takes its prompt
// from its queue: up to 2.1.37 it records a dequeue alone, later an enqueue too. As it ends it writes the last prompt
// again, from 2.1.246 on what it cost. So a prompt that is queued after that, and taken from the queue at once, or that was
// never queued, is a new process's. From 2.1.210 on the last prompt is written while the agent runs too: then a call is
// open, or the prompt waits in the queue.
type process struct {
	headless bool // the first message was taken from the queue
	costs    bool // the session has lines of typeCost
	over     bool // no message since the lines that a process writes as it ends
	queued   bool // a prompt was queued since, no message after it
	launched bool // a new one began, no message since
	unread   int  // texts put into the queue that are not known
	response string
	calls    OpenCalls // of that response
}

// ended notes a line that a process writes as it ends, with what it cost or without.
func (p *process) ended(cost bool) {
	p.costs = p.costs || cost
	p.over = p.over || cost || !p.costs
}

// queue notes an operation of the queue, which is empty or not, before the first message or not.
func (p *process) queue(op *queueOperation, first, empty bool) {
	p.headless = p.headless || first
	switch op.Operation {
	case "enqueue":
		p.queued = p.queued || p.headless && p.over && len(p.calls) == 0 && !isNotice(op.Content)
		if op.Content == "" {
			p.unread++
		}
	case "dequeue":
		p.launched = p.launched || p.queued || empty && p.unread == 0
		if empty && p.unread > 0 {
			p.unread--
		}
	}
}

// chained notes a message, or another line of the chain. It reports whether it is the first of a new process.
func (p *process) chained() (first bool) {
	first = p.launched
	p.over = false
	p.queued = false
	p.launched = false
	return first
}

// message notes the calls of a response, and the results that answer them.
func (p *process) message(n *node) {
	if r := n.response; r != nil && (r.id != p.response || r.id == "") {
		p.response = r.id
		p.calls = nil
	}
	p.calls.Note(&Message{Blocks: n.blocks})
}

// synthetic is the model of messages that the client writes in the model's place.
const synthetic = "<synthetic>"

// noResponse is the text of the message that a new process writes behind a user message that came last, so that the
// roles alternate. (cli.js of 2.1.5 to 2.1.112, in the function that turns lines into messages.)
const noResponse = "No response requested."

// recoversSince is the first client version that reads parallel calls and results back which the parents of the last
// message do not lead to. Earlier ones follow the parents alone. (cli.js of 2.1.79 and 2.1.80.)
const recoversSince = "2.1.80"

// resumeHook is the name of a hook that runs as a session is resumed.
const resumeHook = "SessionStart:resume"

// restarts is what following restarts along a path needs.
type restarts struct {
	responded bool         // a response came
	lines     map[int]bool // lines of the path; nil: not needed yet
	from      int          // messages before it have been read back, and what was not is known
	seen      int          // messages before it were examined for what was said since the last restart
	said      bool         // something was
}

// restart records a restart shown by line i of the path. Signs show one restart if the user said nothing
// between them and no response came.
func (c *chain) restart(i int) {
	n := c.node(i)
	sign := c.sign(i)
	if n.version != "" && n.kind != nodeOther {
		c.version = n.version
	}
	if sign == "" {
		return
	}
	conv := c.Conversation
	for ; c.restarts.seen < len(conv.Messages); c.restarts.seen++ {
		c.restarts.said = c.restarts.said || said(&conv.Messages[c.restarts.seen])
	}
	if len(conv.Restarts) > 0 && !c.restarts.said {
		return
	}
	c.restarts.said = false
	r := Restart{UUID: n.uuid, Line: n.line, Sign: sign, Version: n.version, Before: len(conv.Messages)}
	switch sign {
	case SignTorn:
	case SignResumed:
		r.Left = c.leftThinking(&r)
		r.Repeats = n.name == foreign.SubtypeRepeat
	default:
		r.Left = c.left(&r)
	}
	conv.Restarts = append(conv.Restarts, r)
}

// said reports whether a message is none of those that a new process writes before the user speaks: notes, attachments
// and its own answer.
func said(m *Message) bool {
	return m.Class != ClassMeta && m.Class != ClassAttachment && !m.Synthetic
}

// RestartedBefore reports whether the client was restarted between main requests n-1 and n.
func (conv *Conversation) RestartedBefore(n int) bool {
	list := conv.Restarts
	i := sort.Search(len(list), func(i int) bool { return list[i].Request >= n })
	return i < len(list) && list[i].Request == n
}

// sign is what line i says of a restart; "": nothing.
func (c *chain) sign(i int) RestartSign {
	switch n := c.node(i); {
	case !c.restarts.responded: // nothing was sent yet
		return ""
	case n.is(lineRestarted):
		return SignTorn
	case !c.ownFormat(): // the other signs are Claude Code's
		if n.is(lineResumed) {
			return SignResumed
		}
		return ""
	case n.is(lineResumed):
		return SignHook
	case n.kind == nodeAssistant && n.response.model == synthetic && n.opening == opensNoResponse:
		return SignNoResponse
	case n.is(lineLaunched):
		return SignQueue
	case n.version != "" && c.version != "" && n.version != c.version && n.kind != nodeOther:
		return SignVersion
	}
	return ""
}

// left lists the blocks that a new process does not read back. It begins with the newest message and follows the
// parents. Of what is next to that path, clients since recoversSince add calls and results of the messages on it, and
// those that write down an attachment's words add it too (2.1.332; 2.1.260 does not); earlier ones add nothing, and drop a
// call whose result is not on the path.
//
// Each message is examined once: what one restart has read back, the next one finds on the same path.
func (c *chain) left(r *Restart) (out []BlockPlace) {
	if c.restarts.lines == nil {
		c.restarts.lines = map[int]bool{}
		for _, i := range c.path {
			c.restarts.lines[c.node(i).line] = true
		}
	}
	recovers := r.Version != "" && CompareVersions(r.Version, recoversSince) >= 0
	messages := c.Messages
	answered := map[string]bool{}
	for m := c.restarts.from; m < r.Before; m++ {
		for b := range messages[m].Blocks {
			if bl := &messages[m].Blocks[b]; bl.Kind == jsonl.KindToolResult && c.readBack(&messages[m], bl, recovers) {
				answered[bl.ID] = true
			}
		}
	}
	for m := c.restarts.from; m < r.Before; m++ {
		out = c.leftOf(m, recovers, answered, out)
	}
	c.restarts.from = r.Before
	return out
}

// leftThinking lists the thinking of which no encrypted form is there to read back.
func (c *chain) leftThinking(r *Restart) (out []BlockPlace) {
	for m := c.restarts.from; m < r.Before; m++ {
		for b := range c.Messages[m].Blocks {
			if bl := &c.Messages[m].Blocks[b]; bl.Kind == jsonl.KindThinking && bl.Signature == 0 {
				out = append(out, BlockPlace{m, b})
			}
		}
	}
	c.restarts.from = r.Before
	return out
}

// readBack reports whether a new process reads a block's line back.
func (c *chain) readBack(m *Message, bl *Block, recovers bool) bool {
	switch {
	case m.Is(Earlier):
		return true
	case m.Lost:
		return false
	case c.restarts.lines[bl.Line]:
		return true
	}
	return recovers && (m.Role == Assistant || m.Class == ClassToolResult || bl.Sent.Recorded)
}

// leftOf appends the blocks of message m that are not read back. A line whose calls all have no result goes as a
// whole, and thinking does not stay alone.
func (c *chain) leftOf(m int, recovers bool, answered map[string]bool, out []BlockPlace) []BlockPlace {
	msg := &c.Messages[m]
	if msg.RecordOnly {
		return out
	}
	open := map[int]bool{} // lines by whether all of their calls have no result
	for b := range msg.Blocks {
		if bl := &msg.Blocks[b]; bl.Kind == jsonl.KindToolUse {
			was, ok := open[bl.Line]
			open[bl.Line] = !answered[bl.ID] && (was || !ok)
		}
	}
	from := len(out)
	thinking := 0
	other := 0
	for b := range msg.Blocks {
		bl := &msg.Blocks[b]
		switch {
		case open[bl.Line] || !c.readBack(msg, bl, recovers):
			out = append(out, BlockPlace{m, b})
		case bl.Kind == jsonl.KindThinking || bl.Kind == jsonl.KindRedactedThinking:
			thinking++
		default:
			other++
		}
	}
	if thinking > 0 && other == 0 && len(out) > from {
		out = out[:from]
		for b := range msg.Blocks {
			out = append(out, BlockPlace{m, b})
		}
	}
	return out
}
