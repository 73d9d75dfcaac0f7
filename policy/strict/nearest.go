package strict

import (
	"cmp"
	"math"
	"slices"
	"strings"
)

// Nearest sorts names other than name by their edit distance from it. The first near of them are close enough to be what was
// meant; the others keep their order.
func Nearest(name string, names []string) (ordered []string, near int) {
	limit := min(max(min(2, len(name)-3), len(name)/3), len(name)-1) // of a short name half the letters are another word
	far := map[string]int{}
	for _, n := range names {
		far[n] = min(distance(name, n), limit+1)
	}
	ordered = slices.DeleteFunc(slices.Clone(names), func(n string) bool { return n == name })
	slices.SortStableFunc(ordered, func(a, b string) int { return cmp.Compare(far[a], far[b]) })
	for _, n := range ordered {
		if far[n] <= limit {
			near++
		}
	}
	return ordered, near
}

// Suggest is a hint what to write in place of name: the nearest name, and the others where they are few.
func Suggest(name string, names []string) string {
	const limit, few = 20, 12
	ordered, near := Nearest(name, names)
	if len(ordered) == 0 {
		return "leave it out"
	}
	more := ""
	if len(ordered) > limit {
		ordered = ordered[:limit]
		more = ", …"
	}
	switch n := len(ordered); {
	case near == 0 && n == 1:
		return "write " + ordered[0]
	case near == 0:
		return "use one of " + strings.Join(ordered, ", ") + more
	case n > 1 && n <= few:
		more = " the others are " + strings.Join(ordered[1:], ", ")
	default:
		more = ""
	}
	return "did you mean " + ordered[0] + "?" + more
}

// distance is the edit distance of a and b (insert, delete, replace, swap of neighbours) without regard to case or to
// the difference of "-" and "_". It is 1 where one contains the other, and the largest int for very long names.
func distance(a, b string) int {
	if len(a) > 100 || len(b) > 100 {
		return math.MaxInt
	}
	fold := strings.NewReplacer("-", "_", " ", "_")
	x := []rune(fold.Replace(strings.ToLower(a)))
	y := []rune(fold.Replace(strings.ToLower(b)))
	if len(x) >= 3 && strings.Contains(string(y), string(x)) || len(y) >= 3 && strings.Contains(string(x), string(y)) {
		return 1
	}
	rows := [3][]int{make([]int, len(y)+1), make([]int, len(y)+1), make([]int, len(y)+1)}
	for j := range rows[1] {
		rows[1][j] = j
	}
	for i := range x {
		before := rows[0]
		above := rows[1]
		row := rows[2]
		row[0] = i + 1
		for j := range y {
			cost := 1
			if x[i] == y[j] {
				cost = 0
			}
			row[j+1] = min(above[j+1]+1, row[j]+1, above[j]+cost)
			if i > 0 && j > 0 && x[i] == y[j-1] && x[i-1] == y[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
		rows[0], rows[1], rows[2] = above, row, before
	}
	return rows[1][len(y)]
}
