package regret

import (
	"bytes"
	"slices"
	"unicode/utf8"

	"github.com/ctxkit/ctxkit/jsonl/session"
)

// fold is the normal form in which texts are searched: letters and digits alone, small, without the line numbers that
// Read and searches put before a line. Two texts that differ in white space, quotes, escapes, the case of a name or in
// how a name joins its words (carry_forward, carryForward) have one form; a relative path is a part of the absolute one.
// What is not contained in this form is not contained in any other.
func fold(dst, text []byte) []byte {
	dst = slices.Grow(dst, len(text))
	to := dst[len(dst) : len(dst)+len(text)]
	n := 0
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

// foldJSON appends the normal form of what stands between the quotes of a JSON string, as fold of what it says. It notes
// in ends, unless that is nil, where its lines end. It fails where the string has to be decoded first: it is not valid, or
// writes characters in rare ways.
func foldJSON(dst, raw []byte, ends *[]int) ([]byte, bool) {
	dst = slices.Grow(dst, len(raw))
	base := len(dst)
	to := dst[base : base+len(raw)]
	n := 0
	start := 0
	for i := 0; i < len(raw); {
		if i == start {
			var ok bool
			if i, ok = cutNumber(raw, i); !ok {
				return dst, false
			}
			start = -1
			continue
		}
		c := foldedJSON[raw[i]]
		if c != oddJSON {
			to[n] = c
			n += int((c | -c) >> 7) // 1 unless c is 0, without a branch
			i++
			continue
		}
		if raw[i] >= utf8.RuneSelf {
			_, size := utf8.DecodeRune(raw[i:])
			if size == 1 {
				return dst, false
			}
			n += copy(to[n:], raw[i:i+size])
			i += size
			continue
		}
		if raw[i] != '\\' || i+1 == len(raw) {
			return dst, false
		}
		switch raw[i+1] {
		case 'n':
			if start = i + 2; ends != nil {
				*ends = append(*ends, base+n)
			}
		case 't', '"', '\\', '/', 'r', 'b', 'f':
		default:
			if !control(raw[i:]) {
				return dst, false
			}
			i += 4
		}
		i += 2
	}
	if ends != nil && start != len(raw) {
		*ends = append(*ends, base+n)
	}
	return dst[:base+n], true
}

// cutNumber is the index behind the number of the line at raw[i], as [session.CutLineNumber] cuts it, of JSON. It fails
// where an escape may be a part of it.
func cutNumber(raw []byte, i int) (int, bool) {
	at := i
	for at < len(raw) && raw[at] == ' ' {
		at++
	}
	digits := at
	for at < len(raw) && raw[at] >= '0' && raw[at] <= '9' {
		at++
	}
	rest := raw[at:]
	switch {
	case len(rest) >= 2 && rest[0] == '\\' && rest[1] == 'u' && !control(rest):
		return i, false
	case at == digits:
		return i, true
	case len(rest) >= 2 && rest[0] == '\\' && rest[1] == 't':
		return at + 2, true
	case len(rest) >= 3 && string(rest[:3]) == "→":
		return at + 3, true
	}
	return i, true
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

// control reports whether JSON begins with the escape of a control character that is neither a tab nor a line feed, in six
// bytes.
func control(raw []byte) bool {
	if len(raw) < 6 || string(raw[:4]) != `\u00` || raw[4] != '0' && raw[4] != '1' {
		return false
	}
	switch c := raw[5] | 0x20; c {
	case '9', 'a':
		return raw[4] == '1'
	default:
		return c >= '0' && c < '9' || c >= 'b' && c <= 'f'
	}
}

// quoted is what stands between the quotes of a JSON string.
func quoted(raw []byte) (body []byte, ok bool) {
	if len(raw) < 2 || raw[0] != '"' || raw[len(raw)-1] != '"' {
		return nil, false
	}
	return raw[1 : len(raw)-1], true
}

// foldedJSON is the form of a byte of a JSON string; oddJSON where that depends on what follows.
var foldedJSON = func() (t [256]byte) {
	t = folded
	for i := range t {
		if i < ' ' || i >= utf8.RuneSelf || i == '"' || i == '\\' {
			t[i] = oddJSON
		}
	}
	return t
}()

const oddJSON = 1 // the form of no byte

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
	size := 0
	mark := false
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
