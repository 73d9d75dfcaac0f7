package anonymize

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// codebook gives every word one substitute, different from those of other words. A substitute has the length of its
// word in UTF-16 units, in UTF-8 and in JSON, and its pattern of capitals, digits and hexadecimal digits; with
// counters it also has about as many tokens.
type codebook struct {
	seed      [32]byte
	originals map[string]bool   // words that no substitute may be
	assigned  map[string]string // word -> substitute
	taken     map[string]bool   // substitutes

	counters []func(string) int
	shared   bool // by several sessions: no substitute depends on the uses of its word
	noting   bool // words are counted, not replaced
	escaped  bool // tokens of noted words are those of the JSON string
	uses     map[string]map[use]int
	letters  map[int]map[[maxCounters]int][]rune // of an alphabet, by their tokens
	scratch  []byte
	surplus  [maxCounters]int // tokens of the substitutes minus those of their words, by counter
	lists    map[int][]string // of words to choose from, by length
	safe     map[string]bool  // words with a meaning for readers: never substitutes
}

func newCodebook(counters []func(string) int) *codebook {
	return &codebook{
		originals: map[string]bool{}, assigned: map[string]string{}, taken: map[string]bool{},
		counters: counters, uses: map[string]map[use]int{}, letters: map[int]map[[maxCounters]int][]rune{}, safe: SafeWords(),
	}
}

const (
	keptLetters = 2  // words up to this long stay: they identify nobody
	longWord    = 6  // letters; a longer word must not be in the output
	maxNoted    = 64 // bytes; a longer run is data and has no entry
	maxTries    = 64 // after these, two short words may share a substitute
)

// note notes the words of a text, which no substitute may be, and their uses.
func (c *codebook) note(s string) {
	letterRuns(s, func(run string) {
		if len(run) <= maxNoted {
			c.originals[strings.ToLower(run)] = true
			humps(run, func(h string) { c.originals[strings.ToLower(h)] = true })
		}
	})
	if len(c.counters) > 0 {
		c.noting = true
		c.scratch = c.text(c.scratch[:0], s)
		c.noting = false
	}
}

// isLong reports whether a word must not be in the output, and is no data.
func isLong(w string) bool {
	return len(w) > longWord && len(w) <= maxNoted && utf8.RuneCountInString(w) > longWord
}

// text appends s with substitutes for its words. The result has the runes of s, one by one, except for letters and
// digits.
func (c *codebook) text(dst []byte, s string) []byte {
	word := false // whether the byte before belongs to a word
	for i, n := 0, 0; i < len(s); i += n {
		m := ""
		if markerBytes[s[i]] && !(word && isLetter(s[i])) {
			m = markerAt(s[i:])
		}
		word = false
		if n = len(m); n > 0 {
			dst = append(dst, m...)
		} else if n = prefix(s[i:], latin); n > 0 {
			dst = c.run(dst, s, i, i+n)
			word = latin(rune(s[i+n-1]))
		} else if n = prefix(s[i:], foreign); n > 0 {
			dst = append(dst, c.foreignWord(s[i:i+n])...)
		} else {
			var r rune
			if r, n = utf8.DecodeRuneInString(s[i:]); r == utf8.RuneError && n == 1 {
				dst = append(dst, inertByte(s[i]))
			} else {
				dst = utf8.AppendRune(dst, inert(r))
			}
		}
	}
	return dst
}

// inert replaces a rune that a terminal acts on, or that is invisible: by one of its length, which is white space
// where r is. Joiners stay: emoji and scripts need them.
func inert(r rune) rune {
	switch {
	case r == 0x7f:
		return '~'
	case r == '\u0085':
		return '\u00a0'
	case r == '\u2028' || r == '\u2029' || r == '\ufeff':
		return '\u2003'
	case r >= 0x80 && r < 0xa0, unicode.Is(unicode.Cf, r) && r != '\u200c' && r != '\u200d', unicode.Is(unicode.Co, r):
		return [...]rune{'~', '\u00b7', '\u2022', '\U0001f7e6'}[utf8.RuneLen(r)-1]
	}
	return r
}

// inertByte replaces a byte that is no UTF-8 and could be an 8-bit control character.
func inertByte(b byte) byte {
	if b < 0xa0 {
		return 0xff
	}
	return b
}

// inertLine replaces the control characters of a line that is no JSON by one that does nothing. They may be the
// reason why it is no JSON.
func inertLine(line []byte) {
	for i, b := range line {
		if b < ' ' && b != '\t' && (b != '\r' || i < len(line)-1) {
			line[i] = 1
		}
	}
}

func markerAt(s string) string {
	for _, m := range markers {
		if strings.HasPrefix(s, m) {
			return m
		}
	}
	return ""
}

// run appends the substitute of the Latin letters and digits s[from:to].
func (c *codebook) run(dst []byte, s string, from, to int) []byte {
	r := s[from:to]
	if len(r) > maxNoted || strings.ContainsAny(r, "0123456789") {
		return append(dst, c.mixed(s, from, to)...)
	}
	if utf8.RuneCountInString(r) <= keptLetters || kept[lowered(r)] {
		return append(dst, r...)
	}
	start := len(dst)
	at := from
	if len(c.counters) > 0 && escapes(s, from) && len(r) > 1 && isLetter(r[1]) && r[1] < 'a' {
		dst = append(dst, r[0]) // of \n in a text, before a word
		at++
		r = r[1:]
	}
	humps(r, func(h string) {
		dst = c.word(dst, s, at, at+len(h), at == from, at+len(h) == to)
		at += len(h)
	})
	if !c.noting && c.reveals(string(dst[start:])) {
		// Two substitutes together make a word of the original.
		dst = append(dst[:start], c.mixed(s, from, to)...)
	}
	return dst
}

// humps cuts camelCase: getHTTPServer is get, HTTP, Server.
func humps(s string, yield func(hump string)) {
	from := 0
	for i := 1; i < len(s); i++ {
		up := s[i] < 'a'
		switch {
		case up && s[i-1] >= 'a', up && i+1 < len(s) && s[i+1] >= 'a':
			yield(s[from:i])
			from = i
		}
	}
	yield(s[from:])
}

// word appends the substitute, with its capitals, of the letters s[from:to], which may begin and end a run of
// letters.
func (c *codebook) word(dst []byte, s string, from, to int, begins, ends bool) []byte {
	w := s[from:to]
	low := lowered(w)
	if c.noting {
		c.countUse(low, useOf(s, from, to, begins, ends, c.escaped))
		return dst
	}
	return appendCased(dst, w, c.wordFor(low))
}

// wordFor is the substitute of a word in lower case.
func (c *codebook) wordFor(low string) string {
	if s, ok := c.assigned[low]; ok {
		return s
	}
	if len(c.counters) > 0 && len(low) <= maxNoted {
		if s := c.choose(low); s != "" {
			c.assigned[low], c.taken[s] = s, true
			return s
		}
	}
	return c.lookup(low, func(d *draw, out []byte) {
		vowel := d.n(3) == 0
		d.each(low, out, func(byte) byte {
			vowel = !vowel
			if !vowel {
				return "aeiou"[d.n(5)]
			}
			return "bcdfghklmnprstvw"[d.n(16)]
		})
	}, func(d *draw, out []byte) {
		d.each(low, out, func(byte) byte { return 'a' + byte(d.n(26)) })
	})
}

// mixed is the substitute of a run with digits, or of a long one: ids, hashes, numbers, data. Letters become letters
// of their case, digits digits, and hexadecimal stays hexadecimal. A word with a number, such as utf8, gets the
// word's substitute.
func (c *codebook) mixed(s string, from, to int) string {
	r := s[from:to]
	letters, hex := 0, len(r) > 3
	for _, b := range []byte(r) {
		hex = hex && (isDigit(b) || isLetter(b) && b|0x20 <= 'f')
		if !isDigit(b) {
			letters++
		}
	}
	hex = hex && letters > 0
	named := func(yield func(i, j int)) { // the words of a name
		if len(c.counters) > 0 && !hex && numbered(r) {
			parts(r, func(i, j int) {
				if j-i > keptLetters && !isDigit(r[i]) {
					yield(i, j)
				}
			})
		}
	}
	if c.noting {
		named(func(i, j int) { c.word(nil, s, from+i, from+j, i == 0, j == len(r)) })
		return ""
	}
	fill := func(d *draw, out []byte) {
		d.each(r, out, func(b byte) byte {
			switch {
			case isDigit(b):
				return '0' + byte(d.n(10))
			case hex:
				return b&0x20 | 'A' + byte(d.n(6))
			}
			return b&0x20 | 'A' + byte(d.n(26))
		})
	}
	return c.lookup(r, func(d *draw, out []byte) {
		fill(d, out)
		named(func(i, j int) { appendCased(out[:i], r[i:j], c.wordFor(lowered(r[i:j]))) })
	}, fill)
}

// foreignWord is the substitute of letters beyond ASCII: each becomes a letter of its own alphabet, or, where that is
// not listed, one of the same length.
func (c *codebook) foreignWord(s string) string {
	wider := func(d *draw, out []byte) { d.each(s, out, nil) }
	switch {
	case c.noting:
		return ""
	case len(c.counters) == 0:
		return c.lookup(s, wider, wider)
	}
	return c.lookup(s, func(d *draw, out []byte) { copy(out, c.alike(d, s)) }, wider)
}

// lookup is the substitute of a word. fill draws it, or wider where fill finds none that is free. Only the shortest
// words, of which there are more than substitutes, share one.
func (c *codebook) lookup(w string, fill, wider func(d *draw, out []byte)) string {
	if s, ok := c.assigned[w]; ok {
		return s
	}
	data := len(w) > maxNoted
	out := make([]byte, len(w))
	for try := range 2 * maxTries {
		if d := c.draw(w, try); try < maxTries {
			fill(d, out)
		} else {
			wider(d, out)
		}
		if s := string(out); s != w && (data || !c.taken[s]) && !c.reveals(s) {
			break
		}
	}
	s := string(out)
	if !data {
		if c.taken[s] {
			s = c.freeNumber(w, s)
		}
		c.assigned[w], c.taken[s] = s, true
	}
	return s
}

// freeNumber is the next number after s that no other word of one or two digits has: w itself where it is the only
// one, s where there is none.
func (c *codebook) freeNumber(w, s string) string {
	first, err := strconv.Atoi(s)
	if err != nil || len(s) > 2 {
		return s
	}
	of := 10
	if len(s) == 2 {
		of = 100
	}
	for n := 1; n < of; n++ {
		if next := fmt.Sprintf("%0*d", len(s), (first+n)%of); next != w && !c.taken[next] {
			return next
		}
	}
	if !c.taken[w] {
		return w
	}
	return s
}

// reveals reports whether a substitute contains a word of the original.
func (c *codebook) reveals(s string) bool {
	found := false
	letterRuns(s, func(run string) {
		found = found || isLong(run) && c.originals[strings.ToLower(run)]
	})
	return found
}
