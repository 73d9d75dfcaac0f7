package session

import "github.com/ctxkit/ctxkit/jsonl"

// OpenCalls are the ids of tool calls without a result yet. The zero value has none.
type OpenCalls map[string]bool

// Add adds a call.
func (o *OpenCalls) Add(id string) {
	if *o == nil {
		*o = OpenCalls{}
	}
	(*o)[id] = true
}

// Answer takes out the call with a result's id, and reports whether there was one.
func (o OpenCalls) Answer(id string) bool {
	open := o[id]
	delete(o, id)
	return open
}

// Note adds a message's calls and takes out those that it answers. stray reports that one of its results answers none of
// the calls.
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
