package scan

import (
	"bytes"
	"slices"
	"strconv"
	"unicode/utf8"
)

// String skips the string whose quote is b[i]; plain reports that there is no backslash between the quotes.
func String(b []byte, i int) (end int, plain bool, code Fault) {
	plain = true
	for i++; i < len(b); {
		switch c := b[i]; {
		case c == '"':
			return i + 1, plain, OK
		case c == '\\':
			plain = false
			if i, code = escapeEnd(b, i); code != OK {
				return i, false, code
			}
		case c < 0x20:
			return i, false, Control
		default:
			i++
		}
	}
	return len(b), false, End
}

// escapeEnd returns the index after the escape whose backslash is b[i].
func escapeEnd(b []byte, i int) (int, Fault) {
	switch i++; {
	case i >= len(b):
		return len(b), End
	case letters[b[i]] != 0:
		return i + 1, OK
	case b[i] != 'u':
		return i, Escape
	}
	end := i + 5
	for i++; i < end; i++ {
		if i >= len(b) {
			return len(b), End
		}
		if c := b[i]; c-'0' > 9 && c-'a' > 5 && c-'A' > 5 {
			return i, Escape
		}
	}
	return end, OK
}

// hex4 is the value of the four hexadecimal digits at b[i].
func hex4(b []byte, i int) rune {
	n, _ := strconv.ParseUint(string(b[i:i+4]), 16, 16)
	return rune(n)
}

func isSurrogate(r rune) bool { return 0xD800 <= r && r < 0xE000 }

// escaped decodes the well-formed escape at b[i] and returns its rune and length. A lone surrogate is returned as it
// is.
func escaped(b []byte, i int) (r rune, n int) {
	if b[i+1] != 'u' {
		return rune(letters[b[i+1]]), 2
	}
	r = hex4(b, i+2)
	if 0xD800 <= r && r < 0xDC00 && i+12 <= len(b) && b[i+6] == '\\' && b[i+7] == 'u' {
		if _, code := escapeEnd(b, i+6); code == OK {
			if low := hex4(b, i+8); 0xDC00 <= low && low < 0xE000 {
				return (r-0xD800)<<10 | (low - 0xDC00) + 0x10000, 12
			}
		}
	}
	return r, 6
}

// letters are what the escapes of one letter stand for.
var letters = [256]byte{'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t'}

// AppendUnquoted appends the decoded form of body, the bytes between the quotes of a valid string. Lone surrogates
// and bytes that are not UTF-8 become U+FFFD each. With a limit of 0 or more it stops before the rune that would
// exceed limit bytes.
func AppendUnquoted(dst, body []byte, limit int) []byte {
	if limit < 0 {
		limit = 3 * len(body)
	}
	dst, _ = unquote(dst, body, limit)
	return dst
}

// Unquote decodes a string, both quotes included, as AppendUnquoted does. The result may be a part of b. It returns false
// where b is not one string.
func Unquote(b []byte) ([]byte, bool) {
	last := len(b) - 1
	if last < 1 || b[0] != '"' || b[last] != '"' {
		return nil, false
	}
	text := b[1:last]
	ok := false
	if bytes.IndexByte(text, '\\') < 0 && utf8.Valid(text) {
		end, _, fault := String(b, 0)
		ok = fault == OK && end == len(b)
	} else {
		text, ok = unquote(make([]byte, 0, len(text)), text, 3*len(text))
	}
	if !ok {
		return nil, false
	}
	return text, true
}

// unquote appends the decoded form of body up to limit bytes. It returns false where it comes to what is in no string.
func unquote(dst, body []byte, limit int) ([]byte, bool) {
	dst = slices.Grow(dst, min(limit, len(body)))
	limit += len(dst)
	for i := 0; i < len(body); {
		r, n := utf8.DecodeRune(body[i:])
		switch {
		case r == '\\':
			if _, code := escapeEnd(body, i); code != OK {
				return dst, false
			}
			if r, n = escaped(body, i); isSurrogate(r) {
				r = utf8.RuneError
			}
		case r == '"' || r < 0x20:
			return dst, false
		}
		if len(dst)+utf8.RuneLen(r) > limit {
			return dst, true
		}
		dst = utf8.AppendRune(dst, r)
		i += n
	}
	return dst, true
}
