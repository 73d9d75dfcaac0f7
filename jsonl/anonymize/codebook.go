package anonymize

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// codebook gives every word its stand-in: the same one wherever it stands,
// another one for every other word. A stand-in has the length of its word in
// UTF-16 units, in UTF-8 and in JSON, and its pattern of capitals, digits and
// hexadecimal digits; where there are counters, about its tokens, too.
type codebook struct {
	seed      [32]byte
	originals map[string]bool // words that no stand-in may be
	stand     map[string]string
	taken     map[string]bool

	counters []func(string) int
	shared   bool // by several sessions: no stand-in depends on how its word is used
	noting   bool // words are counted, not replaced
	escaped  bool // what is noted counts as it stands in JSON
	uses     map[string]map[use]int
	letters  map[int]map[[maxCounters]int][]rune // of an alphabet, by their tokens
	scratch  []byte
	owed     [maxCounters]int // tokens that the stand-ins are too many, by counter
	lists    map[int][]string // of words to choose from, by length
	safe     map[string]bool  // words that stand for something to readers: no stand-ins
}

func newCodebook(counters []func(string) int) *codebook {
	return &codebook{
		originals: map[string]bool{}, stand: map[string]string{}, taken: map[string]bool{},
		counters: counters, uses: map[string]map[use]int{}, letters: map[int]map[[maxCounters]int][]rune{}, safe: SafeWords(),
	}
}

const (
	keptLetters = 2  // words up to this long stay: they name nobody
	longWord    = 6  // letters; longer words must be gone from the output
	maxNoted    = 64 // bytes; a longer stretch is data and has no entry of its own
	maxTries    = 64 // until two short words may share a stand-in
)

// note notes the words of a text, so that no stand-in is one of them, and how
// they stand in it.
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

// isLong reports whether a word must be gone from the output, and is no data.
func isLong(w string) bool {
	return len(w) > longWord && len(w) <= maxNoted && utf8.RuneCountInString(w) > longWord
}

// text puts stand-ins in the place of words. The result has the runes of s,
// one by one, but for letters and digits.
func (c *codebook) text(dst []byte, s string) []byte {
	word := false // the byte before belongs to a word
	for i := 0; i < len(s); {
		if markerBytes[s[i]] && !(word && isLetter(s[i])) {
			if m := markerAt(s[i:]); m != "" {
				dst = append(dst, m...)
				i += len(m)
				word = false
				continue
			}
		}
		n := 0
		switch {
		case latin(s[i:]) > 0:
			n = latin(s[i:])
			dst = c.run(dst, s, i, i+n)
			word = isLetter(s[i+n-1]) || isDigit(s[i+n-1])
		case s[i] == 0x7f:
			dst = append(dst, '~')
			n, word = 1, false
		case s[i] < utf8.RuneSelf:
			dst = append(dst, s[i])
			n, word = 1, false
		default:
			n = foreign(s[i:])
			if n > 0 {
				dst = append(dst, c.foreignWord(s[i:i+n])...)
			} else {
				var r rune
				if r, n = utf8.DecodeRuneInString(s[i:]); r == utf8.RuneError && n == 1 {
					dst = append(dst, inertByte(s[i]))
				} else {
					dst = utf8.AppendRune(dst, inert(r))
				}
			}
			word = false
		}
		i += n
	}
	return dst
}

// inert is what stands for a rune that a terminal acts on, or that cannot be
// seen and may hide what it says: one of its length that is white space where it
// is. Joiners stay: emoji and scripts need them.
func inert(r rune) rune {
	switch {
	case r == '\u0085':
		return '\u00a0'
	case r == '\u2028' || r == '\u2029' || r == '\ufeff':
		return '\u2003'
	case r >= 0x80 && r < 0xa0, unicode.Is(unicode.Cf, r) && r != '\u200c' && r != '\u200d', unicode.Is(unicode.Co, r):
		return [...]rune{'~', '\u00b7', '\u2022', '\U0001f7e6'}[utf8.RuneLen(r)-1]
	}
	return r
}

// inertByte is what stands for a byte that is no UTF-8: where it could be a
// control character of 8 bits, one that is no UTF-8 anywhere.
func inertByte(b byte) byte {
	if b < 0xa0 {
		return 0xff
	}
	return b
}

// inertLine takes the control characters of a line that is no JSON, perhaps
// because of them, for one that does nothing.
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

// run is a stretch of Latin letters and digits, s[from:to].
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
	if !c.noting && c.tells(string(dst[start:])) {
		// Words of two stand-ins make one of the original.
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

// word is letters only, s[from:to]; its stand-in takes over the capitals. It
// begins or ends a run of letters, or stands in the middle of one.
func (c *codebook) word(dst []byte, s string, from, to int, begins, ends bool) []byte {
	w := s[from:to]
	low := lowered(w)
	if c.noting {
		c.meet(low, useOf(s, from, to, begins, ends, c.escaped))
		return dst
	}
	return appendCased(dst, w, c.wordFor(low))
}

// wordFor is the stand-in of a word in lower case.
func (c *codebook) wordFor(low string) string {
	if s, ok := c.stand[low]; ok {
		return s
	}
	if len(c.counters) > 0 && len(low) <= maxNoted {
		if s := c.choose(low); s != "" {
			c.stand[low], c.taken[s] = s, true
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

// mixed is a stretch with digits in it, or a long one: ids, hashes, numbers,
// data. Letters become letters of their case, digits digits, and what could be
// hexadecimal stays so. A word with a number, such as utf8, keeps the word's
// stand-in.
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
	named := len(c.counters) > 0 && !hex && numbered(r)
	if c.noting {
		if named {
			parts(r, func(i, j int) {
				if j-i > keptLetters && !isDigit(r[i]) {
					c.word(nil, s, from+i, from+j, i == 0, j == len(r))
				}
			})
		}
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
	if !named {
		return c.lookup(r, fill, fill)
	}
	return c.lookup(r, func(d *draw, out []byte) {
		fill(d, out)
		parts(r, func(i, j int) {
			if j-i > keptLetters && !isDigit(r[i]) {
				appendCased(out[:i], r[i:j], c.wordFor(lowered(r[i:j])))
			}
		})
	}, fill)
}

// foreignWord is a stretch of letters beyond ASCII: each becomes a letter of its
// own alphabet, or, where that is not listed, one of the same length.
func (c *codebook) foreignWord(s string) string {
	if c.noting {
		return ""
	}
	if len(c.counters) > 0 {
		return c.lookup(s, func(d *draw, out []byte) { copy(out, c.alike(d, s)) }, func(d *draw, out []byte) { d.each(s, out, nil) })
	}
	fill := func(d *draw, out []byte) { d.each(s, out, nil) }
	return c.lookup(s, fill, fill)
}

// lookup is the stand-in of a word. It is drawn by fill, and where that finds
// none that is free, by wider. Words of which there are more than stand-ins
// share one: the shortest only.
func (c *codebook) lookup(w string, fill, wider func(d *draw, out []byte)) string {
	if s, ok := c.stand[w]; ok {
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
		if s := string(out); s != w && (data || !c.taken[s]) && !c.tells(s) {
			break
		}
	}
	s := string(out)
	if !data {
		c.stand[w], c.taken[s] = s, true
	}
	return s
}

// tells reports whether a stand-in happens to hold a word of the original.
func (c *codebook) tells(s string) bool {
	found := false
	letterRuns(s, func(run string) {
		found = found || isLong(run) && c.originals[strings.ToLower(run)]
	})
	return found
}
