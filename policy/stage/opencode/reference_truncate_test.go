package opencode

import (
	"slices"
	"strings"
)

// TruncateLimits are the sizes up to which a tool output is stored as it is.
type TruncateLimits struct {
	MaxLines int
	MaxBytes int // of UTF-8
}

// DefaultTruncateLimits are MAX_LINES and MAX_BYTES. OpenCode 1.1.36 to 1.18.34: section 9.
func DefaultTruncateLimits() TruncateLimits {
	p := defineOpencodeTruncate().Params.(*OpencodeTruncate)
	return TruncateLimits{MaxLines: p.MaxLines, MaxBytes: p.MaxBytes}
}

// TruncateLimits are the limits under a configuration. OpenCode 1.1.36: always the defaults; 1.18.3 and 1.18.34:
// tool_output where set. Section 9.
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

// Truncate is Truncate.output: as the stages cut an output, also from its beginning, and with the advice for an agent
// with the task tool. OpenCode 1.1.36 to 1.18.34: section 9.
func Truncate(text string, limits TruncateLimits, options TruncateOptions) Truncated {
	content, removed, unit := truncate(text, limits.MaxLines, limits.MaxBytes, options.Path)
	if removed == 0 {
		return Truncated{Content: text}
	}
	advice := truncatedAdvice
	if options.Task {
		advice = TruncatedTaskAdvice
		content = strings.TrimSuffix(content, truncatedAdvice) + advice
	}
	if options.Tail {
		lines := strings.Split(text, "\n")
		slices.Reverse(lines)
		var kept int
		kept, removed, unit = fittingLines(slices.Values(lines), len(lines), limits.MaxLines, limits.MaxBytes, utf8Len(text))
		slices.Reverse(lines)
		content = truncatedNotice(removed, unit, options.Path, advice) + "\n\n" + strings.Join(lines[len(lines)-kept:], "\n")
	}
	return Truncated{Content: content, Cut: true, Removed: removed, Unit: unit}
}
