package summarize

import (
	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/policy"
)

// Whole is the first index at or before at from which items can be kept without those before it: each result among
// them has its call among them.
func Whole(c *policy.Context, ids []policy.ItemID, at int) int {
	if at >= len(ids) {
		return at
	}
	place := make(map[policy.ItemID]int, at)
	for i, id := range ids[:at] {
		place[id] = i
	}
	for i := len(ids) - 1; i >= at; i-- {
		for t := range policy.Targets(c.View, ids[i]) {
			raw := c.View.Raw(t)
			if raw == nil || raw.Kind != jsonl.KindToolResult {
				continue
			}
			if m, _, ok := c.Conv.ToolUse(raw.ID); ok {
				if call, before := place[policy.ItemID(m)]; before {
					at = min(at, call)
				}
			}
		}
	}
	return at
}
