package synth

import (
	"unicode/utf8"

	"github.com/ctxkit/ctxkit/jsonl"
)

// What the simulated API counts for a text, in thousandths of a token: integers, so that every machine gets the same
// sums.
const (
	toolRate     = 345  // per ASCII character of tool output: 2.9 characters a token
	proseRate    = 278  // per ASCII character of prompts, answers, thinking and summaries: 3.6 characters a token
	inputRate    = 333  // per ASCII character of a tool's input: 3.0 characters a token
	latinRate    = 700  // per rune of two UTF-8 bytes
	wideRate     = 1100 // per rune of three bytes: arrows, CJK
	emojiRate    = 2600 // per rune of four bytes
	messageFrame = 4000 // per message, in addition to its text
	toolUseFrame = 24000
	resultFrame  = 9000
)

// milli is the weight of s in thousandths of a token, at a rate for ASCII characters.
func milli(s string, ascii int64) int64 {
	var w int64
	for _, r := range s {
		w += [...]int64{1: ascii, 2: latinRate, 3: wideRate, 4: emojiRate}[utf8.RuneLen(r)]
	}
	return w
}

// tokens rounds thousandths of a token.
func tokens(milli int64) int { return int((milli + 500) / 1000) }

// units is the length of s in UTF-16 units, as JavaScript counts it.
func units(s string) int { return jsonl.Measure(s).UTF16 }

// estimate is the client's estimate for a text of n UTF-16 units, in tokens: Math.round(n / 4), halves rounded up.
func estimate(n int) int { return (n + 2) / 4 }
