package engine

import (
	"github.com/ctxkit/ctxkit/policy"
)

// clearance is what edits of single blocks have cleared so far.
type clearance struct {
	view    map[policy.Target]bool // tool_results, in the model view
	payload map[clearedBy]bool     // and in the payload only
	tokens  int                    // removed from the payload
}

// clearedBy is a result and the stage whose payload-only edit cleared it: only that stage can undo it.
type clearedBy struct {
	result policy.Target
	stage  string
}

// note counts an edit of a tool_result.
func (c *clearance) note(ed *policy.Edit) {
	switch by := (clearedBy{ed.Target, ed.Stage}); ed.Kind {
	case policy.KindClear, policy.KindPersist:
		c.view[ed.Target] = true
	case policy.KindServerClear, policy.KindCacheEdit:
		c.payload[by] = true
	case policy.KindServerKeep:
		delete(c.payload, by)
	}
}

// results is the number of tool_results that stay cleared.
func (c *clearance) results() int {
	more := map[policy.Target]bool{}
	for by := range c.payload {
		if !c.view[by.result] {
			more[by.result] = true
		}
	}
	return len(c.view) + len(more)
}

// weigh counts the tokens that an edit removed from the payload.
func (c *clearance) weigh(ed *policy.Edit, removed int) {
	switch ed.Kind {
	case policy.KindClear, policy.KindPersist, policy.KindTruncate, policy.KindServerClear, policy.KindCacheEdit,
		policy.KindServerKeep:
		c.tokens += removed
	}
}
