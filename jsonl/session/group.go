package session

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
