package session

import (
	"slices"
)

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
