// Package scan validates, skips and measures JSON in one pass over bytes that are already in memory.
//
// It accepts exactly what encoding/json.Valid accepts: RFC 8259 with white space around values, nesting no deeper
// than [MaxDepth], and any bytes of 0x20 and above inside a string. Bytes that are not UTF-8 are accepted, and each
// such byte counts as one U+FFFD, as encoding/json decodes it.
//
// Every function takes the text b and an index i to start from and returns the index after the value with [OK], or
// the index of the fault with another [Fault]. Nothing here allocates; nothing is kept.
//
//   - [Space], [Value], [String] skip (and validate) the bytes at i.
//   - [MeasureString], [MeasureValue] also add up [Lengths].
//   - [Members], [Elements] walk an object or an array.
//   - [Unquote] decodes a string, [AppendUnquoted] the inside of a valid one.
package scan

// MaxDepth is the deepest nesting of arrays and objects, as in encoding/json.
const MaxDepth = 10000

// Fault is the first fault of a text, or [OK].
type Fault uint8

// The faults.
const (
	OK      Fault = iota
	End           // the text stops inside a value
	NoValue       // no value begins here
	Literal       // a word that is none of true, false and null
	Number        // a number that JSON has no form for
	Control       // a byte below 0x20 inside a string
	Escape        // a backslash followed by what JSON has no escape for
	Key           // an object's member does not begin with a string
	Colon         // no colon after a key
	Comma         // neither a comma nor the closing bracket after a value
	Deep          // more than MaxDepth open brackets
)

var codeTexts = [...]string{
	OK:      "no error",
	End:     "unexpected end of the text",
	NoValue: "expected a value",
	Literal: "unknown word, expected true, false or null",
	Number:  "malformed number",
	Control: "control character in a string",
	Escape:  "malformed escape in a string",
	Key:     "expected a key in double quotes",
	Colon:   "expected a colon after the key",
	Comma:   "expected a comma or a closing bracket after the value",
	Deep:    "nested more than 10000 deep",
}

func (c Fault) String() string {
	if int(c) < len(codeTexts) {
		return codeTexts[c]
	}
	return "unknown error"
}

// Space returns the index of the first byte from i on that is no white space, or len(b).
func Space(b []byte, i int) int {
	for i < len(b) && b[i] <= ' ' && (b[i] == ' ' || b[i] == '\n' || b[i] == '\r' || b[i] == '\t') {
		i++
	}
	return i
}

// Value skips the value that begins at b[i], inside depth open brackets.
func Value(b []byte, i, depth int) (int, Fault) {
	if i >= len(b) {
		return len(b), End
	}
	switch b[i] {
	case '"':
		end, _, code := String(b, i)
		return end, code
	case '{', '[':
		return container(b, i, depth)
	}
	return scalar(b, i)
}

// scalar skips a number or a literal.
func scalar(b []byte, i int) (int, Fault) {
	switch c := b[i]; {
	case c == '-' || c-'0' <= 9:
		return number(b, i)
	case c == 't':
		return literal(b, i, "true")
	case c == 'f':
		return literal(b, i, "false")
	case c == 'n':
		return literal(b, i, "null")
	}
	return i, NoValue
}

func literal(b []byte, i int, word string) (int, Fault) {
	for k := range len(word) {
		if i+k >= len(b) {
			return len(b), End
		}
		if b[i+k] != word[k] {
			return i + k, Literal
		}
	}
	return i + len(word), OK
}

func number(b []byte, i int) (int, Fault) {
	if b[i] == '-' {
		i++
		if i >= len(b) {
			return i, End
		}
	}
	switch {
	case b[i] == '0':
		i++
	case b[i]-'1' <= 8:
		i = digits(b, i)
	default:
		return i, Number
	}
	if i < len(b) && b[i] == '.' {
		k := digits(b, i+1)
		if k == i+1 {
			return faultOrEnd(b, k)
		}
		i = k
	}
	if i < len(b) && (b[i] == 'e' || b[i] == 'E') {
		i++
		if i < len(b) && (b[i] == '+' || b[i] == '-') {
			i++
		}
		k := digits(b, i)
		if k == i {
			return faultOrEnd(b, k)
		}
		i = k
	}
	return i, OK
}

func faultOrEnd(b []byte, i int) (int, Fault) {
	if i >= len(b) {
		return len(b), End
	}
	return i, Number
}

func digits(b []byte, i int) int {
	for i < len(b) && b[i]-'0' <= 9 {
		i++
	}
	return i
}

// gap is Space, inlined for the usual case that b[i] is no white space.
func gap(b []byte, i int) int {
	if i < len(b) && b[i] <= ' ' {
		return Space(b, i)
	}
	return i
}

// container skips the object or array whose bracket is b[i].
func container(b []byte, i, depth int) (int, Fault) {
	if depth >= MaxDepth {
		return i, Deep
	}
	object := b[i] == '{'
	end := b[i] + 2
	depth++
	i = gap(b, i+1)
	if i < len(b) && b[i] == end {
		return i + 1, OK
	}
	var code Fault
	for {
		if object {
			if i, code = key(b, i); code != OK {
				return i, code
			}
		}
		if i, code = Value(b, i, depth); code != OK {
			return i, code
		}
		i = gap(b, i)
		if i >= len(b) {
			return len(b), End
		}
		switch b[i] {
		case ',':
			i = gap(b, i+1)
		case end:
			return i + 1, OK
		default:
			return i, Comma
		}
	}
}

// key skips the key at b[i] and its colon, up to the member's value.
func key(b []byte, i int) (int, Fault) {
	if i >= len(b) {
		return len(b), End
	}
	if b[i] != '"' {
		return i, Key
	}
	i, _, code := String(b, i)
	if code != OK {
		return i, code
	}
	return colon(b, i)
}

// colon skips the colon after a key and the white space around it.
func colon(b []byte, i int) (int, Fault) {
	i = gap(b, i)
	if i >= len(b) {
		return len(b), End
	}
	if b[i] != ':' {
		return i, Colon
	}
	return gap(b, i+1), OK
}
