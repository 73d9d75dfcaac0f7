package anonymize

import (
	"maps"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/ctxkit/ctxkit/jsonl/pattern"
)

// codebook gives each part of a name one substitute, different from those of other parts: ids, paths and the names of
// tools remain the same ones in all files of a session, and a path below another remains below it. A substitute has the
// length of its part in UTF-16 units, in UTF-8 and in JSON, and its pattern of capitals, digits and hexadecimal digits.
type codebook struct {
	*pools
	voc      *vocabulary
	shift    shift
	seed     [32]byte
	avoid    func(string) bool // words that no substitute may hold
	assigned map[string]string // part -> substitute
	taken    map[string]bool   // substitutes
	ids      map[string]string // whole names with a substitute of their own
}

const (
	longWord = 6  // letters; a longer word must not be in the output
	maxNoted = 64 // bytes; a longer run is data and has no entry
	maxTries = 64 // after these, two parts may share a substitute
)

// isLong reports whether a word must not be in the output, and is no data.
func isLong(w string) bool {
	return len(w) > longWord && len(w) <= maxNoted && utf8.RuneCountInString(w) > longWord
}

// timed matches ids of OpenCode, which begin with their time and are ordered by it: it stays, as times do.
var timed = pattern.New(`^[a-z]{3}_[0-9a-f]{12}[0-9A-Za-z]{14}$`)

// timedUUID matches UUIDs of version 7, of which that is true, too.
var timedUUID = pattern.New(`^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}$`)

const (
	uuidLength  = 36
	uuidTime    = len("01900000-0000-7")
	timedLength = 30
	timedTime   = len("ses_2a0001ffe001")
)

// name appends the substitute of an id, a path or another name.
func (c *codebook) name(dst []byte, s string) []byte {
	if other := c.ids[s]; other != "" {
		return append(dst, other...)
	}
	if len(s) == timedLength && timed().MatchString(s) {
		return c.text(append(dst, c.shift.id(s[:timedTime])...), s[timedTime:])
	}
	return c.text(dst, s)
}

// order gives UUIDs that begin with their time substitutes in the same order: also those of one time.
func (c *codebook) order(uuids map[string]bool) {
	list := slices.Sorted(maps.Keys(uuids))
	c.ids = make(map[string]string, len(list))
	for len(list) > 0 {
		time := list[0][:uuidTime]
		n := 1
		for n < len(list) && list[n][:uuidTime] == time {
			n++
		}
		d := newDraw(&c.seed, 'u', time)
		var tails []string
		for range n {
			tail := []byte(list[0][uuidTime:])
			for i := range tail {
				if tail[i] != '-' {
					tail[i] = "0123456789abcdef"[d.n(16)]
				}
			}
			tails = append(tails, string(tail))
		}
		slices.Sort(tails)
		for i := range n {
			c.ids[list[i]] = c.shift.id(time) + tails[i]
		}
		list = list[n:]
	}
}

// text appends s with substitutes for its parts. The result has the runes of s, one by one, except for letters and digits.
func (c *codebook) text(dst []byte, s string) []byte {
	for i, n := 0, 0; i < len(s); i += n {
		m := c.voc.markerAt(s, i)
		if n = len(m); n > 0 {
			dst = append(dst, m...)
		} else if n = prefix(s[i:], latin); n > 0 {
			dst = c.run(dst, s[i:i+n])
		} else if n = prefix(s[i:], otherScript); n > 0 {
			dst = append(dst, c.lookup(s[i:i+n], func(d *draw, out []byte) { d.each(s[i:i+n], out, nil) })...)
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

// run appends the substitute of Latin letters and digits.
func (c *codebook) run(dst []byte, r string) []byte {
	if c.voc.kept[lowered(r)] {
		return append(dst, r...)
	}
	letters := 0
	digits := 0
	hex := len(r) > 3
	for _, b := range []byte(r) {
		hex = hex && (isDigit(b) || isLetter(b) && b|0x20 <= 'f')
		if isDigit(b) {
			digits++
		} else {
			letters++
		}
	}
	if len(r) > maxNoted || digits > 0 {
		return append(dst, c.mixed(r, hex && letters > 0)...)
	}
	start := len(dst)
	humps(r, func(h string) { dst = appendCased(dst, h, c.word(lowered(h))) })
	if c.reveals(string(dst[start:])) { // two substitutes together make a word of the original
		dst = append(dst[:start], c.mixed(r, false)...)
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

// word is the substitute of a word in lower case.
func (c *codebook) word(low string) string {
	ascii := strings.IndexFunc(low, func(r rune) bool { return r >= utf8.RuneSelf }) < 0
	return c.lookup(low, func(d *draw, out []byte) {
		if ascii && len(low) <= maxWord && len(low) > 2 {
			copy(out, c.compose(d, len(low), max(1, int(c.count(' ', low)[0]))))
			return
		}
		d.each(low, out, func(byte) byte { return 'a' + byte(d.n(26)) })
	})
}

// mixed is the substitute of a run with digits, or of a long one: ids, hashes, numbers, data. Letters become letters of
// their case, digits digits, and hexadecimal stays hexadecimal.
func (c *codebook) mixed(r string, hex bool) string {
	return c.lookup(r, func(d *draw, out []byte) {
		d.each(r, out, func(b byte) byte {
			switch {
			case isDigit(b):
				return '0' + byte(d.n(10))
			case hex:
				return b&0x20 | 'A' + byte(d.n(6))
			}
			return b&0x20 | 'A' + byte(d.n(26))
		})
	})
}

// lookup is the substitute of a part, which fill draws. Parts of one or two characters, of which there may be as many as
// substitutes, share none either.
func (c *codebook) lookup(w string, fill func(d *draw, out []byte)) string {
	if s, ok := c.assigned[w]; ok {
		return s
	}
	data := len(w) > maxNoted
	d := newDraw(&c.seed, 'n', w)
	out := make([]byte, len(w))
	for try := range 2 * maxTries {
		if fill(d, out); try > maxTries {
			d.each(w, out, func(b byte) byte {
				if isDigit(b) {
					return '0' + byte(d.n(10))
				}
				return b&0x20 | 'A' + byte(d.n(26))
			})
		}
		if s := string(out); s != w && (data || !c.taken[s]) && !c.reveals(s) {
			break
		}
	}
	s := string(out)
	if !data {
		if c.taken[s] {
			s = c.next(w, out)
		}
		c.assigned[w] = s
		c.taken[s] = true
	}
	return s
}

// next is the next free substitute after out of a part of one or two ASCII letters or digits: the part itself where it is
// the only one, out where there is none.
func (c *codebook) next(w string, out []byte) string {
	from := string(out)
	if len(w) > 2 || w[0] >= utf8.RuneSelf {
		return from
	}
	step := func(b byte) (byte, bool) {
		switch b {
		case '9':
			return '0', true
		case 'z':
			return 'a', true
		case 'Z':
			return 'A', true
		}
		return b + 1, false
	}
	for {
		for i := len(out) - 1; i >= 0; i-- {
			carry := false
			if out[i], carry = step(out[i]); !carry {
				break
			}
		}
		switch s := string(out); {
		case s == from && c.taken[w]:
			return from
		case s == from:
			return w
		case s != w && !c.taken[s]:
			return s
		}
	}
}

// reveals reports whether a substitute contains a word that must not be in the output.
func (c *codebook) reveals(s string) bool {
	found := false
	letterRuns(s, func(run string) { found = found || c.avoid(run) })
	return found
}
