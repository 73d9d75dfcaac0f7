package session

import (
	"cmp"
	"fmt"
	"iter"
	"slices"

	"github.com/ctxkit/ctxkit/jsonl"
)

// link resolves parents, children and the lines of each message. It runs after every line is read, since a parent may
// be later in the file.
func (ld *loader) link() {
	forks := 0
	for i := range int32(ld.nodes.len()) {
		n := ld.node(i)
		if id := ld.rare(i).parentID; id != "" {
			if p, ok := ld.lineOf(id); ok && p != i {
				n.parent = p
			}
		}
		if n.parent >= 0 && n.parent != i-1 {
			forks++
		}
	}
	ld.forks = make([]fork, 0, forks)
	for i := range int32(ld.nodes.len()) {
		if p := ld.node(i).parent; p >= 0 && p != i-1 {
			ld.node(p).mark(lineForked)
			ld.forks = append(ld.forks, fork{p, i})
		}
	}
	slices.SortFunc(ld.forks, fork.compare)
	ld.groupLines()
}

// fork is a line whose parent is not the line before it.
type fork struct{ parent, line int32 }

func (f fork) compare(other fork) int {
	return cmp.Or(cmp.Compare(f.parent, other.parent), cmp.Compare(f.line, other.line))
}

// under calls yield with each line whose parent is line i, in file order.
func (ld *loader) under(i int32) iter.Seq[int32] {
	return func(yield func(int32) bool) {
		next := i + 1
		if int(next) == ld.nodes.len() || ld.node(next).parent != i {
			next = -1
		}
		if ld.node(i).is(lineForked) {
			at, _ := slices.BinarySearchFunc(ld.forks, fork{parent: i}, fork.compare)
			for ; at < len(ld.forks) && ld.forks[at].parent == i; at++ {
				if next >= 0 && next < ld.forks[at].line {
					if !yield(next) {
						return
					}
					next = -1
				}
				if !yield(ld.forks[at].line) {
					return
				}
			}
		}
		if next >= 0 {
			yield(next)
		}
	}
}

// resolve follows the steps from each line to the end of its walk and returns the result there. A step returns the
// next line, -1 at the end, and the result where the walk ends at this line, as a cycle does.
func (ld *loader) resolve(step func(i int32) (next, result int32)) []int32 {
	return ld.resolveIn(make([]int32, ld.nodes.len()), step)
}

// resolveIn is resolve, with the results in a list of that length.
func (ld *loader) resolveIn(results []int32, step func(i int32) (next, result int32)) []int32 {
	const unknown = -2
	for i := range results {
		results[i] = unknown
	}
	var path []int32
	for i := range results {
		path = path[:0]
		at := int32(i)
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
	results := ld.resolve(func(i int32) (next, result int32) {
		switch n := ld.node(i); {
		case n.kind == nodeAssistant:
			return -1, i
		case n.kind == nodeUser && n.class == ClassPrompt:
			return -1, -1
		default:
			return n.parent, -1
		}
	})
	for i, above := range results {
		ld.node(int32(i)).group = above
	}
	ld.resolveIn(results, func(i int32) (next, result int32) {
		n := ld.node(i)
		if n.kind != nodeAssistant {
			return -1, -1
		}
		if up := ld.assistantAbove(n.parent); up >= 0 && ld.reply(n).id != "" && ld.reply(ld.node(up)).id == ld.reply(n).id {
			return up, i
		}
		return -1, i
	})
	for i, group := range results {
		if n := ld.node(int32(i)); n.kind == nodeAssistant {
			n.group = group
		}
	}
}

// assistantAbove is the assistant line at or above line i, no prompt between them, or -1.
func (ld *loader) assistantAbove(i int32) int32 {
	if i < 0 {
		return i
	}
	n := ld.node(i)
	if n.kind == nodeAssistant {
		return i
	}
	return n.group
}

// group is the lines of a message.
type group struct {
	number int32
	lines  lineList
	said   bool // it is emitted
}

// findGroups sets the groups of the conversation's lines.
func (c *chain) findGroups() {
	for _, i := range c.order {
		if n := c.ld.node(i); n.kind == nodeAssistant && (len(c.groups) == 0 || c.groups[len(c.groups)-1].number != n.group) {
			c.groups = append(c.groups, group{number: n.group})
		}
	}
	slices.SortFunc(c.groups, func(a, b group) int { return cmp.Compare(a.number, b.number) })
	c.groups = slices.CompactFunc(c.groups, func(a, b group) bool { return a.number == b.number })
}

// group is the one of a number, which has no lines if it is another conversation's.
func (c *chain) group(number int32) *group {
	for at := c.lastAt; at < min(c.lastAt+2, len(c.groups)); at++ { // the same again, or the next
		if c.groups[at].number == number {
			c.lastAt = at
			return &c.groups[at]
		}
	}
	at, ok := slices.BinarySearchFunc(c.groups, number, func(g group, number int32) int { return cmp.Compare(g.number, number) })
	if !ok {
		return &group{}
	}
	c.lastAt = at
	return &c.groups[at]
}

// unite merges the groups on the path that share a message.id, without copies of lines, and finds the line of each
// tool call.
func (c *chain) unite() {
	first := newPlaces(len(c.groups))      // by message.id, in groups
	content := map[int32]map[string]bool{} // of the lines of a group that others were united with
	groups := make([]int32, 0, len(c.groups))
	for i := range c.onward {
		n := c.ld.node(i)
		if n.kind != nodeAssistant {
			continue
		}
		id := c.ld.reply(n).id
		slot := first.slot(first.text(id), func(k int32) bool { return c.ld.reply(c.ld.node(groups[k])).id == id })
		if *slot == 0 || id == "" {
			groups = append(groups, n.group)
			*slot = int32(len(groups))
			continue
		}
		if home := groups[*slot-1]; c.homeOf(n.group) != home {
			c.join(n.group, home, content)
		}
	}
	for _, g := range groups {
		for _, k := range c.linesIn(&c.group(g).lines) {
			if c.ld.node(k).is(lineAPIError) {
				continue
			}
			for _, bl := range blocksOf(c.ld.blocks(k), jsonl.KindToolUse) {
				if bl.ID() == "" {
					continue
				}
				if call := c.tool(bl); !call.made || c.onPath(k) && !c.onPath(call.line) {
					call.made, call.line = true, k
				}
			}
		}
	}
}

// join adds the lines of a group to another, but for copies of lines that it has.
func (c *chain) join(number, home int32, content map[int32]map[string]bool) {
	c.home[number] = home
	known := content[home]
	if known == nil {
		known = map[string]bool{}
		for _, k := range c.linesIn(&c.group(home).lines) {
			known[c.content(k)] = true
		}
		content[home] = known
	}
	for _, k := range c.linesIn(&c.group(number).lines) {
		if text := c.content(k); !known[text] {
			known[text] = true
			c.addLine(&c.group(home).lines, k)
		}
	}
}

// homeOf is the group with which a group's lines are emitted.
func (c *chain) homeOf(group int32) int32 {
	if home, ok := c.home[group]; ok {
		return home
	}
	return group
}

// content is what the blocks of line i are: the same for a copy of the line.
func (c *chain) content(i int32) string {
	var b []byte
	blocks := c.ld.blocks(i)
	for k := range blocks {
		bl := &blocks[k]
		b = fmt.Appendf(b, "%d %q %q %q %v %v %d;", bl.Kind, bl.Type(), bl.ID(), bl.Name(), bl.Text(), bl.JSON(), bl.Signature())
	}
	return string(b)
}

// ownAgent is the agent id where the main conversation is a subagent's file, else "".
func (ld *loader) ownAgent(main []int32) string {
	for _, i := range main {
		if n := ld.node(i); n.kind.message() {
			if n.is(lineSidechain) {
				return ld.env(n).agent
			}
			return ""
		}
	}
	return ""
}

type side struct {
	agent string
	nodes []int32
}

// split separates the main conversation's lines from those of sidechains. In a subagent's own file, where every
// message is a sidechain's, all are the main conversation.
func (ld *loader) split() (main []int32, sides []side) {
	all := true
	for i := range int32(ld.nodes.len()) {
		n := ld.node(i)
		all = all && (!n.kind.message() || n.is(lineSidechain))
	}
	at := map[string]int{}
	main = make([]int32, 0, ld.nodes.len())
	var roots []int32
	for i := range int32(ld.nodes.len()) {
		n := ld.node(i)
		if all || !n.is(lineSidechain) {
			main = append(main, i)
			continue
		}
		key := ld.env(n).agent
		if key == "" {
			if roots == nil { // the topmost sidechain line above each
				roots = ld.resolve(func(i int32) (next, result int32) {
					if p := ld.node(i).parent; p >= 0 && ld.node(p).is(lineSidechain) {
						return p, i
					}
					return -1, i
				})
			}
			key = ld.uuids.text(roots[i])
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
