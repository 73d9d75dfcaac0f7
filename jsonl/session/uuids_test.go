package session

import (
	"fmt"
	"testing"
)

// TestLineIndex: each line is found by its uuid alone, however many there are.
func TestLineIndex(t *testing.T) {
	for _, hint := range []int{0, 1, 1000} {
		ld := &loader{byUUID: newLineIndex(hint)}
		for i := range 1000 {
			uuid := fmt.Sprint("line ", i)
			if line, ok := ld.lineOf(uuid); ok {
				t.Fatalf("hint %d: %q is line %d before it is added", hint, uuid, line)
			}
			ld.nodes = append(ld.nodes, node{uuid: uuid})
			ld.byUUID.add(ld.nodes)
			for _, k := range []int{0, i / 2, i} {
				if line, ok := ld.lineOf(ld.nodes[k].uuid); !ok || line != int32(k) {
					t.Fatalf("hint %d, %d lines: %q is line %d, %v", hint, i+1, ld.nodes[k].uuid, line, ok)
				}
			}
		}
		if line, ok := ld.lineOf(""); ok {
			t.Errorf("hint %d: no uuid is line %d", hint, line)
		}
	}
}
