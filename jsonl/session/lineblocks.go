package session

import "slices"

// span is the place of a line's blocks: they stand in a row in a chunk of loader.made. Neither has
// more blocks than jsonl reads of a message, 16,384.
type span struct {
	chunk   int32
	from, n uint16
}

// blocks are those of a line. They have room for those of the lines behind it.
func (ld *loader) blocks(i int32) []Block {
	at := ld.node(i).blocks
	if at.n == 0 {
		return nil
	}
	return ld.made[at.chunk][at.from : at.from+at.n]
}

// newBlocks makes the blocks of a line, nil for none. They stand right behind those of the line before where both fit, so
// that the blocks of a message of several lines can be one slice of them (joined). The room behind them is another
// line's: they are clipped before anything is appended.
func (ld *loader) newBlocks(line *node, n int) []Block {
	const few, many = 16, 455 // 32 KiB, and the allocator needs 8 bytes
	if n == 0 {
		return nil
	}
	last := len(ld.made) - 1
	if last < 0 || len(ld.made[last])+n > cap(ld.made[last]) {
		room := few
		if last >= 0 {
			room = min(2*cap(ld.made[last]), many)
		}
		ld.made, last = append(ld.made, make([]Block, 0, max(n, room))), last+1
	}
	at := len(ld.made[last])
	ld.made[last] = ld.made[last][:at+n]
	line.blocks = span{int32(last), uint16(at), uint16(n)}
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
