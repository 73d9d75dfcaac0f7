package session

import "slices"

// A line's blocks stand in a row in a chunk of loader.made. They are no more than jsonl reads of a message, 16,384; where
// they are more than chunkBlocks they have a chunk of their own. A file would need a thousand million blocks for more
// chunks than a node can number.
const (
	chunkBlocks = 585 // 32 KiB, and the allocator needs 8 bytes
	chunkBits   = 10  // of a place in a chunk of so many

	_ uint = 1<<chunkBits - chunkBlocks
)

// blocks are those of a line. They have room for those of the lines behind it.
func (ld *loader) blocks(i int32) []Block {
	n := ld.node(i)
	if n.blocks == 0 {
		return nil
	}
	chunk, from := n.chunk>>chunkBits, n.chunk&(1<<chunkBits-1)
	return ld.made[chunk][from : from+uint32(n.blocks)]
}

// newBlocks makes the blocks of a line, nil for none. They stand right behind those of the line before where both fit, so
// that the blocks of a message of several lines can be one slice of them (joined). The room behind them is another
// line's: they are clipped before anything is appended.
func (ld *loader) newBlocks(line *node, n int) []Block {
	const few = 16
	if n == 0 {
		return nil
	}
	last := len(ld.made) - 1
	if last < 0 || len(ld.made[last])+n > cap(ld.made[last]) {
		room := few
		if last >= 0 {
			room = min(2*cap(ld.made[last]), chunkBlocks)
		}
		ld.made, last = append(ld.made, make([]Block, 0, max(n, room))), last+1
	}
	at := len(ld.made[last])
	ld.made[last] = ld.made[last][:at+n]
	line.chunk, line.blocks = uint32(last<<chunkBits|at), uint16(n)
	return ld.made[last][at:]
}

// joined is the blocks of several lines in their order. It does not write to them.
func joined(lines [][]Block) []Block {
	all := lines[0]
	for _, next := range lines[1:] {
		n := len(all)
		if n == 0 || len(next) == 0 || n+len(next) > cap(all) || &all[:n+1][n] != &next[0] {
			return slices.Concat(lines...)
		}
		all = all[:n+len(next)]
	}
	return slices.Clip(all)
}
