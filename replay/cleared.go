package replay

import "github.com/ctxkit/ctxkit/policy"

// clearing keeps what edits of single blocks have cleared so far.
type clearing struct {
	by     map[clearedBy]bool // tool_results
	tokens int                // off the payload
}

// clearedBy is a result and what cleared it: the stage of a payload-only edit,
// which that stage alone can lift, or "", an edit of the model view.
type clearedBy struct {
	result policy.Target
	stage  string
}

// note takes an edit of a tool_result into account.
func (c *clearing) note(ed *policy.Edit) {
	by := clearedBy{result: ed.Target}
	if ed.Kind.PayloadOnly() {
		by.stage = ed.Stage
	}
	if c.by == nil {
		c.by = map[clearedBy]bool{}
	}
	switch ed.Kind {
	case policy.KindClear, policy.KindPersist, policy.KindServerClear, policy.KindCacheEdit:
		c.by[by] = true
	case policy.KindServerKeep:
		delete(c.by, by)
	}
}

// results is how many tool_results stay cleared.
func (c *clearing) results() int {
	distinct := make(map[policy.Target]struct{}, len(c.by))
	for by := range c.by {
		distinct[by.result] = struct{}{}
	}
	return len(distinct)
}

// weigh takes into account what an edit did to the payload, in tokens.
func (c *clearing) weigh(ed *policy.Edit, before, after int) {
	switch ed.Kind {
	case policy.KindClear, policy.KindPersist, policy.KindTruncate, policy.KindServerClear, policy.KindCacheEdit, policy.KindServerKeep:
		c.tokens += before - after
	}
}
