package session

import (
	"strconv"
	"strings"
)

// CompareVersions compares dotted versions number by number: it is negative where a is older than b, 0 where they are
// equal. A missing part counts as 0, as does one that is not a number.
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

// number is the first number of a dotted version, and the rest of the version.
func number(version string) (n int, rest string) {
	digits, rest, _ := strings.Cut(version, ".")
	n, _ = strconv.Atoi(digits)
	return n, rest
}
