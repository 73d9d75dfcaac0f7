package synth

import (
	"fmt"
	"strings"
)

// object builds one JSON value by appending.
type object struct{ b []byte }

// sep writes the comma before a key or an element that needs one.
func (o *object) sep() *object {
	if n := len(o.b); n > 0 && !strings.ContainsRune("{[:", rune(o.b[n-1])) {
		o.b = append(o.b, ',')
	}
	return o
}

func (o *object) elem(s string) { o.b = appendString(o.sep().b, s) }

// when is o, or where ok is false an object that is discarded.
func (o *object) when(ok bool) *object {
	if ok {
		return o
	}
	return &object{}
}

// put writes JSON text: members, elements and brackets. Each ? in it stands for the next value: a text, a number, a bool,
// nil, a list of texts, or JSON.
func (o *object) put(text string, values ...any) *object {
	if text[0] != '}' && text[0] != ']' {
		o.sep()
	}
	for _, v := range values {
		before, after, _ := strings.Cut(text, "?")
		o.b = append(o.b, before...)
		text = after
		switch v := v.(type) {
		case string:
			o.b = appendString(o.b, v)
		case []byte:
			o.b = append(o.b, v...)
		case []string:
			o.put("[")
			for _, s := range v {
				o.elem(s)
			}
			o.put("]")
		case nil:
			o.b = append(o.b, "null"...)
		default:
			o.b = fmt.Append(o.b, v)
		}
	}
	o.b = append(o.b, text...)
	return o
}

// orNull is a text, or nil where it is empty.
func orNull(s string) any {
	if s == "" {
		return nil
	}
	return s
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
