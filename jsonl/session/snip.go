package session

import (
	"cmp"
	"encoding/json"
	"slices"
	"sort"

	"github.com/ctxkit/ctxkit/jsonl"
)

// snipTool is the name of the tool by which a model removes turns.
const snipTool = "Snip"

// snipCall keeps the input of a call of the Snip tool.
func (ld *loader) snipCall(e *jsonl.Entry, bl *jsonl.ContentBlock) {
	var in snipInput
	if at := bl.Value.Off - e.Offset; at >= 0 && at+int64(bl.Value.Len) <= int64(len(e.Raw)) && bl.Value.Len > 0 {
		if err := json.Unmarshal(e.Raw[at:at+int64(bl.Value.Len)], &in); err != nil || in.IDs.odd {
			in.IDs.odd = true
			ld.warn(CodeMetadata, e.Line, "the input of a %s call is partly unreadable: the readable part is used", snipTool)
		}
	}
	if _, again := ld.callAt[bl.ID]; again {
		return
	}
	ld.callAt[bl.ID] = len(ld.calls)
	ld.calls = append(ld.calls, in)
}

// removal records the uuids that a system line, or its metadata, lists as removed.
func (ld *loader) removal(n *node, e *jsonl.Entry) {
	var removed []string
	var m snipMeta
	if len(e.RemovedUUIDs) > 0 {
		ld.metadata(e, "removedUuids", e.RemovedUUIDs, &removed)
	}
	if len(e.SnipMetadata) > 0 {
		ld.metadata(e, "snipMetadata", e.SnipMetadata, &m)
	}
	removed = append(removed, m.RemovedUUIDs...)
	if n.compact != nil {
		removed = append(removed, n.compact.RemovedUUIDs...)
	}
	if len(removed) == 0 {
		return
	}
	ld.snipped[len(ld.nodes)-1] = removed
	if n.kind == nodeSystem || n.kind == nodeBoundary && len(e.CompactMetadata) == 0 {
		n.kind = nodeSnip
	}
	for _, u := range removed {
		ld.removed[u] = true
	}
}

// restore adds removed lines to the path that a client has bypassed when it repaired the links after a snip: raw
// history includes them.
func (c *chain) restore() {
	g := grafts{chain: c, anchor: map[int]int{}, lines: map[int][]int{}, passed: map[int]bool{}}
	for _, i := range c.order {
		n := c.node(i)
		if len(c.snipped[i]) == 0 || !c.onPath(i) && (n.parent < 0 || !c.onPath(n.parent)) {
			continue
		}
		for _, u := range c.snipped[i] {
			if k, ok := c.lineOf(u); ok && k < i && c.in(k) && !c.belongs(k) {
				g.add(k)
			}
		}
	}
	if len(g.lines) == 0 {
		return
	}
	path := slices.Clone(g.after(-1))
	for _, i := range c.path {
		path = append(path, i)
		path = append(path, g.after(i)...)
	}
	c.path = path
}

// belongs reports whether a line is on the path, or part of a message that is.
func (c *chain) belongs(i int) bool {
	of := c.groups[c.round(i)]
	return c.onPath(i) || of != nil && slices.ContainsFunc(of.lines, c.onPath)
}

// grafts are removed lines to add to the path.
type grafts struct {
	*chain
	anchor map[int]int   // added line -> the line of the path before it, -1: none
	lines  map[int][]int // line of the path -> lines added after it
	passed map[int]bool  // lines that are not added
}

// add adds line i and the lines above it up to the path, unless one of them is a message that was not removed: that
// is a branch.
func (g *grafts) add(i int) {
	var lines []int
	at := i
	for at >= 0 && g.in(at) && !g.onPath(at) {
		if n := g.node(at); g.passed[at] || n.kind.message() && !g.removed[n.uuid] && !g.belongs(at) {
			break
		}
		g.node(at).mark(lineOnPath)
		lines = append(lines, at)
		at = g.node(at).parent
	}
	if at >= 0 && g.in(at) && !g.onPath(at) {
		for _, k := range lines {
			g.node(k).marks &^= lineOnPath
			g.passed[k] = true
		}
		return
	}
	if at >= 0 && !g.in(at) {
		at = -1
	}
	if a, ok := g.anchor[at]; ok {
		at = a
	}
	for _, k := range lines {
		g.anchor[k] = at
	}
	g.lines[at] = append(g.lines[at], lines...)
}

// after lists the lines added after a line of the path, in file order.
func (g *grafts) after(i int) []int {
	slices.Sort(g.lines[i])
	return g.lines[i]
}

// snip records a line that lists removed messages.
func (c *chain) snip(i int) {
	n := c.node(i)
	n.mark(lineUsed)
	reason := "" // else that of the model's call
	if !c.ownFormat() {
		reason = "the client left it out"
	}
	c.Snips = append(c.Snips, RecordedSnip{
		Line: n.line, Call: -1, Removed: c.snipped[i], Reason: reason, Before: len(c.Messages),
	})
}

// snips resolves the references of recorded snips and of calls of the Snip tool. It runs after requests are numbered
// and tools are indexed.
func (c *chain) snips() {
	conv := c.Conversation
	c.snipCalls()
	if len(conv.Snips)+len(conv.SnipCalls) == 0 {
		return
	}
	next := 0 // of the calls
	for k := range conv.Snips {
		s := &conv.Snips[k]
		for ; next < len(conv.SnipCalls) && conv.SnipCalls[next].Message < s.Before; next++ {
			if call := &conv.SnipCalls[next]; !call.Failed {
				s.Call = next
				s.Reason = call.Reason
			}
		}
		c.removedBy(s)
	}
	prompts := conv.Prompts()
	var alone []RecordedSnip
	for k := range conv.SnipCalls {
		call := &conv.SnipCalls[k]
		carriedOut := c.carriedOut(k)
		for _, id := range call.IDs {
			if at, ok := prompts.Find(id); !ok || at >= call.Message {
				call.Unknown = append(call.Unknown, id)
			} else if !slices.Contains(call.Prompts, at) {
				call.Prompts = append(call.Prompts, at)
			}
		}
		c.byRecord(call, carriedOut)
		if carriedOut == nil && call.Answered >= 0 && !call.Failed {
			if s, ok := c.byCall(k); ok {
				alone = append(alone, s)
			}
		}
		if n := len(call.Unknown); n > 0 && !c.loader.calls[c.callAt[call.ToolID]].IDs.odd { // else there is a warning
			c.warn(call.Line, "%d of the %d ids of the Snip call name no prompt before it, %q first", n, len(call.IDs), call.Unknown[0])
		}
	}
	conv.Snips = append(conv.Snips, alone...)
	slices.SortStableFunc(conv.Snips, func(a, b RecordedSnip) int { return cmp.Compare(a.Before, b.Before) })
	for k := range conv.Snips {
		conv.Snips[k].Request = conv.requestAfter(conv.Snips[k].Before)
	}
}

// snipCalls lists the calls of the Snip tool on the chain.
func (c *chain) snipCalls() {
	if len(c.loader.calls) == 0 {
		return
	}
	conv := c.Conversation
	for m := range conv.Messages {
		for _, bl := range blocksOf(conv.Messages[m].Blocks, jsonl.KindToolUse) {
			if bl.Name != snipTool {
				continue
			}
			in := c.loader.calls[c.callAt[bl.ID]]
			call := SnipCall{ToolID: bl.ID, Line: bl.Line, IDs: in.IDs.list, Reason: in.Reason, Message: m, Answered: -1}
			if at, k, ok := conv.resultOf(bl.ID); ok {
				call.Answered = at
				call.Failed = conv.Messages[at].Blocks[k].IsError
			}
			conv.SnipCalls = append(conv.SnipCalls, call)
		}
	}
}

// removedBy resolves the uuids of a recorded snip.
func (c *chain) removedBy(s *RecordedSnip) {
	var named []int
	unknown := 0
	first := ""
	for _, u := range s.Removed {
		if at, ok := c.messageOf(u); ok && at < s.Before {
			named = append(named, at)
		} else if i, ok := c.lineOf(u); !ok || c.node(i).kind.message() {
			if unknown++; unknown == 1 {
				first = u
			}
		}
	}
	if unknown > 0 {
		c.warn(s.Line, "%d of the %d removed uuids belong to no message before this line, %q first", unknown, len(s.Removed), first)
	}
	s.Messages = c.Rounds(named)
	if n := len(s.Messages); n > 0 && s.Messages[n-1] >= s.Before {
		// A call without its result: keep the whole round.
		open := c.Rounds(s.Messages[n-1:])
		s.Messages = slices.DeleteFunc(s.Messages, func(m int) bool {
			_, found := slices.BinarySearch(open, m)
			return found
		})
		c.warn(s.Line, "a tool call without a result is among the removed: it is kept")
	}
}

// carriedOut is the first recorded snip after call k, or nil.
func (c *chain) carriedOut(k int) *RecordedSnip {
	call := &c.SnipCalls[k]
	at := sort.Search(len(c.Snips), func(i int) bool { return c.Snips[i].Before > call.Message })
	if at < len(c.Snips) {
		return &c.Snips[at]
	}
	return nil
}

// byRecord resolves a call's unknown ids by the messages that were removed after it: the client may derive its ids in
// another way.
func (c *chain) byRecord(call *SnipCall, s *RecordedSnip) {
	if s == nil || len(call.Unknown) == 0 || len(call.Prompts) > 0 || s.Call < 0 || &c.SnipCalls[s.Call] != call {
		return
	}
	for _, m := range s.Messages {
		if c.Messages[m].Class == ClassPrompt && m < call.Message {
			call.Prompts = append(call.Prompts, m)
		}
	}
	if len(call.Prompts) > 0 {
		call.Unknown = nil
	}
}

// byCall is the snip of a call for which no line lists the removed uuids. Its own turn is removed after the turn has
// ended.
func (c *chain) byCall(k int) (RecordedSnip, bool) {
	call := &c.SnipCalls[k]
	s := RecordedSnip{Line: call.Line, Call: k, Reason: call.Reason, Before: call.Answered + 1}
	for _, p := range call.Prompts {
		turn := c.Turn(p)
		s.Messages = append(s.Messages, turn...)
		s.Before = max(s.Before, turn[len(turn)-1]+1)
	}
	slices.Sort(s.Messages)
	s.Messages = slices.Compact(s.Messages)
	return s, len(s.Messages) > 0 && s.Before < len(c.Messages)
}
