package scan

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// AppendSorted appends the value that begins at b[i], inside depth open brackets, as JSON.stringify writes it with the
// members of each object in the order of their keys. Members with the key without are left out; of those with one key
// the last counts. It returns the index after the value.
func AppendSorted(dst, b []byte, i, depth int, without string) ([]byte, int, Fault) {
	if i >= len(b) {
		return dst, len(b), End
	}
	switch b[i] {
	case '"':
		end, plain, code := String(b, i)
		if code == OK {
			dst = appendQuoted(dst, b[i+1:end-1], plain)
		}
		return dst, end, code
	case '{':
		return appendObject(dst, b, i, depth, without)
	case '[':
		dst = append(dst, '[')
		m := Array(b, i, depth)
		for first := true; m.Next(); first = false {
			if !first {
				dst = append(dst, ',')
			}
			dst, m.At, m.Code = AppendSorted(dst, b, m.At, depth+1, without)
		}
		return append(dst, ']'), m.At, m.Code
	}
	end, code := scalar(b, i)
	if code == OK {
		dst = appendScalar(dst, b[i:end])
	}
	return dst, end, code
}

func appendObject(dst, b []byte, i, depth int, without string) ([]byte, int, Fault) {
	type member struct {
		name  string // the key, decoded
		key   []byte // as it is, without its quotes
		plain bool
		at    int // of the value
	}
	var list []member
	m := Object(b, i, depth)
	for m.Next() {
		key, plain := m.Key()
		name := string(key)
		if !plain {
			name = string(AppendUnquoted(nil, key, -1))
		}
		if name != without {
			list = append(list, member{name, key, plain, m.At})
		}
		m.At, m.Code = Value(b, m.At, depth+1)
	}
	if m.Code != OK {
		return dst, m.At, m.Code
	}
	slices.SortStableFunc(list, func(a, b member) int { return compareUnits(a.name, b.name) })
	dst = append(dst, '{')
	for k, l := range list {
		if k+1 < len(list) && list[k+1].name == l.name {
			continue
		}
		if dst[len(dst)-1] != '{' {
			dst = append(dst, ',')
		}
		dst = append(appendQuoted(dst, l.key, l.plain), ':')
		dst, _, _ = AppendSorted(dst, b, l.at, depth+1, without)
	}
	return append(dst, '}'), m.At, OK
}

// compareUnits compares texts by their UTF-16 units, as JavaScript does. Up to U+FFFF that is the order of their bytes.
func compareUnits(a, b string) int {
	high := func(r rune) bool { return r > 0xFFFF }
	if strings.ContainsFunc(a, high) || strings.ContainsFunc(b, high) {
		return slices.Compare(utf16.Encode([]rune(a)), utf16.Encode([]rune(b)))
	}
	return strings.Compare(a, b)
}

// appendQuoted appends a string of which body is between the quotes, with the escapes that JSON.stringify writes.
func appendQuoted(dst, body []byte, plain bool) []byte {
	dst = append(dst, '"')
	for !plain {
		i := bytes.IndexByte(body, '\\')
		if i < 0 {
			break
		}
		r, n := escaped(body, i)
		dst = append(dst, body[:i]...)
		switch {
		case body[i+1] != 'u' && r != '/':
			dst = append(dst, body[i:i+2]...)
		case r == '"' || r == '\\':
			dst = append(dst, '\\', byte(r))
		case r == '\b' || r == '\f' || r == '\n' || r == '\r' || r == '\t':
			dst = append(dst, '\\', "btn-fr"[r-'\b'])
		case r < 0x20 || isSurrogate(r):
			dst = fmt.Appendf(dst, `\u%04x`, r)
		default:
			dst = utf8.AppendRune(dst, r)
		}
		body = body[i+n:]
	}
	return append(append(dst, body...), '"')
}

// plainDigits is how many digits a whole number may have to be written as it is.
const plainDigits = 15

// appendScalar appends a number or a literal as JSON.stringify writes it.
func appendScalar(dst, text []byte) []byte {
	if c := text[0]; c == 't' || c == 'f' || c == 'n' || len(text) <= plainDigits && !bytes.ContainsAny(text, ".eE-") {
		return append(dst, text...)
	}
	f, err := strconv.ParseFloat(string(text), 64)
	if err != nil { // too large
		return append(dst, "null"...)
	}
	if f == 0 {
		return append(dst, '0')
	}
	out, _ := json.Marshal(f) // in JavaScript's form
	return append(dst, out...)
}
