package session

import (
	"cmp"
	"slices"
	"strings"

	"github.com/ctxkit/ctxkit/jsonl"
)

// chain builds the messages of one conversation.
type chain struct {
	ld       *loader
	id       int32           // the conversation's number
	order    []int32         // its lines, in file order
	groups   []group         // of assistant lines, by number
	lastAt   int             // index into groups, looked at last
	path     []int32         // root to leaf; nil: the marked lines, in file order (onward)
	root     int32           // first of it, -1: there is none
	end      int32           // last of it
	home     map[int32]int32 // group -> an earlier group on the path with the same message.id
	calls    []toolCall
	several  [][]int32 // of lineLists
	parts    [][]Block // blocks of the current message, by line
	lines    []int32   // these lines
	turnOver bool      // a line since the last message ended the turn
	conv     *Conversation
	queued   map[int32][]int32 // by result: the queued prompts that were sent beside it and are not emitted yet
	after    *Boundary         // set while lines that a compaction produced may follow
	version  string            // of the last line on the path that names one
	restarts restarts
}

func (ld *loader) conversation(order []int32, agent, leaf string) *Conversation {
	ld.convs++
	groups, calls := ld.count(order)
	c := &chain{
		ld: ld, id: ld.convs, order: order, root: -1, groups: make([]group, 0, groups), home: map[int32]int32{}, calls: make([]toolCall, 0, calls),
		conv: &Conversation{Path: ld.path, Agent: agent, Source: ld.src},
	}
	c.findGroups()
	for k, i := range order {
		n := ld.node(i)
		n.conv = c.id
		switch n.kind {
		case nodeAssistant:
			c.add(&c.group(n.group).lines, k)
		case nodeUser:
			for _, bl := range blocksOf(c.ld.blocks(i), jsonl.KindToolResult) {
				if bl.ID() == "" {
					continue
				}
				call := c.tool(bl)
				if list := c.linesIn(&call.results); len(list) == 0 || list[len(list)-1] != i {
					c.add(&call.results, k)
				}
			}
		}
	}
	c.walk(leaf)
	c.unite()
	c.conv.Messages = make([]Message, 0, c.expected())
	c.findQueued()
	c.emit()
	c.finish()
	return c.conv
}

// expected is how many messages there will be, or a few more: one for each response and each other line on the path, one
// for each line of results beside it, and two placeholders.
func (c *chain) expected() int {
	n, group := 2, int32(-1)
	for _, i := range c.order {
		switch line := c.ld.node(i); {
		case line.kind == nodeAssistant && line.is(lineOnPath):
			if line.group != group {
				n, group = n+1, line.group
			}
		case line.kind == nodeUser && !line.is(lineOnPath):
			for range blocksOf(c.ld.blocks(i), jsonl.KindToolResult) {
				n++
				break
			}
		case line.kind.message() && line.is(lineOnPath):
			n++
		}
	}
	return n
}

// toolCall is what a conversation has of one tool_use id.
type toolCall struct {
	results lineList // the lines that answer it
	line    int32    // of the call
	made    bool     // a line has the call
	called  bool     // it is emitted
	replied bool     // its result is emitted
}

// tool is the call with a block's id.
func (c *chain) tool(bl *Block) *toolCall {
	call := bl.call
	switch {
	case bl.ID() == "":
		return &toolCall{}
	case call.conv == alone:
		call = c.ld.tools.first(call.id)
	}
	if call.conv != c.id {
		call.conv, call.at = c.id, int32(len(c.calls))
		c.calls = append(c.calls, toolCall{})
	}
	return &c.calls[call.at]
}

// count is how many groups of assistant lines and how many tool calls some lines have.
func (ld *loader) count(lines []int32) (groups, calls int) {
	for _, i := range lines {
		n := ld.node(i)
		if n.kind != nodeAssistant {
			continue
		}
		if n.group == i {
			groups++
		}
		for range blocksOf(ld.blocks(i), jsonl.KindToolUse) {
			calls++
		}
	}
	return groups, calls
}

// lineList is a list of lines of a conversation: a part of its order, the usual case, or one of several.
type lineList struct {
	from int32
	n    int32 // ofSeveral: it is chain.several[from]
}

const ofSeveral = -1

// linesIn is the lines of a list. The slice is the list's own.
func (c *chain) linesIn(l *lineList) []int32 {
	if l.n == ofSeveral {
		return c.several[l.from]
	}
	return c.order[l.from : l.from+l.n : l.from+l.n]
}

// add appends line order[k] to a list.
func (c *chain) add(l *lineList, k int) {
	switch {
	case l.n == 0:
		l.from, l.n = int32(k), 1
	case l.n > 0 && int(l.from+l.n) == k:
		l.n++
	default:
		c.addLine(l, c.order[k])
	}
}

// addLine appends a line to a list.
func (c *chain) addLine(l *lineList, i int32) {
	if l.n != ofSeveral {
		c.several = append(c.several, c.linesIn(l))
		l.from, l.n = int32(len(c.several))-1, ofSeveral
	}
	list := &c.several[l.from]
	*list = append(*list, i)
}

// in reports whether a line is part of this conversation.
func (c *chain) in(i int32) bool { return c.ld.node(i).conv == c.id }

// onPath reports whether a line is on the path from root to leaf.
func (c *chain) onPath(i int32) bool { return c.ld.node(i).is(lineOnPath) && c.in(i) }

// byLine is the index of the message of a line.
func (c *chain) byLine(i int32) (message int, ok bool) {
	n := c.ld.node(i)
	return int(n.at) - 1, n.at > 0 && c.in(i)
}

// emit turns the path into messages, each followed by the results of its tool calls, wherever in the file they are.
func (c *chain) emit() {
	beside := c.besidePath()
	c.earlier()
	for i := range c.onward {
		n, from := c.ld.node(i), len(c.conv.Messages)
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
			name := c.ld.name(n)
			c.turnOver = c.turnOver || name == "turn_duration" || name == "stop_hook_summary" || name == "away_summary"
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
	c.groups, c.calls, c.several, c.home, c.parts = nil, nil, nil, nil, nil // finish takes memory
}

// edited records a microcompaction or a snip.
func (c *chain) edited(i int32) {
	n := c.ld.node(i)
	if n.kind == nodeMicro {
		c.microcompaction(i)
	}
	if len(c.ld.rare(i).removed) > 0 {
		c.snip(i)
	}
}

// origin is what the messages from lines with an envelope share. The attachment's type is a place in the loader's names,
// 0 of what is none; effort is the one that a command set, or empty.
func (c *chain) origin(envelope, attachment int32, effort string) *origin {
	ld := c.ld
	at := ld.origins.place(originKey{envelope, attachment, effort})
	if int(at) == len(ld.from) {
		ld.from = append(ld.from, &origin{ld.envelopes.list[envelope].version, *ld.names.list[attachment], effort, ld.uuids})
	}
	return ld.from[at]
}

// originKey tells origins apart without comparing long texts, which a file may repeat without repeating them.
type originKey struct {
	envelope, attachment int32
	effort               string
}

// earlier adds a placeholder where the first line names a parent that is not in the file.
func (c *chain) earlier() {
	if c.root < 0 {
		return
	}
	n := c.ld.node(c.root)
	parent := c.ld.parentID(c.root)
	if parent == "" || n.parent >= 0 && c.in(n.parent) || c.ld.removed[parent] {
		return
	}
	before := NewBlock(jsonl.ContentBlock{Kind: jsonl.KindText, Type: "text", IsString: true})
	before.Line = n.line
	m := Message{
		Role: User, Class: ClassMeta, Marks: Earlier, Line: n.line, LastLine: n.line, Blocks: []Block{before},
		uuid: c.ld.uuids.add("earlier-" + parent), origin: c.origin(n.envelope, 0, ""),
	}
	m.time, m.timeRest = n.time, n.timeRest
	c.conv.Messages = append(c.conv.Messages, m)
	c.ld.notes.add(&c.conv.Warnings, CodeEarlier, int(n.line), "the conversation began before this file: a placeholder holds what the first request had in context")
}

// besidePath lists the microcompact boundaries and snips that are not on the path but whose parent is: a compaction
// at the same request leaves them there.
func (c *chain) besidePath() []int32 {
	var out []int32
	for _, i := range c.order {
		if n := c.ld.node(i); (n.kind == nodeMicro || n.kind == nodeSnip) && !c.onPath(i) && n.parent >= 0 && c.onPath(n.parent) {
			out = append(out, i)
		}
	}
	return out
}

func (c *chain) assistant(group int32) {
	of := c.group(group)
	if of.said {
		return
	}
	c.after = nil
	var m Message
	var last *reply
	var whole reply
	var speech voice
	c.parts, c.lines = c.parts[:0], c.lines[:0]
	for _, i := range c.linesIn(&of.lines) {
		n := c.ld.node(i)
		if n.is(lineAPIError) {
			continue
		}
		blocks := c.fresh(i)
		if len(blocks) == 0 && n.blocks > 0 {
			continue
		}
		n.mark(lineEmitted | lineUsed)
		n.at = int32(len(c.conv.Messages) + 1)
		if len(c.parts) == 0 {
			m = Message{Role: Assistant, Class: ClassResponse, Line: n.line, origin: c.origin(n.envelope, 0, "")}
			m.markIf(n.is(lineNoRequest), NoRequest)
			m.time, m.timeRest = n.time, n.timeRest
			whole.id, speech = c.ld.reply(n).id, voice{model: c.ld.reply(n).voice.model, window: c.ld.windowAt(i)}
		}
		c.lines, c.parts = append(c.lines, i), append(c.parts, blocks)
		n.blocks = 0 // the message has them
		m.LastLine = max(m.LastLine, n.line)
		if n.time > whole.end || n.time == whole.end && n.timeRest > whole.endRest {
			whole.end, whole.endRest = n.time, n.timeRest
		}
		last = c.ld.reply(n)
		speech.stop = cmp.Or(last.voice.stop, speech.stop)
		whole.merge(last)
	}
	of.said = true
	if c.in(group) {
		c.ld.node(group).mark(lineEmitted)
	}
	if len(c.parts) == 0 {
		return
	}
	c.named(&m, c.lines)
	m.Blocks = joined(c.parts)
	whole.voice = c.ld.share(speech)
	m.reply = whole.take(last)
	c.turnOver = false
	m.Synthetic, m.HasUsage = m.Model() == synthetic, whole.recorded
	if u := m.Usage(); m.Synthetic || m.Is(NoRequest) || u.Context() == 0 {
		m.HasUsage = false
		m.markIf(!m.Synthetic && u.Output > 0, OutputOnly)
	}
	c.restarts.responded = c.restarts.responded || !m.Synthetic
	c.conv.Messages = append(c.conv.Messages, m)
	c.toolResults(group, len(c.conv.Messages)-1)
}

func (c *chain) user(i int32) {
	n := c.ld.node(i)
	if n.is(lineEmitted) {
		return
	}
	blocks := c.fresh(i)
	if len(blocks) == 0 && n.blocks > 0 {
		return
	}
	n.mark(lineEmitted | lineUsed)
	if c.goesWithPrompt(n) {
		n.at = int32(len(c.conv.Messages))
		m := &c.conv.Messages[len(c.conv.Messages)-1]
		c.follow(m, i)
		m.Blocks = append(m.Blocks, blocks...)
		m.LastLine = max(m.LastLine, n.line)
		return
	}
	attachment := int32(0)
	if n.kind == nodeAttachment {
		attachment = n.said
	}
	m := Message{
		Role: User, Class: n.class, Blocks: slices.Clip(blocks), Line: n.line, LastLine: n.line,
		uuid: i, lines: 1, origin: c.origin(n.envelope, attachment, c.ld.rare(i).effort),
	}
	m.time, m.timeRest = n.time, n.timeRest
	at := len(c.conv.Messages)
	switch {
	case n.class == ClassSummary && at > 0:
		m.RecordOnly = true
		c.summary(i, at)
	case c.after != nil && (n.kind == nodeAttachment && n.class == ClassAttachment || c.ofCompact(i)):
		m.RecordOnly = true
		m.Marks |= Reattached
		c.after.Attached = append(c.after.Attached, at)
	default:
		c.after = nil
	}
	if m.Class == ClassPrompt {
		m.markIf(n.is(lineStopped), Stopped)
		m.markIf(n.is(lineQueued) || n.kind == nodeAttachment || !n.is(lineBegins) && !c.turnOver && !n.is(lineSubmitted) && !c.ld.lostParent(i) && c.midRun(), Queued)
	}
	c.turnOver = false
	n.at = int32(at + 1)
	c.conv.Messages = append(c.conv.Messages, m)
}

// goesWithPrompt reports whether a line continues the prompt that was emitted last: a client that resumes writes a
// prompt as one line a block, all with the same time.
func (c *chain) goesWithPrompt(n *node) bool {
	if n.kind != nodeUser || n.class != ClassPrompt || n.parent < 0 || n.when().IsZero() || !c.ld.ownFormat() || len(c.conv.Messages) == 0 {
		return false
	}
	m := &c.conv.Messages[len(c.conv.Messages)-1]
	p := c.ld.node(n.parent)
	return m.Class == ClassPrompt && p.kind == nodeUser && p.time == n.time && p.timeRest == n.timeRest && c.endsAt(m, n.parent)
}

// midRun reports whether the last message is a tool result: the agent is running, and a prompt here was queued and
// ends no turn. The response after the result may instead be empty or lost. Then a line that ends the turn is between
// them, or a snapshot for the prompt, or the prompt has no parent.
func (c *chain) midRun() bool {
	for k := len(c.conv.Messages) - 1; k >= 0; k-- {
		m := &c.conv.Messages[k]
		if m.Class != ClassMeta && m.Class != ClassAttachment || m.RecordOnly {
			return m.Class == ClassToolResult && !m.Lost
		}
	}
	return false
}

// finish numbers the requests, drops the placeholder for calls that are still open at the end, and fills the
// conversation's own fields.
func (c *chain) finish() {
	conv := c.conv
	k := len(conv.Messages) - 1
	if k >= 0 && conv.Messages[k].Lost && !slices.ContainsFunc(conv.Boundaries, func(b Boundary) bool { return b.Before == k+1 }) {
		conv.Messages = conv.Messages[:k]
	}
	asked, versions, requests := map[*origin]bool{}, map[string]bool{"": true}, 0
	for k := range conv.Messages {
		if conv.Messages[k].requested() {
			requests++
		}
	}
	if requests > 0 {
		conv.Requests = make([]APICall, 0, requests)
	}
	for k := range conv.Messages {
		m := &conv.Messages[k]
		if !asked[m.origin] { // a version may be long
			asked[m.origin] = true
			if v := m.Version(); !versions[v] {
				versions[v] = true
				conv.Versions = append(conv.Versions, v)
			}
		}
		if m.Lost {
			c.warn(int(m.Line), "the result of %s is not in the file: a placeholder takes its place", lostIDs(m))
		}
		if m.requested() {
			conv.Requests = append(conv.Requests, APICall{N: len(conv.Requests) + 1, Message: k})
		}
	}
	rec := &c.ld.recorded
	conv.Product, conv.Provider = cmp.Or(rec.Product, Product), rec.Provider
	conv.Repository = rec.Repository
	if conv.Agent == "" {
		conv.Overhead = max(rec.Overhead, 0)
	}
	conv.alike, conv.files = alike(conv.Product), c.ld.files
	if len(conv.Requests) > 0 {
		m := &conv.Messages[conv.Requests[0].Message]
		conv.Model, conv.Version = m.Model(), m.Version()
	} else if len(conv.Versions) > 0 {
		conv.Version = conv.Versions[0]
	}
	for k := range conv.Boundaries {
		conv.Boundaries[k].Request = conv.requestAfter(conv.Boundaries[k].Before)
	}
	for k := range conv.Micro {
		conv.Micro[k].Request = conv.requestAfter(conv.Micro[k].Before)
	}
	for _, i := range c.order {
		if n := c.ld.node(i); (n.kind == nodeUser || n.kind == nodeAssistant) && !n.is(lineAPIError|lineEmitted) {
			conv.Abandoned++
		}
		conv.SessionID = cmp.Or(conv.SessionID, c.ld.env(c.ld.node(i)).sessionID)
		conv.CWD = cmp.Or(conv.CWD, c.ld.env(c.ld.node(i)).cwd)
	}
	if c.root >= 0 {
		conv.SessionID = cmp.Or(c.ld.env(c.ld.node(c.end)).sessionID, conv.SessionID)
		conv.CWD = cmp.Or(c.ld.env(c.ld.node(c.root)).cwd, conv.CWD)
	}
	for k := range conv.Restarts {
		conv.Restarts[k].Request = conv.requestAfter(conv.Restarts[k].Before)
	}
	if len(conv.Snips)+len(c.ld.calls)+len(c.ld.marks) > 0 { // which ask for tools; else the loader's memory is freed before
		conv.IndexTools()
	}
	c.snips()
	c.marks()
}

func lostIDs(m *Message) string {
	var ids []string
	for b := range m.Blocks {
		ids = append(ids, m.Blocks[b].ID())
	}
	return strings.Join(ids, ", ")
}
