package replay

import "github.com/ctxkit/ctxkit/policy"

// clearing is what edits of single blocks have cleared so far.
type clearing struct {
	by     map[clearedBy]bool // tool_results
	tokens int                // removed from the payload
}

// clearedBy is a result and what cleared it: the stage of a payload-only edit, which only that stage can undo, or "",
// an edit of the model view.
type clearedBy struct {
	result policy.Target
	stage  string
}

// note counts an edit of a tool_result.
func (c *clearing) note(ed *policy.Edit) {
	by := clearedBy{result: ed.Target}
	if ed.Kind.PayloadOnly() {
		by.stage = ed.Stage
	}
	switch ed.Kind {
	case policy.KindClear, policy.KindPersist, policy.KindServerClear, policy.KindCacheEdit:
		c.by[by] = true
	case policy.KindServerKeep:
		delete(c.by, by)
	}
}

// results is the number of tool_results that stay cleared.
func (c *clearing) results() int {
	distinct := make(map[policy.Target]struct{}, len(c.by))
	for by := range c.by {
		distinct[by.result] = struct{}{}
	}
	return len(distinct)
}

// weigh counts the tokens that an edit removed from the payload.
func (c *clearing) weigh(ed *policy.Edit, removed int) {
	switch ed.Kind {
	case policy.KindClear, policy.KindPersist, policy.KindTruncate, policy.KindServerClear, policy.KindCacheEdit,
		policy.KindServerKeep:
		c.tokens += removed
	}
}
