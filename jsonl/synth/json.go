package synth

import (
	"strconv"
	"strings"
)

// object builds one JSON value by appending, with keys in the order of the calls.
type object struct{ b []byte }

// sep writes the comma before a key or an element that needs one.
func (o *object) sep() *object {
	if n := len(o.b); n > 0 && !strings.ContainsRune("{[:", rune(o.b[n-1])) {
		o.b = append(o.b, ',')
	}
	return o
}

func (o *object) key(k string) *object { o.elem(k); o.b = append(o.b, ':'); return o }
func (o *object) elem(s string)        { o.b = appendString(o.sep().b, s) }

func (o *object) open() *object     { o.sep(); o.b = append(o.b, '{'); return o }
func (o *object) close() *object    { o.b = append(o.b, '}'); return o }
func (o *object) openArr() *object  { o.sep(); o.b = append(o.b, '['); return o }
func (o *object) closeArr() *object { o.b = append(o.b, ']'); return o }

func (o *object) obj(k string) *object { return o.key(k).open() }
func (o *object) arr(k string) *object { return o.key(k).openArr() }

// when is o, or where ok is false an object that is discarded.
func (o *object) when(ok bool) *object {
	if ok {
		return o
	}
	return &object{}
}

// raw writes v, which is JSON already.
func (o *object) raw(k string, v []byte) *object { o.key(k); o.b = append(o.b, v...); return o }

func (o *object) str(k, v string) *object       { o.key(k); o.b = appendString(o.b, v); return o }
func (o *object) num(k string, v int) *object   { return o.raw(k, strconv.AppendInt(nil, int64(v), 10)) }
func (o *object) bool(k string, v bool) *object { return o.raw(k, strconv.AppendBool(nil, v)) }
func (o *object) null(k string) *object         { return o.raw(k, []byte("null")) }

// strOrNull writes v, or null where it is empty.
func (o *object) strOrNull(k, v string) *object {
	if v == "" {
		return o.null(k)
	}
	return o.str(k, v)
}

func (o *object) strs(k string, v []string) *object {
	o.arr(k)
	for _, s := range v {
		o.elem(s)
	}
	return o.closeArr()
}

// textBlock writes an array element: a content block of type text.
func (o *object) textBlock(text string) *object {
	return o.open().str("type", "text").str("text", text).close()
}

const hex = "0123456789abcdef"

// appendString writes a string as JSON.stringify does: no \u003c, no \u2028.
func appendString(b []byte, s string) []byte {
	b = append(b, '"')
	for i := range len(s) {
		switch c := s[i]; {
		case c == '"' || c == '\\':
			b = append(b, '\\', c)
		case c >= ' ':
			b = append(b, c)
		default:
			if n := strings.IndexByte("\b\f\n\r\t", c); n >= 0 {
				b = append(b, '\\', "bfnrt"[n])
			} else {
				b = append(b, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
			}
		}
	}
	return append(b, '"')
}
