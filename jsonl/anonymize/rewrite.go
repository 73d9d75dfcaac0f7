package anonymize

import (
	"regexp"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/ctxkit/ctxkit/jsonl/scan"
)

// writer rewrites JSON values: numbers, structure and the white space between
// tokens stay byte for byte.
type writer struct {
	book    *codebook
	noting  bool              // the first pass: words are noted, what is written is of no use
	snipped map[string]string // short ids of prompts and what they become

	dst  []byte
	text []byte
}

// place says where a value stands.
type place struct {
	key  string // of the member it is
	free bool   // in a tool's input or result: nothing there is the format's
	call bool   // in a tool's input, which counts as the JSON it is
}

// object rewrites one line's object, which is valid JSON.
func (w *writer) object(raw []byte) {
	w.value(raw, 0, place{})
}

// value rewrites the value that starts at b[i] and returns where it ends.
func (w *writer) value(b []byte, i int, at place) int {
	switch b[i] {
	case '{':
		return w.members(b, i, at)
	case '[':
		w.dst = append(w.dst, '[')
		m := scan.Array(b, i, 0)
		end := i + 1
		for m.Next() {
			w.dst = append(w.dst, b[end:m.At]...)
			end = w.value(b, m.At, at)
			m.At = end
		}
		w.dst = append(w.dst, b[end:m.At]...)
		return m.At
	case '"':
		end, _, _ := scan.String(b, i)
		w.dst = append(w.dst, '"')
		w.content(b[i+1:end-1], at)
		w.dst = append(w.dst, '"')
		return end
	}
	end, _ := scan.Value(b, i, 0)
	w.dst = append(w.dst, b[i:end]...)
	return end
}

func (w *writer) members(b []byte, i int, at place) int {
	inner := at
	w.dst = append(w.dst, '{')
	end := i + 1
	m := scan.Object(b, i, 0)
	for m.Next() {
		raw, _ := m.Key()
		key := string(scan.AppendUnquoted(nil, raw, -1))
		keyEnd := m.At // of the value
		open := end
		for b[open] != '"' {
			open++
		}
		w.dst = append(w.dst, b[end:open+1]...)
		if keys[key] {
			w.dst = append(w.dst, raw...)
		} else {
			w.words(raw, at)
		}
		w.dst = append(w.dst, b[open+1+len(raw):keyEnd]...)
		inner.key = key
		inner.call = at.call || key == "input"
		inner.free = at.free || key == "input" || key == "toolUseResult"
		end = w.value(b, m.At, inner)
		m.At = end
	}
	w.dst = append(w.dst, b[end:m.At]...)
	return m.At
}

var isoTime = regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$`)

// content rewrites what stands between the quotes of a string.
func (w *writer) content(body []byte, at place) {
	if len(body) == 0 {
		return
	}
	if w.stays(string(body), at) {
		w.dst = append(w.dst, body...)
		return
	}
	if id, ok := w.snipped[string(body)]; ok && at.free {
		w.dst = append(w.dst, id...)
		return
	}
	if at.key == "data" && w.picture(body) {
		return
	}
	w.words(body, at)
}

// stays reports whether a string is the format's own word.
func (w *writer) stays(s string, at place) bool {
	switch {
	case len(s) > 64:
		return false
	case isoTime.MatchString(s):
		return true
	case at.key == "status":
		return statuses[s]
	case at.free:
		return false
	case at.key == "name" || at.key == "toolName" || at.key == "tool_name":
		return tools[s]
	}
	return plainValues[at.key] && plain(s)
}

// plain reports whether each word of a value is in the vocabulary or short.
func plain(s string) bool {
	ok := true
	letterRuns(s, func(run string) {
		ok = ok && (len(run) <= longWord || vocabulary[strings.ToLower(run)])
	})
	for _, c := range []byte(s) {
		ok = ok && (isLetter(c) || isDigit(c) || strings.IndexByte("_-.:/[]<>", c) >= 0)
	}
	return ok
}

// words rewrites the words between a string's quotes, escapes kept as they
// are.
func (w *writer) words(body []byte, at place) {
	if w.noting {
		w.text = scan.AppendUnquoted(w.text[:0], body, -1)
		w.book.escaped = at.call
		w.book.note(string(w.text))
		w.book.escaped = false
		return
	}
	if !strings.Contains(string(body), `\`) {
		w.dst = w.book.text(w.dst, string(body))
		return
	}
	// Decode, noting how each rune was written; rewrite; write each in its way.
	var plainText []byte
	var forms []form
	for i := 0; i < len(body); {
		r, n, f := decode(body, i)
		forms = append(forms, f)
		plainText = utf8.AppendRune(plainText, r)
		i += n
	}
	w.text = w.book.text(w.text[:0], string(plainText))
	k := 0
	for i := 0; i < len(w.text); k++ {
		r, n := utf8.DecodeRune(w.text[i:])
		switch f := forms[k]; {
		case f.raw != "":
			w.dst = append(w.dst, f.raw...)
		case f.unicode:
			w.dst = appendEscaped(w.dst, r)
		default:
			w.dst = append(w.dst, w.text[i:i+n]...)
		}
		i += n
	}
}

// form is how a rune of a string is written.
type form struct {
	raw     string // as it stands: an escape that is no letter, a byte that is no UTF-8
	unicode bool   // as \uXXXX
}

// decode reads the rune at body[i] of a string's body.
func decode(body []byte, i int) (r rune, n int, f form) {
	if body[i] != '\\' {
		r, n = utf8.DecodeRune(body[i:])
		if r == utf8.RuneError && n == 1 {
			f.raw = string([]byte{inertByte(body[i])})
		}
		return r, n, f
	}
	if body[i+1] != 'u' {
		return scan1(body[i : i+2]), 2, form{raw: string(body[i : i+2])}
	}
	r, n = hex4(body[i+2:i+6]), 6
	if utf16.IsSurrogate(r) && i+12 <= len(body) && body[i+6] == '\\' && body[i+7] == 'u' {
		if pair := utf16.DecodeRune(r, hex4(body[i+8:i+12])); pair != utf8.RuneError {
			return pair, 12, form{unicode: true}
		}
	}
	if utf16.IsSurrogate(r) || r < ' ' {
		return utf8.RuneError, n, form{raw: string(body[i : i+n])}
	}
	return r, n, form{unicode: true}
}

// scan1 is the rune of a two-byte escape.
func scan1(escape []byte) rune {
	r, _ := utf8.DecodeRune(scan.AppendUnquoted(nil, escape, -1))
	return r
}

func hex4(b []byte) rune {
	n, _ := strconv.ParseUint(string(b), 16, 32)
	return rune(n)
}

func appendEscaped(dst []byte, r rune) []byte {
	if r > 0xFFFF {
		hi, lo := utf16.EncodeRune(r)
		return appendEscaped(appendEscaped(dst, hi), lo)
	}
	const digits = "0123456789abcdef"
	return append(dst, '\\', 'u', digits[r>>12&15], digits[r>>8&15], digits[r>>4&15], digits[r&15])
}
