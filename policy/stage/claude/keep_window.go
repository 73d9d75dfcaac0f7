package claude

import (
	"slices"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
)

// window is what a compaction by session memory keeps as it is: everything
// after the last message the summary holds (of a session without one, nothing),
// then, where that is too little, one earlier message after the other. What an
// earlier compaction put in is never kept: it lies behind that boundary, or is
// made anew.
//
// The client's messages are lines. A whole message stands for its lines here:
// it is never cut in two, which the client mends afterwards, and it counts as
// many messages with text as it has lines with some.
func (s *sessionMemory) window(c *policy.Context) []policy.ItemID {
	items := c.View.IDs()
	start := len(items)
	var tokens, texts int
	take := func() {
		start--
		if id := items[start]; !madeByCompaction(c.View, id) {
			tokens += c.Estimate(id)
			texts += textLines(c.View, id)
		}
	}
	if s.marked {
		for start > 0 && items[start-1] != s.last {
			take()
		}
	}
	enough := func() bool { return tokens >= s.p.MinTokens && texts >= s.p.MinTextMessages }
	for start > 0 && !enough() {
		if take(); tokens >= s.p.MaxTokens {
			break
		}
	}
	start = withCalls(c.View, items, start)
	return slices.DeleteFunc(items[start:], func(id policy.ItemID) bool { return madeByCompaction(c.View, id) })
}

// madeByCompaction reports whether an item is what a compaction put into the
// view: its summary, or what it attached. The placeholder of a collapsed span
// stands for messages of its place.
func madeByCompaction(v policy.View, id policy.ItemID) bool {
	if sy := v.Synthetic(id); sy != nil {
		return sy.Summary && sy.Label != collapsedLabel || sy.Attached
	}
	return v.Message(id).Class == session.ClassSummary
}

// textLines is how many lines of an item hold text.
func textLines(v policy.View, id policy.ItemID) int {
	m := v.Message(id)
	if m == nil {
		return 1
	}
	n, line := 0, int32(-1)
	for b := range m.Blocks {
		if bl := &m.Blocks[b]; bl.Kind == jsonl.KindText && bl.Line != line && v.Length(policy.Target{Item: id, Block: b}).UTF16 > 0 {
			n, line = n+1, bl.Line
		}
	}
	return n
}

// withCalls moves the start of what is kept back until every tool_result in it
// has its tool_use.
func withCalls(v policy.View, items []policy.ItemID, start int) int {
	at := make(map[policy.ItemID]int, len(items))
	for i, id := range items {
		at[id] = i
	}
	for i := len(items) - 1; i >= start; i-- {
		m := v.Message(items[i])
		if m == nil {
			continue
		}
		for b := range m.Blocks {
			if m.Blocks[b].Kind != jsonl.KindToolResult {
				continue
			}
			if use, _, ok := v.Conversation().ToolUse(m.Blocks[b].ID); ok {
				if p, ok := at[policy.ItemID(use)]; ok {
					start = min(start, p)
				}
			}
		}
	}
	return start
}
