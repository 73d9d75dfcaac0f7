package session

import (
	"slices"

	"github.com/ctxkit/ctxkit/jsonl"
)

// call is the id and the name of a tool call, which the blocks of its results share.
type call struct {
	id, name string
	made     bool  // a tool_use has it; else only results do
	alone    bool  // another call has the id: an earlier tool_use has another name
	conv, at int32 // index into chain.calls in the conversation of that number
}

// newCall is the call of a block; nil: none.
func newCall(b *jsonl.ContentBlock) *call {
	if b.ID == "" && b.Name == "" {
		return nil
	}
	return &call{id: b.ID, name: b.Name, made: b.Kind == jsonl.KindToolUse}
}

// calls finds the calls of a file by id.
type calls struct {
	list   []*call
	places places
}

func newCalls() calls { return calls{places: newPlaces(0)} }

// slot is the slot of an id.
func (c *calls) slot(id string) *int32 {
	return c.places.slot(c.places.text(id), func(i int32) bool { return c.list[i].id == id })
}

// of is the call of a block, nil where it has none. The blocks with an id share one, but for tool_uses with another name
// than the first.
func (c *calls) of(b *jsonl.ContentBlock) *call {
	if b.ID == "" || b.Kind != jsonl.KindToolUse && b.Kind != jsonl.KindToolResult {
		return newCall(b)
	}
	slot := c.slot(b.ID)
	switch {
	case *slot == 0:
		if c.list = append(c.list, newCall(b)); c.places.full(len(c.list)) {
			c.places = newPlaces(2 * len(c.list))
			for i, known := range c.list {
				*c.slot(known.id) = int32(i) + 1
			}
		} else {
			*slot = int32(len(c.list))
		}
		return c.list[len(c.list)-1]
	case b.Kind == jsonl.KindToolResult:
		return c.list[*slot-1]
	}
	known := c.list[*slot-1]
	if !known.made {
		known.name, known.made = b.Name, true
	}
	if known.name != b.Name {
		known = newCall(b)
		known.alone = true
	}
	return known
}

// share is a list of ids in as little memory as it needs: the calls have most of them.
func (c *calls) share(ids []string) []string {
	ids = slices.Clone(ids)
	for i, id := range ids {
		if at := *c.slot(id); at > 0 {
			ids[i] = c.list[at-1].id
		}
	}
	return ids
}
