package opencode

import (
	"fmt"
	"math"

	"github.com/ctxkit/ctxkit/jsonl"
)

// defaultOutputTokenMax is OUTPUT_TOKEN_MAX. OpenCode 1.1.36 to 1.18.34: section 4.
const defaultOutputTokenMax = 32000

// unset is a parameter of the compaction that is not set: the version's own value counts.
const unset = -1

// version holds what differs between the reproduced versions of OpenCode in the overflow test and in the view after a
// compaction (section 10).
type version struct {
	Name string // as the oracle cases name it

	// Overflow, section 4.
	CountsAll        bool // all four counts, >= usable, a reserve from limit.input; else input + cache.read + output, > usable, which may be negative
	StreamIgnoresEnv bool // the test where a step has just ended reads no environment (section 4.1)
	ReservesWindow   bool // without limit.input the reserve is taken from the window, in the place of the output limit

	// Tail selection, section 8.1.
	KeepsTail     bool // a compaction keeps the newest turns
	TailTurns     int  // compaction.tail_turns when not set
	TailMaxTokens int

	ContinueText string // the synthetic prompt after an automatic compaction (section 8)
}

// pinned is OpenCode 1.1.36 at commit 8c4bf225f29f26635158333785dbdb4e6923bfb7 (2026-01-25): section 10, column
// `pinned`.
func pinned() version { return version{Name: "pinned", ContinueText: continueTextPinned} }

// v1157 is OpenCode 1.1.57 to 1.1.59, as its release 1.1.58 is (section 10).
func v1157() version {
	v := v1160()
	v.Name = "1.1.57"
	v.ReservesWindow = true
	return v
}

// v1160 is OpenCode 1.1.60 to 1.14.19, as its releases 1.1.65 to 1.3.2 are (section 10).
func v1160() version {
	return version{Name: "1.1.60", CountsAll: true, ContinueText: continueText}
}

// v1183 is OpenCode 1.18.3, commit 127bdb30784d508cc556c71a0f32b508a3061517 (2026-07-16): section 10, column
// `1.18.3`.
func v1183() version {
	return version{
		Name: "1.18.3", CountsAll: true, StreamIgnoresEnv: true,
		KeepsTail: true, TailTurns: 2, TailMaxTokens: 8000, ContinueText: continueText,
	}
}

// v11834 is OpenCode 1.18.34, the newest release described: section 10, column `1.18.34`. It does not limit the turns
// of a tail.
func v11834() version {
	v := v1183()
	v.Name = "1.18.34"
	v.TailTurns = math.MaxInt
	v.TailMaxTokens = 15000
	return v
}

// rules is the version whose arithmetic the parameters choose.
func (p *OpencodeCompaction) rules() (version, error) {
	switch p.Count {
	case "1.1.36":
		return pinned(), nil
	case "1.1.57":
		return v1157(), nil
	case "1.1.60":
		return v1160(), nil
	case "1.18.3":
		return v1183(), nil
	case "1.18": // the newest
		return v11834(), nil
	}
	return version{}, fmt.Errorf("no opencode version %q", p.Count)
}

// modelLimit holds a model's limits in tokens. Input is 0 for a model without its own limit for the input.
type modelLimit struct{ Context, Input, Output int }

// maxOutput is the output limit of a request: min(limit.output, outputTokenMax), or outputTokenMax for a model
// without a limit. OpenCode 1.1.36 to 1.18.34: section 4.
func maxOutput(limit modelLimit, outputTokenMax int) int {
	if n := min(limit.Output, outputTokenMax); n != 0 {
		return n
	}
	return outputTokenMax
}

// usable is the part of the context a session may fill. OpenCode 1.1.36: limit.input, else context - output; from
// 1.1.57 on: limit.input less reserved, else context - output (up to 1.1.59: context less reserved), never negative.
// Section 4.
func (v version) usable(limit modelLimit, reserved, outputTokenMax int) int {
	output := maxOutput(limit, outputTokenMax)
	if reserved == unset {
		reserved = min(20000, output)
	}
	switch {
	case !v.CountsAll && limit.Input != 0:
		return limit.Input
	case !v.CountsAll:
		return limit.Context - output
	case limit.Context == 0:
		return 0
	case limit.Input != 0:
		return max(0, limit.Input-reserved)
	case v.ReservesWindow:
		return max(0, limit.Context-reserved)
	}
	return max(0, limit.Context-output)
}

// count is the size of a call in the overflow test, in tokens. OpenCode 1.1.36: input + cache.read + output, without
// cache.write; from 1.1.57 on: all four. Reasoning is never added. Section 4.
func (v version) count(u jsonl.Usage) int {
	n := u.Input + u.CacheRead + u.Output
	if v.CountsAll {
		n += u.CacheWrite
	}
	return n
}

// overflows compares a count with the usable context. OpenCode 1.1.36: `>`; from 1.1.57 on: `>=`. Section 4.
func (v version) overflows(count, usable int) bool {
	return count > usable || v.CountsAll && count == usable
}

// tailBudget is how many estimated tokens a tail may have: preserve, where it is unset a quarter of the usable
// context within the version's bounds. OpenCode 1.18.3 and 1.18.34: section 8.1.
func (v version) tailBudget(limit modelLimit, preserve, reserved int) int {
	if preserve != unset {
		return preserve
	}
	return min(v.TailMaxTokens, max(2000, v.usable(limit, reserved, defaultOutputTokenMax)/4))
}
