package opencode

import (
	"fmt"
	"iter"
	"slices"
	"strings"
	"unicode/utf8"
)

// truncate is Truncate.output for the beginning of an output and an agent without the task tool: an output of at most
// maxLines lines and maxBytes bytes stays as it is, and removed is 0; of another, whole lines are kept up to the
// first that would break a limit. removed counts what is missing in unit: lines or bytes. OpenCode 1.1.36 to 1.18.34:
// section 9.
func truncate(text string, maxLines, maxBytes int, path string) (content string, removed int, unit string) {
	lines := strings.Split(text, "\n")
	if len(lines) <= maxLines && utf8Len(text) <= maxBytes {
		return text, 0, ""
	}
	kept, removed, unit := fittingLines(slices.Values(lines), len(lines), maxLines, maxBytes, utf8Len(text))
	return strings.Join(lines[:kept], "\n") + "\n\n" + truncatedNotice(removed, unit, path, truncatedAdvice), removed, unit
}

// fittingLines is how many of n lines, of total bytes, fit both limits, and what is missing then, in unit.
func fittingLines(lines iter.Seq[string], n, maxLines, maxBytes, total int) (kept, removed int, unit string) {
	size := 0
	for line := range lines {
		if kept >= maxLines {
			break
		}
		cost := utf8Len(line) + min(kept, 1) // with the line end before it
		if size+cost > maxBytes {
			return kept, total - size, "bytes"
		}
		size += cost
		kept++
	}
	return kept, n - kept, "lines"
}

func truncatedNotice(removed int, unit, path, advice string) string {
	return fmt.Sprintf("...%d %s truncated...\n\n%s%s\n%s", removed, unit, truncatedHint, path, advice)
}

// utf8Len is Buffer.byteLength(s, "utf-8"): a byte that is not UTF-8 counts as the U+FFFD that replaces it.
func utf8Len(s string) int {
	n := 0
	for _, r := range s {
		n += utf8.RuneLen(r)
	}
	return n
}
