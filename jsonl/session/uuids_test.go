package session

import (
	"fmt"
	"strings"
	"testing"
)

// TestLineIndex: each line is found by its uuid alone, however many there are and however they are written.
func TestLineIndex(t *testing.T) {
	for _, hint := range []int{0, 1, 1000} {
		ld := &loader{uuids: &uuids{}, byUUID: newLineIndex(hint)}
		name := func(i int) string {
			if i%3 == 0 {
				return fmt.Sprint("line ", i)
			}
			return fmt.Sprintf("%08x-0000-4000-8000-%012x", i, i)
		}
		for i := range 3000 {
			if line, ok := ld.lineOf(name(i)); ok {
				t.Fatalf("hint %d: %q is line %d before it is added", hint, name(i), line)
			}
			if !ld.byUUID.add(ld.uuids, name(i)) || ld.byUUID.add(ld.uuids, name(i)) || ld.byUUID.add(ld.uuids, name(i/2)) {
				t.Fatalf("hint %d: %q is not added once", hint, name(i))
			}
			for _, k := range []int{0, i / 2, i} {
				if line, ok := ld.lineOf(name(k)); !ok || line != int32(k) {
					t.Fatalf("hint %d, %d lines: %q is line %d, %v", hint, i+1, name(k), line, ok)
				}
			}
		}
		if line, ok := ld.lineOf(""); ok {
			t.Errorf("hint %d: no uuid is line %d", hint, line)
		}
	}
}

// TestUUIDs: a uuid comes out as it was written, and is no other.
func TestUUIDs(t *testing.T) {
	const usual = "01234567-89ab-cdef-0123-456789abcdef"
	texts := []string{
		usual, strings.ToUpper(usual), strings.ReplaceAll(usual, "-", ""), usual[:35], usual + "0", "", "line-1.0",
		"0123456-789ab-cdef-0123-456789abcdef", "01234567-89ab-cdef-0123-456789abcdeg", "01234567-89ab-cdef-0123-456789abcde:",
		"01234567-89ab-cdef-0123-456789abcde-", "01234567089ab-cdef-0123-456789abcdef", "01234567-89ab0cdef-0123-456789abcdef",
		"01234567-89ab-cdef00123-456789abcdef", "01234567-89ab-cdef-01230456789abcdef", "ffffffff-ffff-ffff-ffff-ffffffffffff",
		"00000000-0000-0000-0000-000000000000", "{1234567-89ab-cdef-0123-456789abcde}", "ffffffff-ffff-ffff-0000-000000000000", "ffffffff-ffff-ffff-0100-000000000000", "ffffffff-ffff-fffe-0100-000000000000", "漢字4567-89ab-cdef-0123-456789ab",
	}
	var all uuids
	for _, s := range texts {
		all.add(s)
	}
	for i, s := range texts {
		if got := all.text(int32(i)); got != s {
			t.Errorf("%q is %q", s, got)
		}
		for k, other := range texts {
			if all.is(int32(i), other) != (i == k) {
				t.Errorf("%q is %q", s, other)
			}
		}
	}
}
