package regret

import (
	"bytes"
	"slices"

	"github.com/ctxkit/ctxkit/jsonl/session"
)

// fold is the normal form in which texts are searched: letters and digits alone, small, without the line numbers that
// Read and searches put before a line. Two texts that differ in white space, quotes, escapes, the case of a name or in
// how a name joins its words (carry_forward, carryForward) have one form; a relative path is a part of the absolute one.
// What is not contained in this form is not contained in any other.
func fold(dst, text []byte) []byte {
	dst = slices.Grow(dst, len(text))
	to, n := dst[len(dst):len(dst)+len(text)], 0
	for len(text) > 0 {
		if c := text[0]; c == ' ' || c >= '0' && c <= '9' {
			_, text, _ = session.CutLineNumber(text)
		}
		line := text
		if end := bytes.IndexByte(text, '\n'); end >= 0 {
			line = text[:end+1]
		}
		text = text[len(line):]
		for _, c := range line {
			c = folded[c]
			to[n] = c
			n += int((c | -c) >> 7) // 1 unless c is 0, without a branch
		}
	}
	return dst[:len(dst)+n]
}

func foldString(text string) string { return string(fold(nil, []byte(text))) }

// folded is the form of a byte, 0 of one that is left out. Bytes of characters outside ASCII stay as they are.
var folded = func() (t [256]byte) {
	for i := range t {
		switch c := byte(i); {
		case c >= 'a' && c <= 'z', c >= '0' && c <= '9', c >= 0x80:
			t[i] = c
		case c >= 'A' && c <= 'Z':
			t[i] = c | 0x20
		}
	}
	return t
}()

// What makes a name: a run of letters, digits, _ and - that is not a word of a natural language.
const (
	minName = 10 // letters and digits
	maxName = 128
)

// eachName yields the names of a text in order, repetitions included, with the place behind each.
func eachName(text []byte, yield func(name []byte, from int)) {
	for i := 0; i+minName <= len(text); {
		// A run from i on that is long enough holds the byte at its other end: most runs are shorter.
		from := i + minName
		for from > i && nameByte[text[from-1]] {
			from--
		}
		if from > i {
			i = from
			continue
		}
		for i += minName; i < len(text) && nameByte[text[i]]; {
			i++
		}
		to := i
		if text[from] == '-' { // an option of a command: what it offers is no secret
			continue
		}
		for from < to && (text[from] == '-' || text[from] == '_') {
			from++
		}
		for from < to && (text[to-1] == '-' || text[to-1] == '_') {
			to--
		}
		if to-from >= minName && to-from <= maxName && named(text[from:to]) {
			yield(text[from:to], from)
		}
	}
}

var nameByte = func() (t [256]bool) {
	for _, c := range []byte("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") {
		t[c] = true
	}
	return t
}()

// named reports whether a run of name bytes is a name: it has a digit, an underscore, a hyphen or a capital after a
// small letter, and enough letters and digits.
func named(w []byte) bool {
	size, mark := 0, false
	for i := 0; i < len(w); i++ {
		c := w[i]
		if folded[c] == 0 {
			mark = true
			continue
		}
		size++
		mark = mark || c <= '9' || c <= 'Z' && i > 0 && w[i-1] >= 'a' && w[i-1] <= 'z'
	}
	return mark && size >= minName
}

// hashName is FNV-1a, 64 bits, of the normal form.
func hashName(s []byte) uint64 {
	h := uint64(14695981039346656037)
	for i := 0; i < len(s); i++ {
		if c := folded[s[i]]; c != 0 {
			h = (h ^ uint64(c)) * 1099511628211
		}
	}
	return h
}
