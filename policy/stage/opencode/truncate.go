package opencode

import (
	"fmt"
	"slices"
	"strings"
)

// TruncateLimits are the sizes up to which a tool output is stored as it is.
type TruncateLimits struct {
	MaxLines int
	MaxBytes int // of UTF-8
}

// DefaultTruncateLimits are MAX_LINES and MAX_BYTES. OpenCode 1.1.36 to
// 1.18.34: section 9.
func DefaultTruncateLimits() TruncateLimits {
	return TruncateLimits{MaxLines: 2000, MaxBytes: 50 * 1024}
}

// TruncateLimits are the limits under a configuration. OpenCode 1.1.36: always
// the defaults; 1.18.3 and 1.18.34: tool_output where set. Section 9.
func (v Version) TruncateLimits(cfg Config) TruncateLimits {
	limits := DefaultTruncateLimits()
	if !v.ToolOutputConfigured {
		return limits
	}
	if n := cfg.ToolOutput.MaxLines; n != nil {
		limits.MaxLines = *n
	}
	if n := cfg.ToolOutput.MaxBytes; n != nil {
		limits.MaxBytes = *n
	}
	return limits
}

// TruncateOptions say what is kept of an output and what the hint names.
type TruncateOptions struct {
	Tail bool   // keep the end; else the beginning
	Task bool   // the agent may use the task tool
	Path string // where the full output is stored
}

// Truncated is a tool output as it is stored.
type Truncated struct {
	Content string
	Cut     bool   // Content is not the whole output
	Removed int    // how much is missing
	Unit    string // of Removed: "lines" or "bytes"
}

// Truncate is Truncate.output: an output within both limits stays as it is; of
// another, whole lines are kept up to the first that would break a limit.
// OpenCode 1.1.36 to 1.18.34: section 9.
func Truncate(text string, limits TruncateLimits, options TruncateOptions) Truncated {
	total := utf8Len(text)
	lines := strings.Split(text, "\n")
	if len(lines) <= limits.MaxLines && total <= limits.MaxBytes {
		return Truncated{Content: text}
	}
	source := slices.Values(lines)
	if options.Tail {
		source = func(yield func(string) bool) {
			for i := len(lines) - 1; i >= 0 && yield(lines[i]); i-- {
			}
		}
	}
	kept, size, byBytes := 0, 0, false
	for line := range source {
		if kept >= limits.MaxLines {
			break
		}
		cost := utf8Len(line)
		if kept > 0 {
			cost++ // its line end
		}
		if size+cost > limits.MaxBytes {
			byBytes = true
			break
		}
		size += cost
		kept++
	}
	result := Truncated{Cut: true, Removed: len(lines) - kept, Unit: "lines"}
	if byBytes {
		result.Removed, result.Unit = total-size, "bytes"
	}
	advice := TruncatedAdvice
	if options.Task {
		advice = TruncatedTaskAdvice
	}
	notice := fmt.Sprintf("...%d %s truncated...\n\n%s%s\n%s", result.Removed, result.Unit, TruncatedHint, options.Path, advice)
	if options.Tail {
		result.Content = notice + "\n\n" + strings.Join(lines[len(lines)-kept:], "\n")
	} else {
		result.Content = strings.Join(lines[:kept], "\n") + "\n\n" + notice
	}
	return result
}

// utf8Len is Buffer.byteLength(s, "utf-8"): a byte that is not UTF-8 counts as
// the U+FFFD that replaces it.
func utf8Len(s string) int {
	n := 0
	for _, r := range s {
		switch {
		case r < 0x80:
			n++
		case r < 0x800:
			n += 2
		case r < 0x10000:
			n += 3
		default:
			n += 4
		}
	}
	return n
}
