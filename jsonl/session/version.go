package session

import (
	"strconv"
	"strings"
)

// CompareVersions compares dotted versions number by number.
func CompareVersions(a, b string) int {
	for a != "" || b != "" {
		var x, y int
		x, a = number(a)
		y, b = number(b)
		if x != y {
			return x - y
		}
	}
	return 0
}

// number is the first number of a dotted version, and what comes behind it. What
// is no number counts as 0.
func number(version string) (n int, rest string) {
	digits, rest, _ := strings.Cut(version, ".")
	n, _ = strconv.Atoi(digits)
	return n, rest
}
