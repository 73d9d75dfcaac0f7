package anonymize

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/ctxkit/ctxkit/jsonl/pattern"
	"github.com/ctxkit/ctxkit/jsonl/scan"
)

// writer rewrites JSON, also damaged: structure and white space stay byte for byte.
type writer struct {
	voc   *vocabulary
	names *codebook // nil in the first pass, which notes what there is; its output is discarded
	texts *filler

	snipped map[string]string // short ids of prompts and their substitutes
	note    func(text string, at place)
	keep    func(text string) // notes what stays although no format has it

	shift shift
	edits edits
	dst   []byte
	stack []frame
	in    []byte // JSON that the places of frames are in
}

// place is the position of a value.
type place struct {
	key  string // of its member
	free bool   // in what a tool was given or gave, which has no words of the format
}

// frame is an open bracket.
type frame struct {
	place
	of     string // key of the member that it is the value of
	object bool
	from   int   // index of the bracket
	member bool  // a key has been read, and not its value
	draw   *draw // for numbers of what is free
}

// value rewrites a line, or a document.
func (w *writer) value(b []byte) {
	w.dst = nil
	w.stack = nil
	// Of a document that begins with something else, readers take what follows.
	if first := bytes.TrimLeft(b, " \t\r\n\ufeff"); !w.voc.document && len(first) > 0 && strings.IndexByte(`{["`, first[0]) < 0 {
		w.plain(b, place{})
		return
	}
	if w.names != nil {
		w.texts.shared = attachedText(b)
	}
	w.in = b
	w.json(b, &frame{})
}

// attachedText is the first line of an attachment's text, if the client sent it behind words on the same line, such as those
// about a hook; "" if not. Readers look for it in what was sent.
func attachedText(line []byte) string {
	var l struct {
		Attachment struct{ Content any }
		Rendered   []struct{ Content string }
	}
	if !bytes.Contains(line, []byte(`"rendered":`)) || json.Unmarshal(line, &l) != nil {
		return ""
	}
	if list, ok := l.Attachment.Content.([]any); ok && len(list) > 0 {
		l.Attachment.Content = list[0]
	}
	text, _ := l.Attachment.Content.(string)
	text, _, _ = strings.Cut(strings.TrimSpace(text), "\n")
	for _, m := range l.Rendered {
		words, _, found := strings.Cut(m.Content, text)
		if words = words[strings.LastIndexByte(words, '\n')+1:]; found && words != "" {
			return text
		}
	}
	return ""
}

// json appends JSON that is inside a bracket.
func (w *writer) json(b []byte, in *frame) {
	outside := len(w.stack)
	for i := 0; i < len(b); {
		top := in
		if len(w.stack) > outside {
			top = &w.stack[len(w.stack)-1]
		}
		at := w.at(top)
		switch c := b[i]; {
		case c == '{' || c == '[':
			f := frame{place: at, of: at.key, object: c == '{', from: i, draw: top.draw}
			if at.free && !top.free {
				w.given(b, i, &f)
			}
			if len(w.stack) < scan.MaxDepth {
				w.stack = append(w.stack, f)
			}
			w.dst = append(w.dst, c)
			i++
		case c == '}' || c == ']':
			if len(w.stack) > outside {
				w.stack = w.stack[:len(w.stack)-1]
			}
			w.dst = append(w.dst, c)
			i++
		case c == ',':
			top.member = false
			w.dst = append(w.dst, c)
			i++
		case c == '"':
			end, closed := quotedEnd(b, i+1)
			w.dst = append(w.dst, c)
			if top.object && !top.member {
				w.key(b[i+1:end], top)
			} else {
				w.content(b[i+1:end], at)
			}
			if i = end; closed {
				w.dst = append(w.dst, '"')
				i++
			}
		case c == '-' || isDigit(c):
			n := 1
			for i+n < len(b) && (isDigit(b[i+n]) || strings.IndexByte("+-.eE", b[i+n]) >= 0) {
				n++
			}
			w.number(b[i:i+n], at, top)
			i += n
		case isLetter(c) || c >= 0x80 && !bytes.HasPrefix(b[i:], []byte("\ufeff")):
			n := 1
			for i+n < len(b) && (isLetter(b[i+n]) || b[i+n] >= 0x80) {
				n++
			}
			switch string(b[i : i+n]) {
			case "true", "false", "null":
				w.dst = append(w.dst, b[i:i+n]...)
			default:
				w.plain(b[i:i+n], place{})
			}
			i += n
		case c < ' ' && c != '\t' && c != '\n' && c != '\r' || c == 0x7f:
			w.dst = append(w.dst, 1)
			i++
		default:
			w.dst = append(w.dst, c)
			i++
		}
	}
	w.stack = w.stack[:outside]
}

// given begins what a tool was given or gave.
func (w *writer) given(b []byte, i int, f *frame) {
	end, fault := scan.Value(b, i, 0)
	if fault != scan.OK {
		end = i
	}
	if w.names != nil {
		f.draw = newDraw(&w.texts.seed, 'i', string(b[i:end]))
	}
	if f.object && fault == scan.OK {
		w.call(w.callID(), b[i:end])
	}
}

// callID is the id of the call that what is written belongs to.
func (w *writer) callID() string {
	for up := len(w.stack) - 1; up >= max(0, len(w.stack)-2); up-- {
		if w.stack[up].object {
			if id := idOf(w.in, w.stack[up].from); id != "" {
				return id
			}
		}
	}
	return ""
}

// at is the place of a value inside a bracket.
func (w *writer) at(top *frame) place {
	at := top.place
	if top.object {
		at.free = at.free || w.voc.free[at.key]
	}
	return at
}

// quotedEnd is the end of a string's body: its closing quote, or the end of the line.
func quotedEnd(b []byte, i int) (end int, closed bool) {
	for ; i < len(b); i++ {
		switch b[i] {
		case '"':
			return i, true
		case '\n':
			return i, false
		case '\\':
			i++
		}
	}
	return len(b), false
}

// key rewrites the name of a member.
func (w *writer) key(body []byte, top *frame) {
	top.key = ""
	top.member = true
	models := w.voc.byModel[top.of]
	if models || w.voc.keys[string(body)] {
		name := string(scan.AppendUnquoted(nil, body, -1))
		if !models || w.voc.wordsOnly(name, versionDigits) {
			if top.key = top.of + "." + name; !w.voc.models[top.key] && !w.voc.names[top.key] {
				top.key = name
			}
			w.dst = append(w.dst, body...)
			return
		}
	}
	w.recode(body, place{}, func(dst []byte, s string) []byte { return w.names.name(dst, s) })
}

// content rewrites the body of a string, between its quotes.
func (w *writer) content(body []byte, at place) {
	s := string(body)
	id, snipped := w.snipped[s]
	switch {
	case w.voc.stays(s, at):
		if w.names == nil {
			w.note(s, at)
		}
		w.dst = append(w.dst, w.shift.text(s)...)
	case snipped && at.free:
		w.dst = append(w.dst, id...)
	case at.key == "data" && w.picture(body):
	case w.voc.nested[at.key] && w.inner(body):
	case strings.HasPrefix(s, "data:") && dataURL().MatchString(s):
		n := strings.IndexByte(s, ',') + 1
		w.dst = append(w.dst, s[:n]...)
		if !w.picture(body[n:]) {
			w.plain(body[n:], place{})
		}
	case at.free && w.replaced(body):
	case w.voc.names[at.key]:
		w.recode(body, at, func(dst []byte, s string) []byte { return w.names.name(dst, s) })
	default:
		w.plain(body, at)
	}
}

// dataURL matches a file that is written into a text.
var dataURL = pattern.New(`^data:(image/(png|jpeg|gif|webp)|application/pdf|text/plain);base64,`)

// plain rewrites a text.
func (w *writer) plain(body []byte, at place) {
	w.recode(body, at, func(dst []byte, s string) []byte {
		from := len(dst)
		dst = w.texts.text(dst, s)
		if id, within := w.resultOf(w.in, at.key); id != "" {
			w.result(id, within, s, string(dst[from:]))
		}
		return dst
	})
}

// replaced rewrites a text that an edit replaces. It reports false for any other.
func (w *writer) replaced(body []byte) bool {
	if len(w.edits.old) == 0 {
		return false
	}
	other, ok := w.edits.old[string(unquoted(body))]
	if ok {
		w.recode(body, place{}, func(dst []byte, _ string) []byte { return append(dst, other...) })
	}
	return ok
}

// inner rewrites JSON that is the body of a string: what a tool was given. It reports false for what is no JSON.
func (w *writer) inner(body []byte) bool {
	text := scan.AppendUnquoted(nil, body, -1)
	if first := bytes.TrimLeft(text, " \t\r\n"); len(first) == 0 || strings.IndexByte("{[", first[0]) < 0 || !json.Valid(text) || !utf8.Valid(text) {
		return false
	}
	w.call(w.callID(), text)
	if w.names == nil {
		outer := w.dst
		w.json(text, &frame{place: place{free: true}})
		w.dst = outer
		return true
	}
	w.recode(body, place{}, func(dst []byte, _ string) []byte {
		outer := w.dst
		in := w.in
		w.dst = nil
		w.in = text
		w.json(text, &frame{place: place{free: true}, draw: newDraw(&w.texts.seed, 'i', string(text))})
		dst = append(dst, w.dst...)
		w.dst = outer
		w.in = in
		return dst
	})
	return true
}

// number rewrites a number, unless it belongs to the format: its digits.
func (w *writer) number(b []byte, at place, top *frame) {
	if w.names == nil {
		w.note(string(b), at)
	}
	if w.voc.numbers[at.key] || !top.free && at.key != "" && w.voc.keys[at.key] || w.names == nil {
		w.dst = append(w.dst, w.shift.number(string(b))...)
		return
	}
	d := newDraw(&w.texts.seed, '#', string(b))
	if top.draw != nil {
		d = top.draw
	}
	for i := 0; i < len(b); {
		n := 0
		for i+n < len(b) && isDigit(b[i+n]) {
			n++
		}
		switch {
		case n == 0:
			w.dst = append(w.dst, b[i])
			n = 1
		case i > 0 && b[i-1]|0x20 == 'e' || i > 1 && b[i-2]|0x20 == 'e': // the exponent decides the size
			w.dst = append(w.dst, b[i:i+n]...)
		default:
			w.dst = d.digits(w.dst, string(b[i:i+n]))
		}
		i += n
	}
}

// recode appends a string's body rewritten by a function that keeps the number of runes, each in the encoding it has.
func (w *writer) recode(body []byte, at place, by func(dst []byte, s string) []byte) {
	if w.names == nil {
		w.note(string(unquoted(body)), at)
		return
	}
	if bytes.IndexByte(body, '\\') < 0 && utf8.Valid(body) {
		w.dst = by(w.dst, string(body))
		return
	}
	var text []byte
	var forms []form
	k := int32(0)
	for i := 0; i < len(body); k++ {
		r, n, f := decode(body, i)
		if f.raw != "" || f.unicode {
			f.at = k
			forms = append(forms, f)
		}
		text = utf8.AppendRune(text, r)
		i += n
	}
	out := by(make([]byte, 0, len(text)), string(text))
	k = 0
	for i := 0; i < len(out); k++ {
		r, n := utf8.DecodeRune(out[i:])
		i += n
		f := form{}
		if len(forms) > 0 && forms[0].at == k {
			f = forms[0]
			forms = forms[1:]
		}
		switch {
		case f.raw != "":
			w.dst = append(w.dst, f.raw...)
		case f.unicode:
			w.dst = appendEscaped(w.dst, r)
		default:
			w.dst = utf8.AppendRune(w.dst, r)
		}
	}
}

// unquoted decodes the body of a string, also of one that is damaged.
func unquoted(body []byte) []byte {
	if bytes.IndexByte(body, '\\') < 0 {
		return body
	}
	text := make([]byte, 0, len(body))
	for i := 0; i < len(body); {
		r, n, _ := decode(body, i)
		text = utf8.AppendRune(text, r)
		i += n
	}
	return text
}

// form is the encoding of a rune in a string, where it is not the rune itself.
type form struct {
	at      int32  // number of the rune
	raw     string // unchanged: an escape that is no letter, a byte that is no UTF-8
	unicode bool   // as \uXXXX
}

// decode reads the rune at body[i] of a string's body.
func decode(body []byte, i int) (r rune, n int, f form) {
	if body[i] != '\\' {
		r, n = utf8.DecodeRune(body[i:])
		if r == utf8.RuneError && n == 1 {
			f.raw = string([]byte{inertByte(body[i])})
		} else if r < ' ' && r != '\t' && r != '\r' && r != '\n' {
			f.raw = "\x01"
		}
		return r, n, f
	}
	switch {
	case i+1 < len(body) && strings.IndexByte(escaped, body[i+1]) >= 0:
		k := strings.IndexByte(escaped, body[i+1])
		return rune(meant[k]), 2, form{raw: escapes[2*k : 2*k+2]}
	case hexAt(body, i):
		n = 6
		if hexAt(body, i+6) {
			if r = unescape(body[i : i+12]); r > 0xFFFF { // a surrogate pair
				return r, 12, form{unicode: true}
			}
		}
	default: // no escape of JSON
		return '\\', 1, form{raw: `\`}
	}
	r = unescape(body[i : i+n])
	if r == utf8.RuneError || r < ' ' {
		return r, n, form{raw: string(body[i : i+n])}
	}
	return r, n, form{unicode: true}
}

// The escapes of one letter: their letters, what they mean and how they are written.
const (
	escaped = `"\/bfnrt`
	meant   = "\"\\/\b\f\n\r\t"
	escapes = `\"\\\/\b\f\n\r\t`
)

// hexAt reports whether body[i:] begins with \uXXXX.
func hexAt(body []byte, i int) bool {
	if i+6 > len(body) || body[i] != '\\' || body[i+1] != 'u' {
		return false
	}
	for _, c := range body[i+2 : i+6] {
		if !isDigit(c) && (c|0x20 < 'a' || c|0x20 > 'f') {
			return false
		}
	}
	return true
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

// inertLine replaces the control characters of a line that is no JSON by one that does nothing. They may be the
// reason why it is no JSON.
func inertLine(line []byte) {
	for i, b := range line {
		if b < ' ' && b != '\t' && (b != '\r' || i < len(line)-1) {
			line[i] = 1
		}
	}
}
