package session

import (
	"slices"

	"github.com/ctxkit/ctxkit/jsonl"
)

// toolResults emits the results of the calls of the message that was emitted last, right after it, and the attachments
// under calls and results that are not on the path.
func (c *chain) toolResults(group int, from *node) {
	msg := &c.Messages[len(c.Messages)-1]
	var answers []int
	lost := Message{Role: User, Class: ClassToolResult, Lost: true, Line: msg.Line, LastLine: msg.LastLine, Time: msg.Time}
	for _, bl := range blocksOf(msg.Blocks, jsonl.KindToolUse) {
		r := c.answer(bl, group)
		if r < 0 {
			lost.Blocks = append(lost.Blocks, Block{Line: bl.Line, ContentBlock: jsonl.ContentBlock{Kind: jsonl.KindToolResult, Type: "tool_result", ID: bl.ID, IsString: true}})
			c.tool(bl).replied = true // the placeholder is final: a later result is ignored
			continue
		}
		answers = append(answers, r)
	}
	slices.Sort(answers)
	answers = slices.Compact(answers)
	for _, r := range answers {
		c.user(r)
	}
	if len(lost.Blocks) > 0 {
		lost.UUID = "lost-" + lost.Blocks[0].ID
		c.push(lost, from) // finish drops it again where nothing follows
	}
	for _, i := range c.groups[group].lines {
		c.attachments(i)
	}
	for _, r := range answers {
		c.attachments(r)
	}
}

// attachments emits the attachments under line i that are on no path and no branch.
func (c *chain) attachments(i int) {
	var found []int
	for _, k := range c.node(i).under {
		if c.in(k) && !c.onPath(k) {
			found = append(found, c.deadEnd(k)...)
		}
	}
	slices.Sort(found)
	for _, k := range found {
		c.user(k)
	}
}

// deadEnd lists the attachments at and under line i; nil with a message: that is a branch.
func (c *chain) deadEnd(i int) []int {
	var found []int
	stack := []int{i}
	for seen := 0; len(stack) > 0 && seen < 1000; seen++ {
		k := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		n := c.node(k)
		if n.kind == nodeUser || n.kind == nodeAssistant || n.class == ClassPrompt {
			return nil
		}
		if n.kind == nodeAttachment {
			found = append(found, k)
		}
		stack = append(stack, n.under...)
	}
	return found
}

// answer is the line with the result of a tool call of a message: first choice is one on the path under the message,
// then one on the path, then one under the message; of several the first on the path, else the newest.
func (c *chain) answer(bl *Block, group int) int {
	best := -1
	rank := -1
	for _, r := range c.tool(bl).results {
		if c.node(r).is(lineEmitted) {
			continue
		}
		n := c.node(r)
		k := 0
		if c.onPath(r) {
			k = 2
		}
		switch under := c.assistantAbove(n.parent); {
		case under < 0:
		case c.homeOf(c.node(under).group) == group:
			if under == n.parent {
				k++
			}
		case k == 0:
			continue // another branch's
		}
		if k > rank || k == rank && k < 2 {
			best = r
			rank = k
		}
	}
	return best
}

// answersLater reports whether a line has the result of a call that is later on the path. It is emitted after that
// call.
func (c *chain) answersLater(i int) bool {
	for _, bl := range blocksOf(c.node(i).blocks, jsonl.KindToolResult) {
		if !c.tool(bl).expected() {
			return true
		}
	}
	return false
}

// expected reports whether the result of a call may be emitted now: the call was emitted, or is not on the chain at
// all.
func (t *toolCall) expected() bool { return !t.made || t.called }

// fresh lists the blocks of a line that were not emitted, and records calls and results.
func (c *chain) fresh(i int) []Block {
	blocks := c.node(i).blocks
	var kept []Block
	for b := range blocks {
		bl := &blocks[b]
		keep := true
		switch {
		case bl.ID == "":
		case bl.Kind == jsonl.KindToolUse:
			call := c.tool(bl)
			keep = call.line == i && !call.called
			call.called = call.called || keep
		case bl.Kind == jsonl.KindToolResult:
			call := c.tool(bl)
			keep = call.expected() && !call.replied
			call.replied = call.replied || keep
		}
		switch {
		case !keep && kept == nil:
			kept = append([]Block{}, blocks[:b]...)
		case keep && kept != nil:
			kept = append(kept, *bl)
		}
	}
	if kept == nil {
		return blocks
	}
	return kept
}
