package session

import (
	"fmt"
	"slices"

	"github.com/ctxkit/ctxkit/jsonl"
)

// link resolves parents, children and the lines of each message. Parents may
// stand later in the file, so it runs when every line is read.
func (ld *loader) link() {
	for i := range ld.nodes {
		n := &ld.nodes[i]
		if n.parentID == "" {
			continue
		}
		if p, ok := ld.byUUID[n.parentID]; ok && p != int32(i) {
			n.parent = p
			ld.nodes[p].children = append(ld.nodes[p].children, int32(i))
		}
	}
	ld.groupLines()
}

// groupLines finds, for each assistant line, the first line of its message:
// the topmost line with the same message.id that is reached through the
// parents without meeting another message's line. Copies of a message on
// another branch are another group.
func (ld *loader) groupLines() {
	above := make([]int32, len(ld.nodes)) // nearest assistant line at or above; -2: not known yet, -1: none
	for i := range above {
		above[i] = -2
	}
	var path []int32
	for i := range ld.nodes {
		path = path[:0]
		at := int32(i)
		for at >= 0 && above[at] == -2 && ld.nodes[at].kind != nodeAssistant {
			above[at] = -1 // breaks cycles
			path = append(path, at)
			at = ld.nodes[at].parent
		}
		found := int32(-1)
		if at >= 0 {
			if ld.nodes[at].kind == nodeAssistant {
				found = at
			} else {
				found = above[at]
			}
		}
		for _, p := range path {
			above[p] = found
		}
	}
	var groupOf func(i int32) int32
	groupOf = func(i int32) int32 {
		chain := []int32{}
		for {
			n := &ld.nodes[i]
			if n.group >= 0 {
				break
			}
			n.group = i // breaks cycles; the head of a group is its own
			chain = append(chain, i)
			up := int32(-1)
			if n.parent >= 0 {
				up = n.parent
				if ld.nodes[up].kind != nodeAssistant {
					up = above[up]
				}
			}
			if up < 0 || n.msgID == "" || ld.nodes[up].msgID != n.msgID {
				break
			}
			i = up
		}
		head := ld.nodes[i].group
		for _, c := range chain {
			ld.nodes[c].group = head
		}
		return head
	}
	for i := range ld.nodes {
		if ld.nodes[i].kind == nodeAssistant {
			groupOf(int32(i))
		}
	}
}

// chain is the work of finding one conversation's messages.
type chain struct {
	ld      *loader
	in      map[int32]bool // lines of this conversation; nil: all
	order   []int32        // the same, in file order
	members map[int32][]int32
	results map[string][]int32 // tool_use id -> lines that answer it
	path    []int32            // root to leaf
	onPath  map[int32]bool
	emitted map[int32]bool
	conv    *Conversation
	after   *Boundary // set while lines that only a compaction produced may follow
	byLine  map[int32]int
}

func (ld *loader) conversation(order []int32, agent, leaf string) *Conversation {
	c := &chain{
		ld: ld, order: order, in: make(map[int32]bool, len(order)), members: map[int32][]int32{}, results: map[string][]int32{},
		onPath: map[int32]bool{}, emitted: map[int32]bool{}, byLine: map[int32]int{},
		conv: &Conversation{Path: ld.path, Agent: agent, Sources: []*jsonl.Source{ld.src}},
	}
	for _, i := range order {
		c.in[i] = true
		n := &ld.nodes[i]
		switch n.kind {
		case nodeAssistant:
			c.members[n.group] = append(c.members[n.group], i)
		case nodeUser:
			for b := range n.blocks {
				if n.blocks[b].Kind == jsonl.KindToolResult && n.blocks[b].ID != "" {
					if rs := c.results[n.blocks[b].ID]; len(rs) == 0 || rs[len(rs)-1] != i {
						c.results[n.blocks[b].ID] = append(rs, i)
					}
				}
			}
		}
	}
	c.walk(leaf)
	c.emit()
	c.finish()
	return c.conv
}

// walk finds the way from the root to the live leaf.
func (c *chain) walk(want string) {
	leaf := c.leaf(want)
	if leaf < 0 {
		return
	}
	linear := true // no line has a parent in the file: hand-made, read in order
	for _, i := range c.order {
		if c.ld.nodes[i].parent >= 0 {
			linear = false
			break
		}
	}
	for i := leaf; i >= 0 && !c.onPath[i]; i = c.up(i, linear) {
		c.onPath[i] = true
		c.path = append(c.path, i)
	}
	slices.Reverse(c.path)
}

// leaf is the live leaf: the one asked for; else the one last-prompt names,
// where nothing was written after it; else the newest message line.
func (c *chain) leaf(want string) int32 {
	if want != "" {
		if i, ok := c.ld.byUUID[want]; ok && c.in[i] {
			return i
		}
		c.ld.warn(0, "no line of this conversation has the uuid %s: the live leaf is used", want)
	}
	newest := int32(-1)
	for k := len(c.order) - 1; k >= 0; k-- {
		if n := &c.ld.nodes[c.order[k]]; n.kind.message() && !n.apiError {
			newest = c.order[k]
			break
		}
	}
	if c.conv.Agent == "" && c.ld.leaf != "" && c.ld.leafAt > newest {
		if i, ok := c.ld.byUUID[c.ld.leaf]; ok && c.in[i] {
			return i
		}
	}
	return newest
}

// up is the line before i on the chain, or -1.
func (c *chain) up(i int32, linear bool) int32 {
	n := &c.ld.nodes[i]
	if linear {
		if k, _ := slices.BinarySearch(c.order, i); k > 0 {
			return c.order[k-1]
		}
		return -1
	}
	if n.kind == nodeBoundary {
		if n.logicalID != "" {
			if p, ok := c.ld.byUUID[n.logicalID]; ok && c.in[p] && p != i {
				return p
			}
		}
		if n.parent >= 0 && c.in[n.parent] {
			return n.parent
		}
		return c.before(i)
	}
	if n.parent >= 0 && c.in[n.parent] {
		return n.parent
	}
	switch {
	case n.class == ClassSummary && n.kind == nodeUser:
		return c.before(i) // the 1.0.x form: a summary without a boundary
	case n.parentID != "":
		p := c.before(i)
		if p >= 0 && n.kind.message() {
			c.ld.warn(int(n.line), "the parent %s is not in the file: taken to follow line %d", n.parentID, c.ld.nodes[p].line)
		}
		return p
	case !n.kind.message():
		return c.before(i) // hook progress after a resume starts no conversation
	}
	return -1
}

// before is the last message line before i in the file, of the same session.
func (c *chain) before(i int32) int32 {
	k, _ := slices.BinarySearch(c.order, i)
	for k--; k >= 0; k-- {
		n := &c.ld.nodes[c.order[k]]
		if n.kind.message() && !n.apiError && (n.sessionID == c.ld.nodes[i].sessionID || n.sessionID == "" || c.ld.nodes[i].sessionID == "") {
			return c.order[k]
		}
	}
	return -1
}

// emit turns the path into messages: whole messages, each followed by the
// results of its tool calls, wherever in the file they stand.
func (c *chain) emit() {
	micro := c.offPathMicro()
	c.earlier()
	for _, i := range c.path {
		n := &c.ld.nodes[i]
		for len(micro) > 0 && micro[0] < i {
			c.microcompaction(micro[0])
			micro = micro[1:]
		}
		switch n.kind {
		case nodeBoundary:
			c.boundary(i)
		case nodeMicro:
			c.microcompaction(i)
		case nodeAssistant:
			c.assistant(n.group)
		case nodeUser, nodeAttachment:
			c.user(i)
		}
	}
	for _, i := range micro {
		c.microcompaction(i)
	}
}

// earlier puts a stand-in first where the file begins in the middle of a
// conversation: its first line names a parent that is not there.
func (c *chain) earlier() {
	if len(c.path) == 0 {
		return
	}
	n := &c.ld.nodes[c.path[0]]
	if n.parentID == "" || n.parent >= 0 && c.in[n.parent] {
		return
	}
	c.conv.Messages = append(c.conv.Messages, Message{
		UUID: "earlier-" + n.parentID, Role: User, Class: ClassMeta, Time: n.time, Earlier: true, Version: n.version, Line: n.line, LastLine: n.line,
		Blocks: []Block{{Block: jsonl.Block{Kind: jsonl.KindText, Type: "text", IsString: true}, Line: n.line}},
	})
	c.conv.Warnings = append(c.conv.Warnings, Warning{File: c.conv.Path, Line: int(n.line), Message: "the conversation began before this file: a stand-in holds what the first request had in context"})
}

// offPathMicro is the microcompact boundaries beside the path whose parent is
// on it: a compaction at the same request leaves them so.
func (c *chain) offPathMicro() []int32 {
	var out []int32
	for _, i := range c.order {
		if n := &c.ld.nodes[i]; n.kind == nodeMicro && !c.onPath[i] && n.parent >= 0 && c.onPath[n.parent] {
			out = append(out, i)
		}
	}
	return out
}

func (c *chain) assistant(group int32) {
	if c.emitted[group] {
		return
	}
	c.after = nil
	var m Message
	first := true
	for _, i := range c.members[group] {
		n := &c.ld.nodes[i]
		if n.apiError {
			continue
		}
		c.emitted[i], c.ld.used[i] = true, true
		c.byLine[i] = len(c.conv.Messages)
		if first {
			first = false
			m = Message{UUID: n.uuid, ID: n.msgID, Role: Assistant, Class: ClassResponse, Time: n.time, Model: n.model, Version: n.version, Line: n.line}
		}
		m.UUIDs = append(m.UUIDs, n.uuid)
		m.Blocks = append(m.Blocks, n.blocks...)
		m.LastLine = max(m.LastLine, n.line)
		if n.stop != "" {
			m.StopReason = n.stop
		}
		if n.hasUsage {
			out := max(m.Usage.Output, n.usage.Output)
			think := max(m.Usage.Thinking, n.usage.Thinking)
			if !m.HasUsage {
				m.Usage = n.usage
			}
			m.Usage.Output, m.Usage.Thinking = out, think
			m.HasUsage = true
		}
	}
	c.emitted[group] = true
	if first {
		return
	}
	m.Synthetic = m.Model == "<synthetic>"
	if m.Synthetic || m.Usage.Context() == 0 {
		m.HasUsage = false
	}
	c.conv.Messages = append(c.conv.Messages, m)
	c.toolResults(group, len(c.conv.Messages)-1)
}

// toolResults emits what answers a message's tool calls, right after it, and
// what hangs under those answers beside the path.
func (c *chain) toolResults(group int32, at int) {
	msg := c.conv.Messages[at]
	var answers []int32
	var lost []Block
	for b := range msg.Blocks {
		if msg.Blocks[b].Kind != jsonl.KindToolUse {
			continue
		}
		r := c.answer(msg.Blocks[b].ID, group)
		if r < 0 {
			lost = append(lost, Block{Block: jsonl.Block{Kind: jsonl.KindToolResult, Type: "tool_result", ID: msg.Blocks[b].ID, IsString: true}, Line: msg.Blocks[b].Line})
			continue
		}
		if !slices.Contains(answers, r) {
			answers = append(answers, r)
		}
	}
	slices.Sort(answers)
	for _, r := range answers {
		c.user(r)
	}
	if len(lost) > 0 {
		// It stands in only where something follows: see finish.
		c.conv.Messages = append(c.conv.Messages, Message{
			UUID: "lost-" + lost[0].ID, Role: User, Class: ClassToolResult, Time: msg.Time, Blocks: lost, Lost: true,
			Version: msg.Version, File: msg.File, Line: msg.Line, LastLine: msg.LastLine,
		})
	}
	for _, r := range answers {
		if !c.onPath[r] {
			c.hangers(r)
		}
	}
}

// hangers emits the attachments under a result beside the path, unless a
// branch goes on from there.
func (c *chain) hangers(r int32) {
	var found []int32
	stack := []int32{r}
	for seen := 0; len(stack) > 0 && seen < 1000; seen++ {
		i := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		for _, k := range c.ld.nodes[i].children {
			n := &c.ld.nodes[k]
			if !c.in[k] || c.onPath[k] {
				continue
			}
			if n.kind == nodeUser || n.kind == nodeAssistant {
				return
			}
			if n.kind == nodeAttachment {
				found = append(found, k)
			}
			stack = append(stack, k)
		}
	}
	slices.Sort(found)
	for _, k := range found {
		c.user(k)
	}
}

// answer is the line that answers a tool call of a message: on the path if one
// is, else one that hangs under the message, else the newest.
func (c *chain) answer(id string, group int32) int32 {
	best := int32(-1)
	rank := -1
	for _, r := range c.results[id] {
		if c.emitted[r] {
			continue
		}
		n := &c.ld.nodes[r]
		k := 0
		switch {
		case c.onPath[r]:
			k = 2
		case n.parent >= 0 && c.ld.nodes[n.parent].kind == nodeAssistant && c.ld.nodes[n.parent].group == group:
			k = 1
		case n.parent >= 0 && c.underOther(n.parent, group):
			continue // another branch's
		}
		if k >= rank {
			best, rank = r, k
		}
	}
	return best
}

// underOther reports whether the nearest message above i is not of the group.
func (c *chain) underOther(i, group int32) bool {
	for steps := 0; i >= 0 && steps < 10000; steps++ {
		n := &c.ld.nodes[i]
		if n.kind == nodeAssistant {
			return n.group != group
		}
		i = n.parent
	}
	return false
}

func (c *chain) user(i int32) {
	if c.emitted[i] {
		return
	}
	c.emitted[i], c.ld.used[i] = true, true
	n := &c.ld.nodes[i]
	m := Message{
		UUID: n.uuid, UUIDs: []string{n.uuid}, Role: User, Class: n.class, Time: n.time, Blocks: n.blocks,
		Version: n.version, Attachment: n.attach, Line: n.line, LastLine: n.line,
	}
	at := len(c.conv.Messages)
	switch {
	case n.class == ClassSummary:
		m.RecordOnly = true
		c.summary(i, at)
	case c.after != nil && n.kind == nodeAttachment && n.class == ClassAttachment:
		m.RecordOnly = true
		c.after.Attached = append(c.after.Attached, at)
	case c.after != nil && isCompactCommand(n):
		m.RecordOnly = true
		c.after.Attached = append(c.after.Attached, at)
	default:
		c.after = nil
	}
	if m.Class == ClassPrompt {
		m.Queued = n.kind == nodeAttachment || c.midRun()
	}
	c.byLine[i] = at
	c.conv.Messages = append(c.conv.Messages, m)
}

// midRun reports whether the agent is at work: the last thing said was a tool
// result, so a prompt that stands here was queued and ends no turn.
func (c *chain) midRun() bool {
	for k := len(c.conv.Messages) - 1; k >= 0; k-- {
		m := &c.conv.Messages[k]
		switch m.Class {
		case ClassToolResult:
			return !m.Lost
		case ClassMeta, ClassAttachment:
			if m.RecordOnly {
				return false
			}
			continue
		}
		return false
	}
	return false
}

// finish numbers the requests, drops the stand-in for calls that are simply
// not answered yet, and fills the conversation's own fields.
func (c *chain) finish() {
	conv := c.conv
	if k := len(conv.Messages) - 1; k >= 0 && conv.Messages[k].Lost && !c.boundaryAt(k+1) {
		conv.Messages = conv.Messages[:k]
	}
	versions := map[string]bool{}
	for k := range conv.Messages {
		m := &conv.Messages[k]
		if m.Version != "" && !versions[m.Version] {
			versions[m.Version] = true
			conv.Versions = append(conv.Versions, m.Version)
		}
		if m.Lost {
			conv.Warnings = append(conv.Warnings, Warning{File: conv.Path, Line: int(m.Line),
				Message: fmt.Sprintf("the result of %s is not in the file: a lost one stands in", m.Blocks[0].ID)})
		}
		if m.Role == Assistant && !m.Synthetic {
			conv.Requests = append(conv.Requests, Request{N: len(conv.Requests) + 1, Message: k})
		}
	}
	if len(conv.Requests) > 0 {
		m := &conv.Messages[conv.Requests[0].Message]
		conv.Model, conv.Version = m.Model, m.Version
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
		if n := &c.ld.nodes[i]; (n.kind == nodeUser || n.kind == nodeAssistant) && !n.apiError && !c.emitted[i] {
			conv.Abandoned++
		}
		if conv.SessionID == "" {
			conv.SessionID = c.ld.nodes[i].sessionID
		}
	}
	if len(c.path) > 0 {
		if id := c.ld.nodes[c.path[len(c.path)-1]].sessionID; id != "" {
			conv.SessionID = id
		}
	}
	conv.indexTools()
}

func (c *chain) boundaryAt(before int) bool {
	for k := range c.conv.Boundaries {
		if c.conv.Boundaries[k].Before == before {
			return true
		}
	}
	return false
}
