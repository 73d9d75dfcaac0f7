package report

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/olekukonko/tablewriter/pkg/twwidth"
)

// Clean makes a text that came out of a transcript inert: line breaks and
// tabs become spaces; other control characters, the directions and other
// invisible format characters of Unicode, and bytes that are not UTF-8 are
// written out (\x1b, \u202e), so that no terminal acts on them and nobody is
// misled by what cannot be seen. Every text goes through it before it is
// printed in a form for people.
func Clean(s string) string {
	if plain(s) {
		return s
	}
	var b strings.Builder
	b.Grow(len(s) + 16)
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && n == 1:
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case r == '\n' || r == '\r' || r == '\t' || r == '\u2028' || r == '\u2029' || r == '\u0085':
			b.WriteByte(' ')
		case r < 0x20 || r >= 0x7f && r < 0xa0:
			fmt.Fprintf(&b, `\x%02x`, r)
		case invisible(r):
			b.WriteString(escapeRune(r))
		default:
			b.WriteRune(r)
		}
		i += n
	}
	return b.String()
}

// plain reports whether s is printable ASCII.
func plain(s string) bool {
	for i := 0; i < len(s); i++ {
		if s[i] < 0x20 || s[i] >= 0x7f {
			return false
		}
	}
	return true
}

// invisible reports whether r changes how text around it reads without
// showing: direction marks, byte order marks, tags, soft hyphens. Joiners
// stay, emoji and scripts need them.
func invisible(r rune) bool {
	return unicode.Is(unicode.Cf, r) && r != '\u200c' && r != '\u200d' || unicode.Is(unicode.Co, r) || r == '\u2028' || r == '\u2029'
}

func escapeRune(r rune) string {
	if r > 0xffff {
		return fmt.Sprintf(`\U%08x`, r)
	}
	return fmt.Sprintf(`\u%04x`, r)
}

// narrow measures as every terminal and every locale does alike: ambiguous
// characters take one column.
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

// wrap breaks s at spaces into lines of at most w columns. A word wider than a
// line is broken.
func wrap(s string, w int) []string {
	w = max(w, 4)
	var lines []string
	line := ""
	for _, word := range strings.Fields(s) {
		for word != "" {
			room := w
			if line != "" {
				room = w - width(line) - 1
			}
			head, tail := word, ""
			if width(word) > room {
				head = ""
				if width(word) > w && (line == "" || room >= w/3) {
					head, tail = splitAt(word, room)
				}
			}
			if head == "" {
				lines, line = append(lines, line), ""
				continue
			}
			if line != "" {
				line += " "
			}
			line += head
			if word = tail; tail != "" {
				lines, line = append(lines, line), ""
			}
		}
	}
	if line != "" || len(lines) == 0 {
		lines = append(lines, line)
	}
	return lines
}
