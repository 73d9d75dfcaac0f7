package opencode

import (
	"fmt"
	"unicode/utf8"
)

// Estimate is Token.estimate: round(n/4), halves up, for a text of n UTF-16
// units. OpenCode 1.1.36 to 1.18.34: section 2.
func Estimate(lenUTF16 int) int {
	if lenUTF16 <= 0 {
		return 0
	}
	return (lenUTF16 + 2) / 4
}

// EstimateText is Estimate of a text.
func EstimateText(s string) int { return Estimate(UTF16Len(s)) }

// UTF16Len is the length of a text as JavaScript counts it: in UTF-16 code
// units. A byte that is not UTF-8 counts as the one U+FFFD that replaces it.
func UTF16Len(s string) int {
	n := 0
	for i := 0; i < len(s); {
		if s[i] < utf8.RuneSelf {
			i++
			n++
			continue
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		i += size
		n++
		if r > 0xFFFF {
			n++
		}
	}
	return n
}

// cutUTF16 is s.slice(0, limit): the first limit UTF-16 units. Half of a
// surrogate pair becomes U+FFFD.
func cutUTF16(s string, limit int) string {
	n := 0
	for i, r := range s {
		units := 1
		if r > 0xFFFF {
			units = 2
		}
		if n+units > limit {
			if n < limit {
				return s[:i] + "\uFFFD"
			}
			return s[:i]
		}
		n += units
	}
	return s
}

// cutForCompaction shortens a tool output in the request of a compaction.
// OpenCode 1.18.3: section 8.
func cutForCompaction(s string, limit int) string {
	n := UTF16Len(s)
	if n <= limit {
		return s
	}
	return cutUTF16(s, limit) + fmt.Sprintf("\n[Tool output truncated for compaction: omitted %d chars]", n-limit)
}
