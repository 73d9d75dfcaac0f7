package scan

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"slices"
	"unicode/utf8"
)

// Eight bytes at a time: a byte of special(x) has its high bit set where the byte of x is a quote, a backslash or
// below 0x20. The lowest set bit is exact; a borrow can set bits above it falsely.
const (
	ones  = 0x0101010101010101
	highs = 0x8080808080808080
)

func special(x uint64) uint64 {
	// x^2 swaps 0x20 and 0x22: one comparison finds the quote and what is below 0x20.
	return (((x ^ 0x02*ones) - 0x21*ones) | ((x ^ '\\'*ones) - ones)) & ^x & highs
}

// String skips the string whose quote is b[i]; plain reports that there is no backslash between the quotes.
func String(b []byte, i int) (end int, plain bool, code Fault) {
	i++
	for i+8 <= len(b) {
		m := special(binary.LittleEndian.Uint64(b[i:]))
		if m == 0 {
			i += 8
			continue
		}
		i += bits.TrailingZeros64(m) >> 3
		if b[i] == '"' {
			return i + 1, true, OK
		}
		end, code = stringBody(b, i)
		return end, false, code
	}
	for ; i < len(b); i++ {
		switch c := b[i]; {
		case c == '"':
			return i + 1, true, OK
		case c == '\\' || c < 0x20:
			end, code = stringBody(b, i)
			return end, false, code
		}
	}
	return len(b), false, End
}

// stringBody skips the rest of a string from b[i], inside the quotes.
func stringBody(b []byte, i int) (int, Fault) {
	for {
		for i+16 <= len(b) {
			w := b[i : i+16 : i+16]
			m := special(binary.LittleEndian.Uint64(w))
			if m != 0 {
				i += bits.TrailingZeros64(m) >> 3
				goto found
			}
			if m = special(binary.LittleEndian.Uint64(w[8:])); m != 0 {
				i += 8 + bits.TrailingZeros64(m)>>3
				goto found
			}
			i += 16
		}
		if i >= len(b) {
			return len(b), End
		}
	found:
		switch c := b[i]; {
		case c == '"':
			return i + 1, OK
		case c == '\\':
			if i+1 >= len(b) {
				return len(b), End
			}
			switch escapes[b[i+1]] {
			case oneLetter:
				i += 2
			case fourDigits:
				if hex4(b, i+2) < 0 {
					return badHex(b, i+2)
				}
				i += 6
			default:
				return i + 1, Escape
			}
		case c < 0x20:
			return i, Control
		default:
			i++
		}
	}
}

// escapes classifies the byte after a backslash.
var escapes = [256]uint8{
	'"': oneLetter, '\\': oneLetter, '/': oneLetter, 'b': oneLetter, 'f': oneLetter,
	'n': oneLetter, 'r': oneLetter, 't': oneLetter, 'u': fourDigits,
}

const (
	oneLetter  = 1
	fourDigits = 2
)

// hex4 is the value of the four hexadecimal digits at b[i], or -1.
func hex4(b []byte, i int) rune {
	if i+4 > len(b) {
		return -1
	}
	var r rune
	for _, c := range b[i : i+4] {
		switch {
		case c-'0' <= 9:
			c -= '0'
		case c-'a' <= 5:
			c -= 'a' - 10
		case c-'A' <= 5:
			c -= 'A' - 10
		default:
			return -1
		}
		r = r<<4 | rune(c)
	}
	return r
}

// badHex returns the index of the first byte at b[i] that is not a digit.
func badHex(b []byte, i int) (int, Fault) {
	for k := i; k < i+4; k++ {
		if k >= len(b) {
			return len(b), End
		}
		if c := b[k]; c-'0' > 9 && c-'a' > 5 && c-'A' > 5 {
			return k, Escape
		}
	}
	return i, Escape
}

// isEscape reports whether b begins as what follows the backslash of an escape.
func isEscape(b []byte) bool {
	return len(b) > 0 && (escapes[b[0]] == oneLetter || escapes[b[0]] == fourDigits && hex4(b, 1) >= 0)
}

func isSurrogate(r rune) bool { return 0xD800 <= r && r < 0xE000 }

// escaped decodes the well-formed escape at b[i] and returns its rune and length. A lone surrogate is returned as it
// is.
func escaped(b []byte, i int) (r rune, n int) {
	switch c := b[i+1]; c {
	case 'b':
		return '\b', 2
	case 'f':
		return '\f', 2
	case 'n':
		return '\n', 2
	case 'r':
		return '\r', 2
	case 't':
		return '\t', 2
	case 'u':
		r = hex4(b, i+2)
		if 0xD800 <= r && r < 0xDC00 && i+12 <= len(b) && b[i+6] == '\\' && b[i+7] == 'u' {
			if low := hex4(b, i+8); 0xDC00 <= low && low < 0xE000 {
				return (r-0xD800)<<10 | (low - 0xDC00) + 0x10000, 12
			}
		}
		return r, 6
	default: // '"', '\\' and '/'
		return rune(c), 2
	}
}

// letters are what the escapes of one letter stand for.
var letters = [256]byte{'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t'}

// unquoteASCII decodes ASCII characters and escapes of one letter from the start of body into dst, up to anything else, as
// long as eight bytes of both are left. It returns the bytes written and read.
func unquoteASCII(dst, body []byte) (to, from int) {
	for from+8 <= len(body) && to+8 <= len(dst) {
		word := binary.LittleEndian.Uint64(body[from : from+8])
		binary.LittleEndian.PutUint64(dst[to:to+8], word)
		n := bits.TrailingZeros64(special(word)|word&highs) >> 3 // eight: all of them
		to, from = to+n, from+n
		if n == 8 {
			continue
		}
		if from+1 >= len(body) || body[from] != '\\' || letters[body[from+1]] == 0 {
			break
		}
		dst[to] = letters[body[from+1]]
		to, from = to+1, from+2
	}
	return to, from
}

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
	text, ok := b[1:last], false
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
	for i := 0; i < len(body); {
		dst = slices.Grow(dst, min(limit, len(body)-i))
		to, from := unquoteASCII(dst[len(dst):len(dst)+min(limit, len(body)-i)], body[i:])
		dst = dst[:len(dst)+to]
		limit -= to
		i += from
		for first := true; i < len(body) && (first || body[i] >= utf8.RuneSelf); first = false {
			r, n := rune(body[i]), 1
			switch {
			case r == '\\':
				if !isEscape(body[i+1:]) {
					return dst, false
				}
				if r, n = escaped(body, i); isSurrogate(r) {
					r = utf8.RuneError
				}
			case r >= utf8.RuneSelf:
				r, n = utf8.DecodeRune(body[i:])
			case r == '"' || r < 0x20:
				return dst, false
			}
			size := utf8.RuneLen(r)
			if limit < size {
				return dst, true
			}
			limit -= size
			dst = utf8.AppendRune(dst, r)
			i += n
		}
	}
	return dst, true
}
