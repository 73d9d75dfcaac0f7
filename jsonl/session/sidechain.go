package session

import "slices"

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
	all := !slices.ContainsFunc(ld.nodes, func(n node) bool { return n.kind.message() && !n.sidechain })
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
			if roots == nil { // the topmost sidechain line above each
				roots = ld.resolve(func(i int32) (next, result int32) {
					if p := ld.nodes[i].parent; p >= 0 && ld.nodes[p].sidechain {
						return p, i
					}
					return -1, i
				})
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
