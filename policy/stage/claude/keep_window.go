package claude

import (
	"slices"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
)

// window returns what a compaction by session memory keeps: everything after
// the last message the summary covers (nothing in a session without one), then,
// if that is too little, earlier messages one by one. What an earlier compaction
// inserted is never kept: it is behind that boundary, or is made anew.
//
// The client's messages are lines. Here a message is not divided into its lines,
// which the client undoes afterwards anyway, and counts as many messages with
// text as it has lines with text.
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
	for s.marked && start > 0 && items[start-1] != s.last {
		take()
	}
	for start > 0 && (tokens < s.p.MinTokens || texts < s.p.MinTextMessages) {
		if take(); tokens >= s.p.MaxTokens {
			break
		}
	}
	start = withCalls(c.View, items, start)
	return slices.DeleteFunc(items[start:], func(id policy.ItemID) bool { return madeByCompaction(c.View, id) })
}

// madeByCompaction reports whether a compaction inserted an item: its summary,
// or an attachment. The placeholder of a collapsed span is not one.
func madeByCompaction(v policy.View, id policy.ItemID) bool {
	if sy := v.Synthetic(id); sy != nil {
		return sy.Summary && sy.Label != collapsedLabel || sy.Attached
	}
	return v.Message(id).Class == session.ClassSummary
}

// textLines counts the lines of an item that hold text.
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
		for b := range v.Blocks(items[i]) {
			t := policy.Target{Item: items[i], Block: b}
			if items[i] < 0 || v.Kind(t) != jsonl.KindToolResult {
				continue
			}
			use, _, ok := v.Conversation().ToolUse(v.Raw(t).ID)
			if p, in := at[policy.ItemID(use)]; ok && in {
				start = min(start, p)
			}
		}
	}
	return start
}
