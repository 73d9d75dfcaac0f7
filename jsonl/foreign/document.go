package foreign

import (
	"bytes"

	"github.com/ctxkit/ctxkit/jsonl/scan"
)

// Members calls each with the members of an object, by name, and with the elements of those that are lists, as "name[]".
// Of a text that ends too early or is damaged it returns the member, the line and the fault, "" for none.
func Members(text []byte, each func(name string, value []byte, line int)) (in string, line int, fault string) {
	counted := 0
	line = 1
	value := func(name string, at, depth int) (int, scan.Fault) {
		end, fault := scan.Value(text, at, depth)
		line += bytes.Count(text[counted:at], []byte("\n"))
		if counted = at; fault == scan.OK {
			each(name, text[at:end], line)
		}
		return end, fault
	}
	at := scan.Space(text, 0)
	if !bytes.HasPrefix(text[at:], []byte("{")) {
		return "", line, scan.NoValue.String()
	}
	m := scan.Object(text, at, 0)
	for m.Next() {
		key, _ := m.Key()
		if in = string(key); text[m.At] != '[' {
			m.At, m.Code = value(in, m.At, m.Depth())
			continue
		}
		list := scan.Array(text, m.At, m.Depth())
		for list.Next() {
			list.At, list.Code = value(in+"[]", list.At, m.Depth()+1)
		}
		m.At = list.At
		m.Code = list.Code
	}
	if m.Code != scan.OK {
		fault = m.Code.String()
	}
	return in, line + bytes.Count(text[counted:min(m.At, len(text))], []byte("\n")), fault
}
