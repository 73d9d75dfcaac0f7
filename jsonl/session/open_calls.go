package session

import "github.com/ctxkit/ctxkit/jsonl"

// OpenCalls is the set of the ids of those tool calls that have no result yet. The zero value is an empty set.
type OpenCalls map[string]bool

// Add adds the id of a call.
func (o *OpenCalls) Add(id string) {
	if *o == nil {
		*o = OpenCalls{}
	}
	(*o)[id] = true
}

// Answer removes id from the set and reports whether the set had it. Call it for a result, with the id of the result's
// call.
func (o OpenCalls) Answer(id string) bool {
	open := o[id]
	delete(o, id)
	return open
}

// Note adds the calls in m, and removes the calls whose results are in m. stray is true if m has a result whose call is
// not in the set.
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
