package synth

import (
	"strconv"
	"unicode/utf8"
)

// object builds one JSON value by appending to a buffer that is used again for
// the next line, with keys in the order given and strings escaped the way
// JSON.stringify escapes them (so no \u003c and no \u2028).
type object struct{ b []byte }

func (o *object) reset() *object { o.b = o.b[:0]; return o }

func (o *object) sep() {
	if n := len(o.b); n > 0 {
		switch o.b[n-1] {
		case '{', '[', ':':
		default:
			o.b = append(o.b, ',')
		}
	}
}

func (o *object) key(k string) *object {
	o.sep()
	o.b = appendString(o.b, k)
	o.b = append(o.b, ':')
	return o
}

func (o *object) open() *object     { o.sep(); o.b = append(o.b, '{'); return o }
func (o *object) close() *object    { o.b = append(o.b, '}'); return o }
func (o *object) openArr() *object  { o.sep(); o.b = append(o.b, '['); return o }
func (o *object) closeArr() *object { o.b = append(o.b, ']'); return o }

func (o *object) obj(k string) *object { return o.key(k).open() }
func (o *object) arr(k string) *object { return o.key(k).openArr() }

func (o *object) elem(s string) *object {
	o.sep()
	o.b = appendString(o.b, s)
	return o
}

func (o *object) str(k, v string) *object {
	o.key(k)
	o.b = appendString(o.b, v)
	return o
}

func (o *object) strs(k string, v []string) *object {
	o.arr(k)
	for _, s := range v {
		o.elem(s)
	}
	return o.closeArr()
}

func (o *object) num(k string, v int) *object {
	o.key(k)
	o.b = strconv.AppendInt(o.b, int64(v), 10)
	return o
}

func (o *object) bool(k string, v bool) *object {
	o.key(k)
	o.b = strconv.AppendBool(o.b, v)
	return o
}

func (o *object) null(k string) *object {
	o.key(k)
	o.b = append(o.b, "null"...)
	return o
}

// strOrNull writes v, or null where it is empty.
func (o *object) strOrNull(k, v string) *object {
	if v == "" {
		return o.null(k)
	}
	return o.str(k, v)
}

// raw writes v, which is JSON already.
func (o *object) raw(k string, v []byte) *object {
	o.key(k)
	o.b = append(o.b, v...)
	return o
}

// json returns a copy of what was built.
func (o *object) json() []byte { return append([]byte(nil), o.b...) }

const hex = "0123456789abcdef"

func appendString(b []byte, s string) []byte {
	b = append(b, '"')
	from := 0
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c >= 0x20 && c != '"' && c != '\\' {
			continue
		}
		b = append(b, s[from:i]...)
		from = i + 1
		switch c {
		case '"', '\\':
			b = append(b, '\\', c)
		case '\n':
			b = append(b, '\\', 'n')
		case '\t':
			b = append(b, '\\', 't')
		case '\r':
			b = append(b, '\\', 'r')
		case '\b':
			b = append(b, '\\', 'b')
		case '\f':
			b = append(b, '\\', 'f')
		default:
			b = append(b, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		}
	}
	return append(append(b, s[from:]...), '"')
}

// utf16Len is what JavaScript calls the length of s.
func utf16Len(s string) int {
	n := 0
	for i := 0; i < len(s); {
		if s[i] < utf8.RuneSelf {
			i++
			n++
			continue
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		i += size
		n++
		if r > 0xFFFF {
			n++
		}
	}
	return n
}
