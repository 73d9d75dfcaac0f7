package anonymize

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// letterRuns yields the longest stretches of letters, of whatever script, and
// those of ASCII letters in them.
func letterRuns(s string, yield func(run string)) {
	for i := 0; i < len(s); {
		n, ascii := letters(s[i:])
		if n == 0 {
			_, size := utf8.DecodeRuneInString(s[i:])
			i += size
			continue
		}
		run := s[i : i+n]
		yield(run)
		for k := 0; k < n && !ascii; {
			from := k
			for k < n && isLetter(run[k]) {
				k++
			}
			if k > from {
				yield(run[from:k])
			} else {
				k++
			}
		}
		i += n
	}
}

// letters is how many bytes of letters s begins with, and whether all of them
// are ASCII.
func letters(s string) (n int, ascii bool) {
	ascii = true
	for n < len(s) {
		if isLetter(s[n]) {
			n++
			continue
		}
		r, size := utf8.DecodeRuneInString(s[n:])
		if r < utf8.RuneSelf || !foreignLetter(r) {
			break
		}
		ascii = false
		n += size
	}
	return n, ascii
}

// latin is how many bytes of Latin letters and ASCII digits s begins with.
func latin(s string) int {
	n := 0
	for n < len(s) {
		if isLetter(s[n]) || isDigit(s[n]) {
			n++
			continue
		}
		r, size := utf8.DecodeRuneInString(s[n:])
		if !latinLetter(r) {
			break
		}
		n += size
	}
	return n
}

// latinLetter reports whether a rune is a Latin letter beyond ASCII that words
// are written with, not a wide or a phonetic one.
func latinLetter(r rune) bool {
	return r >= 0xC0 && r < 0x250 && r != 0xD7 && r != 0xF7 || r >= 0x1E00 && r < 0x1F00
}

// parts cuts a run at numbers, and the words between them in humps.
func parts(r string, yield func(from, to int)) {
	for i := 0; i < len(r); {
		to := i + 1
		for to < len(r) && isDigit(r[to]) == isDigit(r[i]) {
			to++
		}
		if isDigit(r[i]) {
			yield(i, to)
		} else {
			at := i
			humps(r[i:to], func(h string) {
				yield(at, at+len(h))
				at += len(h)
			})
		}
		i = to
	}
}

// numbered reports whether a run is of words and numbers, and no id: there are
// few of them, and a word that is short is the first or last.
func numbered(r string) bool {
	n, long, short := 0, 0, 0
	parts(r, func(i, j int) {
		n++
		switch {
		case isDigit(r[i]):
		case j-i > keptLetters:
			long++
		case i > 0 && j < len(r):
			short++
		}
	})
	return len(r) <= maxNoted && n <= maxParts && long > 0 && short == 0
}

// maxParts is of how many words and numbers a name is made at most.
const maxParts = 5

// escapes reports whether s[i] is the letter of an escape such as \n.
func escapes(s string, i int) bool {
	return i > 0 && s[i-1] == '\\' && strings.IndexByte("nrt", s[i]) >= 0
}

// lowered is a word in lower case, each rune of the length it had.
func lowered(s string) string {
	return strings.Map(func(r rune) rune { return sameLength(r, unicode.ToLower(r)) }, s)
}

// appendCased appends a stand-in for w, whose letters are capitals where those
// of w are.
func appendCased(dst []byte, w, stand string) []byte {
	for i, r := range stand {
		if o, _ := utf8.DecodeRuneInString(w[i:]); unicode.IsUpper(o) {
			r = sameLength(r, unicode.ToUpper(r))
		}
		dst = utf8.AppendRune(dst, r)
	}
	return dst
}

// sameLength is the other rune, if it is as long as r in UTF-8.
func sameLength(r, other rune) rune {
	if utf8.RuneLen(r) != utf8.RuneLen(other) {
		return r
	}
	return other
}

// foreign is how many bytes of letters and digits of other scripts s begins with;
// combining marks, emoji and the like are none.
func foreign(s string) int {
	n := 0
	for n < len(s) {
		r, size := utf8.DecodeRuneInString(s[n:])
		if r < utf8.RuneSelf || latinLetter(r) || !foreignLetter(r) && !unicode.IsDigit(r) {
			break
		}
		n += size
	}
	return n
}

// foreignLetter reports whether a rune beyond ASCII is a letter, or a symbol
// that is read as one.
func foreignLetter(r rune) bool {
	if unicode.IsLetter(r) {
		return true
	}
	for _, s := range symbols {
		if r >= s[0] && r <= s[1] {
			return true
		}
	}
	return false
}

// symbols are the stretches of runes that are no letters by their category and
// become letters in normalisation form KC (Unicode 15), such as ⓐ; and those
// that have the look of a letter: 🅐, 🅰, the pairs of flags, tags. Signs such as
// № and ™ are left out.
var symbols = [][2]rune{
	{0x2160, 0x217F}, {0x249C, 0x24E9}, {0x2E9F, 0x2E9F}, {0x2EF3, 0x2EF3}, {0x2F00, 0x2FD5}, {0x3038, 0x303A}, {0x3192, 0x319F},
	{0x3200, 0x321E}, {0x3220, 0x3247}, {0x3250, 0x3250}, {0x3260, 0x327E}, {0x3280, 0x32B0}, {0x32C0, 0x33FF},
	{0x1F110, 0x1F12E}, {0x1F130, 0x1F14F}, {0x1F150, 0x1F169}, {0x1F170, 0x1F189}, {0x1F1E6, 0x1F1FF}, {0x1F200, 0x1F202}, {0x1F210, 0x1F23B},
	{0x1F240, 0x1F248}, {0x1F250, 0x1F251}, {0xE0030, 0xE0039}, {0xE0041, 0xE005A}, {0xE0061, 0xE007A},
}

// alphabets are stretches of letters whose runes stand in for one another. The
// runes of one are of one length in UTF-8.
var alphabets = [][2]rune{
	{0xDF, 0xF6}, {0xC0, 0xD6}, {0xF8, 0xFF}, {0x100, 0x17E}, {0x3B1, 0x3C9}, {0x391, 0x3A1}, {0x430, 0x44F}, {0x410, 0x42F}, {0x5D0, 0x5EA}, {0x627, 0x63A},
	{0x905, 0x939}, {0xE01, 0xE2E}, {0x3041, 0x3096}, {0x30A1, 0x30FA}, {0x4E00, 0x9FA5}, {0xAC00, 0xD7A3}, {0x20000, 0x2A6D6},
	{0x2160, 0x216F}, {0x2170, 0x217F}, {0x249C, 0x24B5}, {0x24B6, 0x24CF}, {0x24D0, 0x24E9}, {0x3260, 0x327E}, {0x3280, 0x32B0},
	{0xFF10, 0xFF19}, {0xFF21, 0xFF3A}, {0xFF41, 0xFF5A}, {0x1F130, 0x1F149}, {0x1F150, 0x1F169}, {0x1F170, 0x1F189}, {0x1F1E6, 0x1F1FF},
	{0xE0030, 0xE0039}, {0xE0041, 0xE005A}, {0xE0061, 0xE007A},
}

// alphabetOf is the index of the alphabet of a letter, -1 where it is in none.
func alphabetOf(r rune) int {
	return slices.IndexFunc(alphabets, func(a [2]rune) bool { return r >= a[0] && r <= a[1] })
}

func isLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }
func isDigit(c byte) bool  { return c >= '0' && c <= '9' }
