package anonymize

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// letterRuns yields the longest runs of letters of any script, and of ASCII letters in them.
func letterRuns(s string, yield func(run string)) {
	for run := range strings.FieldsFuncSeq(s, func(r rune) bool { return !anyLetter(r) }) {
		yield(run)
		for part := range strings.FieldsFuncSeq(run, func(r rune) bool { return r >= utf8.RuneSelf }) {
			if len(part) < len(run) {
				yield(part)
			}
		}
	}
}

// prefix is the length of the longest prefix of s whose runes are all in, in bytes.
func prefix(s string, in func(rune) bool) int {
	if n := strings.IndexFunc(s, func(r rune) bool { return !in(r) }); n >= 0 {
		return n
	}
	return len(s)
}

// anyLetter reports whether a rune is a letter of any script.
func anyLetter(r rune) bool {
	if r < utf8.RuneSelf {
		return isLetter(byte(r))
	}
	return foreignLetter(r)
}

// latin reports whether a rune is a Latin letter or an ASCII digit.
func latin(r rune) bool {
	if r < utf8.RuneSelf {
		return isLetter(byte(r)) || isDigit(byte(r))
	}
	return latinLetter(r)
}

// otherScript reports whether a rune is a letter or digit of another script; combining marks, emoji and the like are not.
func otherScript(r rune) bool {
	return r >= utf8.RuneSelf && !latinLetter(r) && (foreignLetter(r) || unicode.IsDigit(r))
}

// latinLetter reports whether a rune is a Latin letter of ordinary words beyond ASCII, not a wide or a phonetic one.
func latinLetter(r rune) bool {
	return r >= 0xC0 && r < 0x250 && r != 0xD7 && r != 0xF7 || r >= 0x1E00 && r < 0x1F00
}

// lowered is a word in lower case, of which each rune keeps its length.
func lowered(s string) string {
	return strings.Map(func(r rune) rune { return sameLength(r, unicode.ToLower(r)) }, s)
}

// appendCased appends a substitute for w with the capitals of w.
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

// foreignLetter reports whether a rune beyond ASCII is a letter, or is read as one.
func foreignLetter(r rune) bool {
	return unicode.IsLetter(r) || rangeOf(symbols, r) >= 0
}

// symbols are the ranges of runes that are no letters by their category but become letters in normalisation form KC
// (Unicode 15), such as ⓐ, and of those that look like a letter: 🅐, 🅰, the pairs of flags, tags. Signs such as № and
// ™ are left out.
var symbols = [][2]rune{
	{0x2160, 0x217F}, {0x249C, 0x24E9}, {0x2E9F, 0x2E9F}, {0x2EF3, 0x2EF3}, {0x2F00, 0x2FD5}, {0x3038, 0x303A}, {0x3192, 0x319F},
	{0x3200, 0x321E}, {0x3220, 0x3247}, {0x3250, 0x3250}, {0x3260, 0x327E}, {0x3280, 0x32B0}, {0x32C0, 0x33FF},
	{0x1F110, 0x1F12E}, {0x1F130, 0x1F14F}, {0x1F150, 0x1F169}, {0x1F170, 0x1F189}, {0x1F1E6, 0x1F1FF}, {0x1F200, 0x1F202}, {0x1F210, 0x1F23B},
	{0x1F240, 0x1F248}, {0x1F250, 0x1F251}, {0xE0030, 0xE0039}, {0xE0041, 0xE005A}, {0xE0061, 0xE007A},
}

// alphabets are ranges of letters that substitute for one another. The runes of one range have the same length in
// UTF-8.
var alphabets = [][2]rune{
	{0xDF, 0xF6}, {0xC0, 0xD6}, {0xF8, 0xFF}, {0x100, 0x17E}, {0x3B1, 0x3C9}, {0x391, 0x3A1}, {0x430, 0x44F}, {0x410, 0x42F}, {0x5D0, 0x5EA}, {0x627, 0x63A},
	{0x905, 0x939}, {0xE01, 0xE2E}, {0x3041, 0x3096}, {0x30A1, 0x30FA}, {0x4E00, 0x9FA5}, {0xAC00, 0xD7A3}, {0x20000, 0x2A6D6},
	{0x2160, 0x216F}, {0x2170, 0x217F}, {0x249C, 0x24B5}, {0x24B6, 0x24CF}, {0x24D0, 0x24E9}, {0x3260, 0x327E}, {0x3280, 0x32B0},
	{0xFF10, 0xFF19}, {0xFF21, 0xFF3A}, {0xFF41, 0xFF5A}, {0x1F130, 0x1F149}, {0x1F150, 0x1F169}, {0x1F170, 0x1F189}, {0x1F1E6, 0x1F1FF},
	{0xE0030, 0xE0039}, {0xE0041, 0xE005A}, {0xE0061, 0xE007A},
}

// rangeOf is the index of the range that holds a rune, or -1.
func rangeOf(ranges [][2]rune, r rune) int {
	return slices.IndexFunc(ranges, func(a [2]rune) bool { return r >= a[0] && r <= a[1] })
}

func isLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }
func isDigit(c byte) bool  { return c >= '0' && c <= '9' }
