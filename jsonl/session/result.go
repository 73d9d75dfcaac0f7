package session

import (
	"slices"

	"github.com/ctxkit/ctxkit/jsonl"
)

// toolResults emits what answers a message's tool calls, right after it, and
// what hangs under the calls and the answers beside the path.
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
	for _, i := range c.members[group] {
		c.hangers(i)
	}
	for _, r := range answers {
		c.hangers(r)
	}
}

// hangers emits the attachments that hang under line i beside the path: those
// no branch goes on from.
func (c *chain) hangers(i int32) {
	var found []int32
	for _, k := range c.ld.nodes[i].children {
		if c.in[k] && !c.onPath[k] {
			found = append(found, c.deadEnd(k)...)
		}
	}
	slices.Sort(found)
	for _, k := range found {
		c.user(k)
	}
}

// deadEnd is the attachments at and under line i, or nil where anybody said
// something there: that is a branch.
func (c *chain) deadEnd(i int32) []int32 {
	var found []int32
	stack := []int32{i}
	for seen := 0; len(stack) > 0 && seen < 1000; seen++ {
		k := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		n := &c.ld.nodes[k]
		if n.kind == nodeUser || n.kind == nodeAssistant || n.class == ClassPrompt {
			return nil
		}
		if n.kind == nodeAttachment {
			found = append(found, k)
		}
		stack = append(stack, n.children...)
	}
	return found
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
