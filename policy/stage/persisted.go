package stage

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/ctxkit/ctxkit/jsonl"
)

// persistedOutput is what stands in the place of a result that was saved
// whole to path (2-policies.md 2.2).
func persistedOutput(text, path, sizeStyle string, previewChars int) string {
	n := jsonl.Measure(text).UTF16
	size := humanSize(n)
	if sizeStyle == "chars" {
		size = strconv.Itoa(n) + " chars"
	}
	shown, more := preview(text, n, previewChars)
	var b strings.Builder
	b.WriteString("<persisted-output>\nOutput too large (" + size + "). Full output saved to: " + path + "\n\n")
	b.WriteString("Preview (first " + humanSize(previewChars) + "):\n" + shown)
	if more {
		b.WriteString("\n...")
	}
	b.WriteString("\n</persisted-output>")
	return b.String()
}

// preview is the first limit characters of a text of n: up to the last newline
// in them, where that lies in their second half. Characters are UTF-16 units;
// half a surrogate pair comes out as U+FFFD, as it does in a file.
func preview(text string, n, limit int) (shown string, more bool) {
	if n <= limit {
		return text, false
	}
	units, at := 0, 0
	newline, newlineAt := -1, 0
	for at < len(text) && units < limit {
		r, size := utf8.DecodeRuneInString(text[at:])
		if r == '\n' {
			newline, newlineAt = units, at
		}
		units++
		if r > 0xFFFF {
			units++
		}
		at += size
	}
	if 2*newline > limit {
		return text[:newlineAt], true
	}
	if units > limit {
		_, size := utf8.DecodeLastRuneInString(text[:at])
		return text[:at-size] + string(utf8.RuneError), true
	}
	return text[:at], true
}

// humanSize is 512B, 2KB, 134.7KB, 1.5MB: one decimal, half up, a trailing .0
// dropped.
func humanSize(n int) string {
	const kilo, mega = 1 << 10, 1 << 20
	unit, name := kilo, "KB"
	switch {
	case n < kilo:
		return strconv.Itoa(n) + "B"
	case n >= mega:
		unit, name = mega, "MB"
	}
	tenths := (n*20 + unit) / (2 * unit)
	s := strconv.Itoa(tenths / 10)
	if tenths%10 != 0 {
		s += "." + strconv.Itoa(tenths%10)
	}
	return s + name
}
