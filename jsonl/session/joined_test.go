package session

import (
	"slices"
	"testing"
)

// TestJoined holds that the blocks of lines are joined in their order, without a copy where they stand one behind the
// other, and that nothing is written to what stands behind them.
func TestJoined(t *testing.T) {
	for _, c := range []struct {
		name  string
		sizes []int // blocks of the lines
		take  []int // lines that are joined
		same  bool  // they are one slice of what was made
	}{
		{"one line", []int{2}, []int{0}, true},
		{"one line, and one behind it", []int{1, 1}, []int{0}, true},
		{"two lines, and one behind them", []int{1, 2, 1}, []int{0, 1}, true},
		{"lines in order", []int{1, 2, 1}, []int{0, 1, 2}, true},
		{"a line between them", []int{1, 2, 1}, []int{0, 2}, false},
		{"the other way round", []int{1, 1}, []int{1, 0}, false},
		{"more than the room", []int{15, 3}, []int{0, 1}, false},
		{"an empty line", []int{1, 0, 1}, []int{0, 1, 2}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			ld, n := &loader{}, int32(0)
			var lines [][]Block
			for _, size := range c.sizes {
				blocks := ld.newBlocks(&node{}, size)
				if len(blocks) != size {
					t.Fatalf("%d blocks, want %d", len(blocks), size)
				}
				for i := range blocks {
					n++
					blocks[i].Line = n
				}
				lines = append(lines, blocks)
			}
			var taken [][]Block
			var want []int32
			for _, k := range c.take {
				taken = append(taken, lines[k])
				for i := range lines[k] {
					want = append(want, lines[k][i].Line)
				}
			}
			all := joined(taken)
			var got []int32
			for i := range all {
				got = append(got, all[i].Line)
			}
			if !slices.Equal(got, want) {
				t.Errorf("lines %v, want %v", got, want)
			}
			if same := &all[0] == &taken[0][0]; same != c.same {
				t.Errorf("one slice of what was made: %v, want %v", same, c.same)
			}
			_ = append(all, Block{Line: -1})
			for _, blocks := range lines {
				for i := range blocks {
					if blocks[i].Line < 0 {
						t.Error("a block of another line was written to")
					}
				}
			}
		})
	}
}
