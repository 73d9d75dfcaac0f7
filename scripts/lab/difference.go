package main

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// difference is where two conversations part: full with the words, where without.
type difference struct{ full, where string }

// firstDifference returns the first block in which two conversations differ, by its place in the true body, or in ours
// where the true one has ended; nil if there is none.
func firstDifference(true_, ours []block, ids bool) *difference {
	for i := range max(len(true_), len(ours)) {
		switch {
		case i >= len(true_):
			b := ours[i]
			where := fmt.Sprintf("message %d block %d of ctxkit's: %s that was not sent", b.message+1, b.at+1, b.kind)
			return &difference{where + ": " + cut(b), where}
		case i >= len(ours):
			b := true_[i]
			where := fmt.Sprintf("message %d block %d: %s is missing", b.message+1, b.at+1, b.kind)
			return &difference{where + ": " + cut(b), where}
		case !true_[i].same(ours[i], ids):
			b, o := true_[i], ours[i]
			where := fmt.Sprintf("message %d block %d: %s, ctxkit has %s", b.message+1, b.at+1, b.kind, o.kind)
			if b.kind == o.kind {
				where = fmt.Sprintf("message %d block %d: another %s", b.message+1, b.at+1, b.kind)
			}
			return &difference{fmt.Sprintf("%s: sent %s, ctxkit has %s", where, cut(b), cut(o)), where}
		}
	}
	return nil
}

// cut shows a block on one line.
func cut(b block) string {
	text := fmt.Sprintf("%s %.80q", b.call, b.text)
	return strings.TrimSpace(text)
}

// boundaries are roles and numbers of blocks of the messages.
func boundaries(blocks []block) []string {
	var out []string
	for i, b := range blocks {
		if i+1 == len(blocks) || blocks[i+1].message != b.message {
			out = append(out, fmt.Sprintf("%s %d", b.role, b.at+1))
		}
	}
	return out
}

func marked(blocks []block) []block {
	return slices.DeleteFunc(slices.Clone(blocks), func(b block) bool { return !b.marked })
}

var reminderTags = regexp.MustCompile(`</?system-reminder>`)

// wordsIn reports whether 60 characters of a block's longest line are on the file.
func wordsIn(text, file string) bool {
	longest := ""
	for l := range strings.SplitSeq(reminderTags.ReplaceAllString(text, ""), "\n") {
		if len([]rune(l)) > len([]rune(longest)) {
			longest = l
		}
	}
	words := []rune(strings.TrimSpace(longest))
	if len(words) == 0 {
		return true
	}
	q := quoted(string(words[:min(len(words), 60)]))
	return strings.Contains(file, q[1:len(q)-1])
}

// equalRuns pairs the blocks of two bodies as difflib.SequenceMatcher does: the longest run first, then left and right of
// it. It returns the positions in a and b of blocks that are in no pair.
func equalRuns(a, b []block, ids bool) (onlyA, onlyB []int) {
	type key struct{ kind, call, text string }
	of := func(x block) key {
		if !ids {
			x.call = ""
		}
		return key{x.kind, x.call, x.text}
	}
	at := map[key][]int{}
	for j, x := range b {
		at[of(x)] = append(at[of(x)], j)
	}
	var split func(a1, a2, b1, b2 int)
	split = func(a1, a2, b1, b2 int) {
		besti, bestj, size := a1, b1, 0
		run := map[int]int{}
		for i := a1; i < a2; i++ {
			next := map[int]int{}
			for _, j := range at[of(a[i])] {
				if j < b1 || j >= b2 {
					continue
				}
				n := run[j-1] + 1
				next[j] = n
				if n > size {
					besti, bestj, size = i-n+1, j-n+1, n
				}
			}
			run = next
		}
		if size == 0 {
			for i := a1; i < a2; i++ {
				onlyA = append(onlyA, i)
			}
			for j := b1; j < b2; j++ {
				onlyB = append(onlyB, j)
			}
			return
		}
		split(a1, besti, b1, bestj)
		split(besti+size, a2, bestj+size, b2)
	}
	split(0, len(a), 0, len(b))
	return onlyA, onlyB
}
