package scan

// Members walks the members of an object:
//
//	m := scan.Object(b, i, depth)
//	for m.Next() {
//		// m.Key() and the value at m.At; the loop must set m.At, m.Code
//		m.At, m.Code = scan.Value(b, m.At, depth+1)
//	}
//	// m.Code; where it is OK, m.At is after the object
type Members struct {
	Elements // of which At is the index of the member's value
	depth    int
	keyAt    int // of the key's opening quote
	keyEnd   int // of its closing quote
	plain    bool
}

// Object starts a walk of the object whose brace is b[i], inside depth open brackets.
func Object(b []byte, i, depth int) Members {
	return Members{Elements: Array(b, i, depth), depth: depth + 1}
}

// Key returns the bytes between the key's quotes; plain: there is no backslash in them.
func (m *Members) Key() (key []byte, plain bool) { return m.b[m.keyAt+1 : m.keyEnd], m.plain }

// Text returns the text that is walked.
func (m *Members) Text() []byte { return m.b }

// Depth is how many brackets are open around the member's value.
func (m *Members) Depth() int { return m.depth }

// MeasureKey adds the lengths of the key as JSON to l.UTF16 and l.Bytes.
func (m *Members) MeasureKey(l *Lengths) { measureQuoted(m.b, m.keyAt, l) }

// Next goes to the next member. It returns false at the object's end and at a fault.
func (m *Members) Next() bool {
	if !m.advance('}') {
		return false
	}
	b := m.b
	i := m.At
	if b[i] != '"' {
		return m.stop(i, Key)
	}
	m.keyAt = i
	end, plain, code := String(b, i)
	if code != OK {
		return m.stop(end, code)
	}
	m.keyEnd = end - 1
	m.plain = plain
	if i, code = colon(b, end); code != OK {
		return m.stop(i, code)
	}
	if i >= len(b) {
		return m.stop(len(b), End)
	}
	m.At = i
	return true
}

// Elements walks the elements of an array as [Members] does an object's members.
type Elements struct {
	At   int   // of the element; at the end, after the array; on a fault, of it
	Code Fault // OK, or what is wrong at At

	b     []byte
	begun bool
}

// Array starts a walk of the array whose bracket is b[i], inside depth open brackets.
func Array(b []byte, i, depth int) Elements {
	m := Elements{b: b, At: i + 1}
	if depth >= MaxDepth {
		m.At = i
		m.Code = Deep
	}
	return m
}

// Next goes to the next element. It returns false at the array's end and at a fault.
func (m *Elements) Next() bool { return m.advance(']') }

// advance goes to the next key or element, unless the bracket end is there.
func (m *Elements) advance(end byte) bool {
	if m.Code != OK {
		return false
	}
	b, i := m.b, gap(m.b, m.At)
	if i >= len(b) {
		return m.stop(len(b), End)
	}
	if b[i] == end {
		return m.stop(i+1, OK)
	}
	if m.begun {
		if b[i] != ',' {
			return m.stop(i, Comma)
		}
		i = gap(b, i+1)
		if i >= len(b) {
			return m.stop(len(b), End)
		}
	}
	m.begun = true
	m.At = i
	return true
}

func (m *Elements) stop(i int, code Fault) bool {
	m.At = i
	m.Code = code
	return false
}
