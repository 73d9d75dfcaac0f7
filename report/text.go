package report

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/olekukonko/tablewriter/pkg/twwidth"
)

// Clean makes a text of a transcript safe to print. Line breaks and tabs become spaces. Other control characters,
// directions and other invisible format characters of Unicode, and bytes that are not UTF-8 become escapes (\x1b,
// \u202e): no terminal acts on them, and the reader sees them. Every form for people cleans each text.
func Clean(s string) string {
	if plain(s) {
		return s
	}
	var b strings.Builder
	for i, r := range s {
		switch {
		case r == utf8.RuneError && !strings.HasPrefix(s[i:], "\ufffd"): // a byte that is not UTF-8
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case strings.ContainsRune("\n\r\t\u2028\u2029\u0085", r):
			b.WriteByte(' ')
		case unicode.IsControl(r):
			fmt.Fprintf(&b, `\x%02x`, r)
		case invisible(r):
			b.WriteString(strings.Trim(strconv.QuoteRuneToASCII(r), "'"))
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// plain reports whether s is printable ASCII.
func plain(s string) bool {
	for i := range len(s) {
		if s[i] < 0x20 || s[i] >= 0x7f {
			return false
		}
	}
	return true
}

// invisible reports whether r changes how text around it reads without showing: direction marks, byte order marks,
// tags, soft hyphens. Joiners stay, emoji and scripts need them.
func invisible(r rune) bool {
	return unicode.Is(unicode.Cf, r) && r != '\u200c' && r != '\u200d' || unicode.Is(unicode.Co, r) || r == '\u2028' || r == '\u2029'
}

// narrow measures as every terminal and every locale does alike: ambiguous characters take one column.
var narrow = twwidth.Options{EastAsianWidth: false, ForceNarrowBorders: true}

// width is the number of columns s takes.
func width(s string) int {
	if plain(s) {
		return len(s)
	}
	return twwidth.WidthWithOptions(s, narrow)
}

// cut shortens s to at most w columns, with an ellipsis where it is cut.
func cut(s string, w int) string {
	// Marks that take no column are bounded as well.
	if width(s) <= w && len(s) <= 16*w {
		return s
	}
	if w < 1 {
		return ""
	}
	head, _ := splitAt(s, w-1)
	return head + "…"
}

// splitAt splits s after at most w columns, between runes.
func splitAt(s string, w int) (head, tail string) {
	used, end := 0, 0
	for i, r := range s {
		n := width(string(r))
		if used+n > w || i > 16*w {
			break
		}
		used += n
		end = i + utf8.RuneLen(r)
	}
	return s[:end], s[end:]
}

// wrap breaks s at spaces into lines of at most w columns. A word wider than a line is broken.
func wrap(s string, w int) []string {
	w = max(w, 4)
	var lines []string
	line := ""
	for _, word := range strings.Fields(s) {
		free := w - width(line) - min(len(line), 1)
		for ; width(word) > free; free = w {
			if line == "" || width(word) > w && free >= w/3 {
				head, tail := splitAt(word, free)
				line, word = joined(" ", line, head), tail
			}
			lines, line = append(lines, line), ""
		}
		line = joined(" ", line, word)
	}
	if line != "" || len(lines) == 0 {
		lines = append(lines, line)
	}
	return lines
}
