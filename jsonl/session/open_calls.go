package session

import (
	"maps"
	"slices"

	"github.com/ctxkit/ctxkit/jsonl"
)

// OpenCalls are the ids of tool calls without a result yet, each once. The zero value has none.
type OpenCalls struct {
	few  []string
	many map[string]bool // in the place of few; nil: there are few
}

// fewCalls is how many calls are searched without a map.
const fewCalls = 8

// Len is how many calls have no result.
func (o *OpenCalls) Len() int { return len(o.few) + len(o.many) }

// Clone is a copy.
func (o *OpenCalls) Clone() OpenCalls { return OpenCalls{slices.Clone(o.few), maps.Clone(o.many)} }

// Clear takes out all calls.
func (o *OpenCalls) Clear() { o.few, o.many = o.few[:0], nil }

// Add adds a call.
func (o *OpenCalls) Add(id string) {
	switch {
	case o.many != nil:
		o.many[id] = true
	case slices.Contains(o.few, id):
	case len(o.few) < fewCalls:
		o.few = append(o.few, id)
	default:
		o.many = map[string]bool{id: true}
		for _, other := range o.few {
			o.many[other] = true
		}
		o.few = o.few[:0]
	}
}

// Answer takes out the call with a result's id, and reports whether there was one.
func (o *OpenCalls) Answer(id string) bool {
	if o.many != nil {
		open := o.many[id]
		delete(o.many, id)
		return open
	}
	i := slices.Index(o.few, id)
	if i >= 0 {
		o.few = slices.Delete(o.few, i, i+1)
	}
	return i >= 0
}

// Keep takes out the calls that are not wanted.
func (o *OpenCalls) Keep(wanted func(id string) bool) {
	o.few = slices.DeleteFunc(o.few, func(id string) bool { return !wanted(id) })
	for id := range o.many {
		if !wanted(id) {
			delete(o.many, id)
		}
	}
}

// Note adds a message's calls and takes out those that it answers. stray reports that one of its results answers none of
// the calls.
func (o *OpenCalls) Note(m *Message) (stray bool) {
	for b := range m.Blocks {
		switch bl := &m.Blocks[b]; bl.Kind {
		case jsonl.KindToolUse:
			o.Add(bl.ID())
		case jsonl.KindToolResult:
			stray = !o.Answer(bl.ID()) || stray
		}
	}
	return stray
}
