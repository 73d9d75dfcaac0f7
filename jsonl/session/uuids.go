package session

import "hash/maphash"

// lineIndex finds lines by uuid, in a twelfth of the memory of a map: it holds their places, and compares with the lines.
type lineIndex struct {
	seed  maphash.Seed
	slots []int32 // a line plus one, 0: free; twice as many as lines or more, a power of two
}

func newLineIndex(lines int) lineIndex {
	size := 16
	for size < 2*lines {
		size *= 2
	}
	return lineIndex{seed: maphash.MakeSeed(), slots: make([]int32, size)}
}

// slot is the slot of a uuid, or the free one where it belongs.
func (x *lineIndex) slot(nodes []node, uuid string) *int32 {
	for at := maphash.String(x.seed, uuid); ; at++ {
		s := &x.slots[at&uint64(len(x.slots)-1)]
		if *s == 0 || nodes[*s-1].uuid == uuid {
			return s
		}
	}
}

// add adds the last line, whose uuid no other has.
func (x *lineIndex) add(nodes []node) {
	if 2*len(nodes) > len(x.slots) {
		*x = newLineIndex(2 * len(nodes))
		for i := range nodes {
			*x.slot(nodes, nodes[i].uuid) = int32(i) + 1
		}
		return
	}
	*x.slot(nodes, nodes[len(nodes)-1].uuid) = int32(len(nodes))
}

// lineOf is the line with a uuid.
func (ld *loader) lineOf(uuid string) (line int32, ok bool) {
	line = *ld.byUUID.slot(ld.nodes, uuid) - 1
	return line, line >= 0
}
