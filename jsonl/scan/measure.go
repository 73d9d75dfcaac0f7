package scan

import "unicode/utf8"

// Lengths are the lengths of one string, decoded, or of one value, written compactly: without white space between its
// tokens, its numbers as they are, its strings as JSON.stringify writes them.
type Lengths struct {
	UTF16 int // UTF-16 units: of the decoded string; of the compact value
	Bytes int // the same in UTF-8; a lone surrogate of a decoded string is 3 (U+FFFD)

	// Of strings only: JSON.stringify of it, quotes included. A lone surrogate is written as an escape of 6.
	JSON      int // UTF-16 units
	JSONBytes int // bytes of UTF-8

	Coded bool // a character was written as its four hexadecimal digits
}

// MeasureString skips the string whose quote is b[i] and adds its lengths to l.
func MeasureString(b []byte, i int, l *Lengths) (int, Fault) {
	sum, plain := Lengths{JSON: 2, JSONBytes: 2, Coded: l.Coded}, 0 // plain are the characters of one byte in all forms
	for i++; i < len(b); {
		r := rune(b[i])
		n := 1
		switch {
		case r == '"':
			l.UTF16 += plain + sum.UTF16
			l.Bytes += plain + sum.Bytes
			l.JSON += plain + sum.JSON
			l.JSONBytes += plain + sum.JSONBytes
			l.Coded = sum.Coded
			return i + 1, OK
		case r < 0x20:
			return i, Control
		case r == '\\':
			if end, code := escapeEnd(b, i); code != OK {
				return end, code
			}
			sum.Coded = sum.Coded || b[i+1] == 'u'
			r, n = escaped(b, i)
			sum.add(r)
		case r >= utf8.RuneSelf:
			r, n = utf8.DecodeRune(b[i:])
			sum.add(r)
		default:
			plain++
		}
		i += n
	}
	return len(b), End
}

// add adds the lengths of one character.
func (l *Lengths) add(r rune) {
	units := 1
	size := utf8.RuneLen(r)
	escape := 0
	switch {
	case r == '"' || r == '\\' || r == '\b' || r == '\f' || r == '\n' || r == '\r' || r == '\t':
		escape = 1
	case r < 0x20:
		escape = 5
	case isSurrogate(r): // three bytes as U+FFFD, six as an escape
		size = 3
		escape = 5
		l.JSONBytes -= 2
	case r >= 0x10000:
		units = 2
	}
	l.UTF16 += units
	l.Bytes += size
	l.JSON += units + escape
	l.JSONBytes += size + escape
}

// MeasureValue skips the value that begins at b[i], inside depth open brackets, and adds the lengths of its compact
// form to l.UTF16 and l.Bytes. Members of an object count as they are, those with the same key too.
func MeasureValue(b []byte, i, depth int, l *Lengths) (int, Fault) {
	if i >= len(b) {
		return len(b), End
	}
	switch b[i] {
	case '"':
		return measureQuoted(b, i, l)
	case '{':
		return measureObject(b, i, depth, l)
	case '[':
		return measureArray(b, i, depth, l)
	}
	end, code := scalar(b, i)
	if code == OK {
		l.UTF16 += end - i
		l.Bytes += end - i
	}
	return end, code
}

// measureQuoted adds the canonical form of a string to l.UTF16 and l.Bytes.
func measureQuoted(b []byte, i int, l *Lengths) (int, Fault) {
	var s Lengths
	end, code := MeasureString(b, i, &s)
	l.UTF16 += s.JSON
	l.Bytes += s.JSONBytes
	return end, code
}

func measureObject(b []byte, i, depth int, l *Lengths) (int, Fault) {
	m := Object(b, i, depth)
	n := 0
	for ; m.Next(); n++ {
		measureQuoted(b, m.keyAt, l)
		m.At, m.Code = MeasureValue(b, m.At, depth+1, l)
	}
	l.Brackets(n, 2)
	return m.At, m.Code
}

func measureArray(b []byte, i, depth int, l *Lengths) (int, Fault) {
	m := Array(b, i, depth)
	n := 0
	for ; m.Next(); n++ {
		m.At, m.Code = MeasureValue(b, m.At, depth+1, l)
	}
	l.Brackets(n, 1)
	return m.At, m.Code
}

// Brackets adds the brackets and separators around n values to l.UTF16 and l.Bytes: a comma before each but the
// first, and with each of 2 a colon.
func (l *Lengths) Brackets(n, each int) {
	size := 2 + n*each - min(n, 1)
	l.UTF16 += size
	l.Bytes += size
}
