package session

import (
	"fmt"
	"slices"

	"github.com/ctxkit/ctxkit/jsonl"
)

// link resolves parents, children and the lines of each message. It runs after every line is read, since a parent may
// be later in the file.
func (ld *loader) link() {
	for i, n := range ld.nodes {
		if p, ok := ld.lineOf(n.parentUUID); ok && p != i {
			n.parent = p
			ld.node(p).under = append(ld.node(p).under, i)
		}
	}
	ld.groupLines()
}

// resolve follows the steps from each line to the end of its walk and returns the result there. A step returns the
// next line, -1 at the end, and the result where the walk ends at this line, as a cycle does.
func (ld *loader) resolve(step func(i int) (next, result int)) []int {
	const unknown = -2
	results := slices.Repeat([]int{unknown}, len(ld.nodes))
	var path []int
	for at := range results {
		path = path[:0]
		for results[at] == unknown {
			path = append(path, at)
			next, result := step(at)
			results[at] = result
			if next < 0 {
				break
			}
			at = next
		}
		for _, k := range path {
			results[k] = results[at]
		}
	}
	return results
}

// groupLines finds, for each assistant line, the first line of its message: the topmost line with the same message.id
// that is reached through parents without passing another message's line or a prompt. Copies of a message are another
// group.
func (ld *loader) groupLines() {
	above := ld.resolve(func(i int) (next, result int) {
		switch n := ld.node(i); {
		case n.kind == nodeAssistant:
			return -1, i
		case n.kind == nodeUser && n.class == ClassPrompt:
			return -1, -1
		default:
			return n.parent, -1
		}
	})
	for i, n := range ld.nodes {
		n.above = above[i]
	}
	groups := ld.resolve(func(i int) (next, result int) {
		n := ld.node(i)
		if n.kind != nodeAssistant {
			return -1, -1
		}
		if up := ld.assistantAbove(n.parent); up >= 0 && n.response.id != "" && ld.node(up).response.id == n.response.id {
			return up, i
		}
		return -1, i
	})
	for i, n := range ld.nodes {
		n.group = groups[i]
	}
}

// assistantAbove is the assistant line at or above line i, no prompt between them, or -1.
func (ld *loader) assistantAbove(i int) int {
	if i < 0 {
		return -1
	}
	return ld.node(i).above
}

// group is the lines of a message.
type group struct {
	lines []int
	said  bool // it is emitted
}

// unite merges the groups on the path that share a message.id, without copies of lines, and finds the line of each
// tool call.
func (c *chain) unite() {
	first := map[string]int{}            // message.id -> group
	content := map[int]map[string]bool{} // of the lines of a group that others were united with
	var groups []int
	for _, i := range c.path {
		n := c.node(i)
		if n.kind != nodeAssistant {
			continue
		}
		home, ok := first[n.response.id]
		switch {
		case !ok || n.response.id == "":
			groups = append(groups, n.group)
			first[n.response.id] = n.group
		case c.homeOf(n.group) != home:
			c.join(n.group, home, content)
		}
	}
	for _, g := range groups {
		for _, k := range c.groups[g].lines {
			if c.node(k).is(lineAPIError) {
				continue
			}
			for _, bl := range blocksOf(c.node(k).blocks, jsonl.KindToolUse) {
				if call := c.tool(bl); !call.made || c.onPath(k) && !c.onPath(call.line) {
					call.made = true
					call.line = k
				}
			}
		}
	}
}

// join adds the lines of a group to another, but for copies of lines that it has.
func (c *chain) join(number, home int, content map[int]map[string]bool) {
	c.home[number] = home
	known := content[home]
	if known == nil {
		known = map[string]bool{}
		for _, k := range c.groups[home].lines {
			known[c.content(k)] = true
		}
		content[home] = known
	}
	for _, k := range c.groups[number].lines {
		if text := c.content(k); !known[text] {
			known[text] = true
			c.groups[home].lines = append(c.groups[home].lines, k)
		}
	}
}

// homeOf is the group with which a group's lines are emitted.
func (c *chain) homeOf(group int) int {
	if home, ok := c.home[group]; ok {
		return home
	}
	return group
}

// content is what the blocks of line i are: the same for a copy of the line.
func (c *chain) content(i int) string {
	var b []byte
	for _, bl := range c.node(i).blocks {
		b = fmt.Appendf(b, "%d %q %q %q %v %v %d;", bl.Kind, bl.Type, bl.ID, bl.Name, bl.Text, bl.JSON, bl.Signature)
	}
	return string(b)
}

// ownAgent is the agent id where the main conversation is a subagent's file, else "".
func (ld *loader) ownAgent(main []int) string {
	for _, i := range main {
		if n := ld.node(i); n.kind.message() {
			if n.is(lineSidechain) {
				return n.agent
			}
			return ""
		}
	}
	return ""
}

type side struct {
	agent string
	nodes []int
}

// split separates the main conversation's lines from those of sidechains. In a subagent's own file, where every
// message is a sidechain's, all are the main conversation.
func (ld *loader) split() (main []int, sides []side) {
	all := !slices.ContainsFunc(ld.nodes, func(n *node) bool { return n.kind.message() && !n.is(lineSidechain) })
	at := map[string]int{}
	var roots []int
	for i, n := range ld.nodes {
		if all || !n.is(lineSidechain) {
			main = append(main, i)
			continue
		}
		key := n.agent
		if key == "" {
			if roots == nil { // the topmost sidechain line above each
				roots = ld.resolve(func(i int) (next, result int) {
					if p := ld.node(i).parent; p >= 0 && ld.node(p).is(lineSidechain) {
						return p, i
					}
					return -1, i
				})
			}
			key = ld.node(roots[i]).uuid
		}
		j, ok := at[key]
		if !ok {
			j = len(sides)
			at[key] = j
			sides = append(sides, side{agent: key})
		}
		sides[j].nodes = append(sides[j].nodes, i)
	}
	return main, sides
}
