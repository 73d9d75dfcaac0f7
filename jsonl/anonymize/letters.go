package anonymize

import (
	"fmt"
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
var symbols = ranges(`
	2160-217F 249C-24E9 2E9F-2E9F 2EF3-2EF3 2F00-2FD5 3038-303A 3192-319F 3200-321E 3220-3247 3250-3250 3260-327E
	3280-32B0 32C0-33FF 1F110-1F12E 1F130-1F14F 1F150-1F169 1F170-1F189 1F1E6-1F1FF 1F200-1F202 1F210-1F23B 1F240-1F248
	1F250-1F251 E0030-E0039 E0041-E005A E0061-E007A
`)

// alphabets are ranges of letters that substitute for one another. The runes of one range have the same length in
// UTF-8.
var alphabets = ranges(`
	DF-F6 C0-D6 F8-FF 100-17E 3B1-3C9 391-3A1 430-44F 410-42F 5D0-5EA 627-63A 905-939 E01-E2E 3041-3096 30A1-30FA
	4E00-9FA5 AC00-D7A3 20000-2A6D6 2160-216F 2170-217F 249C-24B5 24B6-24CF 24D0-24E9 3260-327E 3280-32B0 FF10-FF19
	FF21-FF3A FF41-FF5A 1F130-1F149 1F150-1F169 1F170-1F189 1F1E6-1F1FF E0030-E0039 E0041-E005A E0061-E007A
`)

// ranges reads the first and the last runes of ranges, in hexadecimal.
func ranges(text string) (list [][2]rune) {
	for _, word := range strings.Fields(text) {
		var r [2]rune
		_, _ = fmt.Sscanf(word, "%x-%x", &r[0], &r[1])
		list = append(list, r)
	}
	return list
}

// rangeOf is the index of the range that holds a rune, or -1.
func rangeOf(ranges [][2]rune, r rune) int {
	return slices.IndexFunc(ranges, func(a [2]rune) bool { return r >= a[0] && r <= a[1] })
}

func isLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }
func isDigit(c byte) bool  { return c >= '0' && c <= '9' }
