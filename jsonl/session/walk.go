package session

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/ctxkit/ctxkit/jsonl"
)

// walk finds the path from the root to the live leaf.
func (c *chain) walk(want string) {
	leaf := c.leaf(want)
	if leaf < 0 {
		return
	}
	// No line has a parent in the file: it was made by hand and is read in order.
	linear := !slices.ContainsFunc(c.order, func(i int) bool { return c.node(i).parent >= 0 })
	for i := leaf; i >= 0; i = c.next(i, linear) {
		c.node(i).mark(lineOnPath)
		c.path = append(c.path, i)
	}
	slices.Reverse(c.path)
	c.addCompactions(want == "")
	if len(c.removed) > 0 {
		c.restore()
	}
}

// next is the line before i on the chain that is not on the path yet, or -1.
func (c *chain) next(i int, linear bool) int {
	p := c.up(i, linear)
	if p < 0 || !c.onPath(p) {
		return p
	}
	for p = c.before(i); p >= 0 && c.onPath(p); {
		p = c.before(p)
	}
	c.cycle(i, p)
	return p
}

func (c *chain) cycle(i, before int) {
	as := "the first line"
	if before >= 0 {
		as = fmt.Sprintf("following line %d", c.node(before).line)
	}
	c.loader.warn(CodeCircle, c.node(i).line, "the parents form a cycle: treated as %s", as)
}

// leaf is the live leaf: the requested one; else that of last-prompt, if nothing was written after it; else the
// newest one.
func (c *chain) leaf(want string) int {
	if i, ok := c.lineOf(want); ok && c.in(i) {
		return i
	}
	if want != "" {
		c.loader.warn("", 0, "no line of this conversation has the uuid %s: the live leaf is used", want)
	}
	newest, leaf := c.newest()
	if i, ok := c.lineOf(c.loader.leaf); ok && c.in(i) && c.Agent == "" && c.leafAt > newest {
		return i
	}
	return leaf
}

// newest is the newest message line of the file, and its leaf: results and attachments may be written late, or before
// the line with their call.
func (c *chain) newest() (newest, leaf int) {
	newest = -1
	var continued map[int]bool
	for k := len(c.order) - 1; k >= 0; k-- {
		i := c.order[k]
		n := c.node(i)
		if !n.kind.message() || n.is(lineAPIError) || n.name == typeCommand {
			continue
		}
		if newest < 0 {
			newest = i
		}
		if n.joins() && continued == nil {
			continued = c.continued()
		}
		if !n.joins() || !continued[c.round(i)] {
			return newest, c.descend(i)
		}
	}
	return newest, newest
}

// joins reports whether a line belongs to the round of the calls above it: results, attachments, and lines that are
// never sent.
func (n *node) joins() bool {
	switch n.kind {
	case nodeUser, nodeAttachment:
		return n.class == ClassToolResult || n.class == ClassAttachment
	case nodeProgress, nodeSystem, nodeMicro, nodeSnip:
		return true
	}
	return false
}

// round is the message of whose round of results line i is a part, or -1.
func (c *chain) round(i int) int {
	for steps := 0; i >= 0 && c.in(i) && steps < 1000; steps++ {
		n := c.node(i)
		if n.kind == nodeAssistant {
			return n.group
		}
		if !n.joins() {
			break
		}
		i = n.parent
	}
	return -1
}

// continued is the set of messages that a response follows without a prompt between.
func (c *chain) continued() map[int]bool {
	on := map[int]bool{}
	for _, i := range c.order {
		if n := c.node(i); n.kind == nodeAssistant && n.group == i && !n.is(lineAPIError) {
			if g := c.round(n.parent); g >= 0 {
				on[g] = true
			}
		}
	}
	return on
}

// descend follows the newest message lines below i, attachments only if there is no other.
func (c *chain) descend(i int) int {
	seen := map[int]bool{}
	for !seen[i] {
		seen[i] = true
		next := -1
		attached := true
		for _, k := range c.node(i).under {
			n := c.node(k)
			if !c.in(k) || !n.kind.message() || n.is(lineAPIError) {
				continue
			}
			if a := n.kind == nodeAttachment || n.name == typeCommand; next < 0 || attached && !a || attached == a && k > next {
				next = k
				attached = a
			}
		}
		if next >= 0 {
			i = next
		}
	}
	return i
}

// up is the line before i on the chain, or -1.
func (c *chain) up(i int, linear bool) int {
	n := c.node(i)
	if linear {
		if k, _ := slices.BinarySearch(c.order, i); k > 0 {
			return c.order[k-1]
		}
		return -1
	}
	if n.kind == nodeBoundary {
		if tail := c.tail(i); tail >= 0 {
			return c.summarized(i, tail)
		}
	}
	if n.kind == nodeBoundary || n.kind == nodeSnip && n.parent < 0 {
		if p, ok := c.lineOf(n.logicalUUID); ok && c.in(p) && p != i {
			return p
		}
	}
	if n.parent >= 0 && c.in(n.parent) {
		return n.parent
	}
	if n.is(lineCleared) {
		return -1
	}
	p := c.before(i)
	switch {
	case n.kind == nodeBoundary:
		if p >= 0 && n.logicalUUID != "" {
			c.loader.warn(CodeLostLogical, n.line, "the last message before the compaction, %s, is not in the file and may be lost: treated as following line %d", n.logicalUUID, c.node(p).line)
		}
	case n.class == ClassSummary && n.kind == nodeUser: // the 1.0.x form: a summary without a boundary
	case n.parentUUID == n.uuid:
		c.cycle(i, p)
	case n.parentUUID != "":
		if p >= 0 && !c.removed[n.parentUUID] {
			c.loader.warn(CodeLostParent, n.line, "the parent %s is not in the file: treated as following line %d", n.parentUUID, c.node(p).line)
		}
	case n.is(lineRootless): // a line of a format without parents
	case n.kind == nodeUser || n.kind == nodeAssistant:
		return -1 // a root, unlike the lines of a hook after a resume
	}
	return p
}

// tail is the last line above boundary i that its compaction keeps where it names an anchor, or -1. It is on the branch
// that was compacted, and the last of it but for what a compaction of the newer messages alone replaces. What is kept may
// also be written behind the summary.
func (c *chain) tail(i int) int {
	m := c.node(i).compact
	if m.anchor() == "" {
		return -1
	}
	for _, uuid := range slices.Backward(m.kept()) {
		if k, ok := c.lineOf(uuid); !ok || !c.in(k) {
			break
		} else if k < i {
			return k
		}
	}
	return -1
}

// summarized is the last line of what the compaction of boundary i replaced after the tail that it keeps, or the tail.
func (c *chain) summarized(i, tail int) int {
	n := c.node(i)
	first := c.keptFirst(i)
	if p, ok := c.lineOf(n.logicalUUID); ok && p < i && c.in(p) && c.hangsOn(p, tail) {
		if p != tail && !first {
			c.loader.warn(CodeMetadata, n.line, "the compaction keeps messages up to line %d, and line %d is the last one before it: what is between is taken as summarized",
				c.node(tail).line, c.node(p).line)
		}
		if p != tail || !first {
			return p
		}
	}
	if p := c.before(i); first && p >= 0 && c.hangsOn(p, tail) {
		return p
	}
	return tail
}

// place is where a line is in a walk of the tree, and the last one of those that hang on it.
type place struct{ own, last int }

// hangsOn reports whether line i is line on, or parents lead from it there.
func (ld *loader) hangsOn(i, on int) bool {
	if ld.places == nil {
		ld.places = make([]place, len(ld.nodes))
		n := 0
		for root := range ld.nodes {
			if ld.nodes[root].parent >= 0 {
				continue
			}
			for open := []int{root}; len(open) > 0; {
				k := open[len(open)-1]
				if at := &ld.places[k]; at.own > 0 { // what hangs on it was walked
					at.last = n
					open = open[:len(open)-1]
					continue
				}
				n++
				ld.places[k].own = n
				open = append(open, ld.nodes[k].under...)
			}
		}
	}
	a := ld.places[i]
	b := ld.places[on]
	return b.own > 0 && b.own <= a.own && a.own <= b.last
}

// addCompactions adds the compactions to the path on which nothing hangs: some clients hang what follows on the last
// line that is kept, which the boundary and what is under it stand after.
func (c *chain) addCompactions(atEnd bool) {
	after := map[int][]int{} // boundaries by tail
	for _, i := range c.order {
		if n := c.node(i); n.kind == nodeBoundary && !n.is(lineOnPath) {
			if tail := c.tail(i); tail >= 0 && c.onPath(tail) {
				after[tail] = append(after[tail], i)
			}
		}
	}
	if len(after) == 0 {
		return
	}
	path := make([]int, 0, len(c.order))
	for k, i := range c.path {
		path = append(path, i)
		for _, boundary := range after[i] {
			if k+1 < len(c.path) && c.path[k+1] > boundary || k+1 == len(c.path) && atEnd {
				path = append(path, c.deadBranch(boundary)...)
			}
		}
	}
	c.path = path
}

// deadBranch marks and lists the lines from i to the newest under it, in order; nil with a response among them: that is
// a branch which was left.
func (c *chain) deadBranch(i int) (lines []int) {
	for k := c.descend(i); ; k = c.node(k).parent {
		n := c.node(k)
		if n.is(lineOnPath) || n.kind == nodeAssistant && n.response.model != synthetic {
			return nil
		}
		if lines = append(lines, k); k == i {
			break
		}
	}
	for _, k := range lines {
		c.node(k).mark(lineOnPath)
	}
	slices.Reverse(lines)
	return lines
}

// clearHook is the name of a hook that runs as the context is cleared: by /clear, or as a plan is accepted.
const clearHook = "SessionStart:clear"

// isOutputOf reports whether a line is the output of a hook: a progress line up to 2.1.81, an attachment in later
// clients.
func isOutputOf(hook string, e *jsonl.Entry) bool {
	if e.Type != "progress" && e.Type != "attachment" || !bytes.Contains(e.Raw, []byte(hook)) {
		return false
	}
	var line struct {
		Data, Attachment struct {
			HookName string `json:"hookName"`
		}
	}
	return json.Unmarshal(e.Raw, &line) == nil && (line.Data.HookName == hook || line.Attachment.HookName == hook)
}

// before is the last message line before i in the file, of the same session.
func (c *chain) before(i int) int {
	k, _ := slices.BinarySearch(c.order, i)
	for k--; k >= 0; k-- {
		n := c.node(c.order[k])
		if n.kind.message() && !n.is(lineAPIError) && sameSession(n, c.node(i)) {
			return c.order[k]
		}
	}
	return -1
}

func sameSession(a, b *node) bool {
	return a.sessionID == b.sessionID || a.sessionID == "" || b.sessionID == ""
}
