package anonymize

import (
	"fmt"
	"regexp"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/ctxkit/ctxkit/jsonl/scan"
)

// writer rewrites JSON values: numbers, structure and white space stay byte for byte.
type writer struct {
	book    *codebook
	noting  bool              // the first pass, which notes words; its output is discarded
	snipped map[string]string // short ids of prompts and their substitutes

	dst  []byte
	done int // bytes of the line that are in dst
	text []byte
}

// place is the position of a value in a line.
type place struct {
	key  string // of its member
	free bool   // in a tool's input or result, which has no words of the format
	call bool   // in a tool's input, whose tokens are those of its JSON
}

// entry rewrites a line.
func (w *writer) entry(line []byte) {
	w.dst, w.done = w.dst[:0], 0
	w.copy(line, w.value(line, 0, place{}))
}

// copy copies the line up to an index.
func (w *writer) copy(line []byte, to int) {
	w.dst = append(w.dst, line[w.done:to]...)
	w.done = to
}

// value rewrites the value at b[i] and returns the index of its end.
func (w *writer) value(b []byte, i int, at place) int {
	switch b[i] {
	case '{':
		m := scan.Object(b, i, 0)
		for m.Next() {
			raw, _ := m.Key()
			key := string(scan.AppendUnquoted(nil, raw, -1))
			if !keys[key] {
				w.copy(b, m.KeyAt())
				w.words(raw, at)
				w.done = m.KeyAt() + len(raw)
			}
			free := at.free || key == "input" || key == "toolUseResult"
			m.At = w.value(b, m.At, place{key, free, at.call || key == "input"})
		}
		return m.At
	case '[':
		m := scan.Array(b, i, 0)
		for m.Next() {
			m.At = w.value(b, m.At, at)
		}
		return m.At
	case '"':
		end, _, _ := scan.String(b, i)
		w.copy(b, i+1)
		w.content(b[i+1:end-1], at)
		w.done = end - 1
		return end
	}
	end, _ := scan.Value(b, i, 0)
	return end
}

var isoTime = regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$`)

// content rewrites the body of a string, between its quotes.
func (w *writer) content(body []byte, at place) {
	id, snipped := w.snipped[string(body)]
	switch {
	case w.stays(string(body), at):
		w.dst = append(w.dst, body...)
	case snipped && at.free:
		w.dst = append(w.dst, id...)
	case at.key != "data" || !w.picture(body):
		w.words(body, at)
	}
}

// stays reports whether a string is a word of the format.
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

// words rewrites the words between a string's quotes and keeps the escapes.
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
	// Decode, with the form of each rune; rewrite; encode each in its form.
	var plainText []byte
	var forms []form
	for i := 0; i < len(body); {
		r, n, f := decode(body, i)
		forms = append(forms, f)
		plainText = utf8.AppendRune(plainText, r)
		i += n
	}
	w.text = w.book.text(w.text[:0], string(plainText))
	for _, r := range string(w.text) {
		switch f := forms[0]; {
		case f.raw != "":
			w.dst = append(w.dst, f.raw...)
		case f.unicode:
			w.dst = appendEscaped(w.dst, r)
		default:
			w.dst = utf8.AppendRune(w.dst, r)
		}
		forms = forms[1:]
	}
}

// form is the encoding of a rune in a string.
type form struct {
	raw     string // unchanged: an escape that is no letter, a byte that is no UTF-8
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
	n = 2
	if body[i+1] == 'u' {
		n = 6
		if i+12 <= len(body) && body[i+6] == '\\' && body[i+7] == 'u' {
			if r = unescape(body[i : i+12]); r > 0xFFFF { // a surrogate pair
				return r, 12, form{unicode: true}
			}
		}
	}
	r = unescape(body[i : i+n])
	if n == 2 || r == utf8.RuneError || r < ' ' {
		return r, n, form{raw: string(body[i : i+n])}
	}
	return r, n, form{unicode: true}
}

// unescape is the first rune of escapes.
func unescape(escapes []byte) rune {
	r, _ := utf8.DecodeRune(scan.AppendUnquoted(nil, escapes, -1))
	return r
}

func appendEscaped(dst []byte, r rune) []byte {
	if r > 0xFFFF {
		hi, lo := utf16.EncodeRune(r)
		return appendEscaped(appendEscaped(dst, hi), lo)
	}
	return fmt.Appendf(dst, `\u%04x`, r)
}
