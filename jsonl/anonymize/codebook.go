package anonymize

import (
	"crypto/sha256"
	"encoding/binary"
	"strings"
	"unicode"
	"unicode/utf8"
)

// codebook gives every word its stand-in: the same one wherever it stands,
// another one for every other word. A stand-in has the length of its word in
// UTF-16 units, in UTF-8 and in JSON, and its pattern of capitals, digits and
// hexadecimal digits.
type codebook struct {
	seed      [32]byte
	originals map[string]bool // words that no stand-in may be
	stand     map[string]string
	taken     map[string]bool
}

func newCodebook() *codebook {
	return &codebook{originals: map[string]bool{}, stand: map[string]string{}, taken: map[string]bool{}}
}

const (
	keptLetters = 2  // words up to this long stay: they name nobody
	longWord    = 6  // letters; longer words must be gone from the output
	maxNoted    = 64 // bytes; a longer stretch is data and has no entry of its own
	maxTries    = 64 // until two short words may share a stand-in
)

// note notes the words of a text, so that no stand-in is one of them.
func (c *codebook) note(s string) {
	letterRuns(s, func(run string) {
		if isLong(run) {
			c.originals[strings.ToLower(run)] = true
			humps(run, func(h string) { c.originals[strings.ToLower(h)] = true })
		}
	})
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
		case isLetter(s[i]) || isDigit(s[i]):
			for i+n < len(s) && (isLetter(s[i+n]) || isDigit(s[i+n])) {
				n++
			}
			dst = c.run(dst, s[i:i+n])
			word = true
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

// run is a stretch of ASCII letters and digits.
func (c *codebook) run(dst []byte, s string) []byte {
	letters, digits := 0, 0
	for i := range len(s) {
		if isDigit(s[i]) {
			digits++
		} else {
			letters++
		}
	}
	if digits > 0 || len(s) > maxNoted {
		return append(dst, c.mixed(s, letters)...)
	}
	if len(s) <= keptLetters || kept[strings.ToLower(s)] {
		return append(dst, s...)
	}
	humps(s, func(h string) { dst = c.word(dst, h) })
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

// word is letters only; its stand-in takes over the capitals.
func (c *codebook) word(dst []byte, w string) []byte {
	low := strings.ToLower(w)
	s := c.lookup(low, func(d *draw, out []byte) {
		vowel := d.n(3) == 0
		for i := range out {
			if vowel {
				out[i] = "aeiou"[d.n(5)]
			} else {
				out[i] = "bcdfghklmnprstvw"[d.n(16)]
			}
			vowel = !vowel
		}
	}, func(d *draw, out []byte) {
		for i := range out {
			out[i] = 'a' + byte(d.n(26))
		}
	})
	for i := range len(w) {
		ch := s[i]
		if w[i] < 'a' {
			ch -= 'a' - 'A'
		}
		dst = append(dst, ch)
	}
	return dst
}

// mixed is a stretch with digits in it, or a long one: ids, hashes, numbers,
// data. Letters become letters of their case, digits digits, and what could be
// hexadecimal stays so.
func (c *codebook) mixed(s string, letters int) string {
	hex := letters > 0 && len(s) > 3
	for i := range len(s) {
		hex = hex && (isDigit(s[i]) || s[i]|0x20 <= 'f')
	}
	fill := func(d *draw, out []byte) {
		for i := range out {
			switch {
			case isDigit(s[i]):
				out[i] = '0' + byte(d.n(10))
			case hex:
				out[i] = s[i]&0x20 | 'A' + byte(d.n(6))
			default:
				out[i] = s[i]&0x20 | 'A' + byte(d.n(26))
			}
		}
	}
	return c.lookup(s, fill, fill)
}

// foreignWord is a stretch of letters beyond ASCII: each becomes a letter of its
// own alphabet, or, where that is not listed, one of the same length.
func (c *codebook) foreignWord(s string) string {
	fill := func(d *draw, out []byte) {
		out = out[:0]
		for _, r := range s {
			out = utf8.AppendRune(out, d.rune(r))
		}
	}
	return c.lookup(s, fill, fill)
}

func (d *draw) rune(r rune) rune {
	for _, a := range alphabets {
		if r >= a[0] && r <= a[1] {
			return a[0] + rune(d.n(int(a[1]-a[0]+1)))
		}
	}
	switch utf8.RuneLen(r) {
	case 2:
		return 0x101 + rune(d.n(0x17E-0x101))
	case 3:
		return 0x4E00 + rune(d.n(0x9FA5-0x4E00))
	}
	return 0x20000 + rune(d.n(0x2A6D6-0x20000))
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

// draw is a stream of numbers that a word and the seed decide.
type draw struct {
	seed  [32]byte
	block [32]byte
	at    int
	round uint64
}

func (c *codebook) draw(w string, try int) *draw {
	h := sha256.New()
	h.Write(c.seed[:])
	h.Write([]byte{byte(try)})
	h.Write([]byte(w))
	d := &draw{at: 32}
	h.Sum(d.seed[:0])
	return d
}

// n is a number from 0 to below.
func (d *draw) n(below int) int {
	if d.at+4 > len(d.block) {
		var in [40]byte
		copy(in[:], d.seed[:])
		binary.LittleEndian.PutUint64(in[32:], d.round)
		d.block = sha256.Sum256(in[:])
		d.at, d.round = 0, d.round+1
	}
	v := binary.LittleEndian.Uint32(d.block[d.at:])
	d.at += 4
	return int(uint64(v) * uint64(below) >> 32)
}
