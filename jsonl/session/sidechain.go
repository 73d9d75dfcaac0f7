package session

// ownAgent is the agent id where the main conversation is a subagent's own
// file, else "".
func (ld *loader) ownAgent(main []int32) string {
	for _, i := range main {
		if n := &ld.nodes[i]; n.kind.message() {
			if n.sidechain {
				return n.env.agent
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

// split separates the main conversation's lines from those of sidechains. In a
// subagent's own file, where every message is a sidechain's, all are the main
// conversation.
func (ld *loader) split() (main []int32, sides []side) {
	all := true
	for i := range ld.nodes {
		if ld.nodes[i].kind.message() && !ld.nodes[i].sidechain {
			all = false
			break
		}
	}
	at := map[string]int{}
	var roots []int32
	for i := range ld.nodes {
		n := &ld.nodes[i]
		if all || !n.sidechain {
			main = append(main, int32(i))
			continue
		}
		key := n.env.agent
		if key == "" {
			if roots == nil {
				roots = ld.sideRoots()
			}
			key = ld.nodes[roots[i]].uuid
		}
		j, ok := at[key]
		if !ok {
			j = len(sides)
			at[key] = j
			sides = append(sides, side{agent: key})
		}
		sides[j].nodes = append(sides[j].nodes, int32(i))
	}
	return main, sides
}

// sideRoots finds the topmost sidechain line above each sidechain line.
func (ld *loader) sideRoots() []int32 {
	roots := make([]int32, len(ld.nodes))
	for i := range roots {
		roots[i] = -1
	}
	var path []int32
	for i := range ld.nodes {
		path = path[:0]
		at := int32(i)
		for roots[at] < 0 {
			roots[at] = at // breaks cycles
			path = append(path, at)
			if p := ld.nodes[at].parent; p >= 0 && ld.nodes[p].sidechain {
				at = p
			}
		}
		for _, k := range path {
			roots[k] = roots[at]
		}
	}
	return roots
}
