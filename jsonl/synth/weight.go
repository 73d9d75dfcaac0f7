package synth

import "unicode/utf8"

// The truth of a synthetic session: how many tokens the imaginary API counts
// for a text. It is kept in thousandths of a token, in integers, so that every
// machine arrives at the same figures.
type truth struct {
	tool  int64 // per ASCII character of tool output, in 1/1000 token
	prose int64 // per ASCII character of prose
}

const (
	inputRate    = 333  // per ASCII character of a tool's input: 3.0 characters a token
	latinRate    = 700  // per rune of two UTF-8 bytes
	wideRate     = 1100 // per rune of three bytes: arrows, CJK
	emojiRate    = 2600 // per rune of four bytes
	messageFrame = 4000 // what a message costs beyond its text
	toolUseFrame = 24000
	resultFrame  = 9000
)

func newTruth(o *Options) truth {
	return truth{tool: int64(1000/o.ToolCharsPerToken + 0.5), prose: int64(1000/o.ProseCharsPerToken + 0.5)}
}

func milli(s string, ascii int64) int64 {
	var w int64
	for i := 0; i < len(s); {
		if s[i] < utf8.RuneSelf {
			w += ascii
			i++
			continue
		}
		_, size := utf8.DecodeRuneInString(s[i:])
		switch size {
		case 2:
			w += latinRate
		case 3:
			w += wideRate
		default:
			w += emojiRate
		}
		i += size
	}
	return w
}

func tokens(milli int64) int { return int((milli + 500) / 1000) }

// estimate is the client's own guess at a text of n UTF-16 units:
// Math.round(n / 4), halves up.
func estimate(n int) int { return (n + 2) / 4 }
