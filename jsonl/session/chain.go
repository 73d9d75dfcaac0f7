package session

import (
	"cmp"
	"slices"
	"strings"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/foreign"
)

// chain builds the messages of one conversation.
type chain struct {
	*loader
	id       int                  // the conversation's number
	order    []int                // its lines, in file order
	groups   map[int]*group       // of assistant lines, by their first line
	path     []int                // root to leaf
	home     map[int]int          // group -> an earlier group on the path with the same message.id
	calls    map[string]*toolCall // by id
	turnOver bool                 // a line since the last message ended the turn
	unsent   int                  // user messages since the last message of which nothing is sent
	*Conversation
	queued   map[int][]int   // by result: the queued prompts that were sent next to it and are not emitted yet
	after    *Boundary       // set while lines that a compaction produced may follow
	versions map[string]bool // in conv.Versions
	version  string          // of the last line on the path that names one
	restarts restarts
	ordered  []ordered // of boundaries
}

func (ld *loader) conversation(order []int, agent, leaf string) *Conversation {
	ld.convs++
	c := &chain{
		loader: ld, id: ld.convs, order: order, groups: map[int]*group{}, home: map[int]int{}, calls: map[string]*toolCall{},
		Conversation: &Conversation{Path: ld.path, Agent: agent, Source: ld.src}, queued: map[int][]int{}, versions: map[string]bool{},
	}
	for _, i := range order {
		n := ld.node(i)
		n.conv = c.id
		switch n.kind {
		case nodeAssistant:
			if c.groups[n.group] == nil {
				c.groups[n.group] = &group{}
			}
			c.groups[n.group].lines = append(c.groups[n.group].lines, i)
		case nodeUser:
			for _, bl := range blocksOf(n.blocks, jsonl.KindToolResult) {
				call := c.tool(bl)
				if k := len(call.results); k == 0 || call.results[k-1] != i {
					call.results = append(call.results, i)
				}
			}
		}
	}
	c.walk(leaf)
	c.unite()
	c.Messages = make([]Message, 0, len(c.path)) // as many as it grows to, or a few less: else 200 MB take too much (bar in docs/performance.md)
	c.findQueued()
	c.emit()
	c.finish()
	return c.Conversation
}

// toolCall is what a conversation has of one tool_use id.
type toolCall struct {
	results []int // the lines that answer it
	line    int   // of the call
	made    bool  // a line has the call
	called  bool  // it is emitted
	replied bool  // its result is emitted
}

// tool is the call with a block's id.
func (c *chain) tool(bl *Block) *toolCall {
	call := c.calls[bl.ID]
	if call == nil {
		call = &toolCall{}
		if bl.ID != "" {
			c.calls[bl.ID] = call
		}
	}
	return call
}

// in reports whether a line is part of this conversation.
func (c *chain) in(i int) bool { return c.node(i).conv == c.id }

// onPath reports whether a line is on the path from root to leaf.
func (c *chain) onPath(i int) bool { return c.node(i).is(lineOnPath) && c.in(i) }

// byLine is the index of the message of a line.
func (c *chain) byLine(i int) (message int, ok bool) {
	n := c.node(i)
	return n.at - 1, n.at > 0 && c.in(i)
}

// emit turns the path into messages, each followed by the results of its tool calls, wherever in the file they are.
func (c *chain) emit() {
	beside := c.besidePath()
	c.earlier()
	for _, i := range c.path {
		n := c.node(i)
		from := len(c.Messages)
		for len(beside) > 0 && beside[0] < i {
			c.edited(beside[0])
			beside = beside[1:]
		}
		c.restart(i)
		switch n.kind {
		case nodeBoundary:
			c.edited(i)
			c.boundary(i)
		case nodeMicro, nodeSnip:
			c.edited(i)
		case nodeSystem:
			if n.name == foreign.SubtypeUnsent {
				c.unsent++
			}
			c.turnOver = c.turnOver || n.name == "turn_duration" || n.name == "stop_hook_summary" || n.name == "away_summary"
		case nodeAssistant:
			c.assistant(c.homeOf(n.group))
		case nodeUser, nodeAttachment:
			if !c.answersLater(i) {
				c.user(i)
			}
		}
		if len(c.queued) > 0 {
			c.emitQueued(from)
		}
	}
	for _, i := range beside {
		c.edited(i)
	}
}

// edited records a microcompaction or a snip.
func (c *chain) edited(i int) {
	n := c.node(i)
	if n.kind == nodeMicro {
		c.microcompaction(i)
	}
	if len(c.snipped[i]) > 0 {
		c.snip(i)
	}
}

// push adds a message made of a line, and lists the version of its client.
func (c *chain) push(m Message, n *node) {
	m.Version = n.version
	if !n.is(lineVersioned) && n.version != "" && !c.versions[n.version] { // each line once: a version may be long
		c.versions[n.version] = true
		c.Versions = append(c.Versions, n.version)
	}
	n.mark(lineVersioned)
	if !m.RecordOnly {
		m.Unsent = c.unsent
		c.unsent = 0
	}
	c.Messages = append(c.Messages, m)
}

// earlier adds a placeholder where the first line names a parent that is not in the file.
func (c *chain) earlier() {
	if len(c.path) == 0 {
		return
	}
	n := c.node(c.path[0])
	if n.parentUUID == "" || n.parent >= 0 && c.in(n.parent) || c.removed[n.parentUUID] {
		return
	}
	c.push(Message{
		Role: User, Class: ClassMeta, Marks: Earlier, Line: n.line, LastLine: n.line, UUID: "earlier-" + n.parentUUID, Time: n.time,
		Blocks: []Block{{Line: n.line, ContentBlock: jsonl.ContentBlock{Kind: jsonl.KindText, Type: "text", IsString: true}}},
	}, n)
	c.notes.add(&c.Warnings, CodeEarlier, n.line, "the conversation began before this file: a placeholder holds what the first request had in context")
}

// besidePath lists the microcompact boundaries and snips that are not on the path but whose parent is: a compaction
// at the same request leaves them there.
func (c *chain) besidePath() []int {
	var out []int
	for _, i := range c.order {
		if n := c.node(i); (n.kind == nodeMicro || n.kind == nodeSnip) && !c.onPath(i) && n.parent >= 0 && c.onPath(n.parent) {
			out = append(out, i)
		}
	}
	return out
}

func (c *chain) assistant(first int) {
	of := c.groups[first]
	if of.said {
		return
	}
	of.said = true
	c.after = nil
	m := Message{Role: Assistant, Class: ClassResponse}
	var from *node // the first of its lines
	for _, i := range of.lines {
		n := c.node(i)
		if n.is(lineAPIError) {
			continue
		}
		blocks := c.fresh(i)
		if len(blocks) == 0 && len(n.blocks) > 0 {
			continue
		}
		n.mark(lineEmitted | lineUsed)
		n.at, n.blocks = len(c.Messages)+1, nil // the message has them; kept, 1 GB takes too much (bar in docs/performance.md)
		if from == nil {
			from = n
			m.Line = n.line
			m.UUID = n.uuid
			m.Time = n.time
			m.ID, m.Model, m.Window = n.response.id, n.response.model, c.windowAt(i)
			m.Blocks = blocks
			m.markIf(n.is(lineNoRequest), NoRequest)
		} else {
			m.Blocks = append(m.Blocks, blocks...)
		}
		m.UUIDs = append(m.UUIDs, n.uuid)
		m.LastLine = max(m.LastLine, n.line)
		if n.time.After(m.End) {
			m.End = n.time
		}
		m.StopReason = cmp.Or(n.response.stop, m.StopReason)
		if n.response.recorded {
			m.addUsage(n.response.usage)
		}
		m.Applied = cmp.Or(n.response.applied, m.Applied)
		m.CacheMiss = cmp.Or(n.response.cacheMiss, m.CacheMiss)
	}
	if c.in(first) {
		c.node(first).mark(lineEmitted)
	}
	if from == nil {
		return
	}
	c.turnOver = false
	m.Synthetic = m.Model == synthetic
	if m.Synthetic || m.Is(NoRequest) || m.Usage.Context() == 0 {
		m.HasUsage = false
		m.markIf(!m.Synthetic && m.Usage.Output > 0, OutputOnly)
	}
	c.restarts.responded = c.restarts.responded || !m.Synthetic
	m.RecordOnly = c.thoughtAlone(&m, from.version)
	c.push(m, from)
	c.toolResults(first, from)
}

// dropsThoughtsSince is the first version that is known to leave out a response of thinking alone, which was interrupted.
// (Read from public copies of the client's code; true requests of 2.1.260 and 2.1.332 show it.)
const dropsThoughtsSince = "2.1.88"

// thoughtAlone reports whether a response is thinking alone that the client does not send again.
func (c *chain) thoughtAlone(m *Message, version string) bool {
	return c.ownFormat() && version != "" && !olderThan(version, dropsThoughtsSince) && len(m.Blocks) > 0 &&
		!slices.ContainsFunc(m.Blocks, func(bl Block) bool { return bl.Kind != jsonl.KindThinking && bl.Kind != jsonl.KindRedactedThinking })
}

func (c *chain) user(i int) {
	n := c.node(i)
	if n.is(lineEmitted) {
		return
	}
	blocks := c.fresh(i)
	if len(blocks) == 0 && len(n.blocks) > 0 {
		return
	}
	n.mark(lineEmitted | lineUsed)
	n.blocks = nil // the message has them; kept, 1 GB takes too much (bar in docs/performance.md)
	if c.goesWithPrompt(n) {
		n.at = len(c.Messages)
		m := &c.Messages[len(c.Messages)-1]
		m.UUIDs = append(m.UUIDs, n.uuid)
		m.Blocks = append(m.Blocks, blocks...)
		m.LastLine = max(m.LastLine, n.line)
		return
	}
	m := Message{
		Role: User, Class: n.class, Blocks: blocks, Line: n.line, LastLine: n.line, UUID: n.uuid, UUIDs: []string{n.uuid}, Time: n.time, Effort: n.effort, Preamble: n.preamble,
	}
	if n.kind == nodeAttachment {
		m.Attachment = n.name
	}
	at := len(c.Messages)
	m.markIf(n.is(lineAnswers), AsAssistant)
	switch {
	case n.class == ClassSummary && at > 0 && (c.ownFormat() || c.after == nil || c.after.Summary < 0):
		m.RecordOnly = true
		c.summary(i, at)
	case c.after != nil && (n.class == ClassSummary || n.kind == nodeAttachment && n.class == ClassAttachment || c.after.Summary < 0 && n.class == ClassMeta || c.ofCompact(i)):
		m.RecordOnly = true
		m.Marks |= Reattached
		c.after.Attached = append(c.after.Attached, at)
	default:
		c.after = nil
	}
	if m.Class == ClassPrompt {
		m.markIf(n.is(lineStopped), Stopped)
		m.markIf(n.is(lineQueued) || n.kind == nodeAttachment || !n.is(lineBegins) && !c.turnOver && !n.is(lineSubmitted) && !n.lostParent() && c.midRun(), Queued)
	}
	c.turnOver = false
	n.at = at + 1
	c.push(m, n)
}

// goesWithPrompt reports whether a line continues the prompt that was emitted last: a client that resumes writes a
// prompt as one line a block, all with the same time.
func (c *chain) goesWithPrompt(n *node) bool {
	if n.kind != nodeUser || n.class != ClassPrompt || n.parent < 0 || n.time.IsZero() || !c.ownFormat() || len(c.Messages) == 0 {
		return false
	}
	m := &c.Messages[len(c.Messages)-1]
	p := c.node(n.parent)
	return m.Class == ClassPrompt && p.kind == nodeUser && p.time.Equal(n.time) && len(m.UUIDs) > 0 && m.UUIDs[len(m.UUIDs)-1] == p.uuid
}

// midRun reports whether the last message is a tool result: the agent is running, and a prompt here was queued and
// ends no turn. The response after the result may instead be empty or lost. Then a line that ends the turn is between
// them, or a snapshot for the prompt, or the prompt has no parent.
func (c *chain) midRun() bool {
	for k := len(c.Messages) - 1; k >= 0; k-- {
		m := &c.Messages[k]
		if m.Class != ClassMeta && m.Class != ClassAttachment || m.RecordOnly {
			return m.Class == ClassToolResult && !m.Lost
		}
	}
	return false
}

// finish numbers the requests, drops the placeholder for calls that are still open at the end, and fills the
// conversation's own fields.
func (c *chain) finish() {
	conv := c.Conversation
	k := len(conv.Messages) - 1
	edited := slices.ContainsFunc(conv.Boundaries, func(b Boundary) bool { return b.Before > k }) || slices.ContainsFunc(conv.Snips, func(s RecordedSnip) bool { return s.Before > k }) ||
		slices.ContainsFunc(conv.Micro, func(m Microcompaction) bool { return m.Before > k })
	if k >= 0 && conv.Messages[k].Lost && !edited {
		conv.Messages = conv.Messages[:k]
	}
	for k := range conv.Messages {
		m := &conv.Messages[k]
		if m.Lost {
			c.warn(m.Line, "the result of %s is not in the file: a placeholder takes its place", lostIDs(m))
		}
		if m.requested() {
			conv.Requests = append(conv.Requests, APICall{N: len(conv.Requests) + 1, Message: k})
		}
	}
	rec := &c.recorded
	conv.Product = cmp.Or(rec.Product, Product)
	conv.Provider = rec.Provider
	conv.Repository = rec.Repository
	if conv.Agent == "" {
		conv.Overhead = max(rec.Overhead, 0)
	}
	conv.alike = alike(conv.Product)
	if len(conv.Requests) > 0 {
		m := conv.Response(0)
		conv.Model = m.Model
		conv.Version = m.Version
	} else if len(conv.Versions) > 0 {
		conv.Version = conv.Versions[0]
	}
	for k := range conv.Boundaries {
		b := &conv.Boundaries[k]
		b.Request = conv.requestAfter(b.Before)
		if b.Summary < 0 && (c.ownFormat() || len(b.Preserved)+len(b.Attached) == 0) { // others leave messages out without one
			c.notes.add(&conv.Warnings, CodeNoSummary, b.Line, "no summary follows the compaction")
		}
	}
	for k := range conv.Micro {
		conv.Micro[k].Request = conv.requestAfter(conv.Micro[k].Before)
	}
	for _, i := range c.order {
		n := c.node(i)
		conv.SessionID = cmp.Or(conv.SessionID, n.sessionID)
		conv.CWD = cmp.Or(conv.CWD, n.cwd)
	}
	if len(c.path) > 0 {
		conv.SessionID = cmp.Or(c.node(c.path[len(c.path)-1]).sessionID, conv.SessionID)
		conv.CWD = cmp.Or(c.node(c.path[0]).cwd, conv.CWD)
	}
	for k := range conv.Restarts {
		conv.Restarts[k].Request = conv.requestAfter(conv.Restarts[k].Before)
	}
	conv.IndexTools()
	c.snips()
	c.marks()
	c.keptOrder()
	c.charge()
}

func lostIDs(m *Message) string {
	var ids []string
	for b := range m.Blocks {
		ids = append(ids, m.Blocks[b].ID)
	}
	return strings.Join(ids, ", ")
}
