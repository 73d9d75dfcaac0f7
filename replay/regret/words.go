package regret

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/ctxkit/ctxkit/jsonl/names"
)

// What counts as a quotation. A word is a name (an identifier, a path or an id, never a word of a natural language);
// a line counts as one word. The measure is the total length of the distinct words that two texts share: one long
// name or two short ones are enough, a coincidence is not.
const (
	minLine    = 32 // bytes, without the white space around it
	maxLine    = 400
	minQuoted  = 16 // bytes of distinct words shared with one block
	maxHolders = 3  // a word in more blocks identifies none of them
	maxWords   = 16 // words kept of one quotation
)

// words yields the distinctive words of a text: names, paths (whole, and their last element by itself) and lines. It
// may yield a word more than once.
func words(text string, yield func(word string)) {
	trailers := slices.ContainsFunc(trailers[:], func(t string) bool { return strings.Contains(text, t) })
	for line := range strings.SplitSeq(text, "\n") {
		if trailers {
			line = beforeTrailer(line)
		}
		names.Each(line, yield)
		if l := bareLine(line); len(l) >= minLine && len(l) <= maxLine && worded(l) {
			yield(l)
		}
	}
}

func hashes(text string) (found []uint64) {
	words(text, func(w string) { found = append(found, names.Hash(w)) })
	return found
}

// trailers begin the lines that clients and git put under the message of every commit. The author of the next commit
// writes them without a quotation.
var trailers = [...]string{"Co-Authored-By: ", "Co-authored-by: ", "Signed-off-by: "}

// beforeTrailer returns a line up to the trailer in it.
func beforeTrailer(line string) string {
	for _, t := range trailers {
		line, _, _ = strings.Cut(line, t)
	}
	return line
}

// bareLine returns a line without the white space around it and without what Read or a search put before it: its
// number, or its file and number.
func bareLine(line string) string {
	line = strings.TrimSpace(line)
	bare, ok := cutNumber(line, "→", "\t", ":", "-")
	if !ok {
		bare = unplaced(line)
	}
	return strings.TrimSpace(bare)
}

// cutNumber cuts a decimal number and one of the separators off the start of a text.
func cutNumber(text string, separators ...string) (rest string, ok bool) {
	digits := 0
	for digits < len(text) && text[digits] >= '0' && text[digits] <= '9' {
		digits++
	}
	if digits > 0 {
		for _, s := range separators {
			if rest, ok := strings.CutPrefix(text[digits:], s); ok {
				return rest, true
			}
		}
	}
	return text, false
}

// unplaced cuts FILE:12: off a line that a search found, and FILE-12- off a line of its context.
func unplaced(line string) string {
	path := false
	for i := 0; i < len(line) && line[i] > ' '; i++ {
		switch line[i] {
		case '/', '.':
			path = true
		case ':', '-':
			if rest, ok := cutNumber(line[i+1:], line[i:i+1]); ok && path {
				return rest
			}
			if line[i] == ':' {
				return line
			}
		}
	}
	return line
}

// worded reports whether a line has letters and more than one word. A line in a script without spaces has words; the
// rule of a table has none.
func worded(line string) bool {
	letters, several := 0, strings.Contains(line, " ")
	for _, c := range line {
		if c < utf8.RuneSelf {
			if 'a' <= c|0x20 && c|0x20 <= 'z' {
				letters++
			}
		} else if unicode.IsLetter(c) {
			letters++
			several = true
		}
		if several && letters >= names.Min {
			return true
		}
	}
	return false
}
