package opencode

import (
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
