package opencode

import (
	"fmt"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/policy"
)

// Estimate is Token.estimate: round(n/4), halves up, for a text of n UTF-16 units. OpenCode 1.1.36 to 1.18.34:
// section 2.
func Estimate(lenUTF16 int) int { return policy.RoundQuarter(lenUTF16) }

// EstimateText is Estimate of a text.
func EstimateText(s string) int { return Estimate(UTF16Len(s)) }

// UTF16Len is the length of a text as JavaScript counts it: in UTF-16 code units. A byte that is not UTF-8 counts as
// the one U+FFFD that replaces it.
func UTF16Len(s string) int { return jsonl.Measure(s).UTF16 }

// cutUTF16 is s.slice(0, limit): the first limit UTF-16 units. Half of a surrogate pair becomes U+FFFD.
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

// cutForCompaction shortens a tool output in the request of a compaction. OpenCode 1.18.3: section 8.
func cutForCompaction(s string, limit int) string {
	n := UTF16Len(s)
	if n <= limit {
		return s
	}
	return cutUTF16(s, limit) + fmt.Sprintf("\n[Tool output truncated for compaction: omitted %d chars]", n-limit)
}
