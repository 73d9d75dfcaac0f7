package cmd

import (
	"sort"
	"strings"
)

// suggestion names up to three of names that are near word, else says what to
// do instead.
func suggestion(word string, names []string, otherwise string) string {
	near := nearest(word, names)
	switch len(near) {
	case 0:
		return otherwise
	case 1:
		return "did you mean " + near[0] + "?"
	}
	return "did you mean " + strings.Join(near[:len(near)-1], ", ") + " or " + near[len(near)-1] + "?"
}

// nearest lists at most three of names, nearest first: those that begin with
// word, hold it, or differ from it in at most a third of its letters.
func nearest(word string, names []string) []string {
	type candidate struct {
		name string
		far  int
	}
	var cs []candidate
	w := strings.ToLower(word)
	for _, name := range names {
		n := strings.ToLower(name)
		far := distance(w, n)
		limit := max(1, len(w)/3)
		switch {
		case w != "" && strings.HasPrefix(n, w), w != "" && strings.Contains(n, w):
			far = min(far, 1)
		case far > limit:
			continue
		}
		cs = append(cs, candidate{name, far})
	}
	sort.SliceStable(cs, func(i, j int) bool {
		if cs[i].far != cs[j].far {
			return cs[i].far < cs[j].far
		}
		return cs[i].name < cs[j].name
	})
	var out []string
	for _, c := range cs[:min(3, len(cs))] {
		out = append(out, c.name)
	}
	return out
}

// distance is the number of letters to insert, delete, replace or swap with
// their neighbour to make a of b.
func distance(a, b string) int {
	ra, rb := []rune(a), []rune(b)
	before, prev, cur := make([]int, len(rb)+1), make([]int, len(rb)+1), make([]int, len(rb)+1)
	for j := range prev {
		prev[j] = j
	}
	for i := 1; i <= len(ra); i++ {
		cur[0] = i
		for j := 1; j <= len(rb); j++ {
			cost := 1
			if ra[i-1] == rb[j-1] {
				cost = 0
			}
			cur[j] = min(prev[j]+1, cur[j-1]+1, prev[j-1]+cost)
			if i > 1 && j > 1 && ra[i-1] == rb[j-2] && ra[i-2] == rb[j-1] {
				cur[j] = min(cur[j], before[j-2]+1)
			}
		}
		before, prev, cur = prev, cur, before
	}
	return prev[len(rb)]
}
