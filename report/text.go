package report

import (
	"fmt"
	"iter"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/olekukonko/tablewriter/pkg/twwidth"

	"github.com/ctxkit/ctxkit/jsonl/pattern"
)

// Clean makes a text of a transcript safe to print. Line breaks and tabs become spaces. Other control characters,
// directions and other invisible format characters of Unicode, and bytes that are not UTF-8 become escapes (\x1b,
// \u202e): no terminal acts on them, and the reader sees them. A text has no command of a CI system (##[error]) either.
// Every form for people cleans each text.
func Clean(s string) string {
	if strings.Contains(s, "##") {
		s = commandMark().ReplaceAllString(s, `#\#$1`)
	}
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

// commandMark begins what GitHub, Azure and TeamCity take for a command anywhere in a line of a log.
var commandMark = pattern.New(`##(\w*\[)`)

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

// Width is the number of columns that a text takes on a terminal.
func Width(s string) int { return width(s) }

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
	used := 0
	end := 0
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

// pieces are the parts of a word that a line should not divide: it ends behind separators, and around wide
// characters, whose scripts have no spaces.
func pieces(word, separators string) iter.Seq[string] {
	return func(yield func(string) bool) {
		from := 0
		wide := false
		for i, r := range word {
			was := wide
			if wide = r > 0x7f && width(string(r)) > 1; i > from && (wide || was) {
				if !yield(word[from:i]) {
					return
				}
				from = i
			}
			if i > from && strings.ContainsRune(separators, r) {
				if !yield(word[from : i+1]) {
					return
				}
				from = i + 1
			}
		}
		if from < len(word) {
			yield(word[from:])
		}
	}
}

// textWords are the words of a text; a percent sign belongs to the number before it.
func textWords(s string) iter.Seq[string] {
	return func(yield func(string) bool) {
		last := ""
		for word := range strings.FieldsSeq(s) {
			if strings.HasPrefix(word, "%") && last != "" && len(last) < 16 {
				last += " " + word
				continue
			}
			if last != "" && !yield(last) {
				return
			}
			last = word
		}
		if last != "" {
			yield(last)
		}
	}
}

// narrowestLine is the least width of a line that is wrapped.
const narrowestLine = 4

// wrap divides s at spaces into lines of at most w columns. A word wider than a line is broken behind a slash or a
// comma, and elsewhere only where a part of it is wider than a line.
func wrap(s string, w int) []string {
	w = max(w, narrowestLine)
	var lines []string
	line := ""
	add := func(joint, text string) {
		if n := width(line); n > 0 && n+len(joint)+width(text) > w {
			lines = append(lines, line)
			line = ""
		}
		line = joined(joint, line, text)
	}
	for word := range textWords(s) {
		if width(word) <= w {
			add(" ", word)
			continue
		}
		joint := " "
		for piece := range pieces(word, "/,") {
			for len(piece) > 16*w || width(piece) > w {
				if line != "" {
					lines = append(lines, line)
					line = ""
				}
				head, tail := splitAt(piece, w)
				lines = append(lines, head)
				piece = tail
			}
			add(joint, piece)
			joint = ""
		}
	}
	if line != "" || len(lines) == 0 {
		lines = append(lines, line)
	}
	return lines
}

// shortPath shortens a path to at most w columns. It leaves out of its middle: the file and the folders nearest to it
// tell paths apart, and the first element says where it begins.
func shortPath(path string, w int) string {
	path = Clean(path)
	if width(path) <= w {
		return path
	}
	elements := strings.SplitAfter(path, "/")
	tail := ""
	from := len(elements)
	for from > 0 && width(elements[from-1])+width(tail)+2 <= w {
		from--
		tail = elements[from] + tail
	}
	if tail == "" { // the file's name alone is too long
		return shortMiddle(path, w)
	}
	head := ""
	for _, e := range elements[:from] {
		if width(head+e)+width(tail)+2 > w {
			break
		}
		head += e
	}
	return head + "…/" + tail
}

// shortMiddle shortens a text to at most w columns by leaving out of its middle.
func shortMiddle(s string, w int) string {
	if width(s) <= w && len(s) <= 16*w {
		return s
	}
	head, _ := splitAt(s, w/2)
	end := len(s)
	for used := 1 + width(head); end > len(head); {
		r, size := utf8.DecodeLastRuneInString(s[:end])
		if used += width(string(r)); used > w || len(s)-end > 16*w {
			break
		}
		end -= size
	}
	return head + "…" + s[end:]
}
