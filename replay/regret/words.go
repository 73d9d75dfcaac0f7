package regret

import (
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/ctxkit/ctxkit/jsonl/names"
)

// What counts as a quotation. A word is a name (an identifier, a path or an id,
// never a word of a natural language); a line counts as one word. What was
// quoted is told by the total length of the distinct words two texts share, so
// that one long name or two short ones are enough and a chance meeting is not.
const (
	minLine    = 32 // bytes, white space around it left out
	maxLine    = 400
	minQuoted  = 16 // bytes of distinct words shared with one block
	maxHolders = 3  // a word in more blocks than that is common property
	maxWords   = 16 // words kept of one quotation
)

// words yields the distinctive words of a text: names, paths (whole, and their
// last element by itself) and lines. A word may come more than once.
func words(text string, yield func(word string)) {
	trailers := hasTrailer(text)
	for len(text) > 0 {
		line := text
		if i := strings.IndexByte(text, '\n'); i >= 0 {
			line, text = text[:i], text[i+1:]
		} else {
			text = ""
		}
		if trailers {
			line = beforeTrailer(line)
		}
		names.Each(line, yield)
		if l := bareLine(line); len(l) >= minLine && len(l) <= maxLine && worded(l) {
			yield(l)
		}
	}
}

// trailers are what clients and git itself put under every message of a commit:
// whoever commits writes them again from what he knows.
var trailers = [...]string{"Co-Authored-By: ", "Co-authored-by: ", "Signed-off-by: "}

func hasTrailer(text string) bool {
	for _, t := range trailers {
		if strings.Contains(text, t) {
			return true
		}
	}
	return false
}

// beforeTrailer is a line up to the trailer in it.
func beforeTrailer(line string) string {
	for _, t := range trailers {
		if i := strings.Index(line, t); i >= 0 {
			line = line[:i]
		}
	}
	return line
}

// bareLine is a line without the white space around it and without what a
// file's reader or a search puts before it: its number, or its file and number.
func bareLine(line string) string {
	l := strings.TrimSpace(line)
	digits := 0
	for digits < len(l) && l[digits] >= '0' && l[digits] <= '9' {
		digits++
	}
	if digits > 0 {
		for _, sep := range []string{"→", "\t", ":", "-"} {
			if rest, ok := strings.CutPrefix(l[digits:], sep); ok {
				return strings.TrimSpace(rest)
			}
		}
	}
	return strings.TrimSpace(unplaced(l))
}

// unplaced takes FILE:12: off what a search shows, and FILE-12- off what stands
// beside it.
func unplaced(line string) string {
	path := false
	for i := 0; i < len(line) && line[i] > ' '; i++ {
		switch c := line[i]; c {
		case '/', '.':
			path = true
		case ':', '-':
			if rest, ok := unnumber(line[i+1:], c); ok && path {
				return rest
			}
			if c == ':' {
				return line
			}
		}
	}
	return line
}

// unnumber takes a number and what ends it off a text.
func unnumber(text string, end byte) (rest string, ok bool) {
	digits := 0
	for digits < len(text) && text[digits] >= '0' && text[digits] <= '9' {
		digits++
	}
	if digits == 0 || digits == len(text) || text[digits] != end {
		return text, false
	}
	return text[digits+1:], true
}

// worded reports whether a line says something: letters, and more than one
// word. Scripts that set no spaces have their words all the same; the rule of
// a table has none.
func worded(line string) bool {
	letters, several := 0, strings.IndexByte(line, ' ') >= 0
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

// known keeps the distinctive words of texts; nil keeps nothing. Several
// goroutines may use one.
type known struct {
	mu     sync.RWMutex
	byText map[string][]uint64
	room   int // bytes that may still be kept
}

// words is the hashes of the distinctive words of a text. Nobody may change
// them.
func (k *known) words(text string) []uint64 {
	if text == "" {
		return nil
	}
	if k == nil {
		return hashes(text)
	}
	k.mu.RLock()
	found, ok := k.byText[text]
	k.mu.RUnlock()
	if ok {
		return found
	}
	found = hashes(text)
	k.mu.Lock()
	defer k.mu.Unlock()
	if size := len(text) + 8*len(found); size <= k.room {
		k.room -= size
		k.byText[text] = found
	}
	return found
}

func hashes(text string) (found []uint64) {
	words(text, func(w string) { found = append(found, names.Hash(w)) })
	return found
}
