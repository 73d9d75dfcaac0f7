package session

import (
	"slices"
	"strings"

	"github.com/ctxkit/ctxkit/jsonl"
)

// call is the id and the name of a tool call, which the blocks of its results share.
type call struct {
	id       string
	name     *string // nil: no tool_use with the id was read yet
	conv, at int32   // while a file is loaded index into chain.calls in the conversation of that number, or alone; then see Conversation.indexTools
}

// alone is the conv of a call of which an earlier one with another name has the id.
const alone = -1

// newCall is the call of a block; nil: none.
func newCall(b *jsonl.ContentBlock) *call {
	if b.ID == "" && b.Name == "" {
		return nil
	}
	name := b.Name
	return &call{id: b.ID, name: &name}
}

// calls finds the calls of a file by id.
type calls struct {
	made   [][]call // callsAtOnce each: between values that are soon freed they would keep the memory of these
	n      int32    // how many there are
	places places
	names  distinct[string]
}

func newCalls() calls { return calls{places: newPlaces(0)} }

const callsAtOnce = 64

func (c *calls) at(i int32) *call { return &c.made[i/callsAtOnce][i%callsAtOnce] }

// slot is the slot of an id.
func (c *calls) slot(id string) *int32 {
	return c.places.slot(c.places.text(id), func(i int32) bool { return c.at(i).id == id })
}

// first is the first call with an id.
func (c *calls) first(id string) *call { return c.at(*c.slot(id) - 1) }

// of is the call of a block, nil where it has none. The blocks with an id share one, but for tool_uses with another name
// than the first.
func (c *calls) of(b *jsonl.ContentBlock) *call {
	if b.ID == "" && b.Name == "" {
		return nil
	}
	name := c.names.list[c.names.place(b.Name)]
	if b.ID == "" || b.Kind != jsonl.KindToolUse && b.Kind != jsonl.KindToolResult {
		return &call{id: b.ID, name: name}
	}
	if n := int(c.n); c.places.full(n + 1) {
		c.places = newPlaces(2 * n)
		for i := range c.n {
			*c.slot(c.at(i).id) = i + 1
		}
	}
	slot := c.slot(b.ID)
	if *slot == 0 {
		if int(c.n) == callsAtOnce*len(c.made) {
			c.made = append(c.made, make([]call, callsAtOnce))
		}
		c.n++
		*slot = c.n
		added := c.at(c.n - 1)
		if added.id = b.ID; b.Kind == jsonl.KindToolResult {
			added.id = strings.Clone(b.ID) // what is beside it in memory is not kept
		}
	}
	known := c.at(*slot - 1)
	switch {
	case b.Kind == jsonl.KindToolResult:
	case known.name == nil:
		known.name = name
	case *known.name != b.Name:
		return &call{id: b.ID, name: name, conv: alone}
	}
	return known
}

// share is a list of ids in as little memory as it needs: the calls have most of them.
func (c *calls) share(ids []string) []string {
	ids = slices.Clone(ids)
	for i, id := range ids {
		if at := *c.slot(id); at > 0 {
			ids[i] = c.at(at - 1).id
		}
	}
	return ids
}
