package session

import "github.com/ctxkit/ctxkit/jsonl"

// OpenCalls is the set of ids of tool calls without a result yet. The zero value is an empty set.
type OpenCalls map[string]bool

// Add adds the id of a call.
func (o *OpenCalls) Add(id string) {
	if *o == nil {
		*o = OpenCalls{}
	}
	(*o)[id] = true
}

// Answer removes id, the call of a result, and reports whether it was in the set.
func (o OpenCalls) Answer(id string) bool {
	open := o[id]
	delete(o, id)
	return open
}

// Note adds the calls of m and removes those that m answers. stray reports that a result of m answers no open call.
func (o *OpenCalls) Note(m *Message) (stray bool) {
	for b := range m.Blocks {
		switch bl := &m.Blocks[b]; bl.Kind {
		case jsonl.KindToolUse:
			o.Add(bl.ID)
		case jsonl.KindToolResult:
			stray = !o.Answer(bl.ID) || stray
		}
	}
	return stray
}
