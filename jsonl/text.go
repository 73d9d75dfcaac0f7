package jsonl

import (
	"unicode/utf8"

	"github.com/ctxkit/ctxkit/jsonl/scan"
)

// Unquote decodes a JSON string literal, quotes included. As in encoding/json, each lone surrogate and each byte that
// is not UTF-8 becomes U+FFFD. It returns false where raw is not one string literal.
func Unquote(raw []byte) (string, bool) {
	if len(raw) < 2 || raw[0] != '"' {
		return "", false
	}
	end, plain, code := scan.String(raw, 0)
	if code != scan.OK || end != len(raw) {
		return "", false
	}
	body := raw[1 : end-1]
	if plain && utf8.Valid(body) {
		return string(body), true
	}
	return string(scan.AppendUnquoted(nil, body, -1)), true
}

// Measure returns the lengths of a decoded text.
func Measure(s string) Metrics {
	m := Metrics{Bytes: len(s), JSON: 2}
	for _, r := range s {
		n := 1
		if r > 0xFFFF {
			n = 2
		}
		m.UTF16 += n
		switch {
		case r == '"' || r == '\\' || r == '\b' || r == '\f' || r == '\n' || r == '\r' || r == '\t':
			n = 2
		case r < 0x20:
			n = 6
		}
		m.JSON += n
	}
	return m
}
